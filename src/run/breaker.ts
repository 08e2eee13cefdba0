/**
 * The loop breaker: a model that asks for the same again is stopped long before its budget is.
 *
 * B2  the n-th identical call ends the run; A/B/A/B inside the window counts; an identical call right after its own
 *     failure is not executed and answers the stored error; the n-th identical error ends the run
 */
import { hashBytes } from '../kernel/canonical.ts'
import type { BreakerLimits, ToolOutcome } from '../tool/contract.ts'
import type { EndReason } from './reasons.ts'
import type { Call, PastCall } from './state.ts'

export const DEFAULT_BREAKER: BreakerLimits = { identicalCalls: 3, identicalErrors: 3, alternation: true, ignore: [] }

/** Two different calls that alternate twice: A, B, A, and now B. */
function alternates(past: readonly PastCall[], fingerprint: string): boolean {
  const [a, b, c] = past.slice(-3).map((p) => p.fingerprint)
  return a !== undefined && b === fingerprint && a === c && a !== b
}

/** Why a proposed call ends the run, before anything of its step is executed. */
export function repeats(past: readonly PastCall[], fingerprint: string, limits: BreakerLimits): EndReason | null {
  const same = past.filter((p) => p.fingerprint === fingerprint).length
  if (same + 1 >= limits.identicalCalls) return 'repeated_action'
  if (limits.alternation && alternates(past, fingerprint)) return 'repeated_action'
  return null
}

/**
 * The stored error of the last call when it is this very call: it would fail again, so it is answered and not executed.
 * Not so after `stale_plan`: that asks for the same call on a new plan, and the count of identical calls bounds it (J12).
 */
export function storedError(past: readonly PastCall[], fingerprint: string): ToolOutcome | null {
  const last = past.at(-1)
  if (last?.fingerprint !== fingerprint || !last.outcome || last.outcome.ok) return null
  return last.outcome.error.code === 'stale_plan' ? null : last.outcome
}

/** An error as the breaker compares it: the same tool failing in the same way. */
export function errorHash(call: Pick<Call, 'tool' | 'outcome'>): string | null {
  if (!call.outcome || call.outcome.ok) return null
  return hashBytes(`${call.tool}\n${call.outcome.error.code}\n${call.outcome.error.hint}`)
}

/** Why a failed call ends the run. `past` holds the earlier calls only. */
export function repeatsError(past: readonly PastCall[], error: string | null, limits: BreakerLimits): EndReason | null {
  if (error === null) return null
  const same = past.filter((p) => p.error === error).length
  return same + 1 >= limits.identicalErrors ? 'repeated_error' : null
}

/** A call as the run remembers it. */
export const pastOf = (
  step: number,
  call: Pick<Call, 'fingerprint' | 'tool' | 'level' | 'position' | 'outcome'>,
): PastCall => ({
  fingerprint: call.fingerprint,
  error: errorHash(call),
  outcome: call.outcome,
  effect: call.level === 'read' ? null : { step, position: call.position, tool: call.tool },
})

/** An error that the contract declares to end the run: nothing else of the step starts after it. */
export const isStop = (call: Pick<Call, 'outcome' | 'stops'>): boolean =>
  call.outcome !== null && !call.outcome.ok && call.stops.includes(call.outcome.error.code)
