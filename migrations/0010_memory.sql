-- safe with the version before: yes
--
-- Long-term memory: what is remembered of whom, since when, from where, and what became of it. A row of `memory` is one
-- memory with its version of now; `memory_version` is its past. Values and quotes are sealed; hashes of values are keyed.

set local role plimsoll_owner;

create domain plimsoll.memory_scope as text check (value in ('user', 'conversation', 'group', 'project', 'tenant'));
create domain plimsoll.memory_kind as text check (value in ('preference', 'fact', 'task', 'experience'));
create domain plimsoll.memory_layer as text check (value in ('session', 'episodic', 'semantic', 'procedural'));
-- cold: long unused, comes back when it is matched explicitly; barred: a detector found something; invalid: its authority or
-- its consent says no; deleted: the tombstone
create domain plimsoll.memory_status as text check (value in ('active', 'cold', 'barred', 'invalid', 'deleted'));

create table plimsoll.memory (
  tenant_id        text not null,
  id               text not null,
  environment      text not null,
  -- whom it is about; empty for what is about nobody
  subject_id       text not null,
  -- who wrote this version
  user_id          text not null,
  scope            plimsoll.memory_scope not null,
  -- the subject, conversation, group or project; empty for the tenant
  scope_id         text not null,
  place            text not null generated always as (scope::text || ':' || scope_id) stored,
  permission_scope text[] not null check (cardinality(permission_scope) > 0),
  layer            plimsoll.memory_layer not null,
  kind             plimsoll.memory_kind not null,
  key              text not null,
  -- keyed hash of what tells several memories of one key apart; empty where a key has one
  slot             text not null default '',
  value            bytea not null,
  value_hash       text not null,
  version          int8 not null default 1,
  status           plimsoll.memory_status not null default 'active',
  integrity        text not null,
  confidentiality  text not null,
  confidence       real not null check (confidence between 0 and 1),
  importance       real not null check (importance between 0 and 1),
  sensitivity      text not null check (sensitivity in ('none', 'personal', 'special')),
  purpose          text not null,
  consent_basis    text not null,
  confirmed_by     text,
  -- the fact elsewhere that it repeats, and that wins over it
  authority        text,
  authority_ref    text,
  -- the release of the detectors that has seen it
  detectors        int not null,
  recorded_at      timestamptz not null default now(),
  valid_from       timestamptz not null,
  expires_at       timestamptz,
  last_used_at     timestamptz,
  use_count        int8 not null default 0,
  deleted_at       timestamptz,
  primary key (tenant_id, id),
  check ((status = 'deleted') = (deleted_at is not null))
) with (fillfactor = 80);
-- one current version of a key at a place, whoever writes at the same time (BR-081)
create unique index memory_current on plimsoll.memory (tenant_id, environment, place, subject_id, key, slot) where deleted_at is null;
create index memory_subject on plimsoll.memory (tenant_id, environment, subject_id, recorded_at);
create index memory_authority on plimsoll.memory (tenant_id, environment, authority, authority_ref) where authority is not null;

create table plimsoll.memory_version (
  tenant_id    text not null,
  memory_id    text not null,
  version      int8 not null,
  environment  text not null,
  -- null when it was forgotten
  value        bytea,
  value_hash   text not null,
  user_id      text not null,
  change       text not null check (change in ('created', 'superseded', 'merged', 'corrected', 'late')),
  integrity    text not null,
  confidence   real not null,
  valid_from   timestamptz not null,
  recorded_at  timestamptz not null default now(),
  primary key (tenant_id, memory_id, version)
);

-- Where a memory comes from, and what else its index entry was made of. `ref` is `run.seq` of a message, `run/step/position`
-- of a call, the id of a memory, or the name of a fact of an authority.
create table plimsoll.memory_source (
  tenant_id    text not null,
  memory_id    text not null,
  kind         text not null check (kind in ('message', 'user', 'call', 'memory', 'authority', 'operator', 'import')),
  ref          text not null,
  environment  text not null,
  -- `writer`: the call that wrote it, and whose arguments hold it
  role         text not null check (role in ('evidence', 'neighbour', 'writer')),
  version      int8 not null,
  run_id       text,
  quote        bytea,
  created_at   timestamptz not null default now(),
  primary key (tenant_id, memory_id, kind, ref, role)
);
create index memory_source_ref on plimsoll.memory_source (tenant_id, kind, ref);

-- What somebody was asked. The decision binds the hash of exactly this value.
create table plimsoll.memory_candidate (
  tenant_id    text not null,
  id           text not null,
  environment  text not null,
  subject_id   text not null,
  user_id      text not null,
  session_id   text,
  run_id       text,
  place        text not null,
  key          text not null,
  body         bytea not null,
  value_hash   text not null,
  reasons      text[] not null,
  status       text not null default 'pending' check (status in ('pending', 'accepted', 'declined', 'expired', 'superseded')),
  version      int8 not null default 1,
  memory_id    text,
  decided_by   text,
  decided_at   timestamptz,
  expires_at   timestamptz not null,
  created_at   timestamptz not null default now(),
  primary key (tenant_id, id)
) with (fillfactor = 80);
create unique index memory_candidate_open on plimsoll.memory_candidate (tenant_id, environment, place, subject_id, key, value_hash)
  where status = 'pending';
create index memory_candidate_subject on plimsoll.memory_candidate (tenant_id, environment, subject_id, created_at);

-- Which memories a run was given, which it was not, and why.
create table plimsoll.memory_use (
  tenant_id    text not null,
  run_id       text not null,
  memory_id    text not null,
  environment  text not null,
  version      int8 not null,
  rank         int not null,
  score        real not null,
  reason       text not null,
  created_at   timestamptz not null default now(),
  primary key (tenant_id, run_id, memory_id)
);
create index memory_use_memory on plimsoll.memory_use (tenant_id, memory_id, created_at);

