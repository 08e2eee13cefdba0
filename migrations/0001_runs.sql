-- safe with the version before: yes (it is the first)
--
-- Runs, what they said, what they did, what it cost.
--
-- Roles: plimsoll_owner owns the tables and nobody logs in as it. plimsoll_step owns the transition functions,
-- plimsoll_claim the functions that cross tenants (claim, reap): both are themselves under forced policies.
-- plimsoll_app is what the program logs in as: it reads under its tenant and changes a run through the functions only.

do $roles$
declare r text;
begin
  foreach r in array array['plimsoll_owner', 'plimsoll_step', 'plimsoll_claim', 'plimsoll_app'] loop
    -- roles belong to the whole server: another database of it may be migrating at this moment
    begin
      if not exists (select from pg_roles where rolname = r) then
        execute format('create role %I nologin nosuperuser nobypassrls', r);
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
    -- from PostgreSQL 16 on, who creates a role may grant it and is not yet a member who may act as it
    if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant %I to current_user', r); end if;
  end loop;
end $roles$;

create schema if not exists plimsoll;
grant usage on schema plimsoll to plimsoll_owner, plimsoll_step, plimsoll_claim, plimsoll_app;
grant create on schema plimsoll to plimsoll_owner;
alter table plimsoll.migration owner to plimsoll_owner;
set local role plimsoll_owner;

-- Closed lists and amounts are domains and not CHECK constraints: the executor parses the stored text of every CHECK of a
-- table again at each statement, which took a third of a transition's time; a domain's check is compiled once per session.
create domain plimsoll.name as text check (value ~ '^[a-z0-9_]{1,40}$');
create domain plimsoll.amount as int8 check (value >= 0);
create domain plimsoll.run_status as text check (value in ('queued', 'running', 'waiting_confirmation', 'succeeded', 'failed', 'canceled'));
create domain plimsoll.wait_reason as text check (value in ('confirmation', 'unknown_effect', 'question', 'timer', 'external'));
create domain plimsoll.phase as text check (value in ('planning', 'tool_running', 'awaiting_observation', 'finalizing'));
create domain plimsoll.cancel_cause as text check (value in ('user', 'superseded', 'disconnect', 'operator', 'parent'));
create domain plimsoll.role as text check (value in ('user', 'assistant', 'tool'));
create domain plimsoll.visibility as text check (value in ('user', 'model', 'internal', 'operator'));
create domain plimsoll.effect_kind as text check (value in ('tool', 'memory', 'child', 'notification'));
create domain plimsoll.effect_level as text check (value in ('read', 'write', 'irreversible'));
create domain plimsoll.approval as text check (value in ('auto', 'confirm', 'strong_confirm', 'refused'));
create domain plimsoll.effect_status as text check (value in ('intended', 'started', 'waiting', 'settled', 'unknown'));
create domain plimsoll.outcome as text check (value in ('ok', 'error'));
create domain plimsoll.ledger_level as text check (value in ('run', 'subject', 'tenant'));
create domain plimsoll.ledger_kind as text check (value in ('open', 'model', 'tools', 'recovery', 'close'));

-- ── system tables: no content, no tenant wall (the closed list of docs/design/store.md) ─────────────────────────────

create table plimsoll.tenant (
  id         text primary key check (id ~ '^[a-z0-9_]{1,40}$'),
  created_at timestamptz not null default now()
);

-- A lease belongs to a worker, not to a run: one row renewed every two seconds, however many runs it drives.
create table plimsoll.worker (
  id          text primary key,
  host        text not null,
  pid         int not null,
  started_at  timestamptz not null default now(),
  lease_until timestamptz not null
);

-- Looked up before the tenant is known, so by the hash of the secret; the secret is stored nowhere.
create table plimsoll.credential (
  hash        bytea primary key,
  tenant_id   text not null,
  environment text not null,
  id          text not null,
  kind        text not null check (kind in ('service', 'operator')),
  user_id     text not null,
  permissions text[] not null default '{}',
  created_at  timestamptz not null default now(),
  revoked_at  timestamptz
);
-- a token names the key that it was made with, and dies with it
create unique index credential_id on plimsoll.credential (tenant_id, id);

