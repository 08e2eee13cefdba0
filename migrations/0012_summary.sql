-- safe with the version before: yes
--
-- Errands are work that a run leaves behind for a model: done later, as a run of an internal agent, so that budget, lease and
-- recovery are those of every run. A row says what, of which conversation, and how far it is; it holds no content.
-- Summaries are made by them. Their bodies are sealed, and empty where nothing was believed or something was forgotten.

set local role plimsoll_owner;

create table plimsoll.errand (
  tenant_id       text not null,
  id              text not null,
  environment     text not null,
  kind            text not null,
  -- the agent of the conversation; the one that does the work is `agent/kind`
  agent           text not null,
  session_id      text not null,
  user_id         text not null,
  subject_id      text not null,
  -- the runs that it is about, and the name of their last message
  from_generation int8 not null,
  to_generation   int8 not null,
  upto            text not null,
  -- clearing: the run has ended, and what it was told is taken away
  state           text not null default 'due' check (state in ('due', 'running', 'clearing', 'done')),
  work_session    text,
  run_id          text,
  -- null while clearing: the attempt failed, and there will be another
  outcome         text,
  attempts        int not null default 0,
  due_at          timestamptz not null default now(),
  created_at      timestamptz not null default now(),
  done_at         timestamptz,
  primary key (tenant_id, id),
  check ((state = 'done') = (done_at is not null))
) with (fillfactor = 70);
create unique index errand_open on plimsoll.errand (tenant_id, session_id, kind, upto) where done_at is null;
create index errand_due on plimsoll.errand (due_at) where done_at is null;
create index errand_run on plimsoll.errand (tenant_id, run_id) where done_at is null;

create table plimsoll.summary (
  tenant_id       text not null,
  -- of its errand
  id              text not null,
  environment     text not null,
  session_id      text not null,
  user_id         text not null,
  subject_id      text not null,
  agent           text not null,
  from_generation int8 not null,
  to_generation   int8 not null,
  from_message    text not null,
  to_message      text not null,
  -- the revision that was asked, and the version of what it was asked
  model           text not null,
  prompt          int not null,
  state           text not null check (state in ('verified', 'rejected', 'stale')),
  -- why it is not used
  reason          text,
  body            bytea not null,
  created_at      timestamptz not null default now(),
  rechecked_at    timestamptz,
  -- what the later check has said; null: it holds
  recheck_reason  text,
  primary key (tenant_id, id),
  check ((state = 'verified') = (reason is null))
) with (fillfactor = 80);
create index summary_session on plimsoll.summary (tenant_id, session_id, from_generation);

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.errand (tenant_id, id, environment, kind, agent, session_id, user_id, subject_id, from_generation, to_generation, upto,
  state, run_id, done_at)
select 'example', 'e' || s || '.' || n, 'production', 'summary', 'agent', 's' || s, 'u', 'u', n, n, 'r' || n, x.state, 'r' || s || '.' || n,
  case x.state when 'done' then now() end
from generate_series(1, 500) s, generate_series(1, 4) n, lateral (select (array['done', 'done', 'due', 'running'])[n] as state) x;
insert into plimsoll.summary (tenant_id, id, environment, session_id, user_id, subject_id, agent, from_generation, to_generation, from_message,
  to_message, model, prompt, state, reason, body)
select tenant_id, id, environment, session_id, user_id, subject_id, agent, from_generation, to_generation, upto, upto, 'm', 1,
  case when done_at is null then 'rejected' else 'verified' end, case when done_at is null then 'empty' end, ''
