-- safe with the version before: yes
--
-- What memories are found by. All of it follows from the record and can be made again: an entry is used only while its
-- version is the memory's, and the record decides who sees it. Terms are keyed hashes; vectors are sealed.

set local role plimsoll_owner;

create table plimsoll.memory_entry (
  tenant_id   text not null,
  memory_id   text not null,
  environment text not null,
  place       text not null,
  version     int8 not null,
  -- the release of the lexer and of the ICU that it cuts words with
  lexer       text not null,
  -- all that the entry has in memory_term: how it is removed, and what a memory speaks of besides
  terms       int8[] not null,
  tfs         real[] not null check (cardinality(tfs) = cardinality(terms)),
  length      real not null,
  indexed_at  timestamptz not null default now(),
  primary key (tenant_id, memory_id)
);
create index memory_entry_lexer on plimsoll.memory_entry (tenant_id, environment, lexer);

-- One row per term of a memory. A look-up reads the index alone; the length of the entry stands in each row for that reason.
create table plimsoll.memory_term (
  tenant_id   text not null,
  environment text not null,
  place       text not null,
  term        int8 not null,
  memory_id   text not null,
  version     int8 not null,
  tf          real not null check (tf > 0),
  length      real not null check (length > 0),
  primary key (tenant_id, environment, place, term, memory_id) include (version, tf, length)
);

create table plimsoll.memory_vector (
  tenant_id   text not null,
  environment text not null,
  place       text not null,
  memory_id   text not null,
  version     int8 not null,
  model       text not null,
  dimensions  int not null check (dimensions > 0),
  body        bytea not null,
  primary key (tenant_id, environment, place, memory_id)
);

-- what may be found at a place
create index memory_place on plimsoll.memory (tenant_id, environment, place) where deleted_at is null;

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.memory_entry (tenant_id, memory_id, environment, place, version, lexer, terms, tfs, length)
select 'example', 'm' || u || '.' || n, 'production', 'user:u' || u, 1, 'l' || n % 2, '{1,2,3}', '{1,1,1}', 3 from generate_series(1, 100) u, generate_series(1, 20) n;
insert into plimsoll.memory_term (tenant_id, environment, place, term, memory_id, version, tf, length)
select tenant_id, environment, place, hashtext(memory_id) % 100 * 100 + t, memory_id, 1, 1, 30 from plimsoll.memory_entry, generate_series(1, 20) t;
insert into plimsoll.memory_vector (tenant_id, environment, place, memory_id, version, model, dimensions, body)
select tenant_id, environment, place, memory_id, 1, 'm', 3, '' from plimsoll.memory_entry;
analyze plimsoll.memory_entry, plimsoll.memory_term, plimsoll.memory_vector;
truncate plimsoll.memory_entry, plimsoll.memory_term, plimsoll.memory_vector;
do $new$
declare t text;
begin
  foreach t in array array['memory_entry', 'memory_term', 'memory_vector'] loop
    execute format('alter table plimsoll.%I set unlogged', t);
    execute format('alter table plimsoll.%I set logged', t);
  end loop;
end $new$;

-- ── the wall ────────────────────────────────────────────────────────────────────────────────────────────────────────

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  foreach t in array array['memory_entry', 'memory_term', 'memory_vector'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;

grant select, insert, delete on plimsoll.memory_entry, plimsoll.memory_term, plimsoll.memory_vector to plimsoll_app;
grant update (version, lexer, terms, tfs, length, indexed_at) on plimsoll.memory_entry to plimsoll_app;
grant update (version, tf, length) on plimsoll.memory_term to plimsoll_app;
grant update (version, model, dimensions, body) on plimsoll.memory_vector to plimsoll_app;

-- Puts the entry of one version of a memory in place of the one before. The lock of the memory orders writers of the
-- index and whoever changes or deletes the memory; each statement below sees what the holder before has left.
create function plimsoll.index_memory(p_tenant text, p_id text, p_version int8, p_lexer text, p_terms int8[], p_tfs real[], p_length real)
returns text
language plpgsql security invoker
set search_path = pg_catalog, pg_temp
as $f$
declare
  held record;
  former int8[];
begin
  select m.environment, m.place, m.version, m.deleted_at into held from plimsoll.memory m
  where m.tenant_id = p_tenant and m.id = p_id for no key update;
  if not found or held.deleted_at is not null then return 'gone'; end if;
  if held.version <> p_version then return 'stale'; end if;
  select e.terms into former from plimsoll.memory_entry e where e.tenant_id = p_tenant and e.memory_id = p_id;
  delete from plimsoll.memory_term t
  where t.tenant_id = p_tenant and t.environment = held.environment and t.place = held.place and t.term = any (former)
    and t.memory_id = p_id and t.term <> all (p_terms);
  insert into plimsoll.memory_term as t (tenant_id, environment, place, term, memory_id, version, tf, length)
  select p_tenant, held.environment, held.place, u.term, p_id, p_version, u.tf, p_length from unnest(p_terms, p_tfs) u (term, tf)
  on conflict (tenant_id, environment, place, term, memory_id) do update
  set version = excluded.version, tf = excluded.tf, length = excluded.length;
  insert into plimsoll.memory_entry as e (tenant_id, memory_id, environment, place, version, lexer, terms, tfs, length)
  values (p_tenant, p_id, held.environment, held.place, p_version, p_lexer, p_terms, p_tfs, p_length)
  on conflict (tenant_id, memory_id) do update
  set version = excluded.version, lexer = excluded.lexer, terms = excluded.terms, tfs = excluded.tfs, length = excluded.length,
    indexed_at = now();
  return 'indexed';
end $f$;
revoke all on function plimsoll.index_memory from public;
grant execute on function plimsoll.index_memory to plimsoll_app;
reset role;
