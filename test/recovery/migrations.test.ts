/** Migrations and connections of a real PostgreSQL when something is in the way. */
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { migrate, migrationState, shippedMigrations } from '../../src/db/migrate.ts'
import { openMigrator, openPostgres } from '../../src/db/postgres.ts'
import { ENGINES, makeDatabase, onServer, openStore, statement } from '../setup/engines.ts'

const inDatabase = async (from: 'template' | 'nothing', work: (url: string) => Promise<void>) => {
  const database = await makeDatabase(from)
  await work(database.url).finally(() => database.drop())
}

const withMigrators = async (
  url: string,
  many: number,
  work: (all: Awaited<ReturnType<typeof openMigrator>>[]) => Promise<void>,
) => {
  const all = await Promise.all(Array.from({ length: many }, () => openMigrator(url)))
  await work(all).finally(() => Promise.all(all.map((one) => one.close())))
}

const names = shippedMigrations().map((m) => m.name)

describe.runIf(ENGINES.includes('postgres'))('migrations', () => {
  it('L7 programs that start at once apply every migration once', () =>
    inDatabase('nothing', (url) =>
      withMigrators(url, 3, async (all) => {
        const done = await Promise.all(all.map((one) => migrate(one)))
        expect(done.flat().sort()).toEqual(names)
        const booked = await all[0]!.query('select name from plimsoll.migration order by version')
        expect(booked.map((row) => row.name)).toEqual(names)
        expect(await migrate(all[1]!)).toEqual([])
      }),
    ))

  it('L7 a migration that was changed after it was applied is refused', () =>
    inDatabase('template', (url) =>
      withMigrators(url, 1, async ([one]) => {
        const changed = shippedMigrations().map((m, i) => (i === 0 ? { ...m, checksum: 'other' } : m))
        await expect(migrate(one!, changed)).rejects.toMatchObject({
          code: 'schema_changed',
          message: /0001_runs\.sql was changed/,
        })
      }),
    ))

  it('L7 a later schema is refused when it breaks this program, and only then', () =>
    inDatabase('template', (url) =>
      withMigrators(url, 1, async ([one]) => {
        const book = (version: number, safe: boolean) =>
          one!.query('insert into plimsoll.migration (version, name, checksum, safe) values ($1, $2, $2, $3)', [
            version,
            'later',
            safe,
          ])
        await book(9001, true)
        expect((await migrationState(one!)).pending).toEqual([])
        expect(await migrate(one!)).toEqual([])
        await book(9002, false)
        await expect(migrate(one!)).rejects.toMatchObject({ code: 'schema_newer' })
      }),
    ))

  it('L7 a migration that fails leaves nothing behind, and the repaired one is applied', () =>
    inDatabase('template', (url) =>
      withMigrators(url, 1, async ([one]) => {
        const next = (text: string) => [
          ...shippedMigrations(),
          { version: 9003, name: '9003_next.sql', text, checksum: text, safe: true },
        ]
        await expect(migrate(one!, next('create table plimsoll.half (id int); select 1 / 0'))).rejects.toThrow()
        const left = await one!.query(
          `select to_regclass('plimsoll.half') is null as gone, (select max(version) from plimsoll.migration) as version`,
        )
        expect(left).toEqual([{ gone: true, version: names.length }])
        expect(await migrate(one!, next('create table plimsoll.whole (id int)'))).toEqual(['9003_next.sql'])
      }),
    ))

  it('L1 H2 a migrator that is no superuser can set everything up', () =>
    inDatabase('nothing', async (url) => {
      const name = new URL(url).pathname.slice(1)
      const role = name.replace('test', 'migrator')
      await onServer(async (client) => {
        await client.query(`create role ${role} login password '${role}' createrole`)
        await client.query(`alter database ${name} owner to ${role}`)
        // the roles belong to the server; whoever made them first lets another migrator have them
        const roles = ['owner', 'step', 'claim', 'app'].map((r) => `plimsoll_${r}`).join(', ')
        const there = await client.query(`select from pg_roles where rolname = 'plimsoll_owner'`)
        if (there.rowCount) await client.query(`grant ${roles} to ${role} with admin option`)
      })
      const login = new URL(url)
      login.username = login.password = role
      await withMigrators(login.toString(), 1, async ([one]) => expect(await migrate(one!)).toEqual(names))
      const db = await openPostgres({ url: login.toString() })
      expect(await db.call(statement('me', 'select current_user::text as me'), {})).toEqual([{ me: 'plimsoll_app' }])
      await db.close()
      await onServer(async (client) => {
        await client.query(`alter database ${name} owner to current_user`)
        const inside = new pg.Client({ connectionString: url })
        await inside.connect()
        await inside.query(`reassign owned by ${role} to current_user; drop owned by ${role}`)
        await inside.end()
        await client.query(`drop role ${role}`)
      })
    }))
})

describe.runIf(ENGINES.includes('postgres'))('connections', () => {
  it('L5 a connection that the server ends is a fault without its address, and the next statement works', async () => {
    const store = await openStore('postgres')
    const place = { tenant: 'acme', environment: 'production' }
    const wait = statement('wait', 'select pg_advisory_xact_lock(1)::text')
    const ping = statement('ping', 'select 1 as one')
    const lock = await store.hold('select pg_advisory_xact_lock(1)')
    const killWaiting = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and application_name = 'plimsoll'`
    for (const door of ['call', 'read', 'write'] as const) {
      const work = door === 'call' ? store.db.call(wait, {}) : store.db[door](place, wait, {})
      const refused = expect(work).rejects.toMatchObject({ name: 'Fault', code: 'store_unavailable' })
      await expect.poll(async () => (await store.admin(killWaiting)).length).toBe(1)
      await refused
      expect(await store.db.call(ping, {})).toEqual([{ one: 1 }])
      expect(await store.db.read(place, ping, {})).toEqual([{ one: 1 }])
    }
    await lock.release()
    // an idle one, from outside
    await store.admin(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'plimsoll' and datname = current_database()`,
    )
    const after = () => store.db.call(ping, {}).catch(() => null)
    await expect.poll(after).toEqual([{ one: 1 }])
    await store.close()
  })

  it('L5 server limits are set on every connection of the program', async () => {
    const store = await openStore('postgres')
    const limits = statement(
      'limits',
      `select current_setting('statement_timeout') as s, current_setting('idle_in_transaction_session_timeout') as i`,
    )
    expect(await store.db.call(limits, {})).toEqual([{ s: '10s', i: '5s' }])
    await store.close()
  })

  it('L1 who cannot be let in is told why, without host, user or password', async () => {
    const database = await makeDatabase('template')
    const stranger = new URL(database.url).pathname.slice(1).replace('test', 'stranger')
    await onServer((client) => client.query(`create role ${stranger} login password '${stranger}'`))
    const url = (change: (u: URL) => void) => {
      const u = new URL(database.url)
      change(u)
      return u.toString()
    }
    const cases: readonly (readonly [string, string])[] = [
      [url((u) => (u.pathname = '/plimsoll_no_such_database')), 'The database does not exist.'],
      [url((u) => (u.port = '1')), 'The database cannot be reached.'],
      [url((u) => (u.username = u.password = stranger)), 'The login role is not a member of plimsoll_app.'],
      [url((u) => (u.username = u.password = `${stranger}_2`)), 'The server refused the login.'],
    ]
    for (const [address, message] of cases)
      await expect(openPostgres({ url: address }), message).rejects.toMatchObject({
        code: 'store_unavailable',
        message,
      })
    await onServer((client) => client.query(`drop role ${stranger}`))
    await database.drop()
  })
})
