import { PGlite } from '@electric-sql/pglite'
import type { Scope } from '../kernel/scope.ts'
import { type Db, type MigrationDb, type Statement, safeInteger, valuesOf } from './port.ts'
import { lockFolder } from './folder-lock.ts'
import { migrate } from './migrate.ts'

const INT8 = 20
const parsers = { [INT8]: safeInteger }
// No autovacuum here, no parallel workers; these are the ones that matter for one session.
const SETTINGS = `set default_transaction_isolation = 'read committed'; set work_mem = '8MB'`

/**
 * PostgreSQL inside this process, for development, demos and single-node products. It survives a killed process but not
 * a power cut: its file layer never calls fsync. One session, so statements wait for one another.
 *
 * @param folder where the data is kept; `memory` keeps nothing.
 * @throws Fault `store_locked` when another live process uses the folder.
 */
export async function openEmbedded(folder: string | 'memory', snapshot?: Blob): Promise<Db> {
  const lock = folder === 'memory' ? null : await lockFolder(folder)
  let lite: PGlite
  try {
    lite = await PGlite.create({
      ...(folder === 'memory' ? {} : { dataDir: `${folder}/data` }),
      ...(snapshot ? { loadDataDir: snapshot } : {}),
      parsers,
    })
    await lite.exec(SETTINGS)
    await migrate(migrationDoor(lite))
    // From here on the session has the app's rights. Only text that names the superuser could get them back, and the
    // driver below accepts statements of this package alone.
    await lite.exec('set session authorization plimsoll_app')
  } catch (error) {
    await lock?.release()
    throw error
  }
  return {
    engine: 'embedded',
    async call(statement, params) {
      const result = await lite.query(refuseEscape(statement.text), valuesOf(statement, params))
      return result.rows as never[]
    },
    read: (scope, statement, params) => inTenant(lite, scope, statement, params),
    write: (scope, statement, params) => inTenant(lite, scope, statement, params),
    async close() {
      await lite.close()
      await lock?.release()
    },
  }
}

const inTenant = <P, R>(lite: PGlite, scope: Pick<Scope, 'tenant' | 'environment'>, statement: Statement<P, R>, params: P): Promise<R[]> =>
  lite.transaction(async (tx) => {
    await tx.query(SCOPE, [scope.tenant, scope.environment])
    return (await tx.query<R>(refuseEscape(statement.text), valuesOf(statement, params))).rows
  })

const SCOPE = `select set_config('app.tenant', $1, true), set_config('app.environment', $2, true)`

function refuseEscape(text: string): string {
  if (/session[_ ]authorization/i.test(text)) throw new Error('a statement may not change the session’s role')
  return text
}

export function migrationDoor(lite: PGlite): MigrationDb {
  return {
    query: async (text, values) => (await lite.query<Record<string, unknown>>(text, values as unknown[])).rows,
    script: async (text) => void (await lite.exec(text)),
  }
}
