import pg from 'pg'
import type { Scope } from '../kernel/scope.ts'
import { Fault } from '../kernel/fault.ts'
import { isRolledBack, storeFault } from './fault.ts'
import { openLanes } from './lanes.ts'
import { type Db, type MigrationDb, type Statement, safeInteger, valuesOf } from './port.ts'

export interface PostgresOptions {
  readonly url: string
  /** Connections of this process; a statement holds one for its round trip only. */
  readonly connections?: number
}

// A step is milliseconds; whatever holds a connection this long is a fault, and must not hold others up (L5).
const STATEMENT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 5_000
const CONNECT_MS = 5_000
const SILENCE_MS = 2_000

const INT8 = 20
const INT8_ARRAY = 1016
const types = {
  getTypeParser(oid: number, format?: string): unknown {
    if (oid === INT8) return safeInteger
    if (oid === INT8_ARRAY) throw new TypeError('int8[] is not used')
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/**
 * PostgreSQL 15 to 18. The login role is `plimsoll_app` or may become it; every connection starts as it, so that no
 * statement of the program runs with other rights.
 */
export async function openPostgres(options: PostgresOptions): Promise<Db> {
  const connections = options.connections ?? 10
  const config = {
    connectionString: options.url,
    types,
    pipeline: true,
    // jit: the functions forbid sequential scans, which makes a plan look so dear that compiling it took up to 4 s
    options: '-c role=plimsoll_app -c search_path=pg_catalog -c jit=off',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    statement_timeout: STATEMENT_MS,
    // the server ends a slow statement itself; this is for a server, or a way to it, that says nothing at all
    query_timeout: STATEMENT_MS + SILENCE_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    application_name: 'plimsoll',
  } as pg.ClientConfig
  const lanes = openLanes(config, connections)
  const pool = new pg.Pool({ ...config, max: connections, idleTimeoutMillis: 30_000 })
  // A broken connection is replaced by the pool, and whoever waits on it has the error. Without a listener, both on
  // the pool and on the connection that somebody has borrowed, it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  try {
    await lanes.query('hello', 'select', [])
  } catch (error) {
    await Promise.allSettled([lanes.close(), pool.end()])
    throw startFault(error)
  }
  return {
    engine: 'postgres',
    async call(statement, params) {
      const values = valuesOf(statement, params)
      return (await repeated(() => lanes.query(statement.name, statement.text, values))).rows as never[]
    },
    read: (scope, statement, params) => repeated(() => inTenant(pool, 'begin read only', scope, statement, params)),
    write: (scope, statement, params) => repeated(() => inTenant(pool, 'begin', scope, statement, params)),
    async close() {
      await Promise.all([lanes.close(), pool.end()])
    },
  }
}

const MOST_REPEATS = 3

/** One transaction of one statement, with nothing else in it: what the server refused for others' sake is sent again. */
async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (let left = MOST_REPEATS; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left === 0 || !isRolledBack(error)) throw storeFault(error)
    }
  }
}

/** What a connection refuses at its start, besides being unreachable: the role of the program. */
function startFault(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === '22023') return new Fault('schema_older', undefined, { cause: error })
  if (code === '42501')
    return new Fault('store_unavailable', 'The login role is not a member of plimsoll_app.', { cause: error })
  return storeFault(error)
}

/** Four messages queued in one tick: an `await` between them would let another's statement into this transaction. */
async function inTenant<P, R>(
  pool: pg.Pool,
  opening: string,
  scope: Walls,
  statement: Statement<P, R>,
  params: P,
): Promise<R[]> {
  const values = valuesOf(statement, params)
  let client: pg.PoolClient | undefined
  // the connection goes back to the pool only when the server has said that the transaction is over
  let open = true
  try {
    client = await pool.connect()
    const begin = client.query(opening)
    const { name, text, isPlannedAnew } = statement
    const walls = [scope.tenant, scope.environment]
    const wall = client.query({ ...(isPlannedAnew ? SCOPE_PLANNED_ANEW : SCOPE), values: walls })
    const rows = client.query<R & pg.QueryResultRow>({ name, text, values })
    // after an error the server answers ROLLBACK
    const end = client.query('commit')
    const all = await Promise.allSettled([begin, wall, rows, end])
    open = all[3].status === 'rejected'
    for (const one of all) if (one.status === 'rejected') throw one.reason
    return (await rows).rows
  } finally {
    client?.release(open)
  }
}

type Walls = Pick<Scope, 'tenant' | 'environment'>

const SETS_WALLS = `select set_config('app.tenant', $1, true), set_config('app.environment', $2, true)`
const SCOPE = { name: 'scope', text: SETS_WALLS }
// until the end of the transaction: the statement keeps its name, so that it is parsed once for each connection
const SCOPE_PLANNED_ANEW = {
  name: 'scope_planned_anew',
  text: `${SETS_WALLS}, set_config('plan_cache_mode', 'force_custom_plan', true)`,
}

/** A connection for migrations, with the rights of the URL's own role. */
export async function openMigrator(url: string): Promise<MigrationDb & { close(): Promise<void> }> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'plimsoll-migrate',
  })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw storeFault(error)
  }
  return {
    query: async (text, values) => (await client.query<Record<string, unknown>>(text, values as unknown[])).rows,
    script: async (text) => void (await client.query(text)),
    close: () => client.end(),
  }
}
