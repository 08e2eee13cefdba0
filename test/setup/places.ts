/** Where a word still stands: in any column of any table, plain, as bytes, in base64 or escaped. */
import type { TestStore } from './engines.ts'

/** `table.column` of every place that holds it. */
export async function placesOf(
  store: TestStore,
  canary: string,
  except: readonly string[] = [],
): Promise<readonly string[]> {
  const columns = await store.admin(
    `select c.relname as table, a.attname as column, t.typname as type from pg_class c join pg_attribute a on a.attrelid = c.oid
     join pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'plimsoll'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
     order by 1, 2`,
    [],
  )
  const found: string[] = []
  for (const { table, column, type } of columns) {
    const place = `${String(table)}.${String(column)}`
    if (except.includes(place)) continue
    const text = type === 'bytea' ? `encode(x."${String(column)}", 'escape')` : `x."${String(column)}"::text`
    const [row] = await store.admin(
      `select count(*)::int as n from plimsoll."${String(table)}" x where strpos(${text}, $1) > 0 or strpos(${text}, $2) > 0
         or strpos(${text}, $3) > 0`,
      [canary, Buffer.from(canary).toString('base64').slice(0, -4), Buffer.from(canary).toString('hex')],
    )
    if (Number(row?.n) > 0) found.push(place)
  }
  return found
}
