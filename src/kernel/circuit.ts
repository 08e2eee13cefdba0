/**
 * A circuit breaker as a value: whether one more call may go to somebody outside who has been failing (N4). Pure.
 *
 * Closed, it lets everything pass and counts failures in a row. After enough of them it opens: nothing passes for a
 * while. Then one call may try; its success closes the circuit, its failure doubles the while.
 */

/** Fewer in a row is a hiccup: at one failure in three, five in a row are one in 243 calls. */
export const FAILURES = 5
/** A restart of a service takes about as long. */
const SHORTEST_MS = 10_000
/** Whoever is away for longer is looked for as often as that. */
const LONGEST_MS = 300_000

export interface Circuit {
  readonly failures: number
  /** Null when it is closed; else from when on one call may try. On a monotonic clock. */
  readonly opensAt: number | null
  readonly whileMs: number
  /** One call is trying. */
  readonly trying: boolean
}

export const CLOSED: Circuit = { failures: 0, opensAt: null, whileMs: SHORTEST_MS, trying: false }

/** What a call showed of the other side: it answered, it failed to, or we left before either. */
export type Showed = 'answered' | 'failed' | 'nothing'

/** The circuit with this call on its way; null when it may not go. */
export function passed(circuit: Circuit, now: number): Circuit | null {
  if (circuit.opensAt === null) return circuit
  return circuit.trying || now < circuit.opensAt ? null : { ...circuit, trying: true }
}

/** The circuit after a call that it let pass; `enough` failures in a row open it. */
export function judged(circuit: Circuit, showed: Showed, now: number, enough = FAILURES): Circuit {
  if (showed === 'nothing') return { ...circuit, trying: false }
  if (showed === 'answered') return CLOSED
  if (circuit.opensAt !== null) {
    // calls that were under way when it opened say nothing new
    if (!circuit.trying) return circuit
    const whileMs = Math.min(LONGEST_MS, circuit.whileMs * 2)
    return { ...circuit, trying: false, whileMs, opensAt: now + whileMs }
  }
  const failures = circuit.failures + 1
  return failures < enough ? { ...circuit, failures } : { ...circuit, failures, opensAt: now + circuit.whileMs }
}
