/** Migrations of a PostgreSQL, by a role that owns its schema. */
import { migrate as apply, migrationState } from './migrate.ts'
import type { openMigrator } from './postgres.ts'

/** Applies what is missing and returns the names. @throws Fault `store_unavailable`, `schema_newer` */
export const migrate = (url: string): Promise<string[]> => withMigrator(url, (db) => apply(db))

/** The names of what is missing; changes nothing. @throws Fault `store_unavailable`, `schema_newer` */
export const pendingMigrations = (url: string): Promise<string[]> =>
  withMigrator(url, async (db) => (await migrationState(db)).pending.map((m) => m.name))

type Migrator = Awaited<ReturnType<typeof openMigrator>>

export async function withMigrator<T>(url: string, work: (db: Migrator) => Promise<T>): Promise<T> {
  const postgres = await import('./postgres.ts')
  const db = await postgres.openMigrator(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
