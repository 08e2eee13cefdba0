// Written by `npm run sql` from ready.sql: change that file.
import type { Statement } from './port.ts'

export interface AppliedMigrationsRow {
  readonly version: number
  readonly checksum: string
  readonly safe: boolean
}
export const appliedMigrations: Statement<Record<never, never>, AppliedMigrationsRow> = {
  name: 'ready_appliedMigrations_a7187f7e',
  text: `select m.version, m.checksum, m.safe from plimsoll.migration m order by m.version`,
  params: [],
}
