import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrated } from './migrated.ts'
import { generate, stale } from './sql.ts'
import { blocks } from './sqltext.ts'

const MIGRATION = `
create role fixture_owner nologin;
create domain cents as bigint check (value >= 0);
create table account (
  tenant text not null, id bigint not null, name text, balance cents not null, sealed bytea not null,
  facts jsonb not null, tags text[] not null, seen timestamptz, primary key (tenant, id)
);
create table holder (tenant text not null, id bigint not null, label text not null, primary key (tenant, id));
create function rise(at bigint[]) returns table (id bigint) language sql return (select 1::bigint);
set local role fixture_owner;
`

const PORT = `export interface Statement<P, R> {
  readonly name: string
  readonly text: string
  readonly params: readonly (keyof P & string)[]
  readonly _row?: R
}
`

const SQL = `-- name: accountById
-- One account; \`null\` when the scope does not see it.
select id, name, balance, sealed, facts, tags,
       (extract(epoch from seen) * 1000)::int8 as "seenAt?",  -- not :aParameter
       count(*) over () as "total!"
from account where tenant = :tenant and id = :id and name is distinct from ':literal';

-- name: rename
update account set name = :name?::text, facts = :facts where tenant = :tenant and id = any(:ids);

-- name: everyone
select holder.label, account.id from account left join holder on holder.tenant = account.tenant;

-- name: risen
select id as "id!" from rise(:at::bigint[]);
`

let folder = ''
let db: PGlite
const put = (file: string, text: string) => {
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), text)
}
const source = () => join(folder, 'src')
const port = () => join(folder, 'src/db/port.ts')
const generated = async (sql: string) => {
  put('src/run/account.sql', sql)
  return (await generate(db, source(), port())).get(join(source(), 'run/account.sql.ts')) ?? ''
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sql-'))
  put('migrations/0002_later.sql', 'create table later (id bigint primary key)')
  put('migrations/0001_first.sql', MIGRATION)
  put('src/db/port.ts', PORT)
  put('package.json', '{ "type": "module" }')
  db = await migrated(join(folder, 'migrations'))
}, 60_000)

afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('statements from SQL', () => {
  it('house: a statement gets a name of its own, its text with numbered parameters, and both types', async () => {
    const text = await generated(SQL)
    expect(text).toContain("import type { Statement } from '../db/port.ts'")
    expect(text).toContain(`export interface AccountByIdParams {
  readonly tenant: string
  readonly id: number
}
export interface AccountByIdRow {
  readonly id: number
  readonly name: string | null
  readonly balance: number
  readonly sealed: Uint8Array
  readonly facts: unknown
  readonly tags: string[]
  readonly seenAt: number | null
  readonly total: number
}
/**
 * One account; \`null\` when the scope does not see it.
 */
export const accountById: Statement<AccountByIdParams, AccountByIdRow> = {`)
    expect(text).toMatch(/name: 'account_accountById_[0-9a-f]{8}'/)
    expect(text).toContain(
      "tenant = $1 and id = $2 and name is distinct from ':literal'`,\n  params: ['tenant', 'id'],",
    )
    expect(text).toContain('as "seenAt",\n')
  })

  it('house: parameters may be null when marked, arrays may hold null, JSON goes in as text', async () => {
    expect(await generated(SQL)).toContain(`export interface RenameParams {
  readonly name: string | null
  readonly facts: string
  readonly tenant: string
  readonly ids: readonly (number | null)[]
}
export const rename: Statement<RenameParams, never> = {`)
  })

  it('house: a required column beyond an outer join may be null, and a function column is marked by hand', async () => {
    const text = await generated(SQL)
    expect(text).toContain('readonly label: string | null\n  readonly id: number | null')
    expect(text).toMatch(/RisenRow \{\n {2}readonly id: number\n/)
  })

  it('house: what is written compiles', async () => {
    put('src/run/account.sql.ts', await generated(SQL))
    const program = ts.createProgram([join(source(), 'run/account.sql.ts')], {
      strict: true,
      noEmit: true,
      types: [],
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      allowImportingTsExtensions: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
    })
    const messages = ts
      .getPreEmitDiagnostics(program)
      .map((one) => ts.flattenDiagnosticMessageText(one.messageText, '\n'))
    expect(messages).toEqual([])
  })

  it.each([
    ['select seen from account', 'line 2, bad: "seen" is timestamptz: give milliseconds'],
    ['select id from account where seen < :at', ':at is timestamptz: take milliseconds'],
    ['select id from acount', 'relation "acount" does not exist, near `acount`'],
    ['select id, id from account', 'two columns are called "id"'],
    ['select 1', 'a column has no name'],
    ['select id from account; select id from account', 'cannot insert multiple commands'],
  ])('house: the code generator refuses %s', async (sql, message) => {
    await expect(generated(`-- name: bad\n${sql}`)).rejects.toThrow(message)
    expect((await db.query<{ alive: boolean }>('select true as alive')).rows).toEqual([{ alive: true }])
  })

  it.each([
    ['-- name: Upper\nselect 1 as a', 'line 1: the name `Upper` is not lowerCamel'],
    ['-- name: a\nselect 1 as a\n-- name: a\nselect 2 as a', 'line 3: `a` is named twice'],
    ['select 1 as a', 'text before the first'],
  ])('house: a block of %j is refused with its line', (sql, message) => {
    expect(() => blocks(sql)).toThrow(message)
  })

  it('house: a changed, missing or left-over file is stale', async () => {
    const text = await generated(SQL)
    const wanted = new Map([[join(source(), 'run/account.sql.ts'), text]])
    put('src/run/account.sql.ts', text)
    expect(stale(wanted, source())).toEqual([])
    put('src/run/account.sql.ts', `${text} `)
    put('src/run/gone.sql.ts', '')
    expect(stale(wanted, source())).toEqual([join(source(), 'run/account.sql.ts'), join(source(), 'run/gone.sql.ts')])
    rmSync(join(folder, 'src/run/gone.sql.ts'))
  })
})