from plimsoll.errand;
analyze plimsoll.errand, plimsoll.summary;
truncate plimsoll.errand, plimsoll.summary;
do $new$
declare t text;
begin
  foreach t in array array['errand', 'summary'] loop
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
  foreach t in array array['errand', 'summary'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;
-- which errands are not done yet: no content
create policy due on plimsoll.errand for select to plimsoll_retain using (done_at is null);

grant select, insert on plimsoll.errand, plimsoll.summary to plimsoll_app;
-- what an errand is about never changes
grant update (state, work_session, run_id, outcome, attempts, due_at, done_at) on plimsoll.errand to plimsoll_app;
grant update (state, reason, body, rechecked_at, recheck_reason) on plimsoll.summary to plimsoll_app;
grant select (tenant_id, environment, id, due_at, done_at) on plimsoll.errand to plimsoll_retain;

-- As before, with the summaries of the conversation.
create or replace function plimsoll.load(p_tenant text, p_environment text, p_run text)
returns jsonb
language plpgsql security invoker
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  found jsonb;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  select jsonb_build_object(
    'run', to_jsonb(r) - array['due_at', 'progress_at', 'progress_ms', 'deadline_at', 'created_at', 'started_at', 'ended_at', 'parent_run_id'],
    'alone', r.parks_alone and coalesce(r.followed_until < now(), false),
    'deadline_ms', floor(extract(epoch from r.deadline_at - now()) * 1000)::int8,
    'messages', coalesce((
      select jsonb_agg(jsonb_build_object('run', m.run_id, 'seq', m.seq, 'step', m.step, 'position', m.position, 'role', m.role,
        'body', encode(m.body, 'base64'), 'hash', m.content_hash, 'visibility', m.visibility, 'integrity', m.integrity,
        'confidentiality', m.confidentiality, 'origin', m.origin, 'partial', m.partial, 'tokens', m.tokens)
        order by h.generation, m.seq)
      from plimsoll.run h join plimsoll.message m on m.tenant_id = h.tenant_id and m.run_id = h.id
      where h.tenant_id = r.tenant_id and h.session_id = r.session_id and h.branch = r.branch and h.generation <= r.generation), '[]'),
    'effects', coalesce((
      select jsonb_agg(jsonb_build_object('step', e.step, 'position', e.position, 'callId', e.call_id, 'tool', e.tool,
        'toolVersion', e.tool_version, 'level', e.level, 'approval', e.approval, 'argumentsHash', e.arguments_hash,
        'fingerprint', e.fingerprint, 'key', e.idempotency_key, 'status', e.status, 'outcome', e.outcome,
        'errorCode', e.error_code, 'resultHash', e.result_hash, 'attempt', e.attempt, 'again', e.again, 'compensates', e.compensates,
        'startedMs', floor(extract(epoch from now() - e.started_at) * 1000)::int8,
        'wait', case when e.status = 'waiting' then jsonb_build_object('signal', e.wait_signal, 'count', e.waits,
          'leftMs', floor(extract(epoch from e.wait_until - now()) * 1000)::int8,
          'body', (select encode(s.body, 'base64') from plimsoll.signal s where s.tenant_id = e.tenant_id
            and s.environment = e.environment and s.key = e.wait_signal)) end,
        'arguments', case when e.step = r.step then encode(e.arguments, 'base64') end,
        'result', case when e.step = r.step or e.outcome = 'error' then encode(e.result, 'base64') end)
        order by e.step, e.position)
      from plimsoll.effect e where e.tenant_id = r.tenant_id and e.run_id = r.id), '[]'),
    'confirmations', coalesce((
      select jsonb_agg(jsonb_build_object('id', c.id, 'step', c.step, 'position', c.position, 'status', c.status,
        'paramsHash', c.params_hash, 'resourceVersion', c.resource_version,
        'leftMs', floor(extract(epoch from c.expires_at - now()) * 1000)::int8,
        'executeMs', floor(extract(epoch from c.execute_by - now()) * 1000)::int8)
        order by c.created_at, c.id)
      from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = r.step), '[]'),
    -- those that stood when the run was made: its context is decided again and again, and stays the same
    'summaries', coalesce((
      select jsonb_agg(jsonb_build_object('id', s.id, 'from', s.from_generation, 'to', s.to_generation, 'through', s.to_message,
        'body', encode(s.body, 'base64')) order by s.from_generation, s.id)
      from plimsoll.summary s where s.tenant_id = r.tenant_id and s.session_id = r.session_id and s.state = 'verified'
        and s.created_at <= r.created_at), '[]'))
  into found
  from plimsoll.run r where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return found;
end $f$;
reset role;

grant create on schema plimsoll to plimsoll_retain;
set local role plimsoll_retain;
create function plimsoll.errand_due(p_limit int)
returns table (tenant text, environment text, id text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
begin
  return query select x.tenant_id, x.environment, x.id from plimsoll.errand x
  where x.done_at is null and x.due_at <= now() order by x.due_at limit p_limit;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_retain;
revoke all on function plimsoll.errand_due(int) from public;
grant execute on function plimsoll.errand_due(int) to plimsoll_app;
