/** A caller of the HTTP planes: what the commands, and the tour, know of a running server. */
import { randomUUID } from 'node:crypto'
import { Fault, type FaultCode, FAULTS } from '../kernel/fault.ts'
import { announcedServer, readAccess } from './access.ts'

/** An answer as it came. */
export interface Answer {
  readonly status: number
  readonly body: Body
}

/** JSON of our own server: read field by field, printed through `visible`. */
export type Body = Readonly<Record<string, unknown>>

/** A field as text for people; what is no word is shown as JSON. */
export function field(body: Body, name: string): string {
  const value = body[name]
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '–')
}

export interface Sent {
  readonly body?: unknown
  /** The version that was seen. */
  readonly version?: number
  /** The key of idempotency; default: a fresh one. */
  readonly key?: string
}

export interface Client {
  readonly url: string
  readonly bearer: string
  /** Whatever came. @throws Fault `server_unreachable` when nobody answers */
  ask(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, sent?: Sent): Promise<Answer>
  /** The body of a good answer. @throws the Fault that the server told */
  get(path: string): Promise<Body>
  post(path: string, sent?: Sent): Promise<Body>
  put(path: string, sent?: Sent): Promise<Body>
  patch(path: string, sent?: Sent): Promise<Body>
  delete(path: string): Promise<Body>
  /** Bytes as they come. @throws the Fault that the server told */
  bytes(path: string): Promise<AsyncIterable<Uint8Array>>
  /** The same server, asked by an end user: with a token that this client's service key mints. */
  as(user: string): Promise<Client>
}

/** A server that does not answer in this time is no server. */
const ANSWER_MS = 30_000

export function client(url: string, bearer: string): Client {
  async function ask(method: string, path: string, { body, version, key }: Sent = {}): Promise<Answer> {
    const headers: Record<string, string> = { authorization: `Bearer ${bearer}` }
    if (method === 'POST' || method === 'PATCH') headers['idempotency-key'] = key ?? randomUUID()
    if (version !== undefined) headers['if-match'] = `"v${version}"`
    if (body !== undefined) headers['content-type'] = 'application/json'
    const signal = AbortSignal.timeout(ANSWER_MS)
    try {
      const response = await fetch(url + path, {
        method,
        headers,
        signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Body) }
    } catch (error) {
      throw new Fault('server_unreachable', `No server answers at ${url}.`, { cause: error })
    }
  }
  async function good(...asked: Parameters<typeof ask>): Promise<Body> {
    const { status, body } = await ask(...asked)
    if (status < 400) return body
    throw faultOf(body)
  }
  return {
    url,
    bearer,
    ask,
    get: (path) => good('GET', path),
    post: (path, sent) => good('POST', path, sent),
    put: (path, sent) => good('PUT', path, sent),
    patch: (path, sent) => good('PATCH', path, sent),
    delete: (path) => good('DELETE', path),
    async bytes(path) {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${bearer}` } }).catch(
        (cause: unknown) => {
          throw new Fault('server_unreachable', `No server answers at ${url}.`, { cause })
        },
      )
      if (response.ok && response.body) return response.body
      throw faultOf((await response.json()) as Body)
    },
    async as(user) {
      const { token } = await good('POST', '/v1/tokens', { body: { user } })
      return client(url, String(token))
    },
  }
}

function faultOf(problem: Body): Fault {
  const code = String(problem['code'])
  if (!Object.hasOwn(FAULTS, code)) return new Fault('internal', 'The server gave an answer that is none of ours.')
  const errors = Array.isArray(problem['errors']) ? (problem['errors'] as { path: string; message: string }[]) : []
  const reasons = Array.isArray(problem['reasons']) ? (problem['reasons'] as string[]) : []
  const why = reasons.length > 0 ? ` Reasons: ${reasons.join(', ')}.` : ''
  return new Fault(code as FaultCode, String(problem['detail']) + why, { errors })
}

export interface Reach {
  readonly url: string | undefined
  readonly data: string
}

/**
 * The running server of this folder, or of PLIMSOLL_URL. The key is that of PLIMSOLL_KEY, or of the folder.
 * @throws Fault `server_unreachable`, `unauthenticated`
 */
export async function reach({ url, data }: Reach, kind: 'service' | 'operator'): Promise<Client> {
  const there = url ?? (await announcedServer(data))
  if (there === null) throw new Fault('server_unreachable', `No server is known in ${data}.`)
  const key = process.env.PLIMSOLL_KEY ?? (await readAccess(data))?.[kind]
  if (key === undefined) throw new Fault('unauthenticated', `There is no key in ${data}, and PLIMSOLL_KEY is not set.`)
  return client(there.replace(/\/+$/, ''), key)
}
