import { describe, expect, it } from 'vitest'
import { UNKNOWN_PRICE, costMicrocents, settleCost } from './price.ts'
import { settle } from './usage.ts'

describe('settling usage', () => {
  const estimate = { input: 2800, output: 500 }
  it.each([
    ['a full report', { input: 2852, output: 40 }, { input: 2852, output: 40, known: true, suspect: false }],
    ['no report: the estimate, never 0', {}, { input: 2800, output: 500, known: false, suspect: false }],
    ['half a report', { input: 2852 }, { input: 2852, output: 500, known: false, suspect: false }],
    [
      'BR-039 a report far too small',
      { input: 22, output: 40 },
      { input: 2800, output: 40, known: false, suspect: true },
    ],
    ['a report of exactly half', { input: 1400, output: 40 }, { input: 1400, output: 40, known: true, suspect: false }],
    [
      'a dropped value',
      { output: 40, suspect: true as const },
      { input: 2800, output: 40, known: false, suspect: true },
    ],
  ])('Q1 %s', (_, reported, settled) => {
    expect(settle(reported, estimate)).toEqual(settled)
  })

  it('Q1 an output of 0 tokens beside a long text is not believed', () => {
    expect(settle({ input: 2800, output: 0 }, { ...estimate, received: 120 })).toEqual({
      input: 2800,
      output: 120,
      known: false,
      suspect: true,
    })
  })
})

describe('cost', () => {
  it('Q1 is an exact integer of micro-cents, rounded up', () => {
    expect(
      costMicrocents({ input: 1_000_000, output: 0 }, { inputCentsPerMillion: 250, outputCentsPerMillion: 1000 }),
    ).toBe(250_000_000)
    expect(costMicrocents({ input: 1, output: 0 }, { inputCentsPerMillion: 7.5, outputCentsPerMillion: 0 })).toBe(8)
  })

  it('Q1 stays a safe integer for the largest counts', () => {
    expect(costMicrocents({ input: 1e9, output: 1e9 }, { inputCentsPerMillion: 1e9, outputCentsPerMillion: 1e9 })).toBe(
      Number.MAX_SAFE_INTEGER,
    )
  })

  it('Q1 an unknown price is settled high if money is limited, and stays unknown otherwise', () => {
    const tokens = { input: 10, output: 10 }
    expect(settleCost(tokens, null, true)).toBe(costMicrocents(tokens, UNKNOWN_PRICE))
    expect(settleCost(tokens, null, false)).toBeNull()
    expect(settleCost(tokens, { inputCentsPerMillion: 0, outputCentsPerMillion: 0 }, true)).toBe(0)
  })
})
