/** The row of the ledger that goes with a transition, and the counters that it moves. */
import { reserve, settleLost, type Spent } from './budget.ts'
import { endRun } from './end.ts'
import type { EndReason } from './reasons.ts'
import type { Amount, Run } from './state.ts'
import { type LedgerEntry, type Moved, NOTHING, type NewEvent } from './writes.ts'

const NONE: Amount = { tokens: 0, cost: 0 }

export interface Bill {
  readonly kind: LedgerEntry['kind']
  readonly spent?: Spent
  readonly toolCalls?: number
  readonly released?: Amount
  readonly reserved?: Amount
}

export function bill(run: Run, entry: Bill): { readonly run: Run; readonly ledger: LedgerEntry } {
  const { spent, released = NONE, reserved = NONE, toolCalls = 0 } = entry
  const tokens = spent ? spent.inputTokens + spent.outputTokens : 0
  const cost = spent?.cost ?? 0
  return {
    run: {
      ...run,
      used: { toolCalls: run.used.toolCalls + toolCalls, tokens: run.used.tokens + tokens, cost: run.used.cost + cost },
      reserved: {
        tokens: run.reserved.tokens + reserved.tokens - released.tokens,
        cost: run.reserved.cost + reserved.cost - released.cost,
      },
    },
    ledger: {
      kind: entry.kind,
      inputTokens: spent?.inputTokens ?? 0,
      outputTokens: spent?.outputTokens ?? 0,
      cost,
      known: spent?.known ?? true,
      toolCalls,
      reserved,
      released,
    },
  }
}

/** Money for the next model call; or why there is none. `run` has already settled everything else. */
export function reserveNext(run: Run): { readonly amount: Amount } | { readonly end: EndReason } {
  if (run.step >= run.limits.steps) return { end: 'step_limit' }
  const wanted = reserve(
    run,
    { tokens: run.used.tokens + run.reserved.tokens, cost: run.used.cost + run.reserved.cost },
    run.promptTokens,
  )
  return wanted.ok
    ? { amount: { tokens: wanted.reservation.tokens, cost: wanted.reservation.cost } }
    : { end: wanted.reason }
}

/** A reservation outside of a step: the lost attempt, if there was one, is billed in full first (L3, L4). */
export function absorbReservation(run: Run): Moved {
  const lost = run.lost && run.reserved.tokens > 0
  const settled = lost ? bill(run, { kind: 'recovery', spent: settleLost(run), released: run.reserved }) : null
  const cleared: Run = { ...(settled?.run ?? run), lost: false }
  const wanted = reserveNext(cleared)
  if ('end' in wanted) return endRun(run, wanted.end, NOTHING)
  const opened = bill(run, {
    kind: 'recovery',
    ...(lost ? { spent: settleLost(run), released: run.reserved } : {}),
    reserved: wanted.amount,
  })
  const told: NewEvent[] = lost
    ? [{ seq: run.eventSeq + 1, type: 'attempt_lost', body: { step: run.step + 1, attempts: run.attempts } }]
    : []
  return {
    run: { ...opened.run, lost: false, eventSeq: run.eventSeq + told.length },
    writes: { ...NOTHING, ledger: opened.ledger, events: told },
  }
}
