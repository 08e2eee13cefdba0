/** Faults as `application/problem+json` (RFC 9457). Everything in it comes from the table of faults. */
import { Fault, FAULTS, type FaultCode, type FaultRow } from '../kernel/fault.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: FaultCode
  readonly next: string
  readonly retryable: boolean
  readonly retry_after_ms?: number
  readonly run_id?: string
  readonly current_version?: number
  readonly outcome?: string
  readonly reasons?: readonly string[]
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

/** Where nothing better is known: long enough not to be a hammer, short enough for a person. */
const RETRY_MS = 1_000

/** `error` is anything that was thrown; what is not for users is told as `unavailable` or `internal`. */
export function problemOf(
  error: unknown,
  instance: string,
): { readonly body: Problem; readonly headers: Record<string, string> } {
  const fault = publicFault(error)
  const row: FaultRow = FAULTS[fault.code]
  const retryable = row.reaction === 'retry'
  const retryMs = fault.retryAfterMs ?? (retryable ? RETRY_MS : null)
  const { currentVersion, outcome, reasons, run, replayed, size } = fault.facts
  const body: Problem = {
    type: `/docs/faults.md#${fault.code}`,
    title: row.cause,
    status: row.http,
    detail: fault.message,
    instance,
    code: fault.code,
    next: row.next,
    retryable,
    ...(retryMs !== null && { retry_after_ms: retryMs }),
    ...(run !== undefined && { run_id: run }),
    ...(currentVersion !== undefined && { current_version: currentVersion }),
    ...(outcome !== undefined && { outcome }),
    ...(reasons !== undefined && { reasons }),
    ...(fault.errors.length > 0 && { errors: fault.errors }),
  }
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  if (retryMs !== null) headers['retry-after'] = String(Math.max(1, Math.ceil(retryMs / 1000)))
  if (fault.code === 'unauthenticated') headers['www-authenticate'] = 'Bearer'
  if (fault.code === 'input_too_large') headers['connection'] = 'close'
  if (size !== undefined) headers['content-range'] = `bytes */${size}`
  if (replayed === true) headers['idempotency-replayed'] = 'true'
  return { body, headers }
}

/** What operators alone may read is told to the rest in one of two ways. */
function publicFault(error: unknown): Fault {
  if (!Fault.is(error)) return new Fault('internal')
  const row: FaultRow = FAULTS[error.code]
  if (row.audience !== 'operator') return error
  return new Fault(row.http === 503 ? 'unavailable' : 'internal')
}
