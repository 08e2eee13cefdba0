/** Money for the next model call: where it comes from, and what ends the run when there is none. */
import { heldReservation, reserve, settleLost } from './budget.ts'
import { endRun } from './end.ts'
import { bill } from './ledger.ts'
import type { EndReason } from './reasons.ts'
import type { Amount, Run } from './state.ts'
import { type Moved, NOTHING, type NewEvent } from './writes.ts'

/** What the next call may cost; or why there is none. `run` has already settled everything else. */
export function reserveNext(run: Run): { readonly amount: Amount } | { readonly end: EndReason } {
  if (run.step >= run.limits.steps) return { end: 'step_limit' }
  const spent = { tokens: run.used.tokens + run.reserved.tokens, cost: run.used.cost + run.reserved.cost }
  const wanted = reserve(run, spent, run.promptTokens)
  if (!wanted.ok) return { end: wanted.reason }
  return { amount: { tokens: wanted.reservation.tokens, cost: wanted.reservation.cost } }
}

/**
 * A reservation outside of a step: none is held, the one held is too small for a conversation that has grown since, or
 * its worker was lost. A lost attempt is billed in full first (L3, L4); what nobody used goes back.
 */
export function absorbReservation(run: Run): Moved | null {
  if (run.calls.length > 0 || (!run.lost && heldReservation(run))) return null
  const lost = run.lost && run.reserved.tokens > 0
  const closing = { kind: 'recovery', ...(lost ? { spent: settleLost(run) } : {}), released: run.reserved } as const
  const wanted = reserveNext(bill(run, closing).run)
  if ('end' in wanted) return endRun(run, wanted.end, NOTHING)
  const opened = bill(run, { ...closing, reserved: wanted.amount })
  const told = lost ? [attemptLost(run)] : []
  return {
    run: { ...opened.run, lost: false, eventSeq: run.eventSeq + told.length },
    writes: { ...NOTHING, ledger: opened.ledger, events: told },
  }
}

const attemptLost = (run: Run): NewEvent => ({
  seq: run.eventSeq + 1,
  type: 'attempt_lost',
  body: { step: run.step + 1, attempts: run.attempts },
})

/**
 * A worker that stops politely is no loss, so no attempt is counted (P6). Money for a model call that was surely not made
 * goes back; what may have been spent is billed as it was reserved, since nobody will ever know (L3).
 */
export function absorbHandBack(run: Run, asked: boolean): Moved {
  const queued: Run = { ...run, status: 'queued' }
  if (run.reserved.tokens === 0 && run.reserved.cost === 0) return { run: queued, writes: NOTHING }
  const lost = run.lost || asked
  const closed = bill(queued, {
    kind: 'recovery',
    ...(lost ? { spent: settleLost(run) } : {}),
    released: run.reserved,
  })
  const told = lost ? [attemptLost(run)] : []
  return {
    run: { ...closed.run, lost: false, eventSeq: run.eventSeq + told.length },
    writes: { ...NOTHING, ledger: closed.ledger, events: told },
  }
}
