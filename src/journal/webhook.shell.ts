/** One attempt at one endpoint: a signed POST, and what came of it. */
import type { Clock } from '../kernel/clock.ts'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import type { Egress } from '../tool/egress/egress.shell.ts'
import type { Target } from './outbox.store.ts'
import { signedHeaders } from './webhook.ts'

export interface Answered {
  readonly ok: boolean
  /** Null without an answer. */
  readonly status: number | null
  readonly fault: FaultCode
  /** What the endpoint asks for in `Retry-After`. */
  readonly waitMs: number | null
  readonly millis: number
}

/** What is no success within this time is a failure: a receiver takes the message and works on it later. */
const TIMEOUT_MS = 15_000
/** Nobody reads the answer. */
const ANSWER_BYTES = 64 * 1024
const GONE = 410

export const isGone = ({ status }: Answered): boolean => status === GONE

/** Never rejects. A redirect is a failure: an address that has moved is changed by a person. */
export async function post(
  { egress, clock }: { readonly egress: Egress; readonly clock: Clock },
  target: Target,
  message: { readonly id: string; readonly body: string },
  signal: AbortSignal,
): Promise<Answered> {
  const from = clock.monotonic()
  const ended = (status: number | null, fault: FaultCode, waitMs: number | null = null): Answered => ({
    ok: status !== null && status >= 200 && status < 300,
    status,
    fault,
    waitMs,
    millis: Math.round(clock.monotonic() - from),
  })
  try {
    const { id, body } = message
    const fetch = egress.fetch({
      hosts: [new URL(target.url).host],
      timeoutMs: TIMEOUT_MS,
      maxBytes: ANSWER_BYTES,
      redirects: 0,
    })
    const response = await fetch(target.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'plimsoll-webhook',
        ...signedHeaders(id, Math.floor(clock.now() / 1000), body, target.secrets),
      },
      body,
      signal,
    })
    await response.body?.cancel()
    const asked = Number(response.headers.get('retry-after'))
    return ended(response.status, 'egress_failed', asked > 0 ? asked * 1000 : null)
  } catch (error) {
    return ended(null, Fault.is(error) ? error.code : 'egress_failed')
  }
}
