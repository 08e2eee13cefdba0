/**
 * How many tokens a text has: one counter for budgets, context and settlement.
 *
 * C6  right for the family of the model and for Chinese as for English; where only an estimate exists, never below the truth
 */
import { estimateTokenCount } from 'tokenx'

/** Tokens of a text, a whole number from 0. Pure and fast: it is asked for every message. An agent may bring an exact one. */
export type TokenCounter = (text: string) => number

/** The estimator is up to 9 % low on JSON and 14 % off on prose; measured against o200k. */
export const SAFETY = 1.15

/** A provider wraps each message in a few tokens of its own. */
const WRAPPING_TOKENS = 4

/** Tokens that `text` costs at most, in practice. Counted in quarters so that one pass over the text is enough. */
export const estimateTokens: TokenCounter = (text) =>
  Math.max(Math.ceil(estimateTokenCount(text) * SAFETY), Math.ceil(quarterTokens(text) / 4))

/** Tokens of a message that holds this text. */
export const tokensOf = (text: string, count: TokenCounter = estimateTokens): number => count(text) + WRAPPING_TOKENS

/**
 * A floor where the estimator knows a script badly: a quarter token for a Latin letter or a space, half for digits,
 * signs and two-byte scripts, one for other letters of the basic plane, two for what lies above it.
 */
function quarterTokens(text: string): number {
  let quarters = 0
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    const isLetter = (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a
    if (isLetter || unit === 0x20) quarters += 1
    else if (unit < 0x800) quarters += 2
    else quarters += 4
  }
  return quarters
}
