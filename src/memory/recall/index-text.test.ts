import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type IndexText, indexOf, type Passage, questionOf } from './index-text.ts'

const tf = (entry: IndexText, term: string) => indexOf(entry).terms.find((one) => one.term === term)?.tf ?? 0

it('F1 what is said counts whole, what was said around it less, and less with distance', () => {
  const text = (word: string): Passage => ({ text: word })
  const entry = { text: 'kayak', before: [text('river'), text('boat'), text('ocean')], after: [text('paddle')] }
  expect(['kayak', 'river', 'boat', 'ocean'].map((word) => tf(entry, `s:${word}`))).toEqual([1, 0.4, 0.2, 0])
  expect(tf(entry, 's:paddl')).toBe(0.4)
})

it('F1 a question that names the speaker or the day finds what does not say them, and no neighbour lends its own', () => {
  const next: Passage = { text: 'Nice!', speaker: 'Priya', at: '2023-05-03' }
  const entry = { text: 'I went sailing', speaker: 'Marcus', at: '2023-05-02T18:00:00Z', after: [next] }
  const found = (question: string) =>
    questionOf(question)
      .filter(({ term }) => tf(entry, term) > 0)
      .map(({ term }) => term)
  expect(found('What did Marcus do on May 2?')).toEqual(['s:marcus', 'd:05-02', 'd:m05'])
  expect(found('Marcus 5月2日做了什么？')).toEqual(['s:marcus', 'd:05-02', 'd:m05'])
  expect(found('Did Priya sail on 3 May?')).toEqual(['s:sail', 'd:m05'])
})

it('F1 "yesterday" in a memory and in a question is the day that each of them means', () => {
  expect(tf({ text: 'We married yesterday', at: '2024-03-01' }, 'd:2024-02-29')).toBe(1)
  expect(questionOf('yesterday?', '2024-03-01').map(({ term }) => term)).toContain('d:2024-02-29')
  expect(questionOf('yesterday?').map(({ term }) => term)).not.toContain('d:2024-02-29')
})

const passage = fc.record({
  text: fc.string({ maxLength: 60 }),
  speaker: fc.string({ maxLength: 10 }),
  at: fc.string({ maxLength: 12 }),
})

it('F3 an entry follows from its parts alone: made twice it is the same, and its length is all that occurs', () => {
  fc.assert(
    fc.property(passage, fc.array(passage, { maxLength: 4 }), (one, around) => {
      const entry = { ...one, before: around, after: around }
      expect(indexOf(entry)).toEqual(indexOf(structuredClone(entry)))
      const { terms, length } = indexOf(entry)
      expect(new Set(terms.map(({ term }) => term)).size).toBe(terms.length)
      expect(length).toBeCloseTo(terms.reduce((sum, { tf: count }) => sum + count, 0))
    }),
  )
})
