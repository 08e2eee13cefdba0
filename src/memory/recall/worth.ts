/**
 * How much of its relevance a memory keeps when few are placed: E12.
 *
 * A factor from `LEAST` to 1, of what is known of the memory and nothing of the question: it settles who of two equally near
 * ones is placed, and lets nothing in or out. It never falls when importance, confidence or use rise, nor rises with time.
 */

export interface Worth {
  /** From 0 to 1. */
  readonly importance: number
  readonly confidence: number
  /** Runs that were given it. */
  readonly useCount: number
  /** When it was used, or written, last. Milliseconds since the epoch. */
  readonly lastAt: number
}

/** Whoever is twice as near is placed first, however little it was used. */
const LEAST = 0.5
/** Use counts half after so long: a season in which nobody needed it. */
const HALF_MS = 90 * 86_400_000
/** Uses after which more say little. */
const OFTEN = 4

export function worthOf({ importance, confidence, useCount, lastAt }: Worth, now: number): number {
  const fresh = 2 ** (-Math.max(0, now - lastAt) / HALF_MS)
  const used = useCount / (useCount + OFTEN)
  // believed and important to equal parts; use and freshness carry what is left together
  const known = (importance + confidence) / 2
  return LEAST + (1 - LEAST) * (0.5 * known + 0.5 * fresh * (0.5 + 0.5 * used))
}
