-- safe with the version before: yes
--
-- Artifacts: what a call returned and nobody reads whole. The bytes are in the object store; a row names them.
--
-- A row counts only when the effect at its place was settled with the outcome that refers to it, which `result_hash`
-- says: it is written before COMMIT B, by the program itself, and needs no part in a transition. What a lost worker has
-- left refers to nothing, is seen by nobody, and is swept.

set local role plimsoll_owner;

create domain plimsoll.artifact_kind as text check (value in ('result', 'file'));

create table plimsoll.artifact (
  tenant_id       text not null,
  id              text not null,
  environment     text not null,
  session_id      text not null,
  user_id         text not null,
  subject_id      text not null,
  run_id          text not null,
  step            int not null,
  position        int not null,
  call_id         text not null,
  kind            plimsoll.artifact_kind not null,
  media_type      text not null,
  bytes           plimsoll.amount not null,
  sha256          text not null,
  object_key      text not null,
  -- name, columns, statistics: content, so sealed; gone with the object
  about           bytea,
  result_hash     text not null,
  integrity       text not null,
  confidentiality text not null,
  origin          jsonb not null,
  created_at      timestamptz not null default now(),
  -- after this nobody reads it, and the next sweep removes the object
  expires_at      timestamptz,
  -- the tombstone: the object is gone, or on its way
  removed_at      timestamptz,
  primary key (tenant_id, id)
);
create unique index artifact_object on plimsoll.artifact (tenant_id, object_key);
create index artifact_run on plimsoll.artifact (tenant_id, run_id, step, position);
create index artifact_file on plimsoll.artifact (tenant_id, session_id) where kind = 'file';

-- what the planner knows: see 0001
insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
  media_type, bytes, sha256, object_key, about, result_hash, integrity, confidentiality, origin)
select 'example', 'a' || s || '.' || n, 'production', 's' || s % 100, 'u' || s % 7, 'u' || s % 7, 'r' || s, n, 0, 'call',
  case n when 1 then 'file' else 'result' end, 'application/json', 1, '', 'k' || s || '.' || n, '', 'h' || s || '.' || n, 'untrusted',
  'subject', '{}'
from generate_series(1, 400) s, generate_series(1, 3) n;
analyze plimsoll.artifact;
truncate plimsoll.artifact;
alter table plimsoll.artifact set unlogged;
alter table plimsoll.artifact set logged;

-- the wall: the app role alone, under its tenant; the transitions have no business here
do $wall$
begin
  alter table plimsoll.artifact enable row level security;
  alter table plimsoll.artifact force row level security;
  create policy tenant on plimsoll.artifact for all to plimsoll_app
    using (tenant_id = nullif(current_setting('app.tenant', true), '')
      and environment = nullif(current_setting('app.environment', true), ''))
    with check (tenant_id = nullif(current_setting('app.tenant', true), '')
      and environment = nullif(current_setting('app.environment', true), ''));
end $wall$;

grant select, insert on plimsoll.artifact to plimsoll_app;
grant update (about, removed_at) on plimsoll.artifact to plimsoll_app;
reset role;