-- ── tenant tables ───────────────────────────────────────────────────────────────────────────────────────────────────

create table plimsoll.session (
  tenant_id   text not null,
  id          text not null,
  environment text not null,
  user_id     text not null,
  subject_id  text not null,
  agent       text not null,
  version     int8 not null default 1,
  generation  int8 not null default 0,
  closed_at   timestamptz,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, id)
) with (fillfactor = 70);

create table plimsoll.run (
  tenant_id          plimsoll.name not null,
  id                 text not null,
  environment        plimsoll.name not null,
  session_id         text not null,
  branch             text not null default 'main',
  generation         int8 not null,
  user_id            text not null,
  subject_id         text not null,
  permissions        text[] not null default '{}',
  agent              text not null,
  release            text not null,
  state_version      int not null default 1,
  parent_run_id      text,
  status             plimsoll.run_status not null,
  wait_reason        plimsoll.wait_reason,
  phase              plimsoll.phase not null default 'planning',
  step               int not null default 0,
  version            int8 not null default 1,
  event_seq          int8 not null default 0,
  message_seq        int not null default 0,
  -- commits of its workers alone: how one whose reply was lost finds out that it was applied
  commits            int8 not null default 0,
  worker_id          text,
  epoch              int8 not null default 0,
  attempts           int not null default 0,
  due_at             timestamptz not null default now(),
  progress_at        timestamptz,
  -- until when somebody is taken to follow it; null: its agent does not mind
  followed_until     timestamptz,
  -- the longest its worker may take from one commit to the next; after that it hangs, whatever its lease says
  progress_ms        plimsoll.amount not null,
  deadline_at        timestamptz not null,
  max_steps          int not null,
  max_tool_calls     int not null,
  max_tokens         plimsoll.amount not null,
  max_cost           plimsoll.amount not null,
  max_attempts       int not null,
  used_tool_calls    int not null default 0,
  used_tokens        plimsoll.amount not null default 0,
  used_cost          plimsoll.amount not null default 0,
  reserved_tokens    plimsoll.amount not null default 0,
  reserved_cost      plimsoll.amount not null default 0,
  cancel_cause       plimsoll.cancel_cause,
  integrity          text not null default 'user',
  confidentiality    text not null default 'public',
  watermark_from     text,
  end_reason         text,
  created_at         timestamptz not null default now(),
  started_at         timestamptz,
  ended_at           timestamptz,
  primary key (tenant_id, id),
  check ((status in ('succeeded', 'failed', 'canceled')) = (end_reason is not null)),
  check ((status = 'waiting_confirmation') = (wait_reason is not null)),
  -- a run that nobody drives has no worker; a running one has
  check ((status = 'running') = (worker_id is not null))
-- updated at every commit: half-empty pages keep the new row version on its page and out of the indexes
) with (fillfactor = 50);

-- one index serves the queue, expiring confirmations and timers: `due_at` is when somebody must look next
create index run_due on plimsoll.run (due_at) where status in ('queued', 'waiting_confirmation');
create index run_followed on plimsoll.run (followed_until) where followed_until is not null
  and status in ('queued', 'running', 'waiting_confirmation');
create index run_driven on plimsoll.run (worker_id) where status = 'running';
create unique index run_generation on plimsoll.run (tenant_id, session_id, branch, generation);
create index run_active on plimsoll.run (tenant_id, session_id, branch, generation)
  where status in ('queued', 'running', 'waiting_confirmation');

create table plimsoll.message (
  tenant_id       text not null,
  run_id          text not null,
  seq             int not null,
  environment     text not null,
  session_id      text not null,
  user_id         text not null,
  subject_id      text not null,
  step            int not null,
  position        int,
  role            plimsoll.role not null,
  parent_message  text,
  body            bytea not null,
  content_hash    text not null,
  visibility      plimsoll.visibility not null,
  integrity       text not null,
  confidentiality text not null,
  origin          jsonb not null,
  partial         boolean not null default false,
  tokens          int not null,
  created_at      timestamptz not null default now(),
  primary key (tenant_id, run_id, seq)
);

