import { expect, it } from 'vitest'
import { isRelevant } from './floor.ts'

it('F8 a memory with nothing of the question is not put before a model, whatever its rank', () => {
  expect(isRelevant({ lexical: 0, semantic: 0 })).toBe(false)
  expect(isRelevant({ lexical: 0.19, semantic: 0.99 })).toBe(false)
  expect(isRelevant({ lexical: 0.2, semantic: 0 })).toBe(true)
})

it('F8 each leg has its own floor, and a leg without a measured one lets nothing in', () => {
  expect(isRelevant({ lexical: 0, semantic: 0.7 }, 0.7)).toBe(true)
  expect(isRelevant({ lexical: 0, semantic: 0.69 }, 0.7)).toBe(false)
})
