/** Cases that are more than one run with a victim: each puts one promise to the test, and says what it found wrong. */
import type { Invariant } from './crash-invariants.ts'
import type { Outcome } from './crash-summary.ts'

/** `wrongs`: what a judge said; empty when all is as promised. */
export const partOutcome = (
  n: Invariant,
  what: string,
  wrongs: readonly string[],
  strikes: readonly string[] = [],
): Outcome => ({
  verdict: wrongs.some((wrong) => wrong.startsWith('done twice')) ? 'duplicate' : 'ok',
  proves: new Map([[n, wrongs.length === 0]]),
  kills: [],
  strikes,
  takeovers: [],
  trouble: wrongs.length === 0 ? null : `broken: ${what} (invariant ${n}: ${wrongs.join('; ')})`,
})