-- The one journal of everything that touches the world (J5): intent, start, result.
create table plimsoll.effect (
  tenant_id        text not null,
  run_id           text not null,
  step             int not null,
  position         int not null,
  environment      text not null,
  session_id       text not null,
  user_id          text not null,
  subject_id       text not null,
  kind             plimsoll.effect_kind not null default 'tool',
  call_id          text not null,
  tool             text not null,
  tool_version     int not null,
  level            plimsoll.effect_level not null,
  approval         plimsoll.approval not null,
  arguments        bytea not null,
  arguments_hash   text not null,
  fingerprint      text not null,
  idempotency_key  text not null,
  status           plimsoll.effect_status not null,
  outcome          plimsoll.outcome,
  error_code       text,
  result           bytea,
  result_hash      text,
  attempt          int not null default 0,
  -- an operator wants it sent once more, under its key
  again            boolean not null default false,
  -- what it waits for outside (T3), until when, and how often it has gone to wait
  wait_signal      text,
  wait_until       timestamptz,
  waits            int not null default 0,
  resource         text,
  resource_version text,
  compensates      text,
  labels           jsonb not null default '{}',
  created_at       timestamptz not null default now(),
  started_at       timestamptz,
  settled_at       timestamptz,
  primary key (tenant_id, run_id, step, position),
  check ((status = 'settled') = (outcome is not null)),
  check (level = 'read' or status = 'intended' or approval = 'refused' or started_at is not null or outcome = 'error')
) with (fillfactor = 70);
create index effect_signal on plimsoll.effect (tenant_id, wait_signal) where status = 'waiting';
create unique index effect_key on plimsoll.effect (tenant_id, idempotency_key) where level <> 'read';
create index effect_repeats on plimsoll.effect (tenant_id, session_id, arguments_hash) where level = 'irreversible';
create index effect_unknown on plimsoll.effect (tenant_id, started_at) where status = 'unknown';

create table plimsoll.confirmation (
  tenant_id        text not null,
  id               text not null,
  environment      text not null,
  session_id       text not null,
  user_id          text not null,
  subject_id       text not null,
  run_id           text not null,
  step             int not null,
  position         int not null,
  generation       int8 not null,
  tool             text not null,
  tool_version     int not null,
  params_hash      text not null,
  resource         text,
  resource_version text,
  plan             bytea not null,
  level            text not null check (level in ('confirm', 'strong_confirm')),
  confirmers       text[] not null,
  nonce            text not null,
  status           text not null default 'pending'
                   check (status in ('pending', 'approved', 'rejected', 'expired', 'superseded', 'consumed')),
  version          int8 not null default 1,
  expires_at       timestamptz not null,
  execute_by       timestamptz,
  decided_by       text,
  decided_at       timestamptz,
  consumed_at      timestamptz,
  created_at       timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, run_id, step, position, nonce)
);
create index confirmation_resource on plimsoll.confirmation (tenant_id, resource) where status = 'pending';
create index confirmation_open on plimsoll.confirmation (tenant_id, id) where status = 'pending';

create table plimsoll.ledger (
  tenant_id       text not null,
  run_id          text not null,
  seq             int8 not null,
  environment     text not null,
  level           plimsoll.ledger_level not null default 'run',
  parent_run_id   text,
  step            int not null,
  kind            plimsoll.ledger_kind not null,
  input_tokens    int8 not null default 0,
  output_tokens   int8 not null default 0,
  spent_cost      int8 not null default 0,
  tool_calls      int not null default 0,
  known           boolean not null default true,
  suspect         boolean not null default false,
  reserved_tokens int8 not null default 0,
  reserved_cost   int8 not null default 0,
  released_tokens int8 not null default 0,
  released_cost   int8 not null default 0,
  created_at      timestamptz not null default now(),
  primary key (tenant_id, run_id, seq, level)
);

