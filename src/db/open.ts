/** One way to open either store. The drivers are loaded when they are needed: each takes a good part of a second. */
import { Fault } from '../kernel/fault.ts'
import type { Db } from './port.ts'

export interface OpenStoreOptions {
  /** Connections of this process to PostgreSQL; default 10. */
  readonly connections?: number
}

const URL_OF_POSTGRES = /^postgres(ql)?:\/\//i
const ANY_URL = /^[a-z][a-z0-9+.-]*:\/\//i

/** Whether `place` is a URL of PostgreSQL; otherwise it is a folder. @throws Fault `invalid_definition` for another URL. */
export function isPostgres(place: string): boolean {
  if (URL_OF_POSTGRES.test(place)) return true
  if (ANY_URL.test(place)) throw new Fault('invalid_definition', 'A store is `postgresql://…`, a folder or `memory`.')
  return false
}

/**
 * @param place `postgresql://…`; or a folder for the embedded store; or `memory`, which keeps nothing. The embedded store
 * migrates itself, PostgreSQL is migrated by `migrate`, with other rights.
 * @throws Fault `store_unavailable`, `store_locked`, `schema_older`, `schema_newer`, `schema_changed`
 */
export async function openStore(place: string, options: OpenStoreOptions = {}): Promise<Db> {
  if (!isPostgres(place)) return (await import('./embedded.ts')).openEmbedded(place)
  const { openPostgres } = await import('./postgres.ts')
  return openPostgres({ url: place, ...options })
}
