/**
 * The recorded model as an OpenAI-compatible server on loopback: `POST /v1/chat/completions`.
 *
 * It remembers nothing between requests: the whole history in the request finds the recorded answer. A history that no
 * recording has is 409 `history_differs`; one after which the recording stops is 410 `recording_ended`.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { KEEP_ALIVE_MS } from './child.ts'
import { completionOf, usageOf, writesOf } from './chunks.ts'
import type { Conversation } from './conversations.ts'
import { type HistoryIndex, indexHistories, type Match, type WireMessage } from './history.ts'

/** What became of one request, without its content. */
export type Seen = {
  readonly kind: Match['kind']
  readonly conversation: string
  readonly position: number
  /** The role of the first message that no recording has there; null where there is none. */
  readonly role: string | null
}

export interface Recording {
  /** The base URL that a client is given; ends in `/v1`. */
  readonly url: string
  readonly index: HistoryIndex
  readonly requests: readonly Seen[]
  stop(): Promise<void>
}

type Body = {
  readonly model?: string
  readonly messages?: readonly WireMessage[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly user?: string
}

const REFUSALS = {
  differs: { status: 409, code: 'history_differs', message: 'No recording has this history.' },
  ended: { status: 410, code: 'recording_ended', message: 'The recording stops after this history.' },
  ambiguous: {
    status: 409,
    code: 'history_ambiguous',
    message: 'Several recordings have this history; send X-Conversation.',
  },
  unreadable: { status: 400, code: 'invalid_request', message: 'The body is not a chat completions request.' },
  elsewhere: { status: 404, code: 'not_found', message: 'There is only POST /v1/chat/completions.' },
} as const

export async function startRecording(options: {
  readonly transcripts: readonly Conversation[]
  /** 0 takes any free port. */
  readonly port?: number
}): Promise<Recording> {
  const index = indexHistories(options.transcripts)
  const requests: Seen[] = []
  const server = createServer((request, response) => {
    answer(index, requests, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    index,
    requests,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(
  index: HistoryIndex,
  requests: Seen[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET' && request.url === '/requests') {
    sendJson(response, 200, requests)
    return
  }
  const asksModel = request.method === 'POST' && request.url === '/v1/chat/completions'
  const body = asksModel ? await bodyOf(request) : null
  if (!Array.isArray(body?.messages)) {
    refuse(response, asksModel ? 'unreadable' : 'elsewhere')
    return
  }
  const meant = request.headers['x-conversation']
  const match = index.find(body.messages, typeof meant === 'string' ? meant : body.user)
  requests.push(seenOf(match))
  if (match.kind === 'answer') await sendAnswer(response, body, match)
  else refuse(response, match.kind)
}

async function sendAnswer(
  response: ServerResponse,
  body: Body,
  { conversation, position, message }: Match & { kind: 'answer' },
): Promise<void> {
  const head = { id: `chatcmpl-${conversation}-${position}`, model: body.model ?? 'recorded' }
  const usage = usageOf(JSON.stringify(body.messages).length, message)
  if (body.stream !== true) {
    sendJson(response, 200, completionOf(head, message, usage))
    return
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' })
  const pieces = writesOf(head, message, body.stream_options?.include_usage === true ? usage : null)
  await pipeline(Readable.from(pieces), response)
}

function seenOf(match: Match): Seen {
  if (match.kind === 'ambiguous') return { kind: match.kind, conversation: '', position: 0, role: null }
  const { kind, conversation, position } = match
  return { kind, conversation, position, role: match.kind === 'differs' ? match.role : null }
}

async function bodyOf(request: IncomingMessage): Promise<Body | null> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8')) as Body | null
  } catch {
    return null
  }
}

function refuse(response: ServerResponse, kind: keyof typeof REFUSALS): void {
  const { status, code, message } = REFUSALS[kind]
  // asking again cannot help, and some clients repeat a 409 unless they are told so
  response.setHeader('x-should-retry', 'false')
  sendJson(response, status, { error: { message, type: 'invalid_request_error', param: null, code } })
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(value))
}