-- What the world tells runs that wait for it. The row is there from the first of both, who tells and who waits: it is what
-- they meet at, so that neither can miss the other. `waiters` are runs; `body` is null as long as nothing was told.
create table plimsoll.signal (
  tenant_id   text not null,
  environment text not null,
  key         text not null,
  waiters     text[] not null default '{}',
  body        bytea,
  body_hash   text,
  created_at  timestamptz not null default now(),
  told_at     timestamptz,
  primary key (tenant_id, environment, key),
  check ((body is null) = (body_hash is null))
) with (fillfactor = 70);

-- The stream, the timeline and the outbox are one log (J9); `seq` counts per run, so that order never depends on commits of others.
create table plimsoll.event (
  tenant_id   text not null,
  run_id      text not null,
  seq         int8 not null,
  environment text not null,
  type        text not null,
  visibility  plimsoll.visibility not null,
  body        bytea not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, run_id, seq)
);

-- Pieces of an answer that is not committed yet: worth nothing after a crash, so not in the WAL.
create unlogged table plimsoll.delta (
  tenant_id   text not null,
  run_id      text not null,
  seq         int8 not null,
  environment text not null,
  generation  int8 not null,
  step        int not null,
  attempt     int not null,
  body        bytea not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, run_id, seq)
);

create table plimsoll.idempotency (
  tenant_id   text not null,
  caller      text not null,
  key         text not null,
  environment text not null,
  operation   text not null,
  body_hash   text not null,
  -- the run that this request makes or decides: who completes the row must name it, so that of two takers one wins
  run_id      text not null,
  status      int,
  response    bytea,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  primary key (tenant_id, environment, caller, key)
);
create index idempotency_open on plimsoll.idempotency (tenant_id, run_id) where status is null;
create index idempotency_old on plimsoll.idempotency (tenant_id, expires_at);

create table plimsoll.audit (
  tenant_id   text not null,
  id          text not null,
  environment text not null,
  run_id      text,
  actor_kind  text not null,
  actor       text not null,
  action      text not null,
  target      text not null,
  outcome     text not null,
  reason      text,
  digest      text,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, id)
);

-- What must never come back; filled by deletion, read by every restore and re-extraction.
create table plimsoll.tombstone (
  tenant_id   text not null,
  kind        text not null,
  id          text not null,
  environment text not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, kind, id)
);

-- ── what the planner knows ──────────────────────────────────────────────────────────────────────────────────────────
-- A plan is made once, on tables that are new. Without statistics a key's first column, the tenant, looks as good as the
-- whole key, and the plan would read all rows of the tenant for one run. So the planner has seen a tenant with many rows
-- before there is one: TRUNCATE empties a table and keeps what is known of its columns (docs/decisions).

insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
select 'example', 's' || s, 'production', 'u' || s % 7, 'u' || s % 7, 'agent' from generate_series(1, 100) s;
insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, agent, release, status, worker_id,
  wait_reason, end_reason, deadline_at, progress_ms, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts)
select 'example', 'r' || s || '.' || g, 'production', 's' || s, g, 'u', 'u', 'agent', 'release', x.status,
  case x.status when 'running' then 'w' || s % 5 end, case x.status when 'waiting_confirmation' then 'confirmation' end,
  case x.status when 'succeeded' then 'completed' end, now(), 9, 9, 9, 9, 9, 9
from generate_series(1, 100) s, generate_series(1, 4) g,
  lateral (select (array['succeeded', 'running', 'waiting_confirmation', 'queued'])[g] as status) x;
insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, role, body, content_hash,
  visibility, integrity, confidentiality, origin, tokens)
select tenant_id, id, n, environment, session_id, user_id, subject_id, n, 'tool', '', '', 'model', 'untrusted', 'subject', '{}', 1
from plimsoll.run, generate_series(1, 10) n;
insert into plimsoll.effect (tenant_id, run_id, step, position, environment, session_id, user_id, subject_id, call_id, tool, tool_version,
  level, approval, arguments, arguments_hash, fingerprint, idempotency_key, status, outcome, started_at)
