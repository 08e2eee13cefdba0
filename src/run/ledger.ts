/** The row of the ledger that goes with a transition, and the counters that it moves. One transition has at most one. */
import type { Spent } from './budget.ts'
import type { Amount, Run } from './state.ts'
import type { LedgerEntry } from './writes.ts'

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
      suspect: spent?.suspect ?? false,
      toolCalls,
      reserved,
      released,
    },
  }
}

/** Two bills of one transition in one row, under the name of the first: a step whose calls were all refused settles its model call and reserves the next. */
export function joined(first: LedgerEntry | null, second: LedgerEntry): LedgerEntry {
  if (first === null) return second
  return {
    kind: first.kind,
    inputTokens: first.inputTokens + second.inputTokens,
    outputTokens: first.outputTokens + second.outputTokens,
    cost: first.cost + second.cost,
    known: first.known && second.known,
    suspect: first.suspect || second.suspect,
    toolCalls: first.toolCalls + second.toolCalls,
    reserved: sum(first.reserved, second.reserved),
    released: sum(first.released, second.released),
  }
}

const sum = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, cost: a.cost + b.cost })
