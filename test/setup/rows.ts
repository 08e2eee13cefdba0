/** Rows behind the program's back, on every engine: put there, changed and read with all rights. */
import type { MemoryStore } from '../../src/testing/memory/store.ts'
import type { Table } from '../../src/testing/memory/tables.ts'
import type { TestStore } from './engines.ts'

type Fields = Readonly<Record<string, unknown>>
type Row = Record<string, unknown>

/** A time that many milliseconds from the database's now. */
export const ms = (value: number) => ({ ms: value })
const isTime = (value: unknown): value is { ms: number } =>
  typeof value === 'object' && value !== null && 'ms' in value && typeof value.ms === 'number'

const tableOf = (memory: MemoryStore, table: string): Table<Row> =>
  (memory.tables as unknown as Record<string, Table<Row>>)[table]!

/** A value as the memory store keeps it. */
function kept(memory: MemoryStore, value: unknown): unknown {
  if (isTime(value)) return memory.tables.now() + value.ms
  if (value === 'infinity') return Number.POSITIVE_INFINITY
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
const allKept = (memory: MemoryStore, row: Fields): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, kept(memory, value)]))

export async function insert(store: TestStore, table: string, row: Fields): Promise<void> {
  const { memory } = store
  if (memory) return tableOf(memory, table).insert(memory.tables.rowOf(table as 'run', allKept(memory, row)) as never)
  const names = Object.keys(row)
  const places = names.map((name, i) => placeOf(row[name], i + 1))
  await store.admin(`insert into plimsoll.${table} (${names.join(', ')}) values (${places.join(', ')})`, sentOf(row))
}

/** The rows of `table` in which these columns have these values. */
export async function rowsWhere(store: TestStore, table: string, where: Fields): Promise<Row[]> {
  const { memory } = store
  if (memory) return [...tableOf(memory, table).all()].filter((row) => matches(row, where)).map((row) => ({ ...row }))
  const names = Object.keys(where)
  const text = names.map((name, i) => `${name} = $${i + 1}`).join(' and ')
  return store.admin(`select * from plimsoll.${table} where ${text}`, Object.values(where))
}

export async function change(store: TestStore, table: string, where: Fields, changes: Fields): Promise<void> {
  const { memory } = store
  if (memory) {
    for (const row of tableOf(memory, table).all())
      if (matches(row, where)) tableOf(memory, table).change(row, allKept(memory, changes))
    return
  }
  const set = Object.keys(changes).map((name, i) => `${name} = ${placeOf(changes[name], i + 1)}`)
  const first = set.length + 1
  const text = Object.keys(where).map((name, i) => `${name} = $${first + i}`)
  await store.admin(`update plimsoll.${table} set ${set.join(', ')} where ${text.join(' and ')}`, [
    ...sentOf(changes),
    ...Object.values(where),
  ])
}

/** Every row of every tenant, as one hash or text per table: what a refusal must leave as it was. */
export async function pictureOf(store: TestStore, tables: readonly string[]): Promise<Record<string, unknown>> {
  const { memory } = store
  if (memory)
    return Object.fromEntries(
      tables
        .filter((table) => table in memory.tables)
        .map((table) => [table, [...tableOf(memory, table).all()].map((row) => JSON.stringify(row)).sort()]),
    )
  const one = (table: string) =>
    `'${table}', (select count(*) || ' ' || md5(coalesce(string_agg(x::text, '|' order by x::text), '')) from plimsoll.${table} x)`
  const [row] = await store.admin(`select jsonb_build_object(${tables.map(one).join(', ')}) as picture`, [])
  return row?.picture as Record<string, unknown>
}

const matches = (row: Row, where: Fields): boolean =>
  Object.entries(where).every(([name, value]) => row[name] === value)
const placeOf = (value: unknown, n: number): string =>
  isTime(value) ? `now() + $${n}::float8 * interval '1 millisecond'` : `$${n}`
const sentOf = (row: Fields): unknown[] => Object.values(row).map((value) => (isTime(value) ? value.ms : value))
