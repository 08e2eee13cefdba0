import type { Db } from './port.ts'
import { shippedMigrations } from './migrate.ts'
import { appliedMigrations } from './ready.sql.ts'

/** Null when the store answers and has the schema of this program; otherwise what is wrong, without names. */
export async function storeReady(db: Db): Promise<'unreachable' | 'schema' | null> {
  try {
    const applied = await db.call(appliedMigrations, {})
    const has = (version: number, checksum: string) =>
      applied.some((a) => a.version === version && a.checksum === checksum)
    return shippedMigrations().every((m) => has(m.version, m.checksum)) ? null : 'schema'
  } catch {
    return 'unreachable'
  }
}
