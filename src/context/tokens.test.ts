import { describe, expect, it } from 'vitest'
import { estimateTokens, tokensOf } from './tokens.ts'

const order = { order: 'A-1009', items: [{ sku: 'X-1', count: 2, price: 1999 }], notes: ['gift', '易碎'] }

describe('the estimate of tokens', () => {
  it.each([
    ['100 Chinese characters', '审批流程'.repeat(25), 100, 160],
    ['70 Japanese', '日本語のテキスト確認事項ひらがなカタ'.repeat(4).slice(0, 70), 60, 120],
    ['50 Korean', '안녕하세요반갑습니다'.repeat(5), 40, 80],
    ['400 ASCII letters', 'a'.repeat(400), 90, 130],
    ['mixed text with an emoji', 'deploy 明天下午三点 ok 🚀', 9, 30],
    ['rare ideographs', '𠀀'.repeat(50), 100, 200],
    ['a family of emoji', '👨‍👩‍👧‍👦'.repeat(10), 110, 200],
    ['a UUID', '550e8400-e29b-41d4-a716-446655440000', 13, 40],
    ['JSON', JSON.stringify(order), 30, 75],
    ['a page of English', 'The quick brown fox jumps over the lazy dog. '.repeat(50), 450, 700],
    ['nothing', '', 0, 0],
  ])('C6 BR-108 of %s is never too low', (_, text, least, most) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(least)
    expect(estimateTokens(text)).toBeLessThanOrEqual(most)
  })

  it('C6 a counter of the agent replaces the estimate, and the wrapping of a message stays', () => {
    expect(tokensOf('审批流程', (text) => text.length * 10)).toBe(44)
    expect(tokensOf('')).toBe(4)
  })
})
