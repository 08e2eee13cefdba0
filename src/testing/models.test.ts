import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { absorb, close, openAnswer } from '../model/assembly.ts'
import { openAICompatible } from '../model/openai.shell.ts'
import type { Model, ModelAnswer, ModelMessage, ModelRequest } from '../model/port.ts'
import { fakeProvider } from './provider.ts'
import { recorded, type RecordedMessage } from './recorded.ts'
import { scripted } from './scripted.ts'

const ask = async (
  model: Model,
  messages: readonly ModelMessage[],
  tools: ModelRequest['tools'] = [],
): Promise<ModelAnswer> => {
  let state = openAnswer()
  for await (const part of model.stream({ messages, tools, maxOutputTokens: 100 }, new AbortController().signal))
    state = absorb(state, part)
  return close(state, { aborted: false })
}
const user = (text: string): ModelMessage => ({ role: 'user', text })

describe('a scripted model', () => {
  it('O1 uses up a list request by request and refuses after its end', async () => {
    const model = scripted([{ text: 'one' }, { calls: [{ name: 'q', arguments: { x: 1 } }] }, { fault: 'model_auth' }])
    expect(await ask(model, [user('a')])).toMatchObject({ kind: 'final', text: 'one' })
    expect(await ask(model, [user('a')])).toMatchObject({
      kind: 'calls',
      calls: [{ id: 'call_0_0', name: 'q', arguments: '{"x":1}' }],
    })
    await expect(ask(model, [user('a')])).rejects.toMatchObject({ code: 'model_auth' })
    await expect(ask(model, [user('a')])).rejects.toMatchObject({ code: 'model_invalid_request' })
  })

  it('O1 a function answers from the request alone, so that a restart changes nothing', async () => {
    const make = () => scripted((_, turn) => ({ text: `turn ${turn}` }))
    const history: ModelMessage[] = [user('a'), { role: 'assistant', text: 'b', calls: [] }, user('c')]
    expect(await ask(make(), history)).toEqual(await ask(make(), history))
    expect(await ask(make(), history)).toMatchObject({ text: 'turn 1' })
  })

  it('O1 small deltas never cut a character in two', async () => {
    const text = '🚀'.repeat(40) + '审批流程a🚀'.repeat(10)
    const deltas: string[] = []
    for await (const part of scripted([{ text }]).stream(
      { messages: [], tools: [], maxOutputTokens: 1 },
      new AbortController().signal,
    )) {
      if (part.kind === 'text') deltas.push(part.delta)
    }
    expect(deltas.join('')).toBe(text)
    expect(deltas.length).toBeGreaterThan(5)
    expect(deltas.some((delta) => /\p{Cs}/u.test(delta))).toBe(false)
  })

  it('Q1 usage is estimated unless it is given', async () => {
    expect(
      (await ask(scripted([{ text: 'Hello' }]), [user('审批流程'.repeat(25))])).usage.input,
    ).toBeGreaterThanOrEqual(100)
    expect((await ask(scripted([{ text: 'Hello', usage: { input: 3 } }]), [])).usage).toEqual({ input: 3 })
  })

  it('A1 an unknown built-in name is a clear fault', () => {
    expect(() => scripted('refund-demon')).toThrow(/refund-demo/)
  })

  it('K1 stops between two deltas', async () => {
    const stop = new AbortController()
    const parts = scripted([{ text: 'a long text of several deltas' }]).stream(
      { messages: [], tools: [], maxOutputTokens: 1 },
      stop.signal,
    )
    const reader = parts[Symbol.asyncIterator]()
    await reader.next()
    stop.abort('stop')
    await expect(reader.next()).rejects.toBe('stop')
  })
})

