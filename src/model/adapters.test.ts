import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { systemClock, systemRandom } from '../kernel/system.shell.ts'
import type { MISBEHAVIOUR } from '../testing/misbehaviour.ts'
import { fakeProvider, type FakeProvider } from '../testing/provider.ts'
import { scripted } from '../testing/scripted.ts'
import { aiSdk } from './aisdk.shell.ts'
import { attempt, type AttemptResult } from './attempt.shell.ts'
import { openAICompatible } from './openai.shell.ts'
import type { Model, ModelPart, ModelRequest } from './port.ts'

let provider: FakeProvider
beforeAll(async () => {
  provider = await fakeProvider()
})
afterAll(() => provider.close())

const ADAPTERS: { readonly [name: string]: (model: string) => Model } = {
  own: (model) => openAICompatible({ baseUrl: provider.baseUrl, model, apiKey: 'sk-secret' }),
  aiSdk: (model) =>
    aiSdk(
      createOpenAICompatible({ name: 'fake', baseURL: provider.baseUrl, apiKey: 'sk-secret', includeUsage: true })(
        model,
      ),
    ),
}

const REQUEST: ModelRequest = {
  messages: [
    { role: 'system', text: 'rules' },
    { role: 'user', text: 'weather?' },
  ],
  tools: [
    { name: 'weather', description: 'd', inputSchema: { type: 'object', properties: { city: { type: 'string' } } } },
  ],
  maxOutputTokens: 100,
}

const ask = (
  model: Model,
  options: { request?: ModelRequest; signal?: AbortSignal; onPart?: (n: number, part: ModelPart) => void } = {},
): Promise<AttemptResult> =>
  attempt({
    model,
    request: options.request ?? REQUEST,
    signal: options.signal ?? new AbortController().signal,
    clock: systemClock,
    random: systemRandom,
    deadlineMs: systemClock.now() + 60_000,
    maxAttempts: 1,
    ...(options.onPart === undefined ? {} : { onPart: options.onPart }),
  })

type Expected = { answer: object } | { fault: string; partial?: string }
const bad = (reason: string): Expected => ({ answer: { kind: 'bad', reason } })
const call = (id: string, args: string, name = 'q'): object => ({ id, name, arguments: args })

const TWO_CALLS: Expected = { answer: { kind: 'calls', calls: [call('a', '{"x":1}'), call('b', '{"x":2}')] } }

const ALIKE: readonly [keyof typeof MISBEHAVIOUR, string, Expected][] = [
  [
    'well',
    'B3 a clean answer with usage',
    { answer: { kind: 'final', text: 'Hello', usage: { input: 20, output: 4 }, model: 'fake-1' } },
  ],
  ['reasoning', 'T1 reasoning is no text of the answer', { answer: { kind: 'final', text: 'Yes.' } }],
  [
    'parallel_calls',
    'B3 interleaved parallel calls are not mixed',
    {
      answer: {
        kind: 'calls',
        text: 'Looking.',
        calls: [call('call_1', '{"city":"Paris"}', 'weather'), call('call_2', '{"city":"Rome"}', 'weather')],
      },
    },
  ],
  ['malformed_chunk', 'B3 trap 1: a malformed chunk before finish stop', bad('protocol_error')],
  ['cut_in_arguments', 'B3 trap 2: a stream cut inside arguments', bad('protocol_error')],
  ['cut_in_text', 'B3 a stream that ends without saying so', bad('protocol_error')],
  ['truncated_arguments', 'B3 trap 3, BR-028: cut arguments labelled tool_calls', bad('protocol_error')],
  [
    'invalid_arguments',
    'B3 BR-033 invalid arguments are left to the gate, unrepaired',
    { answer: { kind: 'calls', calls: [call('call_1', '{bad', 'weather')] } },
  ],
  ['error_event', 'N1 trap 4: an error event after text', { fault: 'model_transient', partial: 'half' }],
  [
    'reset_after_text',
    'N1 trap 5: a reset after text, whatever it says of itself',
    { fault: 'model_transient', partial: 'half' },
  ],
  ['reset_before_output', 'N1 a reset before any output', { fault: 'model_transient', partial: '' }],
  ['cumulative_usage', 'Q1 BR-041 repeated usage is not added up', { answer: { usage: { input: 27, output: 47 } } }],
  ['negative_usage', 'Q1 negative usage is unknown and flagged', { answer: { usage: { output: 4, suspect: true } } }],
  ['empty_stream', 'B3 trap 8: an empty stream', bad('protocol_error')],
  ['only_done', 'B3 a stream of nothing but its end mark', bad('protocol_error')],
  ['blank_text', 'B3 BR-031 only white space', bad('empty_final')],
  ['only_reasoning', 'B3 BR-031 only reasoning', bad('empty_final')],
  ['length', 'B3 a text cut for length', bad('truncated')],
  ['length_in_arguments', 'B3 BR-027 arguments cut for length', bad('truncated')],
  ['content_filter', 'B3 a filtered text', bad('content_filtered')],
  ['same_index_twice', 'B3 BR-034 one index for two ids is two calls', TWO_CALLS],
  ['missing_index', 'B3 BR-034 no index', TWO_CALLS],
  ['null_index', 'B3 BR-034 index null', TWO_CALLS],
  ['unattributable', 'B3 BR-034 a fragment that could belong to several calls', bad('protocol_error')],
  [
    'byte_by_byte',
    'B3 bytes split inside UTF-8 and inside CRLF',
    { answer: { kind: 'final', text: '你好 🚀 naïve\r\n' } },
  ],
  ['unauthorized', 'N1 a refused key', { fault: 'model_auth' }],
  ['endless_arguments', 'Q1 64 MiB of arguments', bad('protocol_error')],
]

