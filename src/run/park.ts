/** A run that waits holds no worker, no lease and no reservation. */
import type { Run, WaitReason } from './state.ts'
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
 * What nobody can tell comes before what somebody may decide: approving must not run beside an unknown effect. A run
 * that has been decided on or canceled since does not lie down: nobody would wake it again.
 */
export function parkForPeople(run: Run, writes: Writes = NOTHING): Moved {
  if (run.calls.some((c) => c.status === 'unknown')) return park(run, 'unknown_effect', null, writes)
  const open = run.calls.filter((c) => c.status === 'intended')
  const times = open.flatMap((c) => (c.confirmation?.status === 'pending' ? [c.confirmation.leftMs] : []))
  if (run.cancel || times.length === 0 || times.length < open.length) return { run, writes }
  return park(run, 'confirmation', Math.max(0, Math.min(...times)), writes)
}
