import { PGlite } from '@electric-sql/pglite'
import type { Scope } from '../kernel/scope.ts'
import { type Db, type MigrationDb, type Statement, safeInteger, valuesOf } from './port.ts'
import { storeFault } from './fault.ts'
import { lockFolder } from './folder-lock.ts'
import { migrate } from './migrate.ts'

const INT8 = 20
const parsers = { [INT8]: safeInteger }
// No autovacuum here, no parallel workers; these are the ones that matter for one session. Nobody analyses, so what the
// migrations have told the planner is all that it knows: a plan for given values would take every tenant for one without rows.
const SETTINGS = `set default_transaction_isolation = 'read committed'; set work_mem = '8MB'; set plan_cache_mode = force_generic_plan`

/**
 * PostgreSQL inside this process, for development, demos and single-node products. It survives a killed process but not
 * a power cut: its file layer never calls fsync. One session, so statements wait for one another.
 *
 * @param folder where the data is kept; `memory` keeps nothing.
 * @throws Fault `store_locked` when another live process uses the folder.
 */
export async function openEmbedded(folder: string | 'memory'): Promise<Db> {
  if (folder === 'memory') return embeddedDb(await startLite({}))
  const lock = await lockFolder(folder)
  try {
    const lite = await startLite({ dataDir: `${folder}/data` })
    return embeddedDb(lite, () => lock.release())
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** An instance that is migrated and acts as the app: on a folder, on a dump of one, or new and in memory. */
export async function startLite(source: { dataDir?: string; loadDataDir?: Blob }): Promise<PGlite> {
  const lite = await PGlite.create({ ...source, parsers })
  try {
    await lite.exec(SETTINGS)
    await migrate(migrationDoor(lite))
    // From here on the session has the app's rights. Only text that names the superuser could get them back, and the
    // driver below accepts statements of this package alone.
    await lite.exec('set session authorization plimsoll_app')
    return lite
  } catch (error) {
    await lite.close()
    throw error
  }
}

/** The port over an instance that is migrated and acts as the app. */
export function embeddedDb(lite: PGlite, released?: () => Promise<void>): Db {
  return {
    engine: 'embedded',
    async call(statement, params) {
      try {
        return (await lite.query<never>(refuseEscape(statement.text), valuesOf(statement, params))).rows
      } catch (error) {
        throw storeFault(error)
      }
    },
    read: (scope, statement, params) => inTenant(lite, READ_SCOPE, scope, statement, params),
    write: (scope, statement, params) => inTenant(lite, SCOPE, scope, statement, params),
    async close() {
      await lite.close()
      await released?.()
    },
  }
}

async function inTenant<P, R>(
  lite: PGlite,
  opening: string,
  scope: Pick<Scope, 'tenant' | 'environment'>,
  statement: Statement<P, R>,
  params: P,
): Promise<R[]> {
  try {
    return await lite.transaction(async (tx) => {
      await tx.query(opening, [scope.tenant, scope.environment])
      return (await tx.query<R>(refuseEscape(statement.text), valuesOf(statement, params))).rows
    })
  } catch (error) {
    throw storeFault(error)
  }
}

const SCOPE = `select set_config('app.tenant', $1, true), set_config('app.environment', $2, true)`
const READ_SCOPE = `${SCOPE}, set_config('transaction_read_only', 'on', true)`

// The session began as the superuser of the instance and could become it again, by naming it. SET, RESET, DO, EXECUTE
// and CREATE are no first words of ours; of expressions only these two reach a setting, and `u&` could spell them.
const FIRST_WORD = /^([\s(]|--[^\n]*\n)*(select|insert|update|delete|with)\b/i
const REACHES_SETTINGS = /set_config|pg_settings|authorization|u&["']/i

function refuseEscape(text: string): string {
  if (!FIRST_WORD.test(text) || REACHES_SETTINGS.test(text))
    throw new Error('a statement may only read and write rows and call functions of the store')
  return text
}

export function migrationDoor(lite: PGlite): MigrationDb {
  return {
    query: async (text, values) => (await lite.query<Record<string, unknown>>(text, values as unknown[])).rows,
    script: async (text) => void (await lite.exec(text)),
  }
}
