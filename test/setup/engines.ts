/**
 * The store as the product opens it, on both engines, for one test file: `db` has the rights of the program, `admin`
 * those of a superuser. Both start from a migrated template, which is made once per version of the schema.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { inject } from 'vitest'
import { embeddedDb, migrationDoor, startLite } from '../../src/db/embedded.ts'
import { type MemoryStore, memoryStore } from '../../src/testing/memory/store.ts'
import { migrate, shippedMigrations } from '../../src/db/migrate.ts'
import type { Verbs } from '../../src/testing/memory/verb.ts'
import type { Db, Statement } from '../../src/db/port.ts'
import { openMigrator, openPostgres } from '../../src/db/postgres.ts'
import { dumpOf } from './dump.ts'

export type Engine = Db['engine']
type Row = Record<string, unknown>

export interface TestStore {
  readonly engine: Engine
  readonly db: Db
  /** One statement, or several without values, with all rights. */
  admin(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Text as a client with the rights of the program could send it, past the port. Each call is one transaction. */
  app(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Another process on the same store; the same one where only one is possible. */
  another(connections?: number): Promise<Db>
  /** A transaction of the program that stays open until it is released. PostgreSQL only. */
  hold(text: string): Promise<{ readonly rows: readonly Row[]; release(): Promise<void>; commit(): Promise<void> }>
  /** The tables of the store in memory, which knows no SQL. */
  readonly memory?: MemoryStore
  /** The URL of the program's login role; empty on the embedded engine. */
  readonly url: string
  close(): Promise<void>
}

/** The engines of this machine. */
export const ENGINES: readonly Engine[] = inject('postgres') ? ['postgres', 'embedded'] : ['embedded']

/**
 * What rests on statements that the tests of the store try on every engine is told once at length, on the first; of each such
 * story the beginning is told on every engine.
 */
export const isFirst = (engine: Engine): boolean => engine === ENGINES[0]

/** The store in memory, for whatever asks with the shipped statements only. */
export function openMemory(verbs?: Verbs): TestStore {
  const memory = memoryStore(verbs ? { verbs } : {})
  const noText = () => Promise.reject(new Error('the store in memory knows no SQL text'))
  return {
    engine: 'memory',
    memory,
    url: '',
    db: memory.db,
    admin: noText,
    app: noText,
    hold: noText,
    another: () => Promise.resolve(memory.db),
    close: () => memory.db.close(),
  }
}

export const openStore = (engine: Engine): Promise<TestStore> =>
  engine === 'postgres' ? postgresStore() : embeddedStore()

export const statement = (name: string, text: string, params: readonly string[] = []): Statement<Row, Row> => ({
  name: `test_${name}`,
  text,
  params,
})

const require = createRequire(import.meta.url)
const VERSION = createHash('sha256')
  .update(
    shippedMigrations()
      .map((m) => m.checksum)
      .join(),
  )
  .update(
    (require('../../package.json') as { dependencies: Record<string, string> }).dependencies['@electric-sql/pglite'] ??
      '',
  )
  .digest('hex')
  .slice(0, 12)

// ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────────────────────────

const TEMPLATE = `plimsoll_test_${VERSION}`
const INT8 = 20
const types = {
  getTypeParser: (oid: number, format?: string): unknown =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig
/** Two files may need the template at once. Any number will do; this is ours. */
const TEMPLATE_LOCK = 7_406_251_904

export async function onServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: inject('postgres') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function urlOf(database: string, user?: string): string {
  const url = new URL(inject('postgres'))
  url.pathname = `/${database}`
  if (user) Object.assign(url, { username: user, password: user })
  return url.toString()
}

async function makeTemplate(client: pg.Client): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
  const { rowCount } = await client.query('select from pg_database where datname = $1', [TEMPLATE])
  if (rowCount === 0) {
    await client.query(`create database ${TEMPLATE}_new`)
    const migrator = await openMigrator(urlOf(`${TEMPLATE}_new`))
    await migrate(migrator)
    await migrator.close()
    await client.query(`alter database ${TEMPLATE}_new rename to ${TEMPLATE}`)
  }
  await client.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
}

/** A new, empty database; `template` has the schema already. */
export async function makeDatabase(from: 'template' | 'nothing'): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `plimsoll_test_${randomBytes(6).toString('hex')}`
  await onServer(async (client) => {
    if (from === 'template') await makeTemplate(client)
    await client.query(`create database ${name}${from === 'template' ? ` template ${TEMPLATE}` : ''}`)
  })
  return {
    url: urlOf(name),
    drop: () => onServer(async (client) => void (await client.query(`drop database ${name} with (force)`))),
  }
}