-- What a subject has said about a purpose; no row is no word.
create table plimsoll.consent (
  tenant_id    text not null,
  environment  text not null,
  subject_id   text not null,
  purpose      text not null,
  state        text not null check (state in ('granted', 'withdrawn')),
  basis        text not null,
  decided_by   text not null,
  decided_at   timestamptz not null default now(),
  primary key (tenant_id, environment, subject_id, purpose)
);

-- Who belongs to a group or a project, on the server (H4). Asked again by each statement that reads or writes there.
create table plimsoll.member (
  tenant_id    text not null,
  environment  text not null,
  place        text not null check (place ~ '^(group|project):'),
  user_id      text not null,
  joined_at    timestamptz not null default now(),
  left_at      timestamptz,
  primary key (tenant_id, environment, place, user_id)
);
create index member_user on plimsoll.member (tenant_id, environment, user_id) where left_at is null;

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.memory (tenant_id, id, environment, subject_id, user_id, scope, scope_id, permission_scope, layer, kind, key, slot,
  value, value_hash, integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, authority, authority_ref,
  detectors, valid_from)
select 'example', 'm' || u || '.' || n, 'production', 'u' || u, 'u' || u, 'user', 'u' || u, '{owner}', 'semantic', 'fact', 'k' || n % 5,
  'h' || n, '', 'h' || u || n, 'user', 'subject', 1, 1, 'none', 'service', 'explicit', case when n % 5 = 0 then 'order' end,
  case when n % 5 = 0 then 'o' || u || n end, 1, now()
from generate_series(1, 100) u, generate_series(1, 20) n;
insert into plimsoll.memory_version (tenant_id, memory_id, version, environment, value_hash, user_id, change, integrity, confidence, valid_from)
select tenant_id, id, n, environment, '', user_id, 'created', 'user', 1, now() from plimsoll.memory, generate_series(1, 2) n;
insert into plimsoll.memory_source (tenant_id, memory_id, kind, ref, environment, role, version)
select tenant_id, id, 'message', id || '.' || n, environment, 'evidence', 1 from plimsoll.memory, generate_series(1, 2) n;
insert into plimsoll.memory_candidate (tenant_id, id, environment, subject_id, user_id, place, key, body, value_hash, reasons, status, expires_at)
select tenant_id, 'c' || id, environment, subject_id, user_id, place, key, '', value_hash, '{}',
  (array['pending', 'accepted', 'declined'])[1 + length(id) % 3], now() from plimsoll.memory;
insert into plimsoll.memory_use (tenant_id, run_id, memory_id, environment, version, rank, score, reason)
select tenant_id, 'r' || n, id, environment, 1, 1, 1, 'placed' from plimsoll.memory, generate_series(1, 3) n;
insert into plimsoll.consent (tenant_id, environment, subject_id, purpose, state, basis, decided_by)
select 'example', 'production', 'u' || u, 'p' || n, 'granted', 'explicit', 'u' || u from generate_series(1, 100) u, generate_series(1, 3) n;
insert into plimsoll.member (tenant_id, environment, place, user_id)
select 'example', 'production', 'group:g' || g, 'u' || u from generate_series(1, 100) u, generate_series(1, 5) g;
analyze plimsoll.memory, plimsoll.memory_version, plimsoll.memory_source, plimsoll.memory_candidate, plimsoll.memory_use, plimsoll.consent,
  plimsoll.member;
truncate plimsoll.memory, plimsoll.memory_version, plimsoll.memory_source, plimsoll.memory_candidate, plimsoll.memory_use, plimsoll.consent,
  plimsoll.member;
do $new$
declare t text;
begin
  foreach t in array array['memory', 'memory_version', 'memory_source', 'memory_candidate', 'memory_use', 'consent', 'member'] loop
    execute format('alter table plimsoll.%I set unlogged', t);
    execute format('alter table plimsoll.%I set logged', t);
  end loop;
end $new$;

-- ── the wall: the app role alone, under its tenant; the transitions have no business here ───────────────────────────

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  foreach t in array array['memory', 'memory_version', 'memory_source', 'memory_candidate', 'memory_use', 'consent', 'member'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;

grant select, insert on plimsoll.memory, plimsoll.memory_version, plimsoll.memory_source, plimsoll.memory_candidate, plimsoll.memory_use,
  plimsoll.consent, plimsoll.member to plimsoll_app;
-- what a memory is about, and where it belongs, never changes
grant update (user_id, permission_scope, slot, value, value_hash, version, status, integrity, confidentiality, confidence, importance, sensitivity,
  purpose, consent_basis, confirmed_by, authority, authority_ref, detectors, recorded_at, valid_from, expires_at, last_used_at, use_count,
  deleted_at) on plimsoll.memory to plimsoll_app;
grant update (value, value_hash) on plimsoll.memory_version to plimsoll_app;
grant update (quote) on plimsoll.memory_source to plimsoll_app;
grant delete on plimsoll.memory_source, plimsoll.memory_use to plimsoll_app;
grant update (body, status, version, memory_id, decided_by, decided_at) on plimsoll.memory_candidate to plimsoll_app;
grant update (state, basis, decided_by, decided_at) on plimsoll.consent to plimsoll_app;
grant update (joined_at, left_at) on plimsoll.member to plimsoll_app;
-- forgotten again, it is forgotten from then on
grant insert, update (created_at) on plimsoll.tombstone to plimsoll_app;
reset role;
