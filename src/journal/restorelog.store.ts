/** The database's side of the restore log. */
import type { Db } from '../db/port.ts'
import type { RestoreEntry } from './restorelog.ts'
import { entries, mark, reached, restore } from './restorelog.sql.ts'

/** Longer than any transaction of ours can last: 10 s of a statement and 5 s of silence. */
const OVERLAP_MS = 60_000

export interface RestoreStore {
  /** The last segment that this database knows of, and its time now, in milliseconds since the epoch. */
  mark(): Promise<{ readonly segment: string; readonly now: number }>
  /** What has happened since the mark, and a minute before. Crosses tenants; reads no content. */
  entries(): Promise<readonly RestoreEntry[]>
  /** `at`: the time that `entries` was read after. */
  reached(segment: string, at: number): Promise<void>
  /** How many of them this database did not know. */
  restore(entries: readonly RestoreEntry[]): Promise<number>
}

export function restoreStore(db: Db): RestoreStore {
  return {
    async mark() {
      const [row] = await db.call(mark, {})
      return { segment: row?.segment ?? '', now: row?.now ?? 0 }
    },
    entries: async () => (await db.call(entries, { overlapMs: OVERLAP_MS })) as readonly RestoreEntry[],
    async reached(segment, at) {
      await db.call(reached, { segment, at })
    },
    async restore(told) {
      const list = told.map(({ kind, tenant, environment, id, target, at }) => ({
        kind,
        tenant,
        environment,
        id,
        target,
        at_ms: at,
      }))
      const rows = await db.call(restore, { entries: JSON.stringify(list) })
      return rows.reduce((sum, row) => sum + row.changed, 0)
    },
  }
}
