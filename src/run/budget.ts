/**
 * Money before work: what a model call may cost is reserved before it is made and settled with what it did cost.
 *
 * B1  steps, calls, tokens and cost are checked before every model and tool call; there is no last step beyond a limit
 * Q1  reserve, then settle; unknown usage settles at the reservation; parallel work cannot overdraw
 *
 * Cost is in micro-cents, an integer: 1 cent = 1 000 000. A price of one cent per million tokens is one micro-cent per token.
 */
import { partTokens } from '../context/media.ts'
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

export const leastOutput = (rules: { readonly maxOutputTokens: number }): number =>
  Math.min(LEAST_OUTPUT_TOKENS, rules.maxOutputTokens)

/**
 * The reservation of the next model call, given what is spent already. `spent` and `promptTokens` include whatever the
 * transition that asks for it settles.
 */
export function reserve(run: Pick<Run, 'limits' | 'rules'>, spent: Amount, promptTokens: number): Reserved {
  const { limits, rules } = run
  const least = leastOutput(rules)
  const room = rules.contextTokens - promptTokens
  if (room < least) return { ok: false, reason: 'context_overflow' }
  const fits = Math.min(rules.maxOutputTokens, room, limits.tokens - spent.tokens - promptTokens)
  if (fits < least) return { ok: false, reason: 'token_limit' }
  const output = affordable(rules, limits.cost - spent.cost, promptTokens, fits)
  if (output < least) return { ok: false, reason: 'cost_limit' }
  return { ok: true, reservation: mint(rules, promptTokens, output) }
}

/** The most output tokens, up to `wanted`, that the money covers together with the prompt; negative when it covers none. */
function affordable({ price }: Run['rules'], money: number, input: number, wanted: number): number {
  const costs = (output: number): number => costMicrocents({ input, output }, price)
  if (costs(wanted) <= money) return wanted
  const most = Math.floor((money - input * price.inputCentsPerMillion) / price.outputCentsPerMillion)
  // decimals of a price are not exact, and the smallest surplus would be rounded up past the money
  return most > 0 && costs(most) > money ? most - 1 : most
}

/**
 * The reservation that the run row holds, as evidence for the attempt that it pays. Null when it does not cover the
 * request any more: the conversation has grown while the run was queued, or the release has another price.
 */
export function heldReservation(run: Run): Reservation | null {
  const { rules, reserved, promptTokens } = run
  const output = Math.min(reserved.tokens - promptTokens, rules.maxOutputTokens, rules.contextTokens - promptTokens)
  if (reserved.tokens === 0 || output < leastOutput(rules)) return null
  if (costMicrocents({ input: promptTokens, output }, rules.price) > reserved.cost) return null
  return { ...mint(rules, promptTokens, output), ...reserved }
}

function mint({ price }: Run['rules'], input: number, output: number): Reservation {
  return {
    tokens: input + output,
    cost: costMicrocents({ input, output }, price),
    maxOutputTokens: output,
  } as Reservation
}

export interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  readonly known: boolean
  /** What was reported cannot be true, and was replaced by our own count (BR-039). */
  readonly suspect?: true
}

/** What a model call did cost: what was reported and can be believed, else what was reserved. `received` is our own count of the answer. */
export function settleUsage(run: Run, usage: Usage, received?: number): Spent {
  const output = Math.max(0, run.reserved.tokens - run.promptTokens)
  const words = Math.max(0, run.promptTokens - partTokens(run.context.transcript))
  const settled = settle(usage, {
    input: run.promptTokens,
    words,
    output,
    ...(received === undefined ? {} : { received }),
  })
  return {
    inputTokens: settled.input,
    outputTokens: settled.output,
    cost: costMicrocents(settled, run.rules.price),
    known: settled.known,
    ...(settled.suspect ? { suspect: true } : {}),
  }
}

/** An attempt that nobody heard the end of is billed as if it had used all that was reserved for it (L3). */
export function settleLost(run: Run): Spent {
  const inputTokens = Math.min(run.promptTokens, run.reserved.tokens)
  return { inputTokens, outputTokens: run.reserved.tokens - inputTokens, cost: run.reserved.cost, known: false }
}
