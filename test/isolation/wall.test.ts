/** The wall from the side of the program: every table, every way to forget or to forge a tenant, on both engines. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Statement } from '../../src/db/port.ts'
import { ENGINES, openStore, statement, type TestStore } from '../setup/engines.ts'
import { seedRun, TENANT_TABLES, transition } from '../setup/seed.ts'
import { PLACES, rowsOf, seedEverything, WALL } from '../setup/wall-guards.ts'

const PRETEND = `select set_config('app.batch', (select '|' || string_agg(concat_ws('/', t, e, id), '|') || '|'
  from unnest(array['acme', 'birch']) t, unnest(array['production', 'test']) e, unnest($ids$IDS$ids$::text[]) id), true);`

describe.each(ENGINES)('the wall on %s', (engine) => {
  let store: TestStore
  let pretend = ''
  beforeAll(async () => {
    store = await openStore(engine)
    await seedEverything(store)
    const runs = await store.admin(`select array_agg(id)::text as ids from plimsoll.run`)
    pretend = PRETEND.replace('IDS', String(runs[0]?.ids))
  })
  afterAll(() => store.close())

  it.each(WALL)('H2 H3 no row of another tenant or environment is seen or written: $name', (guard) => guard.run(store))

  it.each(TENANT_TABLES)(
    'H2 a client in the name of the program can neither read past the wall nor take it down: %s',
    async (table) => {
      const t = `plimsoll.${table}`
      const refused = [
        `update ${t} set tenant_id = 'acme'`,
        `update ${t} set environment = 'production' where tenant_id = 'birch'`,
        `truncate ${t}`,
        `copy ${t} to '/tmp/plimsoll-stolen'`,
        `copy ${t} from '/tmp/plimsoll-stolen'`,
        `copy ${t} to program 'cat'`,
        `set local row_security = off; select count(*) from ${t}`,
        `drop policy tenant on ${t}`,
        `alter policy tenant on ${t} using (true)`,
        `create policy open on ${t} using (true)`,
        `alter table ${t} disable row level security`,
        `alter table ${t} no force row level security`,
        `alter table ${t} owner to plimsoll_app`,
        `create trigger spy before insert on ${t} execute function pg_catalog.suppress_redundant_updates_trigger()`,
        `create rule spy as on select to ${t} do instead select 1`,
        `drop table ${t}`,
      ]
      const codes: string[] = []
      for (const text of refused) codes.push(await codeOf(store.app(text)))
      const insufficient = refused.map((text) => (text.startsWith('create rule') ? expect.any(String) : '42501'))
      expect(codes).toEqual(insufficient)
      expect(await store.app(`${pretend} select tenant_id from ${t}`)).toEqual([])
      // who may not grant is only warned
      const granted = `grant all on ${t} to public; select from pg_class, aclexplode(relacl) where oid = '${t}'::regclass and grantee = 0`
      expect(await store.app(granted)).toEqual([])
    },
  )

  it('H2 the app role cannot become another role, make a function of ours, or call one for more', async () => {
    const refused = [
      'set local role plimsoll_step',
      'set local role plimsoll_claim',
      'set local role plimsoll_owner',
      'set local role postgres',
      `select set_config('role', 'plimsoll_owner', true)`,
      'grant plimsoll_step to plimsoll_app',
      'alter role plimsoll_app bypassrls',
      'alter role plimsoll_app superuser',
      'create role mole login',
      `create or replace function plimsoll.reap(p_limit int) returns int language sql as 'select 1'`,
      `create function plimsoll.mole() returns int language sql as 'select 1'`,
      'alter function plimsoll.reap(int) owner to plimsoll_app',
      'alter function plimsoll.step(jsonb, text[], text) security invoker',
      'drop function plimsoll.reap(int)',
      'drop schema plimsoll cascade',
      'create table plimsoll.mole (id int)',
      `set local session_replication_role = replica`,
      `update plimsoll.migration set checksum = ''`,
      'delete from plimsoll.tenant',
      `update plimsoll.credential set tenant_id = 'acme'`,
    ]
    const codes: string[] = []
    for (const text of refused) codes.push(`${await codeOf(store.app(text))} ${text}`)
    expect(codes).toEqual(refused.map((text) => `42501 ${text}`))
  })

  it('H2 a table of the caller with one of our names is not taken for ours', async () => {
    const key = await seedRun(store)
    const rows = JSON.stringify([transition(key)])
    const call = `select n from plimsoll.step('${rows}', array['acme/production/${key.run}'], '${key.worker}')`
    const trap = `create temp table run (like plimsoll.run); create temp table message (like plimsoll.message);`
    expect(await store.app(`${trap} ${call}; select count(*)::int as n from pg_temp.message`)).toEqual([{ n: 0 }])
  })

  it('H2 the list that a caller sets himself lets him write nothing', async () => {
    for (const table of TENANT_TABLES)
      expect(await codeOf(store.app(`${pretend} update plimsoll.${table} set tenant_id = tenant_id`))).toBe('42501')
  })

  it('H2 L5 reading cannot write', async () => {
    const scope = { tenant: 'acme', environment: 'test' }
    const sweep = statement('read_sweep', 'delete from plimsoll.delta')
    expect(await codeOf(store.db.read(scope, sweep, {}))).toBe('25006')
  })

  it('H2 the tenant of one borrower of a connection is not that of the next', async () => {
    const db = await store.another(1)
    const of = (tenant: string, environment: string) => db.read({ tenant, environment }, rowsOf('run'), {})
    expect(await of('acme', 'production')).not.toEqual([])
    expect(await db.call(rowsOf('run'), {})).toEqual([])
    expect(new Set((await of('birch', 'test')).map((row) => row.tenant_id))).toEqual(new Set(['birch']))
    // an error in the middle leaves nothing behind either
    const broken = statement('broken', 'select 1 / 0 from plimsoll.run')
    expect(await codeOf(db.read({ tenant: 'acme', environment: 'production' }, broken, {}))).toBe('22012')
    expect(await codeOf(db.read({ tenant: 'acme\0', environment: 'x' }, rowsOf('run'), {}))).toBe('invalid_text')
    expect(await db.call(rowsOf('run'), {})).toEqual([])
    expect(
      await db.call(statement('left', `select nullif(current_setting('app.tenant', true), '') as tenant`), {}),
    ).toEqual([{ tenant: null }])
    expect(new Set((await of('acme', 'test')).map((row) => row.tenant_id))).toEqual(new Set(['acme']))
  })

  it('H2 a hundred readers of two tenants on two connections never see each other', async () => {
    const db = await store.another(2)
    const seen = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const place = PLACES[i % PLACES.length] ?? PLACES[0]!
        const rows = await (i % 7 ? db.read(place, rowsOf('message'), {}) : db.call(rowsOf('message'), {}))
        const wanted = i % 7 ? `${place.tenant} ${place.environment}` : undefined
        return rows.every((row) => `${row.tenant_id} ${row.environment}` === wanted)
      }),
    )
    expect(seen).not.toContain(false)
  })
})

describe('the embedded port', () => {
  const ESCAPES = [
    'set session authorization postgres',
    'set session\tauthorization postgres',
    'set session/**/authorization postgres',
    'set session -- x\nauthorization postgres',
    '-- x\nset session authorization postgres',
    '/* select */ set session authorization postgres',
    `select set_config('session_authorization', 'postgres', false)`,
    `select set_config('session_' || 'auth' || 'orization', 'postgres', false)`,
    `select "set_config"($1, $2, false)`,
    `select u&"set\\005fconfig"($1, $2, false)`,
    `select U&"!0073et_config" uescape '!' ($1, $2, false)`,
    `update pg_settings set setting = 'postgres' where name = 'session_' || 'author' || 'ization'`,
    `with x as (select 1) update pg_catalog.pg_settings set setting = 'postgres'`,
    `do $$ begin execute 'set session auth' || 'orization postgres'; end $$`,
    'reset session authorization',
    'reset all',
    'discard all',
    'set role postgres',
    'set local session authorization postgres',
    `prepare x as select 1`,
    'execute x',
    `create function pg_temp.f() returns void language plpgsql as $$ begin end $$`,
    `call x()`,
    '(set session authorization postgres)',
    'begin',
    'commit',
    '',
  ]
  let store: TestStore
  beforeAll(async () => {
    store = await openStore('embedded')
  })
  afterAll(() => store.close())

  it('H2 every statement of the program passes, one that begins with a bracket too', async () => {
    const root = fileURLToPath(new URL('../../src/', import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql.ts'))
    const modules = await Promise.all(
      files.map((file) => import(join(root, file)) as Promise<Record<string, Statement<object, object>>>),
    )
    const shipped = modules.flatMap((module) => Object.values(module))
    const refused: string[] = []
    for (const one of shipped) {
      await store.db.call(one, {}).catch((error: unknown) => {
        if (/may only read and write rows/.test(String(error))) refused.push(one.name)
      })
    }
    expect(shipped.length).toBeGreaterThan(20)
    expect(refused).toEqual([])
  })

  it('H2 no text that the port accepts gives the rights of the superuser back', async () => {
    const me = statement('me', 'select session_user::text as s, current_user::text as c')
    for (const [i, text] of ESCAPES.entries()) {
      const attempt = statement(`escape_${i}`, text)
      await expect(store.db.call(attempt, {}), text).rejects.toThrow(/may only read and write rows/)
      const scope = { tenant: 'acme', environment: 'test' }
      await expect(store.db.write(scope, attempt, {}), text).rejects.toThrow(/may only read and write rows/)
    }
    expect(await store.db.call(me, {})).toEqual([{ s: 'plimsoll_app', c: 'plimsoll_app' }])
  })
})

describe.runIf(ENGINES.includes('postgres'))('a login of PostgreSQL', () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore('postgres')
    await seedEverything(store)
  })
  afterAll(() => store.close())

  it('H2 no command gives the login role the rights of another, or lets it copy rows out', async () => {
    const client = new pg.Client({ connectionString: store.url })
    await client.connect()
    try {
      for (const text of ['set session authorization postgres', 'set role postgres', 'set role plimsoll_owner'])
        expect(await codeOf(client.query(text))).toBe('42501')
      for (const text of ['set role plimsoll_app', 'reset role', 'reset session authorization', 'discard all'])
        await client.query(text)
      for (const table of TENANT_TABLES)
        expect([table, (await client.query(`copy plimsoll.${table} to stdout`)).rowCount]).toEqual([table, 0])
    } finally {
      await client.end()
    }
  })
})

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'accepted',
    (error: unknown) => String((error as { code?: unknown }).code ?? error),
  )
}
