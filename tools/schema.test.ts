import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrated } from './migrated.ts'
import { checkSchema, dump } from './schema.ts'

const MIGRATION = `
create role ledger_owner nologin noinherit;
create role ledger_app login;
create role ledger_reader nologin;
grant ledger_reader to ledger_app;
create schema ledger authorization ledger_owner;
grant usage on schema ledger to ledger_app;
create type ledger.colour as enum ('red', 'green');
create domain ledger.cents as bigint check (value >= 0);
create table ledger.entry (
  tenant text not null,
  id bigint generated always as identity,
  cents ledger.cents not null default 0,
  colour ledger.colour,
  twice bigint generated always as (id * 2) stored,
  note text collate "C",
  constraint entry_pk primary key (tenant, id),
  constraint entry_note check (length(note) < 10)
) with (fillfactor = 80);
alter table ledger.entry owner to ledger_owner;
create index entry_by_colour on ledger.entry (tenant, colour) where note is not null;
alter table ledger.entry enable row level security;
alter table ledger.entry force row level security;
create policy wall on ledger.entry to ledger_app using (tenant = current_setting('app.tenant', true));
grant select, insert on ledger.entry to ledger_app;
grant update (note) on ledger.entry to ledger_app;
create function ledger.total(of text) returns bigint language sql stable security definer set search_path = ledger
  as 'select sum(cents)::bigint from ledger.entry where tenant = of';
alter function ledger.total(text) owner to ledger_owner;
revoke all on function ledger.total(text) from public;
grant execute on function ledger.total(text) to ledger_app;
create view ledger.red with (security_invoker = true) as select id from ledger.entry where colour = 'red';
`

let folder = ''
let db: PGlite

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'schema-'))
  writeFileSync(join(folder, '0001_first.sql'), MIGRATION)
  db = await migrated(folder)
}, 60_000)

afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the golden schema', () => {
  it('house: shows every part that a review must see', async () => {
    expect(await dump(db)).toMatchInlineSnapshot(`
      "-- Written by \`npm run schema\` from migrations/: change nothing here.

      -- roles
      create role ledger_app login;
      grant ledger_reader to ledger_app;
      create role ledger_owner nologin noinherit;
      create role ledger_reader nologin;

      -- schemas
      create schema ledger authorization ledger_owner;
      grant usage on schema ledger to ledger_app;
      create schema plimsoll authorization postgres;
      grant usage on schema public to public;

      -- types
      create domain ledger.cents as bigint CHECK ((VALUE >= 0));
      create type ledger.colour as enum ('red', 'green');

      -- tables

      create table ledger.entry (
        tenant text not null,
        id bigint not null generated always as identity,
        cents ledger.cents not null default 0,
        colour ledger.colour,
        twice bigint generated always as ((id * 2)) stored,
        note text collate "C",
        constraint entry_pk PRIMARY KEY (tenant, id),
        constraint entry_note CHECK ((length(note) < 10))
      ) with (fillfactor=80);
      alter table ledger.entry enable row level security;
      alter table ledger.entry force row level security;
      alter table ledger.entry owner to ledger_owner;
      CREATE INDEX entry_by_colour ON ledger.entry USING btree (tenant, colour) WHERE (note IS NOT NULL);
      create policy wall on ledger.entry for all to ledger_app using ((tenant = current_setting('app.tenant'::text, true)));
      grant insert, select on table ledger.entry to ledger_app;
      grant update (note) on table ledger.entry to ledger_app;

      create table plimsoll.migration (
        version integer not null,
        name text not null,
        checksum text not null,
        safe boolean not null,
        applied_at timestamp with time zone not null default now(),
        constraint migration_pkey PRIMARY KEY (version)
      );
      alter table plimsoll.migration owner to postgres;

      -- views

      create view ledger.red with (security_invoker=true) as
       SELECT id
         FROM ledger.entry
        WHERE (colour = 'red'::ledger.colour);
      alter view ledger.red owner to postgres;

      -- functions

      CREATE OR REPLACE FUNCTION ledger.total(of text)
       RETURNS bigint
       LANGUAGE sql
       STABLE SECURITY DEFINER
       SET search_path TO 'ledger'
      AS $function$select sum(cents)::bigint from ledger.entry where tenant = of$function$;
      alter function ledger.total(text) owner to ledger_owner;
      grant execute on function ledger.total(text) to ledger_app;
      "
    `)
  })

  it.each([
    'grant delete on ledger.entry to ledger_app',
    'alter table ledger.entry no force row level security',
    'alter function ledger.total(text) security invoker',
    'alter function ledger.total(text) owner to current_user',
    'grant execute on function ledger.total(text) to public',
    'grant ledger_owner to ledger_app',
    'alter policy wall on ledger.entry using (true)',
    'drop index ledger.entry_by_colour',
    'alter table ledger.entry alter note set not null',
    'alter role ledger_app bypassrls',
  ])('house: notices %s', async (change) => {
    const golden = join(folder, 'schema.sql')
    writeFileSync(golden, await dump(db))
    expect(await checkSchema(db, golden)).toBeNull()
    await db.exec(`begin; ${change}`)
    expect(await checkSchema(db, golden)).toMatch(/differs from the migrations at line \d+/)
    await db.exec('rollback')
  })
})
