/** Every column that could hold content is sealed, veiled or keyed, or has a reason in docs/design/sealing.md to be plain. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore, type TestStore } from '../setup/engines.ts'
import { everywhere, listed } from '../setup/sealed-columns.ts'

/** Bytes that are no content: see their rows of the page. */
const OTHER_BYTES = ['credential.hash', 'tenant_key.wrapped']

let store: TestStore
beforeAll(async () => {
  store = await openStore('embedded')
})
afterAll(() => store.close())

const columns = async () =>
  (await store.admin(
    `select c.relname::text as table, a.attname::text as column, format_type(a.atttypid, null) as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'plimsoll'::regnamespace and c.relkind in ('r', 'p')
       and format_type(a.atttypid, null) in ('text', 'text[]', 'bytea', 'json', 'jsonb', 'character varying')
     order by 1, 2`,
  )) as unknown as readonly { readonly table: string; readonly column: string; readonly type: string }[]

it('G7 a new column of text, bytes or JSON that nobody has thought about is noticed', async () => {
  const unknown = (await columns()).filter(({ table, column }) => {
    const row = listed.find((one) => one.table === table)
    const own = row && [...row.sealed, ...row.veiled, ...row.keyed, ...row.plain]
    return !own?.includes(column) && !(row && everywhere.includes(column))
  })
  expect(unknown.map(({ table, column }) => `${table}.${column}`)).toEqual([])
})

it('G7 every column of bytes is sealed, and the page names no column that is gone', async () => {
  const there = await columns()
  const bytes = there.filter(({ type }) => type === 'bytea').map(({ table, column }) => `${table}.${column}`)
  const sealed = listed.flatMap(({ table, sealed }) => sealed.map((column) => `${table}.${column}`))
  expect([...sealed, ...OTHER_BYTES].sort()).toEqual(bytes)
  const named = listed.flatMap(({ table, veiled, keyed }) =>
    [...veiled, ...keyed].map((column) => `${table}.${column}`),
  )
  const texts = there.map(({ table, column }) => `${table}.${column}`)
  expect(named.filter((name) => !texts.includes(name))).toEqual([])
})

it('G7 no column is in two lists', () => {
  for (const { table, sealed, veiled, keyed, plain } of listed) {
    const all = [...sealed, ...veiled, ...keyed, ...plain]
    expect([table, all.filter((name, i) => all.indexOf(name) !== i)]).toEqual([table, []])
  }
})
