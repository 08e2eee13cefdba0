-- safe with the version before: yes
--
-- Forgetting: what was asked to be forgotten, and how far that is. The tombstone comes first, in one statement with what is
-- read most; the parts are everything else that may still hold it, each done and counted on its own, and done again as often
-- as it takes. What belongs to runs is changed by functions of the role that retention has, behind the wall of their tenant.

set local role plimsoll_owner;

-- when arguments and result were taken away: the role that does it can read neither
alter table plimsoll.effect add column forgotten_at timestamptz;

create table plimsoll.deletion (
  tenant_id    text not null,
  id           text not null,
  environment  text not null,
  subject_id   text not null,
  kind         text not null check (kind in ('memory', 'message', 'conversation', 'artifact', 'subject', 'purpose')),
  target       text not null,
  -- what it has come down to: memories, messages as `run.seq`, conversations
  memories     text[] not null default '{}',
  messages     text[] not null default '{}',
  sessions     text[] not null default '{}',
  actor_kind   text not null,
  actor        text not null,
  due_at       timestamptz not null default now(),
  attempts     int not null default 0,
  created_at   timestamptz not null default now(),
  done_at      timestamptz,
  primary key (tenant_id, id)
) with (fillfactor = 70);
create index deletion_subject on plimsoll.deletion (tenant_id, environment, subject_id, created_at);
create index deletion_due on plimsoll.deletion (due_at) where done_at is null;

create table plimsoll.deletion_part (
  tenant_id    text not null,
  deletion_id  text not null,
  derivative   text not null,
  environment  text not null,
  removed      int8 not null default 0,
  -- the code of the last failure
  error        text,
  done_at      timestamptz,
  primary key (tenant_id, deletion_id, derivative)
) with (fillfactor = 70);

-- what the planner knows: see 0001
insert into plimsoll.deletion (tenant_id, id, environment, subject_id, kind, target, actor_kind, actor, done_at)
select 'example', 'd' || u || '.' || n, 'production', 'u' || u, 'memory', 'm' || n, 'end_user', 'u' || u, case when n > 1 then now() end
from generate_series(1, 100) u, generate_series(1, 5) n;
insert into plimsoll.deletion_part (tenant_id, deletion_id, derivative, environment)
select tenant_id, id, 'd' || n, environment from plimsoll.deletion, generate_series(1, 8) n;
analyze plimsoll.deletion, plimsoll.deletion_part;
truncate plimsoll.deletion, plimsoll.deletion_part;
do $new$
declare t text;
begin
  foreach t in array array['deletion', 'deletion_part'] loop
    execute format('alter table plimsoll.%I set unlogged', t);
    execute format('alter table plimsoll.%I set logged', t);
  end loop;
end $new$;

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  foreach t in array array['deletion', 'deletion_part'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;
-- which deletions are not done yet: no content
create policy due on plimsoll.deletion for select to plimsoll_retain using (done_at is null);

grant select, insert on plimsoll.deletion, plimsoll.deletion_part to plimsoll_app;
grant update (memories, messages, sessions, due_at, attempts, done_at) on plimsoll.deletion to plimsoll_app;
grant update (removed, error, done_at) on plimsoll.deletion_part to plimsoll_app;
grant select (tenant_id, environment, id, due_at, done_at) on plimsoll.deletion to plimsoll_retain;
grant select (seq, step), update (body, content_hash, tokens) on plimsoll.message to plimsoll_retain;
grant select (step, position, forgotten_at), update (forgotten_at) on plimsoll.effect to plimsoll_retain;
grant select (step, position) on plimsoll.confirmation to plimsoll_retain;
reset role;

grant create on schema plimsoll to plimsoll_retain;
set local role plimsoll_retain;

create function plimsoll.deletion_due(p_limit int)
returns table (tenant text, environment text, id text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
begin
  return query select x.tenant_id, x.environment, x.id from plimsoll.deletion x
  where x.done_at is null and x.due_at <= now() order by x.due_at limit p_limit;
end $f$;

-- Another body for messages, with its hash; `p_messages` are rows of run, seq, body and hash.
create function plimsoll.forget_messages(p_tenant text, p_environment text, p_messages jsonb)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $f$
declare n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.message m set body = decode(f.body, 'base64'), content_hash = f.hash, tokens = f.tokens
  from jsonb_to_recordset(p_messages) as f (run text, seq int, body text, hash text, tokens int)
  where m.tenant_id = p_tenant and m.run_id = f.run and m.seq = f.seq;
  get diagnostics n = row_count;
  return n;
end $f$;

-- What calls were asked and have returned, and what was shown of them. Keys, hashes and outcomes stay: the journal and the
-- ledger are kept, without values.
create function plimsoll.forget_calls(p_tenant text, p_environment text, p_calls jsonb, p_blank bytea, p_blank_plan bytea)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $f$
declare n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.confirmation c set plan = p_blank_plan
  from jsonb_to_recordset(p_calls) as f (run text, step int, "position" int)
  where c.tenant_id = p_tenant and c.run_id = f.run and c.step = f.step and c.position = f.position;
  update plimsoll.effect e set arguments = p_blank, result = p_blank, forgotten_at = now()
  from jsonb_to_recordset(p_calls) as f (run text, step int, "position" int)
  where e.tenant_id = p_tenant and e.run_id = f.run and e.step = f.step and e.position = f.position and e.status = 'settled'
    and e.forgotten_at is null;
  get diagnostics n = row_count;
  return n;
end $f$;

-- Of the runs of a conversation that have ended everything said, asked and returned goes. `active` are the runs that somebody
-- must cancel before the rest can go.
create function plimsoll.forget_session(p_tenant text, p_environment text, p_session text, p_blank bytea, p_blank_plan bytea)
returns table (removed int, active int)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $f$
declare
  r record;
  n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  removed := 0; active := 0;
  for r in select x.id, x.ended_at from plimsoll.run x where x.tenant_id = p_tenant and x.environment = p_environment and x.session_id = p_session loop
    if r.ended_at is null then
      active := active + 1;
      continue;
    end if;
    delete from plimsoll.message m where m.tenant_id = p_tenant and m.run_id = r.id;
    get diagnostics n = row_count;
    removed := removed + n;
    delete from plimsoll.delta d where d.tenant_id = p_tenant and d.run_id = r.id;
    update plimsoll.confirmation c set plan = p_blank_plan where c.tenant_id = p_tenant and c.run_id = r.id;
    update plimsoll.effect e set arguments = p_blank, result = p_blank, forgotten_at = now()
    where e.tenant_id = p_tenant and e.run_id = r.id and e.forgotten_at is null;
    get diagnostics n = row_count;
    removed := removed + n;
    update plimsoll.artifact a set about = null, removed_at = now() where a.tenant_id = p_tenant and a.run_id = r.id and a.removed_at is null;
    get diagnostics n = row_count;
    removed := removed + n;
  end loop;
  return next;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_retain;
revoke all on function plimsoll.deletion_due(int), plimsoll.forget_messages(text, text, jsonb),
  plimsoll.forget_calls(text, text, jsonb, bytea, bytea), plimsoll.forget_session(text, text, text, bytea, bytea) from public;
grant execute on function plimsoll.deletion_due(int), plimsoll.forget_messages(text, text, jsonb),
  plimsoll.forget_calls(text, text, jsonb, bytea, bytea), plimsoll.forget_session(text, text, text, bytea, bytea) to plimsoll_app;
