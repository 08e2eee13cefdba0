import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cutText } from './grapheme.ts'
import { isDamagedText, utf8Length } from './json.ts'

it.each([
  ['👩‍👩‍👧‍👦', 24, ''],
  ['👩‍👩‍👧‍👦', 25, '👩‍👩‍👧‍👦'],
  ['ab👍🏽', 9, 'ab'],
  ['🇨🇳🇩🇪', 12, '🇨🇳'],
  ['e\u0301x', 2, ''],
  ['中文', 5, '中'],
  ['\r\n', 1, ''],
  ['abc', 2, 'ab'],
  ['', 0, ''],
])('I6 %s cut at %i bytes shows %s', (text, bytes, expected) => {
  expect(cutText(text, bytes)).toBe(expected)
})

it('I6 a cut text is a beginning, fits, and splits no visible character', () => {
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, bytes) => {
      const cut = cutText(text, bytes)
      expect(text.startsWith(cut) && utf8Length(cut) <= bytes && !isDamagedText(cut)).toBe(true)
      const ends = [0, ...[...characters.segment(text)].map((s) => s.index + s.segment.length)]
      expect(ends).toContain(cut.length)
    }),
  )
})
