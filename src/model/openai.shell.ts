/**
 * Any URL that speaks the chat completions dialect, over one fetch and no library of a provider.
 *
 * B5  one request per call: no retry, no redirect
 * B6  neither the key nor the URL is in any error
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { Fault } from '../kernel/fault.ts'
import { systemClock } from '../kernel/system.shell.ts'
import type { MediaFacts, MediaKind } from '../kernel/media.ts'
import type { JsonObject } from '../kernel/json.ts'
import {
  failureOfEvent,
  failureOfStatus,
  failureOfThrown,
  parseBody,
  parseRetryAfter,
  type Failure,
} from './failure.ts'
import { chunkReader, type ChunkReader } from './openai-chunks.ts'
import { requestBody, type RequestShape } from './openai-request.ts'
import { isPrice } from './price.ts'
import type { Model, ModelPart, ModelRequest, Price } from './port.ts'

export interface OpenAICompatibleOptions {
  /** Without `/chat/completions`, which is added before a query string. */
  readonly baseUrl: string
  readonly model: string
  /** Sent as a bearer; without it the server is asked without a credential. */
  readonly apiKey?: string | undefined
  readonly headers?: { readonly [name: string]: string }
  /** Default 32 000 tokens: what nearly every hosted model can read. */
  readonly contextTokens?: number
  /** Default 4 096 tokens. */
  readonly maxOutputTokens?: number
  /** Without it the money of a budget is settled at the dearest list prices: 15 and 75 dollars per million tokens. */
  readonly price?: Price
  /** Kinds besides text that the model reads: `['image', 'pdf']`. Default: none. */
  readonly input?: readonly MediaKind[]
  /** Tokens of a part, where they are known better than by the estimate. */
  readonly countMedia?: (media: MediaFacts) => number
  /** Some newer models of OpenAI refuse the older name, which other servers need. Default `max_tokens`. */
  readonly maxTokensName?: RequestShape['maxTokensName']
  /** Further fields of the request body, such as `temperature`. */
  readonly extraBody?: JsonObject
  readonly fetch?: typeof globalThis.fetch
}

/** An error body longer than this is not read further: nobody reads it but our classification. */
const ERROR_BODY_BYTES = 16_384
/** One event of the stream; far above any delta, far below what hurts. */
const EVENT_CHARS = 1_048_576

export function openAICompatible(options: OpenAICompatibleOptions): Model {
  const url = endpoint(options.baseUrl)
  if (typeof options.model !== 'string' || options.model === '')
    throw new Fault('invalid_definition', '`model` must name a model of the provider.')
  if (options.price !== undefined && !isPrice(options.price))
    throw new Fault('invalid_definition', '`price` must hold finite numbers of cents, 0 or more.')
  const ask = options.fetch ?? globalThis.fetch
  const shape: RequestShape = {
    model: options.model,
    maxTokensName: options.maxTokensName ?? 'max_tokens',
    extra: options.extraBody ?? {},
  }
  const headers = {
    ...options.headers,
    ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    'content-type': 'application/json',
    accept: 'text/event-stream',
  }
  const stream = async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    signal.throwIfAborted()
    try {
      const body = JSON.stringify(requestBody(request, shape))
      const response = await ask(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
      yield* readResponse(response)
    } catch (error) {
      signal.throwIfAborted()
      throw Fault.is(error) ? error : asFault(failureOfThrown(error, systemClock.now()))
    }
  }
  return {
    id: `${url.host}/${options.model}`,
    contextTokens: options.contextTokens ?? 32_000,
    maxOutputTokens: options.maxOutputTokens ?? 4_096,
    price: options.price ?? null,
    ...(options.input && { input: options.input }),
    ...(options.countMedia && { countMedia: options.countMedia }),
    stream,
  }
}

function endpoint(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Fault('invalid_definition', '`baseUrl` must be an http or https URL.')
  if (url.username !== '' || url.password !== '')
    throw new Fault('invalid_definition', '`baseUrl` must not hold a credential; use `apiKey` or `headers`.')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  return url
}

/** The cause stays behind: its text may hold URLs, headers or the prompt. */
const asFault = ({ code, ...time }: Failure): Fault => new Fault(code, undefined, time)

async function* readResponse(response: Response): AsyncGenerator<ModelPart> {
  const type = response.headers.get('content-type') ?? ''
  if (response.status === 200 && response.body !== null && type.includes('text/event-stream')) {
    yield* readEvents(response.body)
    return
  }
  const body = parseBody(await readStart(response, ERROR_BODY_BYTES))
  if (response.status === 200) {
    const isError = typeof body === 'object' && body !== null && 'error' in body && body.error !== null
    throw isError
      ? asFault(failureOfEvent(body))
      : new Fault('model_protocol', 'The provider did not answer with a stream of events.')
  }
  const retryAfterMs = parseRetryAfter((name) => response.headers.get(name), systemClock.now())
  throw asFault(failureOfStatus(response.status, body, retryAfterMs))
}

/** At most `limit` bytes of a body, as text; the rest is refused. */
async function readStart(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const body: ReadableStream<Uint8Array> | null = response.body
  if (body === null) return text
  for await (const piece of body) {
    text += decoder.decode(piece.subarray(0, limit - bytes), { stream: true })
    bytes += piece.byteLength
    if (bytes >= limit) break
  }
  return text
}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ModelPart> {
  const eventsIn = eventDecoder()
  const chunks = chunkReader()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const isOver = yield* interpret(eventsIn(value), chunks)
      if (isOver || done) return
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Returns true at the end mark; what stands behind it is not read. */
function* interpret(events: readonly StreamEvent[], chunks: ChunkReader): Generator<ModelPart, boolean> {
  for (const event of events) {
    if (event === 'damaged') yield { kind: 'damaged', detail: 'bytes that are no event' }
    else if (event.data === '[DONE]') return true
    else if (event.event === 'error') throw new Fault(failureOfEvent(parseBody(event.data)).code)
    else yield* chunks.read(event.data)
  }
  return false
}

type StreamEvent = EventSourceMessage | 'damaged'

/** The events that become whole with these bytes; `undefined` bytes are the end. */
function eventDecoder(): (bytes: Uint8Array | undefined) => readonly StreamEvent[] {
  const events: StreamEvent[] = []
  const parser = createParser({
    maxBufferSize: EVENT_CHARS,
    onEvent: (event) => void events.push(event),
    // An unknown field would be a delta whose `data:` was damaged on the way.
    onError: (error) => {
      if (error.type !== 'invalid-retry') events.push('damaged')
    },
  })
  // Fatal: a replacement character would be damage that nobody sees.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (bytes) => {
    try {
      parser.feed(bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }))
    } catch {
      events.push('damaged')
    }
    return events.splice(0)
  }
}
