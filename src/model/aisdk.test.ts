import type { LanguageModelV3 } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { absorb, close, openAnswer } from './assembly.ts'
import { partReader } from './aisdk-parts.ts'
import { promptOf } from './aisdk-prompt.ts'
import { aiSdk } from './aisdk.shell.ts'
import type { ModelAnswer } from './port.ts'

type Part = { readonly type: string; readonly [field: string]: unknown }

const assemble = (parts: readonly Part[]): ModelAnswer => {
  const reader = partReader(0)
  return close(parts.flatMap((part) => reader.read(part)).reduce(absorb, openAnswer()), { aborted: false })
}
const finish = (unified: string): Part => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage: { inputTokens: {}, outputTokens: {} },
})
const toolCall = (id: string, input: string, more: object = {}): Part => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'q',
  input,
  ...more,
})
const streamed = (id: string, delta: string): Part[] => [
  { type: 'tool-input-start', id, toolName: 'q' },
  { type: 'tool-input-delta', id, delta },
  { type: 'tool-input-end', id },
]

describe('parts of the AI SDK', () => {
  it.each<[string, Part[]]>([
    ['two whole calls with one id', [toolCall('a', '{"x":1}'), toolCall('a', '{"x":2}'), finish('tool-calls')]],
    [
      'two streamed calls with one id',
      [...streamed('a', '{}'), toolCall('a', '{}'), ...streamed('a', '{}'), toolCall('a', '{}'), finish('tool-calls')],
    ],
    ['a whole call that is cut off', [toolCall('a', '{"ci'), finish('tool-calls')]],
    ['a streamed call that never became whole', [...streamed('a', '{"ci'), finish('tool-calls')]],
    [
      'a chunk that the library could not read, then stop',
      [
        { type: 'text-delta', id: '0', delta: 'a' },
        { type: 'error', error: Object.assign(new Error('x'), { name: 'AI_JSONParseError' }) },
        finish('stop'),
      ],
    ],
    ['a stream without a finish', [{ type: 'text-delta', id: '0', delta: 'a' }]],
    ['the finish reason interrupted', [{ type: 'text-delta', id: '0', delta: 'a' }, finish('interrupted')]],
    [
      'a part of an unknown kind',
      [{ type: 'text-delta', id: '0', delta: 'a' }, { type: 'file', data: '' }, finish('stop')],
    ],
  ])('B3 %s is no success', (_, parts) => {
    expect(assemble(parts)).toMatchObject({ kind: 'bad', reason: 'protocol_error' })
  })

  it.each<[string, Part]>([
    ['a call', toolCall('a', '{}', { providerExecuted: true })],
    ['a result', { type: 'tool-result', toolCallId: 'a', toolName: 'q', result: {} }],
  ])('T6 %s of a tool that the provider runs itself is refused', (_, part) => {
    expect(assemble([part, finish('stop')])).toMatchObject({ kind: 'bad', reason: 'protocol_error' })
  })

  it('N1 an error part that is a plain object is classified', () => {
    expect(() => partReader(0).read({ type: 'error', error: { type: 'overloaded_error' } })).toThrow(
      expect.objectContaining({ code: 'model_transient' }),
    )
  })

  it('B3 a streamed call and its whole form are one call', () => {
    expect(assemble([...streamed('a', '{"x":'), toolCall('a', '{"x":1}'), finish('tool-calls')])).toMatchObject({
      kind: 'calls',
      calls: [{ id: 'a', arguments: '{"x":1}' }],
    })
  })

  it('T1 signatures of reasoning, calls and text return unread with the next request', () => {
    const answer = assemble([
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { redacted: 'z' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'because' },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { p: { signature: 's1' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Wait.' },
      { type: 'text-end', id: 't', providerMetadata: { p: { itemId: 'i' } } },
      toolCall('a', '{"x":1}', { providerMetadata: { p: { thoughtSignature: 's2' } } }),
      finish('tool-calls'),
    ])
    if (answer.kind !== 'calls') throw new Error('no calls')
    const { text, calls, reasoning } = answer
    const stored: unknown = JSON.parse(JSON.stringify(reasoning))
    expect(promptOf([{ role: 'assistant', text, calls, reasoning: stored as NonNullable<typeof reasoning> }])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'because', providerOptions: { p: { redacted: 'z', signature: 's1' } } },
          { type: 'text', text: 'Wait.', providerOptions: { p: { itemId: 'i' } } },
          {
            type: 'tool-call',
            toolCallId: 'a',
            toolName: 'q',
            input: { x: 1 },
            providerOptions: { p: { thoughtSignature: 's2' } },
          },
        ],
      },
    ])
  })

  it('T1 reasoning state of another adapter is skipped', () => {
    expect(promptOf([{ role: 'assistant', text: 'a', calls: [], reasoning: { foreign: true } }])).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
    ])
  })

  it('C2 the results of one turn stand in one message', () => {
    const result = (callId: string) => ({ role: 'tool', callId, name: 'q', text: 'r' }) as const
    expect(
      promptOf([result('a'), result('b'), { role: 'user', text: 'u' }, result('c')]).map((message) => message['role']),
    ).toEqual(['tool', 'user', 'tool'])
  })
})

describe('a model of the AI SDK', () => {
  const model = (specificationVersion: string, fail: () => never) => ({
    specificationVersion,
    provider: 'p',
    modelId: 'm',
    doStream: async () => fail(),
  })
  const never = (): never => {
    throw Object.assign(new Error('aborted'), { name: 'AI_APICallError', statusCode: 500 })
  }

  it('N3 specifications 3 and 4 are taken and no other', () => {
    expect(aiSdk(model('v3', never)).id).toBe('p/m')
    expect(aiSdk(model('v4', never)).id).toBe('p/m')
    expect(() => aiSdk(model('v2', never))).toThrow(Fault)
    const typed = (real: LanguageModelV3) => aiSdk(real)
    expect(typed).toBeTypeOf('function')
  })

  it('K3 trap 6: an abort that the library reports as a failed call stays an abort', async () => {
    const stop = new AbortController()
    const parts = aiSdk(
      model('v4', () => {
        stop.abort('stopped')
        return never()
      }),
    ).stream({ messages: [], tools: [], maxOutputTokens: 1 }, stop.signal)
    await expect(parts[Symbol.asyncIterator]().next()).rejects.toBe('stopped')
  })
})