const found = (result: AttemptResult): object =>
  'fault' in result
    ? { fault: result.fault.code, partial: 'text' in result.partial ? result.partial.text : '' }
    : { answer: result.answer }

describe.each(Object.keys(ADAPTERS))('the %s adapter', (name) => {
  const model = (behaviour: string): Model => (ADAPTERS[name] as (model: string) => Model)(behaviour)

  it.each(ALIKE)('%s: %s', async (behaviour, _, expected) => {
    expect(found(await ask(model(behaviour)))).toMatchObject(expected)
  })

  it('K1 trap 6: an abort closes the connection and keeps its cause, not an error of the provider', async () => {
    const stop = new AbortController()
    const cause = new Fault('canceled', 'The user pressed stop.')
    const result = await ask(model('hang_after_text'), {
      signal: stop.signal,
      onPart: (_, part) => part.kind === 'text' && stop.abort(cause),
    })
    expect('fault' in result && result.fault).toBe(cause)
    expect(found(result)).toMatchObject({ partial: 'half' })
    expect(await provider.requests.at(-1)?.closedByClient).toBe(true)
  })

  it('Q1 64 MiB of arguments are stopped early by closing the connection', async () => {
    await ask(model('endless_arguments'))
    const request = provider.requests.at(-1)
    expect(await request?.closedByClient).toBe(true)
    expect(request?.bytesSent()).toBeLessThan(32 * 1_048_576)
  })

  it('B5 one call is one request, also when the provider asks for a repeat; its time reaches the retry layer', async () => {
    const before = provider.requests.length
    const result = await ask(model('rate_limited'))
    expect('fault' in result && [result.fault.code, result.fault.retryAfterMs]).toEqual(['model_rate_limited', 2000])
    expect(provider.requests.length - before).toBe(1)
  })

  it('K3 trap 7: usage that the provider did not send is absent, not 0', async () => {
    const result = await ask(model('no_usage'))
    const usage = 'answer' in result ? result.answer.usage : {}
    expect([usage.input, usage.output]).toEqual([undefined, undefined])
  })

  it('B6 no error text holds the key, the URL or words of the provider', async () => {
    for (const behaviour of ['unauthorized', 'error_event', 'reset_before_output', 'malformed_chunk']) {
      const result = await ask(model(behaviour))
      const text =
        'fault' in result
          ? `${result.fault.message} ${result.fault.stack ?? ''} ${String(result.fault.cause)}`
          : JSON.stringify(result.answer)
      expect(text).not.toMatch(/sk-secret|127\.0\.0\.1|overloaded/)
    }
  })

  it('B3 a conversation with calls goes out as the provider expects it, with ids as recorded', async () => {
    const messages: ModelRequest['messages'] = [
      ...REQUEST.messages,
      { role: 'assistant', text: '', calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' }] },
      { role: 'tool', callId: 'call_1', name: 'weather', text: '{"sky":"blue"}' },
      { role: 'assistant', text: 'Blue.', calls: [] },
      { role: 'user', text: 'And Paris?' },
      { role: 'assistant', text: 'Wait.', calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' }] },
      { role: 'tool', callId: 'call_1', name: 'weather', text: 'rain' },
    ]
    await ask(model('well'), { request: { ...REQUEST, messages } })
    const body = provider.requests.at(-1)?.body
    const wired = (args: string) => ({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: args } })
    expect(body).toMatchObject({
      model: 'well',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      tools: [{ type: 'function', function: { name: 'weather', description: 'd', parameters: { type: 'object' } } }],
      messages: [
        { role: 'system', content: 'rules' },
        { role: 'user', content: 'weather?' },
        { role: 'assistant', content: null, tool_calls: [wired('{"city":"Rome"}')] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"sky":"blue"}' },
        { role: 'assistant', content: 'Blue.' },
        { role: 'user', content: 'And Paris?' },
        { role: 'assistant', content: 'Wait.', tool_calls: [wired('{"city":"Paris"}')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
    })
    expect(provider.requests.at(-1)?.headers.authorization).toBe('Bearer sk-secret')
  })
})

describe('the own adapter, where it is stricter', () => {
  it('B3 two calls with one id fail the attempt; the last one never wins', async () => {
    expect(found(await ask(ADAPTERS['own']!('same_id_twice')))).toMatchObject(bad('protocol_error'))
  })

  it.each([
    ['redirect', 'model_invalid_request'],
    ['page_instead_of_stream', 'model_protocol'],
    ['no_such_model', 'model_invalid_request'],
  ])('N1 %s is refused as %s', async (behaviour, code) => {
    expect(found(await ask(ADAPTERS['own']!(behaviour)))).toMatchObject({ fault: code })
  })

  it('B6 a credential in the URL is refused when the model is defined, without being repeated', () => {
    expect(() => openAICompatible({ baseUrl: 'https://user:hunter2@host/v1', model: 'm' })).toThrow(
      /must not hold a credential/,
    )
    expect(() => openAICompatible({ baseUrl: 'ftp://host', model: 'm' })).toThrow(/http or https/)
  })

  it('Q1 the connection is kept for the next request', async () => {
    const fresh = await fakeProvider({ models: { chatty: scripted(() => ({ text: 'a text of several deltas' })) } })
    const model = openAICompatible({ baseUrl: `${fresh.baseUrl}/`, model: 'chatty' })
    for (let n = 0; n < 6; n += 1) await ask(model)
    expect(fresh.requests.length).toBe(6)
    // Fetch opens a second one while the first is being given back.
    expect(new Set(fresh.requests.map((request) => request.clientPort)).size).toBeLessThanOrEqual(2)
    await fresh.close()
  })
})
