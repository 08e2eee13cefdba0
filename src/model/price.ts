/**
 * What tokens cost, in integer micro-cents: 1 cent = 1 000 000 micro-cents, so that tokens × cents per million is the
 * cost without a division. A budget of 90 million dollars is still a safe integer.
 */
import type { Price } from './port.ts'

export const MICROCENTS_PER_CENT = 1_000_000

/**
 * What an unknown price settles at when money is limited: the dearest list prices of general models, 15 and 75 dollars
 * per million tokens. A limit that is reached too early is noticed; one that does not hold is not.
 */
export const UNKNOWN_PRICE: Price = { inputCentsPerMillion: 1_500, outputCentsPerMillion: 7_500 }

interface Tokens {
  readonly input: number
  readonly output: number
}

/** Rounded up and never above the largest safe integer. Cached input counts in full. */
export function costMicrocents(tokens: Tokens, price: Price): number {
  const cost = tokens.input * price.inputCentsPerMillion + tokens.output * price.outputCentsPerMillion
  return Math.min(Math.ceil(cost), Number.MAX_SAFE_INTEGER)
}

/** `null`: the cost is unknown and no budget of cost asks for a guess. */
export function settleCost(tokens: Tokens, price: Price | null, hasCostBudget: boolean): number | null {
  if (price !== null) return costMicrocents(tokens, price)
  return hasCostBudget ? costMicrocents(tokens, UNKNOWN_PRICE) : null
}

/** Of a value from JavaScript, where nothing has looked at it before. */
export function isPrice(value: unknown): value is Price {
  if (typeof value !== 'object' || value === null) return false
  const { inputCentsPerMillion, outputCentsPerMillion } = value as Partial<Price>
  return [inputCentsPerMillion, outputCentsPerMillion].every((cents) => Number.isFinite(cents) && (cents ?? -1) >= 0)
}
