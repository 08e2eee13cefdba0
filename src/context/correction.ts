/**
 * How far the estimate of tokens is off for a model, learned from what its provider counts (C6). It is asked where a request might
 * not fit, and never where it is decided what of a conversation is sent: that can be decided again from the messages alone.
 */
import { SAFETY } from './tokens.ts'

/** What a model's tokens are of the estimate: above 1 where the estimate is too low, its margin not counted. */
export type Factor = number

export const NO_FACTOR: Factor = 1
/** A provider whose count is further off counts something else. */
const LEAST = 0.5
const MOST = 2
/** Below this the few tokens around each message weigh more than its words. */
const LEAST_TOKENS = 256
/** One answer moves it by a quarter of the way. */
const WEIGHT = 0.25

/** `estimated` has its margin, unless the counter is said to be exact; `reported` is the provider's count of the same request. */
export function learned(
  factor: Factor,
  {
    estimated,
    reported,
    isExact,
  }: { readonly estimated: number; readonly reported: number; readonly isExact: boolean },
): Factor {
  if (!(estimated >= LEAST_TOKENS) || !Number.isSafeInteger(reported) || reported <= 0) return factor
  const seen = within((reported * (isExact ? 1 : SAFETY)) / estimated)
  return within(factor + WEIGHT * (seen - factor))
}

const within = (factor: number): number => Math.min(MOST, Math.max(LEAST, factor))

/** Tokens as the model will count them, margin included; never fewer than the estimate: a margin that was not needed stays. */
export const corrected = (tokens: number, factor: Factor): number => Math.ceil(tokens * Math.max(1, factor))
