/** When a read that failed is tried again (N2): the adapter's own retry, inside the time of one call. Pure. */
import type { Contract } from './contract.ts'
import { declaredError } from './toolerror.ts'

/** Most failures of a moment are over by then; each further attempt waits for up to twice as long. */
const FIRST_WAIT_MS = 200

export interface Failure {
  readonly thrown: unknown
  /** How many attempts have failed, from 1. */
  readonly failed: number
  /** Milliseconds that the call has left. */
  readonly leftMs: number
  /** From [0, 1): callers that failed together do not come back together. */
  readonly fraction: number
}

/** Milliseconds until the next attempt, or null when there is none: an undeclared error is never retried (I1). */
export function retryWait(
  contract: Pick<Contract, 'attempts' | 'errors'>,
  { thrown, failed, leftMs, fraction }: Failure,
): number | null {
  if (failed >= contract.attempts) return null
  const declared = declaredError(contract, thrown)
  if (declared?.class.reaction !== 'retry') return null
  const wait = Math.max(declared.afterMs, Math.ceil(fraction * FIRST_WAIT_MS * 2 ** (failed - 1)))
  return wait < leftMs ? wait : null
}
