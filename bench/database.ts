/** A fresh, migrated database for one cell of a benchmark, and the server's own counters. */
import pg from 'pg'
import { migrate } from '../src/db/migrate.ts'
import { openMigrator } from '../src/db/postgres.ts'

export interface BenchDatabase {
  readonly url: string
  readonly admin: pg.Client
  drop(): Promise<void>
  /** Closes the connections and keeps the database. */
  leave(): Promise<void>
}

export async function freshDatabase(server: string, name: string): Promise<BenchDatabase> {
  const drop = `drop database if exists ${name} with (force)`
  await onServer(server, drop, `create database ${name}`)
  const at = new URL(server)
  at.pathname = `/${name}`
  const url = at.toString()
  const migrator = await openMigrator(url)
  await migrate(migrator)
  await migrator.close()
  const admin = new pg.Client({ connectionString: url })
  // a server may go down under a benchmark, and what is asked then fails by itself
  admin.on('error', () => {})
  await admin.connect()
  const leave = () => admin.end().catch(() => {})
  return {
    url,
    admin,
    async drop() {
      await leave()
      await onServer(server, drop)
    },
    leave,
  }
}

async function onServer(server: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    for (const text of statements) await client.query(text)
  } finally {
    await client.end()
  }
}

/** WAL written so far, in bytes. */
export async function walBytes(admin: pg.Client): Promise<number> {
  const { rows } = await admin.query<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  )
  return Number(rows[0]?.bytes ?? 0)
}

/** Named single-row durable inserts per second on one connection: what the disk and the round trip allow. */
export async function bareCommits(admin: pg.Client, count: number): Promise<number> {
  await admin.query(
    'create table if not exists public.bare (id int8 generated always as identity primary key, body text not null)',
  )
  const body = 'x'.repeat(300)
  const insert = () => admin.query({ name: 'bare', text: 'insert into public.bare (body) values ($1)', values: [body] })
  for (let i = 0; i < 100; i++) await insert()
  const begun = performance.now()
  for (let i = 0; i < count; i++) await insert()
  return count / ((performance.now() - begun) / 1000)
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
