import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from './define.ts'
import { retryWait } from './retry.ts'
import { toolError } from './toolerror.ts'

const look = (attempts: number) =>
  tool('world.look@1', {
    input: z.strictObject({}),
    effect: 'read',
    errors: ['rate_limited', 'not_found'],
    retry: { attempts },
    run: () => null,
  })
const failure = { failed: 1, leftMs: 10_000, fraction: 0.5 }

describe('attempts of a read', () => {
  it.each([
    ['what nobody declared', new Error('rate_limited')],
    ['a declared error that stays', toolError('not_found')],
    ['a code of another tool', toolError('provider_timeout')],
    ['no error at all', 'rate_limited'],
  ])('N2 %s is never tried again', (_, thrown) => {
    expect(retryWait(look(5), { ...failure, thrown })).toBe(null)
  })

  it('N2 the provider’s Retry-After is a floor, and what the call has left is a wall', () => {
    const thrown = toolError('rate_limited', '', { afterMs: 3_000 })
    expect(retryWait(look(2), { ...failure, thrown })).toBe(3_000)
    expect(retryWait(look(2), { ...failure, thrown, leftMs: 3_000 })).toBe(null)
  })

  it('N2 there are never more attempts than the contract says, and no wait is beyond the time left', () => {
    const thrown = fc.nat(20_000).map((afterMs) => toolError('rate_limited', '', { afterMs }))
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(
        thrown,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(20_000),
        chance,
        (...given) => {
          const [error, attempts, failed, leftMs, fraction] = given
          const wait = retryWait(look(attempts), { thrown: error, failed, leftMs, fraction })
          if (failed >= attempts) expect(wait).toBe(null)
          else if (wait !== null) {
            expect(wait).toBeLessThan(leftMs)
            expect(wait).toBeGreaterThanOrEqual((error as unknown as { afterMs: number }).afterMs)
          }
        },
      ),
    )
  })
})
