/**
 * Money before work: what a model call may cost is reserved before it is made and settled with what it did cost.
 *
 * B1  steps, calls, tokens and cost are checked before every model and tool call; there is no last step beyond a limit
 * Q1  reserve, then settle; unknown usage settles at the reservation; parallel work cannot overdraw
 *
 * Cost is in micro-cents, an integer: 1 cent = 1 000 000. A price of one cent per million tokens is one micro-cent per token.
 */
import type { Usage } from '../model/port.ts'
import { costMicrocents } from '../model/price.ts'
import { settle } from '../model/usage.ts'
import type { EndReason } from './reasons.ts'
import type { Amount, Run } from './state.ts'

declare const reservationBrand: unique symbol

/** What a model call may use: minted here, demanded by the model attempt. */
export interface Reservation extends Amount {
  readonly [reservationBrand]: true
  /** The cap that is sent to the provider. */
  readonly maxOutputTokens: number
}

export type Reserved =
  | { readonly ok: true; readonly reservation: Reservation }
  | { readonly ok: false; readonly reason: EndReason }

// Fewer tokens than this hold no useful answer; starting the call would only spend the rest of the budget.
const LEAST_OUTPUT_TOKENS = 16

/**
 * The reservation of the next model call, given what is spent already. `spent` and `promptTokens` include whatever the
 * transition that asks for it settles.
 */
export function reserve(run: Pick<Run, 'limits' | 'rules'>, spent: Amount, promptTokens: number): Reserved {
  const { limits, rules } = run
  if (promptTokens + LEAST_OUTPUT_TOKENS > rules.contextTokens) return { ok: false, reason: 'context_overflow' }
  const left = limits.tokens - spent.tokens - promptTokens
  const fits = Math.min(rules.maxOutputTokens, rules.contextTokens - promptTokens, left)
  if (fits < Math.min(LEAST_OUTPUT_TOKENS, rules.maxOutputTokens)) return { ok: false, reason: 'token_limit' }
  const inputCost = costMicrocents({ input: promptTokens, output: 0 }, rules.price)
  const moneyLeft = limits.cost - spent.cost - inputCost
  const affordable =
    rules.price.outputCentsPerMillion > 0 ? Math.floor(moneyLeft / rules.price.outputCentsPerMillion) : fits
  const output = Math.min(fits, affordable)
  if (moneyLeft < 0 || output < Math.min(LEAST_OUTPUT_TOKENS, rules.maxOutputTokens))
    return { ok: false, reason: 'cost_limit' }
  return {
    ok: true,
    reservation: mint(promptTokens + output, costMicrocents({ input: promptTokens, output }, rules.price), output),
  }
}

/** The reservation that the run row holds, as evidence for the attempt that it pays. */
export function heldReservation(run: Run): Reservation | null {
  if (run.reserved.tokens === 0) return null
  return mint(
    run.reserved.tokens,
    run.reserved.cost,
    Math.max(1, Math.min(run.reserved.tokens - run.promptTokens, run.rules.maxOutputTokens)),
  )
}

function mint(tokens: number, cost: number, maxOutputTokens: number): Reservation {
  return { tokens, cost, maxOutputTokens } as Reservation
}

export interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  readonly known: boolean
}

/** What a model call did cost: what was reported and can be believed, else what was reserved. `received` is our own count of the answer. */
export function settleUsage(run: Run, usage: Usage, received?: number): Spent {
  const output = Math.max(0, run.reserved.tokens - run.promptTokens)
  const settled = settle(usage, { input: run.promptTokens, output, ...(received === undefined ? {} : { received }) })
  return {
    inputTokens: settled.input,
    outputTokens: settled.output,
    cost: costMicrocents(settled, run.rules.price),
    known: settled.known,
  }
}

/** An attempt that nobody heard the end of is billed as if it had used all that was reserved for it (L3). */
export function settleLost(run: Run): Spent {
  const inputTokens = Math.min(run.promptTokens, run.reserved.tokens)
  return { inputTokens, outputTokens: run.reserved.tokens - inputTokens, cost: run.reserved.cost, known: false }
}
