import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kernel/json.ts'
import type { ArtifactRef } from './artifact.ts'
import { resultBytes, shortened, summarised } from './shorten.ts'
import { type RowsSummary, summing } from './summary.ts'

const of = (rows: readonly Json[]): RowsSummary => {
  const summary = summing()
  for (const row of rows) summary.add(row, JSON.stringify(row).length)
  return summary.result()
}
const artifact: ArtifactRef = {
  id: 'art_00000000000000000000000000',
  name: 'orders.ndjson',
  mediaType: 'application/x-ndjson',
  bytes: 12_345_678,
  sha256: 'a'.repeat(64),
}

describe('what is said of many rows', () => {
  it('I5 statistics are those of all rows, also of numbers that differ little', () => {
    const numbers = fc.array(fc.double({ min: 1e6, max: 1e6 + 1, noNaN: true }), { minLength: 2, maxLength: 200 })
    fc.assert(
      fc.property(numbers, (values) => {
        const mean = values.reduce((sum, v) => sum + v, 0) / values.length
        const deviation = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1))
        const [column] = of(values.map((n) => ({ n }))).columns
        expect(column?.numbers?.min).toBe(Math.min(...values))
        expect(column?.numbers?.max).toBe(Math.max(...values))
        expect(column?.numbers?.mean).toBeCloseTo(mean, 4)
        expect(column?.numbers?.deviation).toBeCloseTo(deviation, 4)
      }),
    )
  })

  it('I5 missing values, mixed types and rows without names are told', () => {
    expect(of([{ a: 1, b: null }, { a: 'x' }, { a: 2, b: true }]).columns).toEqual([
      {
        name: 'a',
        types: ['number', 'text'],
        missing: 0,
        numbers: { min: 1, max: 2, mean: 1.5, deviation: 0.707106781187 },
      },
      { name: 'b', types: ['null', 'boolean'], missing: 2 },
    ])
    expect(of([[1, 'a'], [2]]).columns.map((c) => [c.name, c.missing])).toEqual([
      ['0', 0],
      ['1', 1],
    ])
    expect(of(['x', 'y']).columns).toEqual([{ name: 'value', types: ['text'], missing: 0 }])
  })

  it('I5 a number that stands out is named with its row, an even column has none', () => {
    const even = Array.from({ length: 1_000 }, (_, i) => ({ cents: i % 10 }))
    expect(of(even).outliers).toEqual([])
    expect(of([...even, { cents: 500 }, { cents: -400 }]).outliers).toEqual([
      { column: 'cents', row: 1_002, value: -400 },
      { column: 'cents', row: 1_001, value: 500 },
    ])
  })

  it('I5 a table with too many columns, or rows of any size, takes bounded memory and says what it leaves out', () => {
    const wide = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`c${i}`, i]))
    const summary = of([wide, { ['n'.repeat(500)]: 1 }])
    expect([summary.columns.length, summary.moreColumns]).toEqual([100, 51])
    expect(of(Array.from({ length: 50 }, () => ({ x: 'y'.repeat(10_000) }))).first).toHaveLength(3)
  })

  it('I5 I6 the part for the model keeps its bound, is one JSON value, and names where the whole is', () => {
    const cell = fc.oneof(
      fc.string({ maxLength: 40, unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constant(null),
    )
    const rows = fc.array(fc.dictionary(fc.string({ maxLength: 20 }), cell, { maxKeys: 40 }), { maxLength: 60 })
    fc.assert(
      fc.property(rows, fc.integer({ min: 512, max: 8_192 }), (all, most) => {
        const { result, truncated } = summarised(of(all), 12_345_678, most, artifact)
        expect(resultBytes(result)).toBeLessThanOrEqual(most)
        expect(result).toMatchObject({ truncated, rows: all.length, artifact: { id: artifact.id } })
      }),
    )
  })

  it('I6 every kind of large value keeps its bound with a reference', () => {
    const whole = { artifact, summary: null }
    const values: readonly Json[] = ['ü'.repeat(9_000), Array(5_000).fill('x'), { a: 'x'.repeat(9_000), b: 1 }]
    for (const value of values) {
      for (const most of [512, 1_000, 4_096]) {
        const { result, bytes, truncated } = shortened(value, most, whole)
        expect([resultBytes(result) <= most, truncated, bytes]).toEqual([true, true, resultBytes(value)])
        expect(JSON.stringify(result)).toContain(artifact.id)
      }
    }
  })
})
