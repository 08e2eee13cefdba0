import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANSWER_LIMITS, absorb, close, openAnswer } from './assembly.ts'
import type { FinishReason, ModelAnswer, ModelPart } from './port.ts'

const assemble = (parts: readonly ModelPart[], aborted = false): ModelAnswer =>
  close(parts.reduce(absorb, openAnswer()), { aborted })

const text = (delta: string): ModelPart => ({ kind: 'text', delta })
const finish = (reason: FinishReason): ModelPart => ({ kind: 'finish', reason })
const usage = (value: Extract<ModelPart, { kind: 'usage' }>['usage']): ModelPart => ({ kind: 'usage', usage: value })
const call = (key: string, id: string, args: string, name = 'q'): ModelPart[] => [
  { kind: 'call_open', key, id, name },
  { kind: 'call_delta', key, delta: args },
]
const damaged: ModelPart = { kind: 'damaged', detail: 'malformed chunk' }

describe('an answer that is no success', () => {
  it.each<[string, ModelPart[], string]>([
    ['a damaged part before finish stop', [text('a'), damaged, finish('stop')], 'protocol_error'],
    ['a damaged part after finish', [...call('0', 'a', '{}'), finish('tool_calls'), damaged], 'protocol_error'],
    ['a stream that just ends', [text('half an answer')], 'protocol_error'],
    ['no part at all', [], 'protocol_error'],
    ['finish length inside a text', [text('half an ans'), finish('length')], 'truncated'],
    [
      'BR-027 finish length inside arguments',
      [...call('0', 'a', '{"to":"/tmp/h","body":"first'), finish('length')],
      'truncated',
    ],
    ['finish length after whole arguments', [...call('0', 'a', '{}'), finish('length')], 'truncated'],
    [
      'BR-028 finish tool_calls inside arguments',
      [...call('0', 'a', '{"path":"/a","content":"abc'), finish('tool_calls')],
      'protocol_error',
    ],
    ['finish stop inside arguments', [...call('0', 'a', '{"x":'), finish('stop')], 'protocol_error'],
    [
      'one whole call beside one cut off',
      [...call('0', 'a', '{}'), ...call('1', 'b', '{"x'), finish('tool_calls')],
      'protocol_error',
    ],
    ['content filter', [text('a'), finish('content_filter')], 'content_filtered'],
    ['finish error', [text('a'), finish('error')], 'protocol_error'],
    ['finish other', [text('a'), finish('other')], 'protocol_error'],
    ['two different ends', [text('a'), finish('length'), finish('stop')], 'protocol_error'],
    ['text after the end', [text('a'), finish('stop'), text('b')], 'protocol_error'],
    ['promised calls that never came', [text('a'), finish('tool_calls')], 'protocol_error'],
    ['BR-031 nothing at all', [finish('stop')], 'empty_final'],
    ['BR-031 only white space', [text('  \n'), text('\u00a0\u200b'), finish('stop')], 'empty_final'],
    ['BR-031 only blank letters', [text('\u3164\u2800'), finish('stop')], 'empty_final'],
    ['BR-031 only reasoning', [{ kind: 'reasoning', delta: 'hm' }, finish('stop')], 'empty_final'],
    [
      'two calls with one id',
      [...call('0', 'call_1', '{"x":1}'), ...call('1', 'call_1', '{"x":2}'), finish('tool_calls')],
      'protocol_error',
    ],
    ['an id that no database holds', [...call('0', 'a\0b', '{"x":1}'), finish('tool_calls')], 'protocol_error'],
    ['half a character in an id', [...call('0', '\ud800', '{"x":1}'), finish('tool_calls')], 'protocol_error'],
    [
      'an id that is no text',
      [...call('0', 7 as unknown as string, '{"x":1}'), finish('tool_calls')],
      'protocol_error',
    ],
    ['a part of no known kind', [{ kind: 'image' } as unknown as ModelPart, finish('stop')], 'protocol_error'],
    [
      'one key opened twice',
      [...call('0', 'a', '{}'), ...call('0', 'b', '{}'), finish('tool_calls')],
      'protocol_error',
    ],
    [
      'arguments of an unknown call',
      [{ kind: 'call_delta', key: '9', delta: '{}' }, finish('tool_calls')],
      'protocol_error',
    ],
    ['a call without an id', [...call('0', '', '{}'), finish('tool_calls')], 'protocol_error'],
    ['a call without a name', [...call('0', 'a', '{}', ''), finish('tool_calls')], 'protocol_error'],
  ])('B3 %s', (_, parts, reason) => {
    expect(assemble(parts)).toMatchObject({ kind: 'bad', reason })
  })

  it('K3 an aborted stream keeps its text as a partial and is no success even after a clean end', () => {
    expect(assemble([text('Hel'), text('lo'), finish('stop')], true)).toMatchObject({
      kind: 'bad',
      reason: 'truncated',
      text: 'Hello',
    })
  })
})

