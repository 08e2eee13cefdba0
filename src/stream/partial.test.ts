import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attemptNumber, NOTHING_SAID, type Partial, said, settled } from './partial.ts'

const at = (epoch: number, attempt: number, step = 1, generation = 1) => ({
  generation,
  step,
  number: attemptNumber(epoch, attempt),
})

describe('the fence before live text', () => {
  it('A4 chunks of a dropped attempt never appear in the retry (BR-048)', () => {
    let now: Partial = NOTHING_SAID
    let late = 0
    const hear = (attempt: ReturnType<typeof at>, text: string) => {
      const next = said(now, attempt, text)
      if (next) now = next
      else late += 1
    }
    hear(at(1, 1), 'He')
    hear(at(1, 2), 'Hello')
    hear(at(1, 1), 'llo wor')
    expect(now.text).toBe('Hello')
    expect(late).toBe(1)
    // a takeover outranks every attempt of the worker before it
    hear(at(2, 1), 'Hi')
    hear(at(1, 3), 'ld')
    expect({ text: now.text, late }).toEqual({ text: 'Hi', late: 2 })
  })

  it('K3 what is let out is always the text of one attempt, the newest that spoke', () => {
    const piece = fc.record({
      generation: fc.nat(2),
      step: fc.nat(3),
      epoch: fc.nat(2),
      attempt: fc.nat(3),
      text: fc.string({ maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        let now: Partial = NOTHING_SAID
        const heard: { attempt: ReturnType<typeof at>; text: string }[] = []
        for (const p of pieces) {
          const attempt = at(p.epoch, p.attempt, p.step, p.generation)
          const next = said(now, attempt, p.text)
          if (!next) continue
          heard.push({ attempt, text: p.text })
          now = next
        }
        const mine = heard.filter(({ attempt }) => JSON.stringify(attempt) === JSON.stringify(now.attempt))
        expect(now.text).toBe(mine.map(({ text }) => text).join(''))
      }),
    )
  })

  it('A4 a committed step lets nothing more of itself out, and the next step speaks', () => {
    const one = said(NOTHING_SAID, at(1, 1), 'Hello') ?? NOTHING_SAID
    const closed = settled(one, 1, 1)
    expect(closed.text).toBe('')
    expect(said(closed, at(1, 1), '!')).toBeNull()
    expect(said(closed, at(9, 3), '!')).toBeNull()
    expect(said(closed, at(1, 1, 2), 'Next')?.text).toBe('Next')
    expect(settled(said(closed, at(1, 1, 2), 'Next') ?? closed, 1, 1).text).toBe('Next')
  })
})
