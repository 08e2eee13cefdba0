import { describe, expect, it } from 'vitest'
import { UNKNOWN_PRICE, costMicrocents, settleCost } from './price.ts'
import { estimateTokens, settle } from './usage.ts'

describe('the estimate of tokens', () => {
  it.each([
    ['100 Chinese characters', '审批流程'.repeat(25), 100, 160],
    ['70 Japanese', '日本語のテキスト確認事項ひらがなカタ'.repeat(4).slice(0, 70), 60, 120],
    ['50 Korean', '안녕하세요반갑습니다'.repeat(5), 40, 80],
    ['400 ASCII letters', 'a'.repeat(400), 90, 130],
    ['mixed text with an emoji', 'deploy 明天下午三点 ok 🚀', 9, 30],
    ['rare ideographs', '𠀀'.repeat(50), 100, 200],
    ['a UUID', '550e8400-e29b-41d4-a716-446655440000', 13, 40],
    ['nothing', '', 0, 0],
  ])('C6 BR-108 of %s is never too low', (_, text, least, most) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(least)
    expect(estimateTokens(text)).toBeLessThanOrEqual(most)
  })
})

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
