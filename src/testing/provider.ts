/**
 * A provider that speaks the chat completions dialect over real HTTP, on a free port of this machine.
 *
 * The `model` of a request chooses who answers: one of the given models, or a misbehaviour by its name.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import type { Model } from '../model/port.ts'
import { MISBEHAVIOUR, type Behaviour } from './misbehaviour.ts'
import { chunkOf, modelRequest, type WireRequest } from './provider-wire.ts'

export interface ProviderRequest {
  readonly body: WireRequest
  readonly headers: IncomingMessage['headers']
  /** The client's end of the connection. */
  readonly clientPort: number | undefined
  /** Bytes given to the connection so far. */
  bytesSent(): number
  /** Resolves when the exchange is over: true when the client closed it before our end. */
  readonly closedByClient: Promise<boolean>
}

export interface FakeProvider {
  /** Ends in `/v1`, without a slash. */
  readonly baseUrl: string
  /** In the order of arrival. */
  readonly requests: readonly ProviderRequest[]
  close(): Promise<void>
}

export interface FakeProviderOptions {
  /** By the name that a request asks for. */
  readonly models?: { readonly [name: string]: Model }
  readonly behaviours?: { readonly [name: string]: Behaviour }
}

export async function fakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const requests: ProviderRequest[] = []
  const turns = new Map<string, number>()
  const behaviours: { readonly [name: string]: Behaviour } = { ...MISBEHAVIOUR, ...options.behaviours }

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = JSON.parse(await text(incoming)) as WireRequest
    const turn = (turns.get(request.model) ?? 0) + 1
    turns.set(request.model, turn)
    const { socket } = incoming
    const closedByClient = new Promise<boolean>((resolve) =>
      response.once('close', () => resolve(!response.writableFinished)),
    )
    requests.push({
      body: request,
      headers: incoming.headers,
      clientPort: socket.remotePort,
      bytesSent: () => socket.bytesWritten,
      closedByClient,
    })
    const model = options.models?.[request.model]
    const behaviour = model === undefined ? behaviours[request.model] : plays(model)
    if (behaviour === undefined)
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"code":"model_not_found"}}')
    else await behaviour({ request, turn, response })
  }

  const server = createServer((incoming, response) => void answer(incoming, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { baseUrl: `http://127.0.0.1:${port}/v1`, requests, close }
}

/** Puts one of our models behind the wire. Its faults become the statuses that a provider would send. */
function plays(model: Model): Behaviour {
  return async ({ request, response }) => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const keys: string[] = []
    try {
      for await (const part of model.stream(modelRequest(request), gone.signal)) {
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
        const wire = chunkOf(part, keys)
        if (wire !== null) response.write(`data: ${JSON.stringify(wire)}\n\n`)
      }
      response.end('data: [DONE]\n\n')
    } catch (error) {
      if (response.headersSent || !Fault.is(error)) response.destroy()
      else refuse(response, error)
    }
  }
}

const STATUS_OF_FAULT: { readonly [code in FaultCode]?: number } = {
  model_rate_limited: 429,
  model_transient: 503,
  model_auth: 401,
  model_invalid_request: 400,
}

function refuse(response: ServerResponse, fault: Fault): void {
  const time = fault.retryAfterMs === null ? {} : { 'retry-after-ms': String(fault.retryAfterMs) }
  const body = JSON.stringify({ error: { code: fault.code, message: fault.message } })
  response.writeHead(STATUS_OF_FAULT[fault.code] ?? 500, { 'content-type': 'application/json', ...time }).end(body)
}
