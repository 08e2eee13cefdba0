/**
 * Model attempts that failed before the one that counted: they are paid for, and only while the budget covers another.
 *
 * N1  attempts are repeated inside the budget of the run
 * Q1  a refusal for the rate costs nothing; what was computed unseen settles at the reservation
 */
import type { DroppedAttempt } from '../model/attempt.shell.ts'
import { type Spent, settleUsage } from './budget.ts'
import type { Run } from './state.ts'

const NOTHING: Spent = { inputTokens: 0, outputTokens: 0, cost: 0, known: true }

/** Refused before anything was computed. */
const isFree = ({ code }: DroppedAttempt): boolean => code !== 'model_transient'

export const droppedUsage = (run: Run, dropped: readonly DroppedAttempt[]): Spent =>
  dropped.filter((d) => !isFree(d)).reduce((sum, d) => plus(sum, settleUsage(run, d.usage)), NOTHING)

export const plus = (a: Spent, b: Spent = NOTHING): Spent => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cost: a.cost + b.cost,
  known: a.known && b.known,
  ...(a.suspect || b.suspect ? { suspect: true } : {}),
})

/** Whether the run can pay for what was dropped and for one more attempt, which costs what is reserved at most. */
export function coversAnother(run: Run, dropped: readonly DroppedAttempt[]): boolean {
  const lost = droppedUsage(run, dropped)
  const tokens = run.used.tokens + lost.inputTokens + lost.outputTokens + run.reserved.tokens
  return tokens <= run.limits.tokens && run.used.cost + lost.cost + run.reserved.cost <= run.limits.cost
}