describe('an answer', () => {
  it('B3 of text, however it was cut into deltas', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (deltas) => {
        const answer = assemble([...deltas.map(text), text('!'), finish('stop')])
        expect(answer).toMatchObject({ kind: 'final', text: `${deltas.join('')}!` })
      }),
    )
  })

  it('B3 of parallel calls whose fragments are interleaved in any way', () => {
    const streams = fc.array(fc.array(fc.string(), { maxLength: 5 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(streams, fc.infiniteStream(fc.nat()), (inner, picks) => {
        const texts = inner.map((pieces) => JSON.stringify({ pieces }))
        const rest = [...texts]
        const parts: ModelPart[] = texts.map((_, i) => ({ kind: 'call_open', key: `${i}`, id: `id${i}`, name: 'q' }))
        for (const pick of picks) {
          const alive = rest.flatMap((left, i) => (left === '' ? [] : [i]))
          const i = alive[pick % Math.max(1, alive.length)]
          if (i === undefined) break
          parts.push({ kind: 'call_delta', key: `${i}`, delta: (rest[i] ?? '').slice(0, 3) })
          rest[i] = (rest[i] ?? '').slice(3)
        }
        const answer = assemble([...parts, finish('tool_calls')])
        expect(answer.kind === 'calls' && answer.calls.map((c) => c.arguments)).toEqual(texts)
      }),
    )
  })

  it.each(['tool_calls', 'stop'] as const)(
    'B3 whole calls count under the label %s, and the text beside them is kept',
    (label) => {
      expect(assemble([text('Let me see.'), ...call('0', 'a', '{"x":1}'), finish(label)])).toMatchObject({
        kind: 'calls',
        text: 'Let me see.',
        calls: [{ id: 'a', name: 'q', arguments: '{"x":1}' }],
      })
    },
  )

  it.each(['"foo"', '[1]', 'null', '{bad', '', '{"x":1}{"x":2}'])(
    'B3 BR-033 whole but invalid arguments go to the gate unchanged: %j',
    (args) => {
      expect(assemble([...call('0', 'a', args), ...call('1', 'b', '{}'), finish('tool_calls')])).toMatchObject({
        kind: 'calls',
        calls: [{ arguments: args }, { arguments: '{}' }],
      })
    },
  )

  it('B3 the whole call replaces what was streamed under its key', () => {
    const whole: ModelPart = { kind: 'call', key: '0', call: { id: 'a', name: 'q', arguments: '{"x":1}' } }
    expect(assemble([...call('0', 'a', '{"x":'), whole, finish('tool_calls')])).toMatchObject({
      calls: [{ arguments: '{"x":1}' }],
    })
  })

  it('B3 empty deltas after the end do no harm, and the state of reasoning is kept unread', () => {
    const state = { signature: 's' }
    expect(
      assemble([{ kind: 'reasoning_state', value: state }, text('a'), finish('stop'), text(''), finish('stop')]),
    ).toMatchObject({
      kind: 'final',
      reasoning: [state],
    })
  })
})

describe('usage', () => {
  it('Q1 BR-041 repeated counts are not added up', () => {
    expect(
      assemble([usage({ input: 27, output: 1 }), text('a'), usage({ input: 27, output: 47 }), finish('stop')]).usage,
    ).toEqual({ input: 27, output: 47 })
  })

  it('K3 usage that nobody reported is unknown, not 0', () => {
    expect(assemble([text('a'), finish('stop')]).usage).toEqual({})
  })

  it.each([-1, Number.NaN, 1.5, Number.POSITIVE_INFINITY, 1e12])(
    'Q1 an impossible count of %d becomes unknown and is flagged',
    (input) => {
      expect(assemble([usage({ input: 5, output: 7 }), usage({ input }), finish('stop')]).usage).toEqual({
        output: 7,
        suspect: true,
      })
    },
  )

  it('K3 usage after the end or after damage still counts', () => {
    expect(assemble([damaged, finish('stop'), usage({ input: 3 })]).usage).toEqual({ input: 3 })
  })
})

describe('limits', () => {
  const over = (parts: readonly ModelPart[]) => parts.reduce(absorb, openAnswer())

  it.each<[string, ModelPart[]]>([
    ['text', [text('x'.repeat(ANSWER_LIMITS.textBytes)), text('x')]],
    ['text', [text('界'.repeat(ANSWER_LIMITS.textBytes / 3 + 1))]],
    ['reasoning', [{ kind: 'reasoning', delta: 'x'.repeat(ANSWER_LIMITS.reasoningBytes + 1) }]],
    ['arguments of a call', call('0', 'a', 'x'.repeat(ANSWER_LIMITS.argumentBytes))],
    ['number of calls', Array.from({ length: ANSWER_LIMITS.calls + 1 }, (_, i) => call(`${i}`, `id${i}`, '{}')).flat()],
    ['arguments of all calls', Array.from({ length: 9 }, (_, i) => call(`${i}`, `id${i}`, 'x'.repeat(250_000))).flat()],
  ])('Q1 too much %s fails the answer at once and lets go of what it held', (what, parts) => {
    const state = over(parts)
    expect(state).toMatchObject({ damage: `${what} beyond the limit`, calls: [] })
    expect(over([...parts, text('more'), finish('stop')])).toMatchObject({ damage: `${what} beyond the limit` })
  })
})