select tenant_id, id, n, 0, environment, session_id, user_id, subject_id, 'call', 'tool', 1, (array['read', 'write', 'irreversible'])[1 + n % 3],
  'confirm', '', id || n, id || n, id || n, 'settled', 'ok', now()
from plimsoll.run, generate_series(1, 5) n;
insert into plimsoll.confirmation (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, generation, tool,
  tool_version, params_hash, plan, level, confirmers, nonce, status, expires_at)
select tenant_id, 'c' || id || n, environment, session_id, user_id, subject_id, id, n, 0, generation, 'tool', 1, '', '', 'confirm', '{u}', 'n',
  case when n = 1 then 'pending' else 'consumed' end, now()
from plimsoll.run, generate_series(1, 2) n;
insert into plimsoll.ledger (tenant_id, run_id, seq, environment, step, kind)
select tenant_id, id, n, environment, n, 'model' from plimsoll.run, generate_series(1, 10) n;
insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
select tenant_id, id, n, environment, 'step_planned', 'user', '' from plimsoll.run, generate_series(1, 10) n;
insert into plimsoll.delta (tenant_id, run_id, seq, environment, generation, step, attempt, body)
select tenant_id, id, n, environment, 1, 1, 1, '' from plimsoll.run, generate_series(1, 5) n;
insert into plimsoll.idempotency (tenant_id, caller, key, environment, operation, body_hash, run_id, status, expires_at)
select tenant_id, 'caller' || n, id || n, environment, 'message', '', id, nullif(202, 200 + n), now() from plimsoll.run, generate_series(1, 2) n;
insert into plimsoll.signal (tenant_id, environment, key, waiters)
select tenant_id, environment, id, array[id] from plimsoll.run;
analyze plimsoll.session, plimsoll.run, plimsoll.message, plimsoll.effect, plimsoll.confirmation, plimsoll.ledger, plimsoll.event,
  plimsoll.delta, plimsoll.idempotency, plimsoll.signal;
truncate plimsoll.session, plimsoll.run, plimsoll.message, plimsoll.effect, plimsoll.confirmation, plimsoll.ledger, plimsoll.event,
  plimsoll.delta, plimsoll.idempotency, plimsoll.signal;
-- Written anew, a table counts as one that nobody has looked at: it is taken for ten pages long, and not for empty.
do $new$
declare t text;
begin
  foreach t in array array['session', 'run', 'message', 'effect', 'confirmation', 'ledger', 'event', 'idempotency', 'signal'] loop
    execute format('alter table plimsoll.%I set unlogged', t);
    execute format('alter table plimsoll.%I set logged', t);
  end loop;
  alter table plimsoll.delta set logged;
  alter table plimsoll.delta set unlogged;
end $new$;

-- ── the wall ────────────────────────────────────────────────────────────────────────────────────────────────────────
-- Two doors and no third. The app role sees the rows of the tenant and environment that its transaction names; nothing
-- named means no rows. The step role sees exactly the runs and sessions on the list of its batch, `|key|key|`: a search in
-- a text is no index condition, so that the key join and the cached plan stay, and needs nothing set up per statement.

do $wall$
declare
  t record;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
  batch_key constant text := $$strpos(current_setting('app.batch', true), '|' || tenant_id || '/' || environment || '/' || %s || '|') > 0$$;
begin
  for t in select * from (values
    ('session', 'id'), ('run', 'id'), ('message', 'run_id'), ('effect', 'run_id'), ('confirmation', 'run_id'),
    ('ledger', 'run_id'), ('event', 'run_id'), ('delta', 'run_id'), ('idempotency', 'run_id'),
    ('audit', 'run_id'), ('tombstone', null),
    -- no id holds a colon, so that no signal opens a run
    ('signal', $$('signal:' || key)$$)
  ) as v(name, owner_key) loop
    execute format('alter table plimsoll.%I enable row level security', t.name);
    execute format('alter table plimsoll.%I force row level security', t.name);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t.name, tenant_key, tenant_key);
    if t.owner_key is not null then
      execute format($p$create policy batch on plimsoll.%I for all to plimsoll_step using (%s) with check (%s)$p$,
        t.name, format(batch_key, t.owner_key), format(batch_key, t.owner_key));
    end if;
  end loop;
