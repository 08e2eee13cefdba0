import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attachment, names, rangeOf } from './range.ts'

describe('ranges of a download', () => {
  it.each([
    [undefined, 0, 100, false],
    ['bytes=0-9', 0, 10, true],
    ['bytes=90-', 90, 100, true],
    ['bytes=-7', 93, 100, true],
    ['bytes=-1000', 0, 100, true],
    ['bytes=5-1000', 5, 100, true],
    ['bytes=9-5', 0, 100, false],
    ['bytes=0-1,5-6', 0, 100, false],
    ['rows=0-1', 0, 100, false],
    ['bytes=-', 0, 100, false],
    ['bytes=x-y', 0, 100, false],
  ])('I5 %s is bytes %i to %i', (header, from, to, isPart) => {
    expect(rangeOf(header, 100)).toEqual({ from, to, isPart })
  })

  it.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('I5 %s lies outside, and the size is told', (header) => {
    expect(() => rangeOf(header, 100)).toThrow(
      expect.objectContaining({ code: 'range_not_satisfiable', facts: { size: 100 } }),
    )
  })

  it('I5 whatever is asked for lies inside', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(1_000), (text, size) => {
        for (const header of [text, `bytes=${text}`]) {
          try {
            const { from, to } = rangeOf(header, size)
            expect(0 <= from && from <= to && to <= size).toBe(true)
          } catch (error) {
            expect(error).toMatchObject({ code: 'range_not_satisfiable' })
          }
        }
      }),
    )
  })

  it('I5 a name can never end the header or name a folder', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        expect(attachment(name)).toMatch(
          /^attachment; filename="[A-Za-z0-9._-]*"; filename\*=UTF-8''[A-Za-z0-9%._~!-]*$/,
        )
      }),
    )
    expect(attachment('a/b/Bestellungen für Ann.csv')).toBe(
      `attachment; filename="Bestellungen_f_r_Ann.csv"; filename*=UTF-8''Bestellungen%20f%C3%BCr%20Ann.csv`,
    )
  })

  it('I5 an ETag is found among several', () => {
    expect([names(undefined, '"a"'), names('"b"', '"a"'), names('"b", W/"a"', '"a"'), names('*', '"a"')]).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})
