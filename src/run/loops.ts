/**
 * B7: every loop there is, with what bounds it and how it ends. The shells take their numbers from here; a test walks
 * the table with a script that would run for ever, and prints it into docs/design/run-table.md.
 */
import type { FaultCode } from '../kernel/fault.ts'
import type { EndReason } from './reasons.ts'
import type { WaitReason } from './state.ts'

/** An effect that was started this often and still has no outcome needs a person. */
export const MOST_STARTS = 5
/** A call that has gone to wait this often is no wait any more but a loop. */
export const MOST_WAITS = 100
/** A commit that loses this often to others is no race any more but a fault of ours. */
export const MOST_CONFLICTS = 16

interface Loop {
  readonly loop: string
  readonly limit: string
  readonly counter: string
  readonly end: { readonly run: EndReason } | { readonly waits: WaitReason } | { readonly fault: FaultCode }
}

const loop = (what: string, limit: string, counter: string, end: Loop['end']): Loop => ({
  loop: what,
  limit,
  counter,
  end,
})

// biome-ignore format: a table is read by its rows
export const LOOPS = {
  steps: loop('the model asks for one tool call after another', '`budget.steps`', '`run.step`', { run: 'step_limit' }),
  tool_calls: loop('tool calls of all steps', '`budget.toolCalls`; a turn that goes beyond starts none of its calls', '`run.used_tool_calls`', { run: 'tool_call_limit' }),
  tokens: loop('the conversation grows', '`budget.tokens`', '`run.used_tokens` and `run.reserved_tokens`', { run: 'token_limit' }),
  cost: loop('each model call costs', '`budget.costCents`', '`run.used_cost` and `run.reserved_cost`', { run: 'cost_limit' }),
  time: loop('anything that waits or works', '`budget.seconds`', "`run.deadline_at`, on the database's clock", { run: 'deadline' }),
  same_call: loop('the same call with the same arguments', '`breaker.identicalCalls` of the contract', 'effects of the run with this fingerprint', { run: 'repeated_action' }),
  alternation: loop('two calls in turn', 'A, B, A, B in a row, unless the contract allows it', 'the last four effects of the run', { run: 'repeated_action' }),
  same_error: loop('the same tool fails in the same way', '`breaker.identicalErrors` of the contract', 'effects of the run with this error', { run: 'repeated_error' }),
  stale_plans: loop('a call is planned again because its resource changed', '`breaker.identicalCalls` of the contract', 'effects of the run with this fingerprint', { run: 'repeated_action' }),
  questions: loop('nobody answers a confirmation', 'asked once, never again', '`confirmation.expires_at`', { run: 'confirmation_expired' }),
  empty_finals: loop('the model ends without an answer', 'never asked again', 'the step itself', { run: 'empty_final' }),
  recoveries: loop('workers are lost without progress', '`attempts` of the agent', '`run.attempts`, 0 again with each commit that gets on', { run: 'attempts_exhausted' }),
  effect_starts: loop('an effect has no outcome', `${MOST_STARTS} starts under one key`, '`effect.attempt`', { waits: 'unknown_effect' }),
  waits: loop('a call goes to wait again and again', `${MOST_WAITS} times, within the time of the run`, '`effect.waits`', { waits: 'unknown_effect' }),
  commit_conflicts: loop('a commit meets a run that others have moved', `${MOST_CONFLICTS} times in a row`, 'the commit itself', { fault: 'conflict' }),
  model_attempts: loop('a request to the model fails before any output', '3 requests, within the time of the run', 'the model call itself', { run: 'model_unavailable' }),
} as const satisfies Record<string, Loop>

export type LoopName = keyof typeof LOOPS