end $wall$;

-- claiming crosses tenants by nature: lease columns, and only of runs that somebody must look at
create policy claimable on plimsoll.run for select to plimsoll_claim
  using (status in ('queued', 'running', 'waiting_confirmation'));
create policy claim on plimsoll.run for update to plimsoll_claim
  using ((status in ('queued', 'waiting_confirmation') and due_at <= now())
      or (status = 'running' and (progress_at + progress_ms * interval '1 millisecond' <= now()
        or not exists (select from plimsoll.worker w where w.id = worker_id and w.lease_until > now()))))
  with check (status in ('queued', 'running'));
create policy abandon on plimsoll.run for update to plimsoll_claim
  using (status in ('queued', 'running', 'waiting_confirmation') and cancel_cause is null and followed_until < now())
  with check (cancel_cause = 'disconnect');

grant select on plimsoll.tenant, plimsoll.worker, plimsoll.credential, plimsoll.session, plimsoll.run, plimsoll.message, plimsoll.effect,
  plimsoll.confirmation, plimsoll.ledger, plimsoll.event, plimsoll.delta, plimsoll.idempotency, plimsoll.audit, plimsoll.tombstone,
  plimsoll.signal to plimsoll_app;
grant insert on plimsoll.tenant, plimsoll.credential, plimsoll.audit, plimsoll.idempotency, plimsoll.delta to plimsoll_app;
grant update (revoked_at) on plimsoll.credential to plimsoll_app;
grant update (status, response, run_id, created_at) on plimsoll.idempotency to plimsoll_app;
grant delete on plimsoll.idempotency, plimsoll.delta to plimsoll_app;
grant insert, update, delete on plimsoll.worker to plimsoll_app;

grant select on plimsoll.worker to plimsoll_step, plimsoll_claim;
grant select on plimsoll.run, plimsoll.session to plimsoll_step;
grant insert on plimsoll.session, plimsoll.run, plimsoll.message, plimsoll.effect, plimsoll.confirmation, plimsoll.ledger,
  plimsoll.event, plimsoll.audit to plimsoll_step;
grant select (tenant_id, environment, run_id, status), update (status, response) on plimsoll.idempotency to plimsoll_step;
grant select, insert, update on plimsoll.signal to plimsoll_step;
grant update (version, generation, closed_at) on plimsoll.session to plimsoll_step;
grant update (status, wait_reason, phase, step, version, commits, event_seq, message_seq, worker_id, attempts, due_at, progress_at, followed_until,
  used_tool_calls, used_tokens, used_cost, reserved_tokens, reserved_cost, cancel_cause, integrity, confidentiality,
  watermark_from, end_reason, ended_at) on plimsoll.run to plimsoll_step;
-- the step role writes results and plans, it never reads them
grant select (tenant_id, environment, run_id, step, position, status, approval, arguments_hash, level, attempt, wait_signal,
  waits), update (status, outcome, again, wait_signal, wait_until, waits, error_code, result, result_hash, attempt, resource, resource_version, started_at, settled_at) on plimsoll.effect to plimsoll_step;
grant select (tenant_id, environment, id, run_id, step, position, status, version, params_hash, expires_at, execute_by, confirmers,
  decided_by, resource_version), update (status, version, decided_by, decided_at, execute_by, consumed_at)
  on plimsoll.confirmation to plimsoll_step;
grant select (tenant_id, id, environment, session_id, branch, generation, agent, status, wait_reason, cancel_cause, due_at,
  deadline_at, created_at, worker_id, epoch, attempts, started_at, progress_at, progress_ms, followed_until, version), update (status, cancel_cause,
  wait_reason, worker_id, epoch, attempts, started_at, progress_at, version, due_at)
  on plimsoll.run to plimsoll_claim;
grant select on plimsoll.migration to plimsoll_app;
reset role;
