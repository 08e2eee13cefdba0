import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HANGS_ON_ARTIFACT, nameOf } from './artifact.ts'

/** The columns of a table in the golden schema. */
function columnsOf(table: string): string[] {
  const schema = readFileSync(new URL('../../../schema.sql', import.meta.url), 'utf8')
  const body = new RegExp(`create table plimsoll\\.${table} \\(([\\s\\S]*?)\\n\\)`).exec(schema)?.[1] ?? ''
  return [...body.matchAll(/^ {2}(\w+) /gm)].map((match) => match[1] ?? '')
}

describe('artifacts', () => {
  it('I5 what hangs on one is named by columns that exist, so that a deletion misses none of them', () => {
    const places = HANGS_ON_ARTIFACT.filter((one) => one.includes('.')).map((one) => one.split('.'))
    expect(places.length).toBeGreaterThan(2)
    for (const [table = '', column] of places)
      expect([table, columnsOf(table)]).toEqual([table, expect.arrayContaining([column])])
    // of its own row, everything that holds content is sealed in one place
    expect(columnsOf('artifact')).not.toEqual(expect.arrayContaining(['name']))
  })

  it('I5 a result without a name is named by its call', () => {
    const place = { step: 2, position: 1 }
    expect(nameOf('orders.list', place, 'text/plain; charset=utf-8')).toBe('orders.list-2-1.txt')
    expect(nameOf('orders.list', place, 'application/x-odd')).toBe('orders.list-2-1.bin')
  })
})