async function postgresStore(): Promise<TestStore> {
  const database = await makeDatabase('template')
  const name = new URL(database.url).pathname.slice(1)
  // a login role as an operator would make it: a member of the app role and nothing else
  const login = name.replace('test', 'login')
  await onServer((client) => client.query(`create role ${login} login password '${login}' in role plimsoll_app`))
  const url = urlOf(name, login)
  const admin = new pg.Pool({ connectionString: database.url, types, max: 2 })
  const names = new Map<string, string>()
  // as the program's own connections start: a compiled plan of a forbidden scan takes seconds
  const app = new pg.Client({ connectionString: url, types, options: '-c jit=off' })
  await app.connect()
  const opened = [await openPostgres({ url })]
  return {
    engine: 'postgres',
    url,
    db: opened[0] as Db,
    async admin(text, values) {
      if (!values) return (await admin.query<Row>(text)).rows
      // the probes send few texts very often, and planning costs more than running them
      const name = names.get(text) ?? `admin_${names.size}`
      names.set(text, name)
      return (await admin.query<Row>({ name, text, values: values as unknown[] })).rows
    },
    async app(text, values) {
      try {
        await app.query('begin')
        const results = (await app.query<Row>(text, values as unknown[])) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
        return (Array.isArray(results) ? results.at(-1)?.rows : results.rows) ?? []
      } finally {
        await app.query('rollback')
      }
    },
    async hold(text) {
      const client = new pg.Client({ connectionString: url, options: '-c jit=off' })
      await client.connect()
      await client.query('begin')
      return {
        rows: (await client.query<Row>(text)).rows,
        release: () => client.end(),
        async commit() {
          await client.query('commit')
          await client.end()
        },
      }
    },
    async another(connections) {
      const db = await openPostgres({ url, ...(connections ? { connections } : {}) })
      opened.push(db)
      return db
    },
    async close() {
      await Promise.all([...opened.map((db) => db.close()), admin.end(), app.end()])
      await database.drop()
      await onServer((client) => client.query(`drop role ${login}`))
    },
  }
}

// ── embedded ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A dump of a migrated instance: unpacking it takes a fraction of making one. It is kept for the next run. */
async function template(): Promise<Blob> {
  const file = join(tmpdir(), `plimsoll-test-${VERSION}-small.tar`)
  if (!existsSync(file)) {
    forgetOldDumps()
    const lite = await PGlite.create()
    await migrate(migrationDoor(lite))
    const mine = `${file}.${process.pid}`
    writeFileSync(mine, await dumpOf(lite))
    renameSync(mine, file)
    await lite.close()
  }
  return new Blob([readFileSync(file)])
}

/** Each version of the schema leaves 44 MB behind; another suite may be using one of today. */
function forgetOldDumps(): void {
  for (const name of readdirSync(tmpdir()).filter((n) => /^plimsoll-test-[\w-]+\.tar/.test(n))) {
    const old = join(tmpdir(), name)
    if (Date.now() - statSync(old).mtimeMs > 86_400_000) rmSync(old, { force: true })
  }
}

/** A migrated instance with all rights; in memory, or in a folder that is empty so far. */
export async function bareLite(dataDir?: string): Promise<PGlite> {
  return PGlite.create({ ...(dataDir ? { dataDir } : {}), loadDataDir: await template() })
}

async function embeddedStore(): Promise<TestStore> {
  const lite = await startLite({ loadDataDir: await template() })
  const db = embeddedDb(lite)
  return {
    engine: 'embedded',
    url: '',
    db,
    admin: (text, values) =>
      lite.transaction(async (tx) => {
        await tx.exec('set local session authorization postgres')
        if (values) return (await tx.query<Row>(text, values as unknown[])).rows
        return (await tx.exec(text)).at(-1)?.rows ?? []
      }),
    app: (text, values) =>
      lite.transaction(async (tx) => {
        const rows = values
          ? (await tx.query<Row>(text, values as unknown[])).rows
          : ((await tx.exec(text)).at(-1)?.rows ?? [])
        await tx.rollback()
        return rows
      }),
    hold: () => Promise.reject(new Error('one session only')),
    another: () => Promise.resolve(db),
    close: () => db.close(),
  }
}
