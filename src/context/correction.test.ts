import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { corrected, learned, NO_FACTOR } from './correction.ts'
import { contextLimits, tightened } from './limits.ts'
import { SAFETY } from './tokens.ts'

/** The factor after `times` answers of a model that counts `share` of our plain count. */
const after = (times: number, share: number, isExact = false): number => {
  const plain = 10_000
  const seen = { estimated: isExact ? plain : plain * SAFETY, reported: Math.round(plain * share), isExact }
  return Array.from({ length: times }).reduce<number>((factor) => learned(factor, seen), NO_FACTOR)
}

describe('what is learned of a provider’s counts', () => {
  it('C6 a model that counts as we do, without our margin, changes nothing: the margin stays', () => {
    expect(after(50, 1)).toBeCloseTo(1, 6)
    expect(after(50, 1, true)).toBeCloseTo(1, 6)
    expect(corrected(1_150, after(50, 0.8))).toBe(1_150)
  })

  it('C6 a model that counts more is followed, with the margin on top, and one odd answer moves it by a quarter', () => {
    expect(after(1, 1.4)).toBeCloseTo(1.1, 6)
    expect(after(50, 1.4)).toBeCloseTo(1.4, 3)
    expect(corrected(1_150, 1.4)).toBe(1_610)
  })

  it('C6 whatever is reported, the factor stays between a half and two, and what cannot be a count is not learned', () => {
    const report = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.NaN, Infinity, -1, 0, 2 ** 60))
    fc.assert(
      fc.property(fc.array(fc.tuple(report, report), { maxLength: 30 }), (reports) => {
        const factor = reports.reduce(
          (f, [estimated, reported]) => learned(f, { estimated, reported, isExact: false }),
          1,
        )
        expect(factor).toBeGreaterThanOrEqual(0.5)
        expect(factor).toBeLessThanOrEqual(2)
      }),
    )
    for (const reported of [Number.NaN, -5, 0, 1.5])
      expect(learned(1.2, { estimated: 1_000, reported, isExact: true })).toBe(1.2)
    expect(learned(1.2, { estimated: 100, reported: 190, isExact: true })).toBe(1.2)
  })

  it('C6 limits for a model that counts more hold what fits into its window then', () => {
    const limits = contextLimits(undefined, { window: 10_000, maxOutput: 1_000, leastOutput: 100 })
    expect(tightened(limits, 0.7)).toEqual(limits)
    const tight = tightened(limits, 1.5)
    expect(corrected(tight.hard, 1.5)).toBeLessThanOrEqual(limits.hard)
    expect(tight.most).toBe(tight.hard)
    expect(tight.low).toBeLessThanOrEqual(tight.most)
  })
})
