import { describe, expect, it } from 'vitest'
import { absorb, close, openAnswer } from './assembly.ts'
import { chunkReader } from './openai-chunks.ts'
import type { ModelAnswer } from './port.ts'

type Fragment = { index?: unknown; id?: unknown; function?: unknown }
const f = (index: unknown, id: unknown, name: unknown, args: unknown): Fragment => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), arguments: args },
})

const assemble = (fragments: readonly Fragment[]): ModelAnswer => {
  const reader = chunkReader()
  const chunks = [
    ...fragments.map((one) => ({ choices: [{ delta: { tool_calls: [one] } }] })),
    { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
  ]
  const parts = chunks.flatMap((chunk) => reader.read(JSON.stringify(chunk)))
  return close(parts.reduce(absorb, openAnswer()), { aborted: false })
}

describe('fragments of calls', () => {
  it.each<[string, Fragment[], [string, string][]]>([
    [
      'by index',
      [
        f(0, 'a', 'q', ''),
        f(1, 'b', 'q', ''),
        f(1, undefined, undefined, '{"x":2}'),
        f(0, undefined, undefined, '{"x":1}'),
      ],
      [
        ['a', '{"x":1}'],
        ['b', '{"x":2}'],
      ],
    ],
    ['with the id in each', [f(0, 'a', 'q', '{"x"'), f(0, 'a', 'q', ':1}')], [['a', '{"x":1}']]],
    [
      'by id when no index is there',
      [
        f(undefined, 'a', 'q', '{'),
        f(null, 'b', 'q', '{'),
        f(undefined, 'a', undefined, '}'),
        f(null, 'b', undefined, '}'),
      ],
      [
        ['a', '{}'],
        ['b', '{}'],
      ],
    ],
    [
      'to the only call when nothing is named',
      [f(undefined, 'a', 'q', ''), f(undefined, undefined, undefined, '{"x":'), f(null, '', '', '1}')],
      [['a', '{"x":1}']],
    ],
    [
      'to the last call of a shared index when those before are complete',
      [f(0, 'a', 'q', '{"x":1}'), f(0, 'b', 'q', ''), f(0, undefined, undefined, '{"x":2}')],
      [
        ['a', '{"x":1}'],
        ['b', '{"x":2}'],
      ],
    ],
    [
      'by id within a shared index',
      [f(0, 'a', 'q', '{"x":1'), f(0, 'b', 'q', '{'), f(0, 'a', undefined, '}'), f(0, 'b', undefined, '}')],
      [
        ['a', '{"x":1}'],
        ['b', '{}'],
      ],
    ],
  ])('B3 BR-034 are attributed %s', (_, fragments, calls) => {
    const answer = assemble(fragments)
    expect(answer.kind === 'calls' && answer.calls.map((call) => [call.id, call.arguments])).toEqual(calls)
  })

  it.each<[string, Fragment[]]>([
    [
      'a nameless fragment while two calls are incomplete',
      [
        f(undefined, 'a', 'q', '{'),
        f(undefined, 'b', 'q', '{'),
        f(undefined, undefined, undefined, '}'),
        f(undefined, 'a', undefined, '}'),
      ],
    ],
    [
      'a nameless fragment of a shared index while the first call is incomplete',
      [f(0, 'a', 'q', '{'), f(0, 'b', 'q', '{'), f(0, undefined, undefined, '}'), f(0, 'a', undefined, '}')],
    ],
    ['a fragment of an index that was never opened', [f(0, 'a', 'q', '{}'), f(1, undefined, undefined, '{}')]],
    ['a fragment before any call', [f(0, undefined, undefined, '{}')]],
    ['one id at two indices', [f(0, 'a', 'q', '{}'), f(1, 'a', 'q', '{}')]],
    ['a call whose name changes', [f(0, 'a', 'q', '{'), f(0, 'a', 'r', '}')]],
    ['a call without an id', [f(0, undefined, 'q', '{}')]],
    ['arguments that are an object', [f(0, 'a', 'q', { x: 1 })]],
  ])('B3 BR-034 fail the attempt: %s', (_, fragments) => {
    expect(assemble(fragments)).toMatchObject({ kind: 'bad', reason: 'protocol_error' })
  })

  it('B3 a repeated id with other arguments glues nothing that could be executed', () => {
    const answer = assemble([f(0, 'a', 'q', '{"x":1}'), f(0, 'a', 'q', '{"x":2}')])
    expect(answer.kind === 'calls' && answer.calls.map((call) => call.arguments)).toEqual(['{"x":1}{"x":2}'])
  })
})

describe('chunks', () => {
  const read = (chunk: unknown) => chunkReader().read(JSON.stringify(chunk))

  it('N1 an error inside the stream is thrown with its class', () => {
    expect(() => read({ error: { code: 429 } })).toThrow(expect.objectContaining({ code: 'model_rate_limited' }))
  })

  it('B3 a refusal is shown as text and is no success', () => {
    const parts = [
      { delta: { refusal: 'No.' }, finish_reason: null },
      { delta: {}, finish_reason: 'stop' },
    ].map((choice) => ({ choices: [choice] }))
    const reader = chunkReader()
    const answer = close(parts.flatMap((part) => reader.read(JSON.stringify(part))).reduce(absorb, openAnswer()), {
      aborted: false,
    })
    expect(answer).toMatchObject({ kind: 'bad', reason: 'content_filtered', text: 'No.' })
  })

  it.each([null, [], 'text', { ok: true }, { choices: [{ index: 1, delta: { content: 'a' } }] }])(
    'B3 %j is damage',
    (chunk) => {
      expect(read(chunk).at(-1)?.kind).toBe('damaged')
    },
  )

  it('Q1 usage of another shape is unknown and flagged', () => {
    const parts = read({ choices: [], usage: { prompt_tokens: '12', completion_tokens: 3 } })
    expect(parts.reduce(absorb, openAnswer()).usage).toEqual({ output: 3, suspect: true })
  })
})
