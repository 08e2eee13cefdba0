/**
 * A request with a key happens once (A13): its claim is stored before it starts, its answer after it ended. Who repeats
 * it meanwhile waits, who repeats it later gets the stored answer.
 */
import { hashJson } from '../kernel/canonical.ts'
import { Fault, type FaultCode, FAULTS } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Random } from '../kernel/random.ts'
import type { Scope } from '../kernel/scope.ts'
import type { IdempotencyStore, KeyClaim } from './idempotency.store.ts'

export interface OnceRequest {
  readonly caller: string
  readonly key: string | undefined
  /** Method and path. */
  readonly operation: string
  readonly body: Json
  readonly run: string
}

export interface Once {
  readonly status: number
  readonly body: Json
  readonly replayed: boolean
}

export interface Performed {
  readonly status: number
  readonly body: Json
  /** The transition itself has stored the answer. */
  readonly stored?: boolean
}

/** Visible ASCII, because it travels in a header and lies in an index. */
const KEY = /^[\x21-\x7e]{1,255}$/
const RETRY_MS = 1_000

/**
 * `stored`: refusals that are themselves answers, such as that a confirmation was decided before. Any other failure frees
 * the key, since nothing happened.
 */
export async function once(
  parts: { readonly idempotency: IdempotencyStore; readonly random: Random },
  scope: Scope,
  request: OnceRequest,
  perform: (claim: { readonly taken: boolean }) => Promise<Performed>,
  stored: readonly FaultCode[] = [],
): Promise<Once> {
  const claim = claimOf(request, parts.random)
  const claimed = await parts.idempotency.claim(scope, claim)
  switch (claimed.state) {
    case 'other_body':
      throw new Fault('idempotency_key_reused')
    case 'in_flight':
      throw new Fault('idempotency_in_flight', undefined, { retryAfterMs: RETRY_MS })
    case 'answered':
      if (claimed.status >= 400) throw restored(claimed.body)
      return { status: claimed.status, body: claimed.body, replayed: true }
    case 'mine':
      break
    default:
      return claimed satisfies never
  }
  try {
    const done = await perform({ taken: claimed.taken })
    if (!done.stored) await parts.idempotency.complete(scope, claim, done.status, done.body)
    return { status: done.status, body: done.body, replayed: false }
  } catch (error) {
    if (isTakenOver(error)) throw new Fault('idempotency_in_flight', undefined, { retryAfterMs: RETRY_MS })
    if (Fault.is(error) && stored.includes(error.code)) {
      const body = { code: error.code, facts: { ...error.facts }, detail: error.message }
      await parts.idempotency.complete(scope, claim, FAULTS[error.code].http, body)
    } else if (Fault.is(error) && FAULTS[error.code].http < 500) {
      await parts.idempotency.release(scope, claim)
    }
    // whoever does not know whether it happened leaves the claim: it is taken over when it is old
    throw error
  }
}

function claimOf({ key, caller, operation, body, run }: OnceRequest, random: Random): KeyClaim {
  if (key === undefined || key === '') throw new Fault('idempotency_key_missing')
  if (!KEY.test(key))
    throw new Fault('invalid_request', undefined, {
      errors: [{ path: '/headers/idempotency-key', message: 'has 1 to 255 visible ASCII characters' }],
    })
  return { key, caller, operation, run, bodyHash: hashJson(body), token: random.bytes(16) }
}

function restored(body: Json): Fault {
  const { code, detail, facts } = body as unknown as Pick<Fault, 'code' | 'facts'> & { readonly detail: string }
  return new Fault(code, detail, { facts: { ...facts, replayed: true } })
}

/** The transition found that another has taken the key: nothing of it was stored. */
function isTakenOver(error: unknown): boolean {
  const codes = [error, error instanceof Error ? error.cause : null]
  return codes.some((one) => one instanceof Error && 'code' in one && one.code === 'PL001')
}
