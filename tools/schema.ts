/**
 * `npm run schema` writes `schema.sql`: what the migrations add up to, read back from the catalogue in a stable order.
 * It is for reviews and differences, not for restoring. `--check` writes nothing and fails on a difference.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import { migrated } from './migrated.ts'
import { isMain, report } from './report.ts'

const HEADER = '-- Written by `npm run schema` from migrations/: change nothing here.\n'

/** Objects of ours: not the server's and not an extension's. `ns` is the object's namespace, `oid` its id. */
const ours = (ns: string, oid: string) => `${ns}::regnamespace::text !~ '^(pg_|information_schema)'
  and not exists (select from pg_depend d where d.objid = ${oid} and d.deptype = 'e')`

/** `grant … on <kind> <name> to <grantee>`, one row per grantee; the owner's own rights are understood. */
const grants = (kind: string, source: string) => `
  select format('grant %s on ${kind} %s to %s%s;', string_agg(lower(a.privilege_type), ', ' order by a.privilege_type),
           o.name, case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
           case when a.is_grantable then ' with grant option' else '' end) as line, o.name, 4 as part
  from (${source}) o, aclexplode(o.acl) a
  where a.grantee <> o.owner group by o.name, a.grantee, a.is_grantable`

/** Each yields rows (name, part, line); the lines of one name stand together, in order of part and text. */
const SECTIONS: readonly (readonly [title: string, sql: string])[] = [
  [
    'roles',
    `select rolname as name, 0 as part, format('create role %I %s%s%s%s%s%s;', rolname,
       case when rolcanlogin then 'login' else 'nologin' end, case when rolinherit then '' else ' noinherit' end,
       case when rolsuper then ' superuser' else '' end, case when rolbypassrls then ' bypassrls' else '' end,
       case when rolcreaterole then ' createrole' else '' end, case when rolcreatedb then ' createdb' else '' end) as line
     from pg_roles where oid >= 16384
     union all
     select m.rolname, 1, format('grant %I to %I%s;', r.rolname, m.rolname,
       case when a.admin_option then ' with admin option' else '' end)
     from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
     where a.member >= 16384
     union all
     select coalesce(r.rolname, ''), 2, format('alter role %s set %s;', coalesce(quote_ident(r.rolname), 'all'), c)
     from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) c`,
  ],
  [
    'extensions',
    `select extname as name, 0 as part, format('create extension %I;', extname) as line
     from pg_extension where extname <> 'plpgsql'`,
  ],
  [
    'schemas',
    `select nspname as name, 0 as part, format('create schema %I authorization %I;', nspname, nspowner::regrole) as line
     from pg_namespace n where ${ours('n.oid', 'n.oid')} and nspname <> 'public'
     union all select name, part, line from (${grants(
       'schema',
       `select nspname as name, nspowner as owner, nspacl as acl from pg_namespace n where ${ours('n.oid', 'n.oid')}`,
     )}) g
     union all
     select coalesce(defaclnamespace::regnamespace::text, ''), 5,
       format('alter default privileges for %s: %s %s;', defaclrole::regrole, defaclobjtype, defaclacl)
     from pg_default_acl`,
  ],
  [
    'types',
    `select t.oid::regtype::text as name, 0 as part, format('create type %s as enum (%s);', t.oid::regtype,
       (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid)) as line
     from pg_type t where typtype = 'e' and ${ours('typnamespace', 't.oid')}
     union all
     select t.oid::regtype::text, 0, format('create domain %s as %s%s%s;', t.oid::regtype,
       format_type(typbasetype, typtypmod), case when typnotnull then ' not null' else '' end,
       (select string_agg(' ' || pg_get_constraintdef(c.oid), '' order by conname) from pg_constraint c
        where contypid = t.oid and contype = 'c'))
     from pg_type t where typtype = 'd' and ${ours('typnamespace', 't.oid')}`,
  ],
  [
    'sequences',
    `select c.oid::regclass::text as name, 0 as part,
       format('create sequence %s as %s start %s increment %s cache %s;', c.oid::regclass, seqtypid::regtype, seqstart,
         seqincrement, seqcache) as line
     from pg_sequence s join pg_class c on c.oid = s.seqrelid where ${ours('relnamespace', 'c.oid')}
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
     union all select name, part, line from (${grants(
       'sequence',
       `select c.oid::regclass::text as name, relowner as owner, relacl as acl from pg_class c
        where relkind = 'S' and ${ours('relnamespace', 'c.oid')}`,
     )}) g`,
  ],
  [
    'tables',
    `with t as (select c.*, c.oid::regclass::text as name from pg_class c
       where relkind in ('r', 'p') and ${ours('relnamespace', 'c.oid')})
     select name, 0 as part, format(E'\\ncreate %stable %s (\\n%s\\n)%s%s;',
       case relpersistence when 'u' then 'unlogged ' else '' end, name,
       concat_ws(E',\\n', (
         select string_agg(format('  %I %s%s%s%s', attname, format_type(atttypid, atttypmod),
           case when attnotnull then ' not null' else '' end,
           case when attidentity = 'a' then ' generated always as identity'
                when attidentity = 'd' then ' generated by default as identity'
                when attgenerated = 's' then format(' generated always as (%s) stored', pg_get_expr(adbin, adrelid))
                when adbin is not null then ' default ' || pg_get_expr(adbin, adrelid) else '' end,
           case when attcollation <> 0 and attcollation <> typcollation
                then ' collate ' || attcollation::regcollation else '' end), E',\\n' order by attnum)
         from pg_attribute join pg_type y on y.oid = atttypid
           left join pg_attrdef on adrelid = attrelid and adnum = attnum
         where attrelid = t.oid and attnum > 0 and not attisdropped),
        (select string_agg(format('  constraint %I %s', conname, pg_get_constraintdef(k.oid)), E',\\n'
           order by array_position(array['p', 'u', 'f', 'c', 'x'], contype::text), conname)
         from pg_constraint k where conrelid = t.oid and contype <> 'n')),
       coalesce(' partition by ' || pg_get_partkeydef(oid), ''),
       coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '')) as line from t
     union all select name, 1, format('alter table %s owner to %s;', name, relowner::regrole) from t
     union all select name, 1, format('alter table %s enable row level security;', name) from t where relrowsecurity
     union all select name, 1, format('alter table %s force row level security;', name) from t where relforcerowsecurity
     union all select t.name, 1, format('alter table %s attach partition %s %s;', inhparent::regclass, t.name,
       pg_get_expr(relpartbound, t.oid)) from t join pg_inherits on inhrelid = t.oid where relispartition
     union all select t.name, 2, pg_get_indexdef(indexrelid) || ';' from t join pg_index on indrelid = t.oid
       where not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
     union all select t.name, 3, format('create policy %I on %s%s for %s to %s%s%s;', polname, t.name,
       case when polpermissive then '' else ' as restrictive' end,
       case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
       (select string_agg(case r when 0 then 'public' else r::regrole::text end, ', ' order by 1) from unnest(polroles) r),
       coalesce(' using (' || pg_get_expr(polqual, polrelid) || ')', ''),
       coalesce(' with check (' || pg_get_expr(polwithcheck, polrelid) || ')', ''))
       from t join pg_policy on polrelid = t.oid
     union all select t.name, 3, pg_get_triggerdef(g.oid) || ';' from t join pg_trigger g on tgrelid = t.oid
       where not tgisinternal
     union all select name, part, line from (${grants('table', 'select name, relowner as owner, relacl as acl from t')}) g
     union all select t.name, 5, format('grant %s (%s) on table %s to %s;', lower(privilege_type),
       string_agg(quote_ident(attname), ', ' order by attname), t.name,
       case grantee when 0 then 'public' else grantee::regrole::text end)
       from t join pg_attribute on attrelid = t.oid, aclexplode(attacl)
       group by t.name, privilege_type, grantee`,
  ],
  [
    'views',
    `with v as (select c.*, c.oid::regclass::text as name from pg_class c
       where relkind in ('v', 'm') and ${ours('relnamespace', 'c.oid')})
     select name, 0 as part, format(E'\\ncreate %sview %s%s as\\n%s', case relkind when 'm' then 'materialized ' else '' end,
       name, coalesce(' with (' || array_to_string(reloptions, ', ') || ')', ''), pg_get_viewdef(oid)) as line from v
     union all select name, 1, format('alter view %s owner to %s;', name, relowner::regrole) from v
     union all select name, part, line from (${grants('table', 'select name, relowner as owner, relacl as acl from v')}) g`,
  ],
  [
    'functions',
    `with f as (select p.*, p.oid::regprocedure::text as name from pg_proc p
       where prokind in ('f', 'p') and ${ours('pronamespace', 'p.oid')})
     select name, 0 as part, E'\\n' || rtrim(pg_get_functiondef(oid), E'\\n') || ';' as line from f
     union all select name, 1, format('alter function %s owner to %s;', name, proowner::regrole) from f
     union all select name, part, line from (${grants(
       'function',
       `select name, proowner as owner, coalesce(proacl, acldefault('f', proowner)) as acl from f`,
     )}) g`,
  ],
]

/** The whole schema as text; equal schemas give equal text. */
export async function dump(db: PGlite): Promise<string> {
  let text = HEADER
  for (const [title, sql] of SECTIONS) {
    const { rows } = await db.query<{ line: string }>(
      `select line from (${sql}) every order by name collate "C", part, line collate "C"`,
    )
    if (rows.length > 0) text += `\n-- ${title}\n${rows.map((row) => `${row.line}\n`).join('')}`
  }
  return text
}

/** Exit text for `check`: null when `schema.sql` is what the migrations give. */
export async function checkSchema(db: PGlite, golden = 'schema.sql'): Promise<string | null> {
  const wanted = (await dump(db)).split('\n')
  const found = readFileSync(golden, 'utf8').split('\n')
  const line = wanted.findIndex((text, index) => text !== found[index])
  if (line === -1 && wanted.length === found.length) return null
  return `${golden} differs from the migrations at line ${line + 1}, run \`npm run schema\``
}

if (isMain(import.meta.url)) {
  await report('schema', async () => {
    const db = await migrated('migrations')
    try {
      if (process.argv.includes('--check')) return await checkSchema(db)
      writeFileSync('schema.sql', await dump(db))
      return null
    } finally {
      await db.close()
    }
  })
}
