-- safe with the version before: yes
--
-- Rules that were learned. A version of a procedure is a text that an operator has proposed from experience; it is evaluated once,
-- approved by the hash of exactly its text, and only then a rule. What it says never changes: another text is another version.
-- A run keeps the versions that stood when it was made.

set local role plimsoll_owner;

create table plimsoll.procedure (
  tenant_id       text not null,
  id              text not null,
  environment     text not null,
  name            text not null,
  version         int not null check (version > 0),
  -- empty when a memory that it comes from was forgotten
  body            bytea not null,
  body_hash       text not null,
  -- retired: it was a rule; declined: it never was
  status          text not null default 'proposed' check (status in ('proposed', 'evaluated', 'approved', 'retired', 'declined')),
  -- the memories that it comes from, and the version of each that was read
  sources         text[] not null check (cardinality(sources) > 0),
  source_versions int8[] not null check (cardinality(source_versions) = cardinality(sources)),
  evaluation      text,
  score           float8,
  passed          boolean,
  evaluated_at    timestamptz,
  proposed_by     text not null,
  created_at      timestamptz not null default now(),
  approved_by     text,
  approved_at     timestamptz,
  ended_at        timestamptz,
  forgotten_at    timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, environment, name, version),
  check ((status in ('approved', 'retired')) = (approved_at is not null)),
  check ((approved_by is null) = (approved_at is null)),
  check ((passed is null) = (evaluated_at is null)),
  -- its text goes, and is never another one: a text that its hash does not cover is not read
  check ((forgotten_at is null) = (octet_length(body) > 0)),
  -- no rule without a passed evaluation of exactly this version
  check (approved_at is null or passed is true)
);
-- one rule of a name, whoever approves at the same time
create unique index procedure_standing on plimsoll.procedure (tenant_id, environment, name) where status = 'approved';

-- the rules that stood when it was made, in the order of its agent
alter table plimsoll.run add column procedures text[] not null default '{}';

-- what the planner knows: see 0001
insert into plimsoll.procedure (tenant_id, id, environment, name, version, body, body_hash, sources, source_versions, proposed_by)
select 'example', 'p' || u || '.' || n, 'production', 'p' || u, n, 'x', '', '{m}', '{1}', 'u' from generate_series(1, 100) u, generate_series(1, 5) n;
analyze plimsoll.procedure;
truncate plimsoll.procedure;
alter table plimsoll.procedure set unlogged;
alter table plimsoll.procedure set logged;

do $wall$
declare
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  alter table plimsoll.procedure enable row level security;
  alter table plimsoll.procedure force row level security;
  execute format('create policy tenant on plimsoll.procedure for all to plimsoll_app using (%s) with check (%s)', tenant_key, tenant_key);
end $wall$;

grant select, insert on plimsoll.procedure to plimsoll_app;
-- what it is named and comes from never changes; its text can only be emptied
grant update (body, body_hash, status, evaluation, score, passed, evaluated_at, approved_by, approved_at, ended_at, forgotten_at)
  on plimsoll.procedure to plimsoll_app;
reset role;

grant create on schema plimsoll to plimsoll_step;
set local role plimsoll_step;

-- A message opens a run, as before, and its run keeps the rules that stood then.
create or replace function plimsoll.submit(p jsonb, p_keys text[])
returns table (n int, outcome text, session_version int8, generation int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
  s record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, session_version int8,
      user_id text, subject text, permissions text[], agent text, release text, run text, parent_run text, parent_message text,
      max_steps int, max_tool_calls int, max_tokens int8, max_cost int8, max_attempts int, deadline_ms int8, progress_ms int8,
      reserved_tokens int8, reserved_cost int8, body text, hash text, tokens int, replaced jsonb, resting jsonb, event text,
      response text, status int, procedures text[]))
      with ordinality as t(tenant, environment, session, session_version, user_id, subject, permissions, agent, release, run,
        parent_run, parent_message, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, deadline_ms, progress_ms,
        reserved_tokens, reserved_cost, body, hash, tokens, replaced, resting, event, response, status,
        procedures, n)
    order by tenant, run
  loop
    if t.session_version is null then
      insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
      values (t.tenant, t.session, t.environment, t.user_id, t.subject, t.agent) on conflict do nothing;
    end if;
    update plimsoll.session x set version = x.version + 1, generation = x.generation + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at is null
      and x.version = coalesce(t.session_version, 1)
    returning x.version, x.generation into s;
    if not found then
      return query
      select t.n::int, case when x.id is null then 'not_found' when x.closed_at is not null then 'closed' else 'version' end,
        x.version, x.generation
      from (values (1)) as one
      left join plimsoll.session x on x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session;
      continue;
    end if;
    update plimsoll.run r set cancel_cause = coalesce(r.cancel_cause, 'superseded'), version = r.version + 1,
      due_at = case when r.status = 'running' then r.due_at else now() end
    from (select e.id from jsonb_array_elements_text(t.replaced) as e (id) order by e.id) as x
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = x.id and r.session_id = t.session
      and r.status in ('queued', 'running', 'waiting_confirmation');
    -- who says something more is there: what rests because nobody was goes on before it (K2)
    update plimsoll.run r set followed_until = null, due_at = now(), version = r.version + 1
    from (select e.id from jsonb_array_elements_text(t.resting) as e (id) order by e.id) as x
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = x.id and r.session_id = t.session
      and r.wait_reason = 'follower';
    insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, permissions, agent, release,
      parent_run_id, status, event_seq, message_seq, deadline_at, progress_ms, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts,
      reserved_tokens, reserved_cost, procedures)
    values (t.tenant, t.run, t.environment, t.session, s.generation, t.user_id, t.subject, t.permissions, t.agent, t.release,
      t.parent_run, 'queued', 1, 1, now() + t.deadline_ms * interval '1 millisecond',
      t.progress_ms, t.max_steps, t.max_tool_calls,
      t.max_tokens, t.max_cost, t.max_attempts, t.reserved_tokens, t.reserved_cost, coalesce(t.procedures, '{}'));
    insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, role, parent_message,
      body, content_hash, visibility, integrity, confidentiality, origin, tokens)
    values (t.tenant, t.run, 1, t.environment, t.session, t.user_id, t.subject, 0, 'user', t.parent_message,
      decode(t.body, 'base64'), t.hash, 'user', 'user', 'subject', '{"kind":"user"}', t.tokens);
    insert into plimsoll.ledger (tenant_id, run_id, seq, environment, parent_run_id, step, kind, reserved_tokens, reserved_cost)
    values (t.tenant, t.run, 1, t.environment, t.parent_run, 0, 'open', t.reserved_tokens, t.reserved_cost);
    insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
    values (t.tenant, t.run, 1, t.environment, 'run_queued', 'user', decode(t.event, 'base64'));
    if t.status is not null then
      -- the answer to the caller's key is stored with the run, or neither is
      update plimsoll.idempotency i set status = t.status, response = decode(t.response, 'base64')
      where i.tenant_id = t.tenant and i.environment = t.environment and i.run_id = t.run and i.status is null;
      if not found then raise exception using errcode = 'PL001', message = 'idempotency key taken over'; end if;
    end if;
    return query select t.n::int, 'created'::text, s.version, s.generation;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_step;
