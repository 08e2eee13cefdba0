import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonLine, visible } from './visible.ts'

describe('text of others in a terminal', () => {
  it.each([
    ['a title', '\u001b]0;pwned\u0007', '\\u001b]0;pwned\\u0007'],
    ['a colour', '\u001b[31mred', '\\u001b[31mred'],
    ['an 8-bit sequence', '\u009b2J', '\\u009b2J'],
    ['a carriage return', 'Refund 9.00\rRefund 1.00', 'Refund 9.00\\u000dRefund 1.00'],
    ['lines', 'one\ntwo\tthree', 'one\\ntwo\\tthree'],
    ['a turn of direction', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
    ['an invisible letter', 'pay\u200bpal', 'pay\\u200bpal'],
    ['half a pair', 'x\ud800', 'x\\ud800'],
    ['a hidden tag', 'x\u{e0041}', 'x\\u{e0041}'],
  ])('R2 %s is shown and not obeyed', (_, text, shown) => expect(visible(text)).toBe(shown))

  it('R2 what people write stays as it is', () => {
    for (const text of ['退款 1042', 'Ærø — “x”', '👩‍👧 ❤️', 'مرحبا', 'e\u0301']) expect(visible(text)).toBe(text)
  })

  it('R2 nothing that a terminal obeys is left, and JSON keeps its value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        expect(jsonLine({ text })).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        expect(JSON.parse(jsonLine({ text }))).toEqual({ text })
      }),
    )
  })
})
