import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readCursor, writeCursor } from './cursor.ts'

const bound = ['acme', 'test', 'ann', '/v1/runs', '[]']

it('A3 a cursor says where it was written, and every other text nothing', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      (after, at, other) => {
        const cursor = writeCursor('secret', bound, after)
        expect(readCursor('secret', bound, cursor)).toBe(after)
        const place = at % cursor.length
        const changed = cursor.slice(0, place) + other + cursor.slice(place + 1)
        expect(readCursor('secret', bound, changed)).toBe(changed === cursor ? after : null)
      },
    ),
  )
})

it('H1 a cursor of another tenant, caller, list, filter or secret is none', () => {
  const cursor = writeCursor('secret', bound, 'run_1')
  for (let i = 0; i < bound.length; i++) expect(readCursor('secret', bound.with(i, 'x'), cursor)).toBeNull()
  expect(readCursor('secret', ['acme', 'test/ann', '/v1/runs', '[]'], cursor)).toBeNull()
  expect(readCursor('other', bound, cursor)).toBeNull()
})
