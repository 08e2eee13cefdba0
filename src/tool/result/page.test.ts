import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../kernel/json.ts'
import type { ArtifactRef } from './artifact.ts'
import { tool } from '../define.ts'
import { pagingOf } from './page.ts'
import { resultBytes, shortened } from './shorten.ts'

interface Item {
  readonly id: number
  readonly text: string
}
interface Shown extends JsonObject {
  readonly truncated?: boolean
  readonly page?: { readonly shown: number; readonly items: number; readonly next: string | null }
}

const artifact: ArtifactRef = {
  id: 'art_00000000000000000000000000',
  name: 'orders.json',
  mediaType: 'application/json',
  bytes: 1,
  sha256: 'a'.repeat(64),
}
const base = {
  input: z.strictObject({ cursor: z.string() }),
  effect: 'read' as const,
  page: { items: 'orders', next: 'next' },
  run: () => null,
}
const continued = pagingOf(tool('orders.list@1', { ...base, after: (item) => String((item as { id: number }).id) }))
const plain = pagingOf(tool('orders.list@1', base))

/** A provider's page: `size` items behind the cursor, and the cursor behind them. */
function pageAfter(all: readonly Item[], cursor: string, size: number): JsonObject {
  const from = cursor === '' ? 0 : all.findIndex((item) => String(item.id) === cursor) + 1
  const orders = all.slice(from, from + size)
  const last = orders.at(-1)
  return { total: all.length, orders, next: last && from + size < all.length ? String(last.id) : null } as never
}

/** Reads pages as a model does: it goes on as long as it is given a cursor. */
function walked(all: readonly Item[], size: number, most: number, paging: typeof plain) {
  const seen: number[] = []
  let cursor: string | null = ''
  for (let reads = 0; cursor !== null; reads++) {
    expect(reads).toBeLessThanOrEqual(all.length)
    const page = pageAfter(all, cursor, size)
    const { result, truncated } = shortened(page, most, { artifact, summary: null }, paging)
    expect(resultBytes(result)).toBeLessThanOrEqual(most)
    const shown = result as Shown
    const body = (truncated ? shown.rest : shown) as unknown as {
      readonly orders: readonly Item[]
      readonly next: string | null
    }
    seen.push(...body.orders.map((o) => o.id))
    cursor = body.next
    if (!truncated) continue
    expect(shown.page).toMatchObject({ shown: body.orders.length, next: body.next })
    // stopped in the middle: it is told so, and where the other items are
    if (cursor === null)
      return { seen, told: JSON.stringify(shown).includes(artifact.id), left: shown.page!.items - shown.page!.shown }
  }
  return { seen, told: false, left: 0 }
}

const items = fc
  .array(fc.string({ maxLength: 400, size: 'max' }), { maxLength: 60 })
  .map((texts) => texts.map((text, i): Item => ({ id: i + 1, text })))
const size = fc.integer({ min: 1, max: 30 })
const most = fc.integer({ min: 512, max: 4_096 })

describe('a page that is cut for the model', () => {
  it('I6 is walked item by item, none skipped and none twice, when its tool can continue behind any item', () => {
    fc.assert(
      fc.property(items, size, most, (all, n, bytes) => {
        const { seen, told } = walked(all, n, bytes, continued)
        expect(seen).toEqual(all.slice(0, seen.length).map((item) => item.id))
        if (seen.length < all.length) expect(told).toBe(true)
      }),
    )
  })

  it('I6 gives no cursor that would skip what is not shown, and says where the rest is', () => {
    let cut = 0
    fc.assert(
      fc.property(items, size, most, (all, n, bytes) => {
        const { seen, told, left } = walked(all, n, bytes, plain)
        expect(seen).toEqual(all.slice(0, seen.length).map((item) => item.id))
        if (left > 0) cut += 1
        expect(told).toBe(seen.length < all.length)
      }),
    )
    expect(cut).toBeGreaterThan(0)
  })

  it('I6 of which every item fits is walked to its end', () => {
    const all = Array.from({ length: 200 }, (_, i): Item => ({ id: i + 1, text: 'x'.repeat(i % 90) }))
    expect(walked(all, 50, 700, continued).seen).toHaveLength(200)
  })

  it('I6 keeps what stands beside its items, and reads like any other page when it fits', () => {
    const page = { total: 3, orders: ['x'.repeat(300), 'y'.repeat(300), 'z'], next: 'c' }
    expect(shortened(page, 5_000, null, plain)).toMatchObject({ result: page, truncated: false })
    expect(shortened(page, 600, null, plain).result).toEqual({
      truncated: true,
      bytes: resultBytes(page),
      page: { shown: 1, items: 3, next: null, note: 'Ask for fewer items at once.' },
      rest: { total: 3, orders: ['x'.repeat(300)], next: null },
    })
  })

  it('I6 a cursor that its tool cannot make is none, and a result that is no page is shortened as any other', () => {
    const page = { orders: ['x'.repeat(600), 'y'.repeat(600)], next: 'c' }
    const broken = [
      () => {
        throw new Error('no id')
      },
      () => 7,
      () => '',
    ]
    for (const after of broken)
      expect(
        (shortened(page, 1_000, null, { items: 'orders', next: 'next', after }).result as Shown).page,
      ).toMatchObject({
        shown: 1,
        next: null,
      })
    const other = { rows: Array(200).fill('xxxxxxxxxx'), next: 'c' }
    expect(shortened(other, 600, null, plain).result).toMatchObject({ omitted: 1, rest: { next: 'c' } })
  })

  it('I1 a page that names no members, an effect, or nothing to continue is refused at load', () => {
    const refusal = (over: object) => () => tool('orders.list@1', { ...base, ...over })
    expect(refusal({ page: { items: 'a', next: 'a' } })).toThrow(/page_illegal/)
    expect(refusal({ page: { items: 'a' } })).toThrow(/page_illegal/)
    expect(refusal({ page: undefined, after: () => '' })).toThrow(/after_without_page/)
    expect(refusal({ effect: 'write', run: undefined, commit: () => null, unknown: 'manual' })).toThrow(
      /page_of_effect/,
    )
  })
})
