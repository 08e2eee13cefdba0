import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Worth, worthOf } from './worth.ts'

const share = fc.double({ min: 0, max: 1, noNaN: true })
const worth: fc.Arbitrary<Worth> = fc.record({
  importance: share,
  confidence: share,
  useCount: fc.nat(1_000),
  lastAt: fc.nat(4e12),
})
const time = fc.nat(4e12)

it('E12 the factor lets nobody win by more than twice, and puts nobody out', () => {
  fc.assert(
    fc.property(worth, time, (one, now) => {
      const factor = worthOf(one, now)
      expect(factor).toBeGreaterThanOrEqual(0.5)
      expect(factor).toBeLessThanOrEqual(1)
    }),
  )
})

it('E12 more importance, confidence, use or freshness never lowers it, and waiting never raises it', () => {
  fc.assert(
    fc.property(worth, worth, time, fc.nat(1e12), (one, other, now, later) => {
      const more: Worth = {
        importance: Math.max(one.importance, other.importance),
        confidence: Math.max(one.confidence, other.confidence),
        useCount: Math.max(one.useCount, other.useCount),
        lastAt: Math.max(one.lastAt, other.lastAt),
      }
      const slack = 1e-12
      expect(worthOf(more, now) + slack).toBeGreaterThanOrEqual(worthOf(one, now))
      expect(worthOf(one, now + later)).toBeLessThanOrEqual(worthOf(one, now) + slack)
    }),
  )
})

it('E12 each of the four settles between two that are otherwise alike', () => {
  const plain: Worth = { importance: 0.5, confidence: 0.5, useCount: 2, lastAt: 0 }
  const now = 30 * 86_400_000
  for (const better of [{ importance: 0.6 }, { confidence: 0.6 }, { useCount: 3 }, { lastAt: 86_400_000 }])
    expect(worthOf({ ...plain, ...better }, now)).toBeGreaterThan(worthOf(plain, now))
})
