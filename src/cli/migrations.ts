/** `plimsoll migrate`: brings the schema of a store up to this program. */
import { join } from 'node:path'
import { Fault, migrate, openStore, pendingMigrations } from '../index.ts'
import type { Output } from './output.ts'

export interface MigrateOptions {
  readonly db: string | undefined
  readonly data: string
  readonly check?: boolean
}

export async function migrateStore(options: MigrateOptions, out: Output): Promise<void> {
  if (options.db === undefined) return embedded(options, out)
  if (options.check) {
    const pending = await pendingMigrations(options.db)
    if (pending.length > 0) throw new Fault('schema_older', `Missing: ${pending.join(', ')}.`)
    return told([], out)
  }
  told(await migrate(options.db), out)
}

/** The embedded store does it at every opening. */
async function embedded({ data, check }: MigrateOptions, out: Output): Promise<void> {
  if (!check) await (await openStore(join(data, 'store'))).close()
  out.show('The embedded store migrates itself whenever it is opened.')
  out.result({ applied: [], store: 'embedded' })
}

function told(applied: readonly string[], out: Output): void {
  out.show(...(applied.length > 0 ? applied.map((name) => `applied ${name}`) : ['The schema is up to date.']))
  out.result({ applied, store: 'postgres' })
}