describe('the refund script', () => {
  const model = scripted('refund-demo')
  const tools = [{ name: 'orders_refund', description: '', inputSchema: {} }]
  const wish = user('Please refund order 1042.')
  const propose = async (): Promise<readonly ModelMessage[]> => {
    const answer = await ask(model, [wish], tools)
    if (answer.kind !== 'calls') throw new Error('no call')
    return [wish, { role: 'assistant', text: answer.text, calls: answer.calls }]
  }
  const after = async (result: object): Promise<ModelAnswer> =>
    ask(
      model,
      [...(await propose()), { role: 'tool', callId: 'call_0_0', name: 'orders_refund', text: JSON.stringify(result) }],
      tools,
    )

  it('O1 proposes the refund of the order that the user named', async () => {
    expect(await ask(model, [wish], tools)).toMatchObject({
      kind: 'calls',
      calls: [{ name: 'orders_refund', arguments: '{"orderId":"1042","cents":1200}' }],
    })
    expect(await ask(model, [user('Refund $7.50 of order 2001')], tools)).toMatchObject({
      calls: [{ arguments: '{"orderId":"2001","cents":750}' }],
    })
  })

  it('O1 asks when nothing says which order', async () => {
    expect(await ask(model, [user('hello')], tools)).toMatchObject({
      kind: 'final',
      text: expect.stringContaining('1042'),
    })
  })

  it.each([
    [{ refundId: 're_1' }, /12\.00 for order 1042/],
    [{ code: 'confirmation_rejected', message: 'm', retryable: false, hint: 'h' }, /rejected/],
    [{ error: { code: 'confirmation_expired' } }, /not approved in time/],
    [{ code: 'permission_denied' }, /permission_denied/],
  ])('O1 says what became of it: %j', async (result, words) => {
    const answer = await after(result)
    expect(answer.kind).toBe('final')
    expect(answer.text).toMatch(words)
  })
})

describe('a recorded model', () => {
  const conversation: RecordedMessage[] = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'q', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c', name: 'q', content: 'r' },
    { role: 'assistant', content: 'bye' },
  ]
  const called: ModelMessage = { role: 'assistant', text: '', calls: [{ id: 'c', name: 'q', arguments: '{}' }] }
  const result: ModelMessage = { role: 'tool', callId: 'c', name: 'q', text: 'another result' }

  it('O1 finds its answer by the number of messages, whatever rules stand before them', async () => {
    const model = recorded(conversation)
    expect(await ask(model, [{ role: 'system', text: 's' }, user('hi')])).toMatchObject({
      kind: 'calls',
      calls: [{ id: 'c' }],
    })
    expect(await ask(model, [user('hi'), called, result])).toMatchObject({ kind: 'final', text: 'bye' })
  })

  it.each<[string, ModelMessage[], RegExp]>([
    ['other words', [user('hello')], /Message 1 .* words/],
    ['another role', [user('hi'), user('hi')], /Message 2 .* role/],
    ['other calls', [user('hi'), { ...called, calls: [] }, result], /Message 2 .* calls/],
    ['the end', [user('hi'), called, result, { role: 'assistant', text: 'bye', calls: [] }, user('more')], /Message 5/],
    ['a turn that is not the model’s', [user('hi'), called], /not the model/],
  ])('O1 refuses a history that differs: %s', async (_, messages, words) => {
    const failure = await ask(recorded(conversation), messages).catch((error: unknown) => error)
    expect(Fault.is(failure) && failure.code).toBe('model_invalid_request')
    expect(String(failure)).toMatch(words)
  })
})

const transcripts = join(
  process.env['PLIMSOLL_DATA'] ?? join(import.meta.dirname, '../../../shared/data'),
  'airline/transcripts.jsonl',
)
describe.skipIf(!existsSync(transcripts))(`recorded conversations of ${transcripts} over real HTTP`, () => {
  it('O1 each answer of the model arrives as it was recorded', { timeout: 30_000 }, async () => {
    for await (const line of createInterface({ input: createReadStream(transcripts) })) {
      const { id, messages } = JSON.parse(line) as { id: string; messages: RecordedMessage[] }
      if (!id.endsWith('trial0')) continue
      const provider = await fakeProvider({ models: { [id]: recorded(messages) } })
      const model = openAICompatible({ baseUrl: provider.baseUrl, model: id })
      const history: ModelMessage[] = []
      for (const message of messages) {
        if (message.role === 'user') history.push(user(message.content ?? ''))
        else if (message.role === 'tool')
          history.push({
            role: 'tool',
            callId: message.tool_call_id ?? '',
            name: message.name ?? '',
            text: message.content ?? '',
          })
        else if (message.role === 'assistant') {
          const answer = await ask(model, history)
          const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
          expect(answer).toMatchObject(
            calls.length > 0
              ? { kind: 'calls', text: message.content ?? '', calls }
              : { kind: 'final', text: message.content },
          )
          history.push({ role: 'assistant', text: answer.text, calls })
        }
      }
      await provider.close()
    }
  })
})
