/** A run that waits holds no worker, no lease and no reservation. */
import { next } from './next.ts'
import { type CallWait, isOpenEffect, type Run, type WaitReason } from './state.ts'
import { type Moved, NOTHING, type NewEvent, type Writes } from './writes.ts'

/** `dueMs`: when a worker must look again, from now; null when only a person can help. */
export function park(run: Run, reason: WaitReason, dueMs: number | null, writes: Writes = NOTHING): Moved {
  const told: NewEvent = { seq: run.eventSeq + 1, type: 'run_parked', body: { reason } }
  return {
    run: { ...run, status: 'waiting_confirmation', wait: reason, attempts: 0, eventSeq: told.seq },
    writes: { ...writes, events: [...writes.events, told], dueMs },
  }
}

/**
 * The run waits, if there is nothing else that can be done: for an operator, for people, for others outside. What nobody
 * can tell comes before what somebody may decide: approving must not run beside an unknown effect. A run that has been
 * decided on, told or canceled since does not lie down: nobody would wake it again.
 */
export function lieDown(run: Run, writes: Writes = NOTHING): Moved {
  if (run.calls.some((c) => c.status === 'unknown')) return park(run, 'unknown_effect', null, writes)
  const waits = run.calls.flatMap((c) => (c.status === 'waiting' && c.wait ? [c.wait] : []))
  const open = run.calls.filter((c) => c.status === 'intended')
  const asked = open.flatMap((c) => (c.confirmation?.status === 'pending' ? [c.confirmation.leftMs] : []))
  // behind an effect that waits outside its siblings wait too, whatever is or is not decided about them
  const isAbroad = run.calls.some(isOpenEffect)
  const times = [...waits.map((w) => w.leftMs), ...(isAbroad ? [] : asked)]
  if (hasWork(run) || times.length === 0) return { run, writes }
  return park(run, reasonOf(asked, waits), Math.max(0, Math.min(...times)), writes)
}

/**
 * By the same rule that sends a worker here: a run that is told to park and does not lie down would be told so again at once,
 * and again. Whether a time is over is read anew by whoever is waked by it.
 */
function hasWork(run: Run): boolean {
  const calls = run.calls.map((c) => (c.wait ? { ...c, wait: { ...c.wait, leftMs: Number.POSITIVE_INFINITY } } : c))
  return next({ ...run, calls, status: 'running' }, Number.POSITIVE_INFINITY).do !== 'park'
}

/**
 * Nobody follows the run: it waits for one who does, as long as its own time and what it waits for outside last (K2).
 * `back` is the run with its books closed. What has started, or was stopped, is brought to its end instead.
 */
export function parkAlone(run: Run, back: Moved, leftMs: number): Moved {
  if (run.cancel !== null || run.calls.some((c) => c.status === 'started')) return back
  const asleep = lieDown({ ...back.run, status: 'running' }, back.writes)
  if (asleep.run.status !== 'running') return asleep
  const times = run.calls.flatMap((c) => (c.status === 'waiting' && c.wait ? [c.wait.leftMs] : []))
  return park(back.run, 'follower', Math.max(0, Math.min(leftMs, ...times)), back.writes)
}

function reasonOf(asked: readonly number[], waits: readonly CallWait[]): WaitReason {
  if (asked.some((ms) => ms > 0)) return 'confirmation'
  if (waits.length === 0) return 'confirmation'
  return waits.some((w) => w.signal !== null) ? 'external' : 'timer'
}
