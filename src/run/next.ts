/**
 * What has to be done for a run now. Pure, and the same after a crash as before it: recovery is no other path (L3).
 *
 * B1  cancel, deadline, steps, tokens and cost are looked at before every model call and every tool call
 * J4  a started effect is asked for before anything else; what nobody can tell waits for an operator
 * J7  what has started is settled even when the run is canceled; what has not started never starts
 * T3  a call that waits outside holds nobody: it is resumed when its time is over or its signal is there
 */
import type { FaultCode } from '../kernel/fault.ts'
import { isStop } from './breaker.ts'
import { heldReservation, type Reservation, reserve } from './budget.ts'
import { END_OF_CANCEL, type EndReason } from './reasons.ts'
import { type Call, isOpenEffect, type Run } from './state.ts'

export type Action =
  | { readonly do: 'rest' }
  | { readonly do: 'end'; readonly reason: EndReason }
  | { readonly do: 'reserve' }
  | { readonly do: 'call_model'; readonly reservation: Reservation }
  | { readonly do: 'run_reads'; readonly calls: readonly Call[] }
  | { readonly do: 'plan'; readonly calls: readonly Call[] }
  | { readonly do: 'refuse'; readonly calls: readonly Call[]; readonly code: FaultCode }
  | { readonly do: 'start'; readonly call: Call }
  | { readonly do: 'recover'; readonly call: Call }
  /** `isLast`: nobody will wait any longer, whatever is heard now. */
  | { readonly do: 'resume'; readonly call: Call; readonly isLast: boolean }
  | { readonly do: 'give_up'; readonly call: Call }
  | { readonly do: 'park' }
  | { readonly do: 'finish_step' }

/** `leftMs`: milliseconds until the deadline of the run. */
export function next(run: Run, leftMs: number): Action {
  if (run.status !== 'running') return { do: 'rest' }
  const exhausted = run.attempts >= run.limits.attempts
  const started = run.calls.find((c) => c.status === 'started')
  if (started) return exhausted ? { do: 'give_up', call: started } : { do: 'recover', call: started }
  if (run.calls.some((c) => c.status === 'unknown')) return { do: 'park' }
  const abroad = run.calls.find(isOpenEffect)
  if (abroad && exhausted) return { do: 'give_up', call: abroad }
  if (abroad && (run.cancel || leftMs <= 0)) return { do: 'resume', call: abroad, isLast: true }
  if (run.cancel) return { do: 'end', reason: END_OF_CANCEL[run.cancel] }
  if (leftMs <= 0) return { do: 'end', reason: 'deadline' }
  if (exhausted) return { do: 'end', reason: 'attempts_exhausted' }
  return run.calls.length > 0 ? nextOfCalls(run) : nextModelCall(run)
}

function nextOfCalls(run: Run): Action {
  const open = run.calls.filter((c) => c.status === 'intended')
  const waiting = run.calls.filter((c) => c.status === 'waiting')
  if (open.length + waiting.length === 0) return { do: 'finish_step' }
  const heard = waiting.find((c) => c.wait?.arrived || (c.wait?.leftMs ?? 0) <= 0)
  if (heard) return { do: 'resume', call: heard, isLast: false }
  // effects run one at a time (I7), and no run ends beside one whose outcome is open
  const abroad = waiting.some(isOpenEffect)
  const ending = (reason: EndReason): Action => (abroad ? { do: 'park' } : { do: 'end', reason })
  if (run.calls.some(isStop)) return ending('stopped_by_tool')
  const decided = (...statuses: string[]) =>
    open.filter((c) => c.confirmation && statuses.includes(c.confirmation.status))

  const rejected = decided('rejected')
  if (rejected.length > 0 && run.rules.onReject === 'end') return ending('confirmation_rejected')
  if (rejected.length > 0) return { do: 'refuse', calls: rejected, code: 'confirmation_rejected' }
  const superseded = decided('superseded')
  if (superseded.length > 0) return { do: 'refuse', calls: superseded, code: 'stale_plan' }

  const reads = open.filter((c) => c.level === 'read')
  if (reads.length > 0) return { do: 'run_reads', calls: reads }
  const ready = open.find((c) => c.approval === 'auto' || c.confirmation?.status === 'approved')
  if (ready && !abroad) return { do: 'start', call: ready }
  const unplanned = open.filter((c) => c.confirmation === null && c.approval !== 'auto')
  if (unplanned.length > 0) return { do: 'plan', calls: unplanned }
  const late = open.some((c) => c.confirmation?.status === 'expired' || (c.confirmation?.leftMs ?? 0) <= 0)
  return late ? ending('confirmation_expired') : { do: 'park' }
}

function nextModelCall(run: Run): Action {
  if (run.step >= run.limits.steps) return { do: 'end', reason: 'step_limit' }
  const held = run.lost ? null : heldReservation(run)
  if (held) return { do: 'call_model', reservation: held }
  const spent = { tokens: run.used.tokens + run.reserved.tokens, cost: run.used.cost + run.reserved.cost }
  const wanted = reserve(run, spent, run.promptTokens)
  return wanted.ok ? { do: 'reserve' } : { do: 'end', reason: wanted.reason }
}
