import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Fault } from '../kernel/fault.ts'
import type { MigrationDb } from './port.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
  readonly checksum: string
  /** The version before may go on running on the new schema: the header `-- safe with the version before: yes`. */
  readonly safe: boolean
}

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url))

/** The migrations that ship with this program, in order. */
export function shippedMigrations(folder = FOLDER): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(`${folder}/${file}`, 'utf8')
      return {
        version: Number(file.slice(0, 4)),
        name: file,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        safe: /^-- safe with the version before: yes/.test(text),
      }
    })
}

const BOOK = `create schema if not exists plimsoll;
create table if not exists plimsoll.migration (version int primary key, name text not null, checksum text not null,
  safe boolean not null, applied_at timestamptz not null default now())`

/** Two programs may start at once: the second waits here and then finds nothing to do. Any number will do; this is ours. */
const LOCK = 7_406_251_903

export interface MigrationState {
  readonly applied: readonly { version: number; checksum: string; safe: boolean }[]
  readonly pending: readonly Migration[]
}

/** What is applied and what is missing. @throws Fault `schema_newer` when the database knows a breaking later version, `schema_changed` when one is not as it was. */
export async function migrationState(db: MigrationDb, shipped = shippedMigrations()): Promise<MigrationState> {
  const known = await db.query(`select to_regclass('plimsoll.migration') is not null as there`)
  const rows =
    known[0]?.['there'] === true
      ? await db.query('select version, checksum, safe from plimsoll.migration order by version')
      : []
  const applied = rows.map((r) => ({
    version: Number(r['version']),
    checksum: String(r['checksum']),
    safe: r['safe'] === true,
  }))
  const latest = shipped.at(-1)?.version ?? 0
  if (applied.some((a) => a.version > latest && !a.safe)) throw new Fault('schema_newer')
  for (const a of applied) {
    const mine = shipped.find((m) => m.version === a.version)
    if (mine && mine.checksum !== a.checksum)
      throw new Fault('schema_changed', `Migration ${mine.name} was changed after it was applied.`)
  }
  return { applied, pending: shipped.filter((m) => !applied.some((a) => a.version === m.version)) }
}

/** Applies what is missing, each migration in its own transaction, which also books it. Returns the names applied. */
export async function migrate(db: MigrationDb, shipped = shippedMigrations()): Promise<string[]> {
  const { pending } = await migrationState(db, shipped)
  if (pending.length === 0) return []
  const done: string[] = []
  await db.script(`begin; select pg_advisory_xact_lock(${LOCK}); ${BOOK}; commit`)
  for (const m of pending) {
    await db.query('begin')
    try {
      await db.query(`select pg_advisory_xact_lock(${LOCK})`)
      const booked = await db.query(
        `insert into plimsoll.migration (version, name, checksum, safe) values ($1, $2, $3, $4) on conflict do nothing returning 1`,
        [m.version, m.name, m.checksum, m.safe],
      )
      if (booked.length > 0) {
        await db.script(m.text)
        done.push(m.name)
      }
      await db.query('commit')
    } catch (error) {
      await db.query('rollback')
      throw error
    }
  }
  return done
}
