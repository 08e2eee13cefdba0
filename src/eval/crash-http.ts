/** Callers of the crash runs: real requests, which may be sent again with the same key. */
import { randomBytes } from 'node:crypto'

export interface Request {
  readonly path: string
  readonly body: object
  readonly version?: number
  readonly bearer: string
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** It is the recorded answer of an earlier request with this key. */
  readonly isReplay: boolean
}

export const newKey = (): string => randomBytes(8).toString('hex')

/** Null when the server is gone before it has answered. `key` null: none is sent. */
export async function send(
  url: string,
  { path, body, version, bearer }: Request,
  key: string | null = newKey(),
): Promise<Answer | null> {
  try {
    const reply = await fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json',
        ...(key === null ? {} : { 'idempotency-key': key }),
        ...(version === undefined ? {} : { 'if-match': `"v${version}"` }),
      },
      body: JSON.stringify(body),
    })
    const isReplay = reply.headers.get('idempotency-replayed') === 'true'
    return { status: reply.status, text: await reply.text(), isReplay }
  } catch {
    return null
  }
}

/** A token for this end user, by a service key. */
export async function bearerOf(url: string, service: string, user: string): Promise<string> {
  const made = await send(url, { path: '/v1/tokens', body: { user, subject: user }, bearer: service }, null)
  return (JSON.parse(made?.text ?? '{}') as { token: string }).token
}

type Problem = Readonly<Partial<Record<'code' | 'outcome', string>>>

export const problemOf = ({ status, text }: Answer): Problem =>
  status < 400 ? {} : (JSON.parse(text || '{}') as Problem)

export const codeOf = (answer: Answer): string => problemOf(answer).code ?? ''
