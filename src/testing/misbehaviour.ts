/** What real providers and gateways have been seen to do, each under a name that a request asks for as its `model`. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../kernel/json.ts'
import { chunk, fragment, usageChunk, type WireRequest } from './provider-wire.ts'

export interface Exchange {
  readonly request: WireRequest
  /** 1 for the first request of this model name, 2 for the second. */
  readonly turn: number
  readonly response: ServerResponse
}

export type Behaviour = (exchange: Exchange) => void | Promise<void>

const DONE = '[DONE]'
const event = (data: JsonObject | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const openStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

/** A stream of these events that ends well as HTTP, whatever it says. */
const says =
  (...events: readonly (JsonObject | string)[]): Behaviour =>
  ({ response }) => {
    openStream(response).end(events.map(event).join(''))
  }

/** The events, and then silence or a cut, once they have left. */
const saysThen =
  (then: (response: ServerResponse) => void, ...events: readonly (JsonObject | string)[]): Behaviour =>
  ({ response }) => {
    openStream(response)
    response.write(events.map(event).join(''), () => then(response))
  }

const refuses =
  (status: number, body: JsonObject | string, headers: { [name: string]: string } = {}): Behaviour =>
  ({ response }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response
      .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json', ...headers })
      .end(text)
  }

const hello = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hel' }), chunk({ content: 'lo' })]
const well = says(...hello, chunk({}, 'stop'), usageChunk(20, 4), DONE)
const limited = refuses(429, { error: { message: 'slow down', code: 'rate_limit_exceeded' } }, { 'retry-after': '2' })
const text = chunk({ content: 'half' })
const callStart = fragment({ index: 0, id: 'call_1', name: 'weather', arguments: '{"ci' })
const twoCalls = (first: number | null | undefined, second: number | null | undefined): Behaviour => {
  const index = (value: number | null | undefined): { index?: number | null } =>
    value === undefined ? {} : { index: value }
  return says(
    fragment({ ...index(first), id: 'a', name: 'q', arguments: '{"x":1}' }),
    fragment({ ...index(second), id: 'b', name: 'q', arguments: '{"x":2}' }),
    chunk({}, 'tool_calls'),
    DONE,
  )
}

/** 64 MiB of one call's arguments, as fast as the reader takes them. */
const endlessArguments: Behaviour = async ({ response }) => {
  const gone = once(response, 'close')
  openStream(response).write(event(callStart))
  const piece = event(fragment({ index: 0, arguments: 'x'.repeat(65_536) }))
  for (let sent = 0; sent < 1024 && !response.destroyed; sent += 1) {
    if (response.write(piece)) continue
    await Promise.race([once(response, 'drain'), gone])
  }
  response.end(event(chunk({}, 'tool_calls')) + event(DONE))
}

/** Each byte of `你好 🚀 naïve` and of each \r\n in a chunk of its own. */
const byteByByte: Behaviour = async ({ response }) => {
  openStream(response)
  const events = [chunk({ content: '你好 🚀' }), chunk({ content: ' naïve\r\n' }), chunk({}, 'stop'), DONE]
  const bytes = Buffer.from(events.map(event).join('').replaceAll('\n', '\r\n'))
  for (const byte of bytes) {
    await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
  response.end()
}

export const MISBEHAVIOUR = {
  well,
  reasoning: says(chunk({ reasoning_content: 'hm ' }), chunk({ content: 'Yes.' }), chunk({}, 'stop'), DONE),
  parallel_calls: says(
    chunk({ content: 'Looking.' }),
    fragment({ index: 0, id: 'call_1', name: 'weather', arguments: '' }),
    fragment({ index: 1, id: 'call_2', name: 'weather', arguments: '{"city":' }),
    fragment({ index: 0, arguments: '{"city":"Paris"}' }),
    fragment({ index: 1, arguments: '"Rome"}' }),
    chunk({}, 'tool_calls'),
    usageChunk(10, 5),
    DONE,
  ),
  malformed_chunk: says(chunk({ content: 'a' }), '{not json', chunk({}, 'stop'), DONE),
  cut_in_arguments: says(text, callStart),
  cut_in_text: says(text),
  truncated_arguments: says(callStart, chunk({}, 'tool_calls'), DONE),
  invalid_arguments: says(
    fragment({ index: 0, id: 'call_1', name: 'weather', arguments: '{bad' }),
    chunk({}, 'tool_calls'),
    DONE,
  ),
  error_event: says(text, { error: { message: 'overloaded', type: 'server_error', code: 'x' } }),
  reset_after_text: saysThen((response) => response.destroy(), text),
  reset_before_output: ({ response }) => void response.destroy(),
  hang: saysThen(() => {}, chunk({ role: 'assistant', content: '' })),
  hang_after_text: saysThen(() => {}, text),
  no_usage: says(...hello, chunk({}, 'stop'), DONE),
  cumulative_usage: says(usageChunk(27, 1), ...hello, chunk({}, 'stop'), usageChunk(27, 47), DONE),
  negative_usage: says(...hello, chunk({}, 'stop'), usageChunk(-5, 4), DONE),
  empty_stream: says(),
  only_done: says(DONE),
  blank_text: says(chunk({ content: '  \n' }), chunk({}, 'stop'), DONE),
  only_reasoning: says(chunk({ reasoning_content: 'hm' }), chunk({}, 'stop'), DONE),
  length: says(text, chunk({}, 'length'), DONE),
  length_in_arguments: says(callStart, chunk({}, 'length'), DONE),
  content_filter: says(text, chunk({}, 'content_filter'), DONE),
  same_id_twice: says(
    fragment({ index: 0, id: 'call_1', name: 'q', arguments: '{"x":1}' }),
    fragment({ index: 1, id: 'call_1', name: 'q', arguments: '{"x":2}' }),
    chunk({}, 'tool_calls'),
    DONE,
  ),
  same_index_twice: twoCalls(0, 0),
  missing_index: twoCalls(undefined, undefined),
  null_index: twoCalls(null, null),
  unattributable: says(
    fragment({ index: 0, id: 'a', name: 'q', arguments: '{"x"' }),
    fragment({ index: 1, id: 'b', name: 'q', arguments: '{"x"' }),
    fragment({ arguments: ':1}' }),
    chunk({}, 'tool_calls'),
    DONE,
  ),
  endless_arguments: endlessArguments,
  byte_by_byte: byteByByte,
  rate_limited: limited,
  rate_limited_once: (exchange) => (exchange.turn > 1 ? well(exchange) : limited(exchange)),
  fails_once: (exchange) => (exchange.turn > 1 ? well(exchange) : refuses(503, '<html>busy</html>')(exchange)),
  unauthorized: refuses(401, { error: { message: 'key sk-secret is wrong', code: 'invalid_api_key' } }),
  redirect: refuses(307, '', { location: 'http://127.0.0.1:1/v1/chat/completions' }),
  page_instead_of_stream: refuses(200, '<html>welcome</html>'),
} as const satisfies { readonly [name: string]: Behaviour }
