-- safe with the version before: yes
--
-- The transitions. Each takes an array of transitions as one jsonb value, so that transitions of many runs and tenants
-- travel together, and answers one row per transition that was applied (or, where there are several ways to fail, its
-- outcome). The keys of the policy come from the caller's evidence (`tenant/environment/run`), the rows from the
-- payload: a row that names a run outside the keys changes nothing.
--
-- plpgsql, because its plans stay cached on 15 to 17; `enable_seqscan = off`, because a plan first made on empty tables
-- would otherwise stay and rot as they grow.

grant create on schema plimsoll to plimsoll_step, plimsoll_claim;
set local role plimsoll_step;

-- COMMIT A, COMMIT B, parking, ending: everything that the pure machine decided about a run, or nothing of it. The UPDATE
-- holds every guard; only a row that passed it gets anything recorded. Plain statements, row by row: the executor sets up
-- every branch of a data-modifying CTE, written to or not, which cost a lone run half of its time (docs/decisions).
create function plimsoll.step(p jsonb, p_keys text[], p_worker text)
returns table (n int, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
-- an array of one call is guessed to hold a hundred: a hash join would read all effects of the run to settle it
set enable_hashjoin = off
set enable_mergejoin = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
  r record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (
      tenant text, environment text, run text, epoch int8, version int8, "from" text, "to" text, wait text, phase text,
      step int, attempts int, due_ms int8, cancel text, end_reason text, message_seq int, event_seq int8, tool_calls int,
      kind text, input_tokens int8, output_tokens int8, spent_cost int8, known boolean, suspect boolean, reserved_tokens int8,
      reserved_cost int8, released_tokens int8, released_cost int8, integrity text, confidentiality text,
      watermark_from text, messages jsonb, effects jsonb, settled jsonb, waiting jsonb, listens text[], confirmations jsonb, closed jsonb,
      events jsonb, audit jsonb
    )) with ordinality as t(
      tenant, environment, run, epoch, version, "from", "to", wait, phase, step, attempts, due_ms, cancel, end_reason, message_seq,
      event_seq, tool_calls, kind, input_tokens, output_tokens, spent_cost, known, suspect, reserved_tokens, reserved_cost,
      released_tokens, released_cost, integrity, confidentiality, watermark_from, messages, effects, settled,
      waiting, listens, confirmations, closed, events, audit, n)
    -- one order for everybody, so that two batches cannot wait for one another in a circle
    order by tenant, run
  loop
    update plimsoll.run x set
      status = t."to", wait_reason = t.wait, phase = t.phase, step = t.step, version = x.version + 1,
      commits = x.commits + (x.status = 'running')::int, event_seq = t.event_seq, message_seq = t.message_seq,
      attempts = t.attempts, progress_at = now(),
      worker_id = case when t."to" = 'running' then x.worker_id end,
      due_at = case when t."to" = 'queued' then now()
                    when t."to" = 'waiting_confirmation' then coalesce(now() + t.due_ms * interval '1 millisecond', 'infinity')
                    else x.due_at end,
      used_tool_calls = x.used_tool_calls + t.tool_calls,
      used_tokens = x.used_tokens + t.input_tokens + t.output_tokens,
      used_cost = x.used_cost + t.spent_cost,
      reserved_tokens = x.reserved_tokens + t.reserved_tokens - t.released_tokens,
      reserved_cost = x.reserved_cost + t.reserved_cost - t.released_cost,
      cancel_cause = coalesce(x.cancel_cause, t.cancel),
      integrity = t.integrity, confidentiality = t.confidentiality, watermark_from = t.watermark_from,
      end_reason = t.end_reason, ended_at = case when t.end_reason is not null then now() end
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.run
      and x.version = t.version
      and x.status = t."from"
      and x.end_reason is null
      and (x.status <> 'running' or (x.worker_id = p_worker and x.epoch = t.epoch))
      and t.step <= x.max_steps
      and x.used_tool_calls + t.tool_calls <= x.max_tool_calls
      and (t.reserved_tokens = 0 or x.used_tokens + t.input_tokens + t.output_tokens + x.reserved_tokens
           - t.released_tokens + t.reserved_tokens <= x.max_tokens)
      and (t.reserved_cost = 0 or x.used_cost + t.spent_cost + x.reserved_cost - t.released_cost + t.reserved_cost <= x.max_cost)
    returning x.tenant_id, x.environment, x.id, x.version, x.session_id, x.user_id, x.subject_id, x.generation, x.parent_run_id
    into r;
    continue when not found;

    if t.messages <> '[]' then
      insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, position, role,
        body, content_hash, visibility, integrity, confidentiality, origin, partial, tokens)
      select r.tenant_id, r.id, m.seq, r.environment, r.session_id, r.user_id, r.subject_id, m.step, m.position, m.role,
        decode(m.body, 'base64'), m.hash, m.visibility, m.integrity, m.confidentiality, m.origin, m.partial, m.tokens
      from jsonb_to_recordset(t.messages) as m (seq int, step int, position int, role text, body text, hash text,
        visibility text, integrity text, confidentiality text, origin jsonb, partial boolean, tokens int);
    end if;
    if t.effects <> '[]' then
      insert into plimsoll.effect (tenant_id, run_id, step, position, environment, session_id, user_id, subject_id, call_id, tool,
        tool_version, level, approval, arguments, arguments_hash, fingerprint, idempotency_key, status, outcome, error_code,
        result, result_hash, settled_at)
      select r.tenant_id, r.id, e.step, e.position, r.environment, r.session_id, r.user_id, r.subject_id, e.call_id, e.tool,
        e.tool_version, e.level, e.approval, decode(e.arguments, 'base64'), e.arguments_hash, e.fingerprint, e.key, e.status,
        e.outcome, e.error_code, decode(e.result, 'base64'), e.result_hash, case when e.status = 'settled' then now() end
      from jsonb_to_recordset(t.effects) as e (step int, position int, call_id text, tool text, tool_version int, level text,
        approval text, arguments text, arguments_hash text, fingerprint text, key text, status text, outcome text,
        error_code text, result text, result_hash text);
    end if;
    if t.settled <> '[]' then
      update plimsoll.effect e set status = s.status, outcome = s.outcome, error_code = s.error_code,
        result = decode(s.result, 'base64'), result_hash = s.result_hash, again = s.status = 'started',
        settled_at = case when s.status = 'settled' then now() end
      from jsonb_to_recordset(t.settled) as s (position int, status text, outcome text, error_code text, result text,
        result_hash text)
      where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = s.position
        and e.status <> 'settled';
    end if;
    if t.waiting <> '[]' then
      update plimsoll.effect e set status = 'waiting', wait_signal = w.signal, wait_until = now() + w.ms * interval '1 millisecond',
        waits = e.waits + 1
      from jsonb_to_recordset(t.waiting) as w (position int, signal text, ms int8)
      where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = w.position
        and e.status in ('intended', 'started', 'waiting');
      -- in one order, and behind the run: who tells takes them the other way round, but holds one signal only
      insert into plimsoll.signal as s (tenant_id, environment, key, waiters)
      select distinct r.tenant_id, r.environment, w.signal, array[r.id]
      from jsonb_to_recordset(t.waiting) as w (signal text) where w.signal is not null order by 3
      on conflict (tenant_id, environment, key) do update set waiters = array_append(array_remove(s.waiters, r.id), r.id);
    end if;
    -- what was told before somebody waited for it is not waited for
    if t."to" = 'waiting_confirmation' and t.listens <> '{}' and exists (
      select from plimsoll.signal s where s.tenant_id = r.tenant_id and s.environment = r.environment and s.key = any (t.listens)
        and s.body is not null)
    then
      update plimsoll.run x set due_at = now() where x.tenant_id = r.tenant_id and x.environment = r.environment and x.id = r.id;
    end if;
    if t.confirmations <> '[]' then
      insert into plimsoll.confirmation (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position,
        generation, tool, tool_version, params_hash, resource, resource_version, plan, level, confirmers, nonce, expires_at)
      select r.tenant_id, c.id, r.environment, r.session_id, r.user_id, r.subject_id, r.id, c.step, c.position, r.generation,
        c.tool, c.tool_version, c.params_hash, c.resource, c.resource_version, decode(c.plan, 'base64'), c.level, c.confirmers,
        c.nonce, now() + c.open_ms * interval '1 millisecond'
      from jsonb_to_recordset(t.confirmations) as c (id text, step int, position int, tool text, tool_version int,
        params_hash text, resource text, resource_version text, plan text, level text, confirmers text[], nonce text, open_ms int8);
    end if;
    if t.closed <> '[]' then
      update plimsoll.confirmation c set status = x.status, version = c.version + 1
      from jsonb_to_recordset(t.closed) as x (id text, status text)
      where c.tenant_id = r.tenant_id and c.run_id = r.id and c.id = x.id and c.status in ('pending', 'approved');
    end if;
    if t.kind is not null then
      insert into plimsoll.ledger (tenant_id, run_id, seq, environment, parent_run_id, step, kind, input_tokens, output_tokens,
        spent_cost, tool_calls, known, suspect, reserved_tokens, reserved_cost, released_tokens, released_cost)
      values (r.tenant_id, r.id, r.version, r.environment, r.parent_run_id, t.step, t.kind, t.input_tokens, t.output_tokens,
        t.spent_cost, t.tool_calls, t.known, t.suspect, t.reserved_tokens, t.reserved_cost, t.released_tokens, t.released_cost);
    end if;
    if t.events <> '[]' then
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, v.seq, r.environment, v.type, v.visibility, decode(v.body, 'base64')
      from jsonb_to_recordset(t.events) as v (seq int8, type text, visibility text, body text);
    end if;
    -- what a person did to the run, when this is that
    if t.audit is not null then
      insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
      select r.tenant_id, w.id, r.environment, r.id, w.actor_kind, w.actor, w.action, w.target, w.outcome, w.reason
      from jsonb_to_recordset(t.audit) as w (id text, actor_kind text, actor text, action text, target text, outcome text,
        reason text);
    end if;
    n := t.n;
    version := r.version;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- COMMIT S: an effect above `read` is about to leave the house. Lease, epoch, status, generation's cancel mark, deadline,
-- argument hash and the approved confirmation are checked, and the confirmation is used up, in the statement that says so.
create function plimsoll.start(p jsonb, p_keys text[], p_worker text)
returns table (n int, outcome text, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
  v int8;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, epoch int8, version int8, step int,
      position int, arguments_hash text, confirmation text, resource_version text, again boolean, event text))
      with ordinality as t(tenant, environment, run, epoch, version, step, position, arguments_hash, confirmation,
        resource_version, again, event, n)
    order by tenant, run
  loop
    update plimsoll.run r set version = r.version + 1, commits = r.commits + 1, event_seq = r.event_seq + 1,
      phase = 'tool_running', progress_at = now()
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run
      and r.version = t.version
      and r.status = 'running' and r.worker_id = p_worker and r.epoch = t.epoch
      and r.cancel_cause is null
      and r.deadline_at > now()
      and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      and exists (
        select from plimsoll.effect e
        where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = t.position
          and e.arguments_hash = t.arguments_hash
          and ((e.status in ('started', 'unknown') and t.again)
            or (e.status = 'intended' and (e.approval = 'auto' or exists (
                  select from plimsoll.confirmation c
                  where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = t.step and c.position = t.position
                    and c.id = t.confirmation
                    and c.status = 'approved' and c.execute_by > now()
                    and c.params_hash = t.arguments_hash
                    and c.resource_version is not distinct from t.resource_version)))))
    returning r.version into v;
    if found then
      update plimsoll.effect e set status = 'started', started_at = now(), attempt = e.attempt + 1, again = false
      where e.tenant_id = t.tenant and e.run_id = t.run and e.step = t.step and e.position = t.position;
      update plimsoll.confirmation c set status = 'consumed', consumed_at = now(), version = c.version + 1
      where c.tenant_id = t.tenant and c.run_id = t.run and c.id = t.confirmation and c.status = 'approved';
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, r.event_seq, r.environment, 'effect_started', 'user', decode(t.event, 'base64')
      from plimsoll.run r where r.tenant_id = t.tenant and r.id = t.run;
      return query select t.n::int, 'started'::text, v;
    else
      return query
      select t.n::int,
        case when r.id is null or r.status <> 'running' or r.worker_id is distinct from p_worker or r.epoch <> t.epoch
               or not exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now()) then 'lease_lost'
             when r.cancel_cause is not null then 'canceled'
             when r.deadline_at <= now() then 'deadline'
             when r.version <> t.version then 'conflict'
             when c.status = 'approved' and c.execute_by <= now() then 'expired'
             else 'not_approved' end,
        r.version
      from (values (1)) as one
      left join plimsoll.run r on r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run
      left join plimsoll.confirmation c on c.tenant_id = t.tenant and c.run_id = t.run and c.id = t.confirmation;
    end if;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- An end user decides. One row wins, whoever else presses at the same moment; the loser is told what was recorded.
create function plimsoll.decide(p jsonb, p_keys text[])
returns table (n int, outcome text, status text, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
  v int8;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, confirmation text, version int8,
      params_hash text, actor text, actor_kind text, approve boolean, execute_ms int8, audit text, reason text, event text))
      with ordinality as t(tenant, environment, run, confirmation, version, params_hash, actor, actor_kind, approve,
        execute_ms, audit, reason, event, n)
    order by tenant, run
  loop
    -- run before confirmation, as COMMIT S does: the same order everywhere, so no deadlock
    perform from plimsoll.run r where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run for update;
    update plimsoll.confirmation c set
      status = case when t.approve then 'approved' else 'rejected' end, version = c.version + 1,
      decided_by = t.actor, decided_at = now(), execute_by = now() + t.execute_ms * interval '1 millisecond'
    where c.tenant_id = t.tenant and c.environment = t.environment and c.run_id = t.run and c.id = t.confirmation
      and c.status = 'pending'
      and c.expires_at > now()
      and c.version = t.version
      and c.params_hash = t.params_hash
      and t.actor = any (c.confirmers)
      and exists (select from plimsoll.run r where r.tenant_id = c.tenant_id and r.id = c.run_id
        and r.status in ('queued', 'running', 'waiting_confirmation') and r.wait_reason is not distinct from
          case when r.status = 'waiting_confirmation' then 'confirmation' end
        and r.cancel_cause is null and r.deadline_at > now())
    returning c.version into v;
    if found then
      update plimsoll.run r set version = r.version + 1, event_seq = r.event_seq + 1,
        status = case when r.status = 'waiting_confirmation' then 'queued' else r.status end,
        wait_reason = null,
        due_at = case when r.status = 'waiting_confirmation' then now() else r.due_at end
      where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run;
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, r.event_seq, r.environment, 'confirmation_decided', 'user', decode(t.event, 'base64')
      from plimsoll.run r where r.tenant_id = t.tenant and r.id = t.run;
      insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
      values (t.tenant, t.audit, t.environment, t.run, t.actor_kind, t.actor, 'confirmation.decide', t.confirmation,
        case when t.approve then 'approved' else 'rejected' end, t.reason);
      return query select t.n::int, 'decided'::text, case when t.approve then 'approved' else 'rejected' end, v;
    else
      return query
      select t.n::int,
        case when c.id is null then 'not_found'
             when not t.actor = any (c.confirmers) then 'not_permitted'
             when c.status = 'superseded' then 'superseded'
             when c.status = 'expired' or (c.status = 'pending' and c.expires_at <= now()) then 'expired'
             when c.status <> 'pending' then 'already_decided'
             when c.version <> t.version then 'version'
             when c.params_hash <> t.params_hash then 'hash'
             else 'run_closed' end,
        c.status, c.version
      from (values (1)) as one
      left join plimsoll.confirmation c on c.tenant_id = t.tenant and c.environment = t.environment and c.run_id = t.run
        and c.id = t.confirmation;
    end if;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- A running run is only marked: its worker, or who takes over from it, sees the mark before anything else starts.
create function plimsoll.cancel(p jsonb, p_keys text[])
returns table (n int, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
  r record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, version int8, cause text, event text))
      with ordinality as t(tenant, environment, run, version, cause, event, n) order by tenant, run
  loop
    update plimsoll.run x set cancel_cause = t.cause, version = x.version + 1, event_seq = x.event_seq + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.run
      and x.version = t.version and x.status = 'running' and x.cancel_cause is null
    returning x.version, x.event_seq into r;
    continue when not found;
    insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
    values (t.tenant, t.run, r.event_seq, t.environment, 'cancel_requested', 'user', decode(t.event, 'base64'));
    n := t.n;
    version := r.version;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- A message opens a run. The conversation's version decides between two tabs (A3, C5); runs that the message replaces
-- get the mark `superseded` in the same instant, so that none of them can start anything after it (A4).
create function plimsoll.submit(p jsonb, p_keys text[])
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
      max_steps int, max_tool_calls int, max_tokens int8, max_cost int8, max_attempts int, deadline_ms int8,
      reserved_tokens int8, reserved_cost int8, body text, hash text, tokens int, replaced jsonb, event text,
      response text, status int))
      with ordinality as t(tenant, environment, session, session_version, user_id, subject, permissions, agent, release, run,
        parent_run, parent_message, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, deadline_ms,
        reserved_tokens, reserved_cost, body, hash, tokens, replaced, event, response, status, n)
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
    insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, permissions, agent, release,
      parent_run_id, status, event_seq, message_seq, deadline_at, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts,
      reserved_tokens, reserved_cost)
    values (t.tenant, t.run, t.environment, t.session, s.generation, t.user_id, t.subject, t.permissions, t.agent, t.release,
      t.parent_run, 'queued', 1, 1, now() + t.deadline_ms * interval '1 millisecond', t.max_steps, t.max_tool_calls,
      t.max_tokens, t.max_cost, t.max_attempts, t.reserved_tokens, t.reserved_cost);
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

-- The world tells (T3). Told once: the same body again is the same, another one is refused. Runs that wait are due at once; the
-- version tells a worker that is about to lie down that there is news.
create function plimsoll.tell(p jsonb, p_keys text[])
returns table (n int, outcome text, waiters int)
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
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, signal text, body text, hash text))
      with ordinality as t(tenant, environment, signal, body, hash, n) order by tenant, signal
  loop
    wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
    insert into plimsoll.signal as x (tenant_id, environment, key, body, body_hash, told_at)
    values (t.tenant, t.environment, t.signal, decode(t.body, 'base64'), t.hash, now())
    on conflict (tenant_id, environment, key) do update set
      body = coalesce(x.body, excluded.body), body_hash = coalesce(x.body_hash, excluded.body_hash),
      told_at = coalesce(x.told_at, excluded.told_at)
    returning x.body_hash, x.waiters into s;
    if s.body_hash <> t.hash then
      return query select t.n::int, 'told_otherwise'::text, 0;
      continue;
    end if;
    -- the signal names its waiters: their runs, and no others, are behind the wall now
    wall := set_config('app.batch', coalesce((select '|' || string_agg(t.tenant || '/' || t.environment || '/' || x.id, '|') || '|'
      from unnest(s.waiters) as x (id)), ''), true);
    update plimsoll.run r set version = r.version + 1,
      due_at = case when r.status = 'waiting_confirmation' and r.wait_reason <> 'unknown_effect' then now() else r.due_at end
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = any (s.waiters)
      and r.status in ('queued', 'running', 'waiting_confirmation')
      and exists (select from plimsoll.effect e where e.tenant_id = r.tenant_id and e.run_id = r.id and e.status = 'waiting'
        and e.wait_signal = t.signal);
    return query select t.n::int, 'told'::text, cardinality(s.waiters);
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- A conversation before its first message.
create function plimsoll.open_session(p jsonb, p_keys text[])
returns table (n int)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, user_id text, subject text, agent text))
      with ordinality as t(tenant, environment, session, user_id, subject, agent, n) order by tenant, session
  loop
    insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
    values (t.tenant, t.session, t.environment, t.user_id, t.subject, t.agent) on conflict do nothing;
    continue when not found;
    n := t.n;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

-- A closed conversation takes no message any more; its runs go on, since their life is their own (A5, A12).
create function plimsoll.close_session(p jsonb, p_keys text[])
returns table (n int, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  wall text;
  t record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, version int8))
      with ordinality as t(tenant, environment, session, version, n) order by tenant, session
  loop
    update plimsoll.session x set closed_at = now(), version = x.version + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at is null
      and x.version = coalesce(t.version, x.version)
    returning x.version into version;
    continue when not found;
    n := t.n;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $f$;

reset role;
set local role plimsoll_claim;

-- Take up to `p_limit` runs that somebody must look at: queued ones, and waiting ones whose time has come.
create function plimsoll.claim(p_worker text, p_agents text[], p_limit int)
returns table (tenant text, environment text, run text, epoch int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
begin
  return query
  -- materialized: joined as a subquery it may be scanned again for each row, and each scan locks further runs
  with due as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.status in ('queued', 'waiting_confirmation') and q.due_at <= now()
      -- a worker takes what it can drive; whose time is over can be ended by any
      and (q.agent = any (p_agents) or q.deadline_at <= now())
      -- one active generation per branch: a younger one waits until the older has ended
      and not exists (
        select from plimsoll.run older
        where older.tenant_id = q.tenant_id and older.session_id = q.session_id and older.branch = q.branch
          and older.generation < q.generation and older.status in ('queued', 'running', 'waiting_confirmation'))
      and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
    order by q.due_at
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set status = 'running', wait_reason = null, worker_id = p_worker, epoch = r.epoch + 1,
    version = r.version + 1, started_at = coalesce(r.started_at, now()), progress_at = now()
  from due where r.tenant_id = due.tenant_id and r.id = due.id
  returning r.tenant_id::text, r.environment::text, r.id, r.epoch;
end $f$;

-- What a worker drives: how a cancel of another process reaches a call in flight, and how the runs of a claim whose
-- reply was lost are found.
create function plimsoll.driven(p_worker text)
returns table (tenant text, environment text, run text, epoch int8, canceled boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
begin
  return query select r.tenant_id::text, r.environment::text, r.id, r.epoch, r.cancel_cause is not null from plimsoll.run r
  where r.worker_id = p_worker and r.status = 'running';
end $f$;

-- Put the runs of dead workers back into the queue; the next claim raises the epoch, which fences the dead. `attempts`
-- counts such losses since the last progress, so that a run that kills its workers ends. A worker that stops politely deletes its own row first, so one way serves both.
create function plimsoll.reap(p_limit int)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  with lost as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.status = 'running'
      and not exists (select from plimsoll.worker w where w.id = q.worker_id and w.lease_until > now())
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set status = 'queued', worker_id = null, due_at = now(), version = r.version + 1, attempts = r.attempts + 1
  from lost where r.tenant_id = lost.tenant_id and r.id = lost.id;
  get diagnostics taken = row_count;
  return taken;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_step, plimsoll_claim;
set local role plimsoll_owner;

-- One run as its worker needs it, in one round trip. Runs with the rights of the caller, under the tenant it names.
create function plimsoll.load(p_tenant text, p_environment text, p_run text)
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
    'run', to_jsonb(r) - array['due_at', 'progress_at', 'deadline_at', 'created_at', 'started_at', 'ended_at', 'parent_run_id'],
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
        'errorCode', e.error_code, 'resultHash', e.result_hash, 'attempt', e.attempt, 'again', e.again,
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
      from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = r.step), '[]'))
  into found
  from plimsoll.run r where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return found;
end $f$;

do $rights$
declare f text;
begin
  foreach f in array array['step(jsonb, text[], text)', 'start(jsonb, text[], text)', 'decide(jsonb, text[])', 'cancel(jsonb, text[])',
    'submit(jsonb, text[])', 'tell(jsonb, text[])', 'open_session(jsonb, text[])', 'close_session(jsonb, text[])', 'claim(text, text[], int)', 'driven(text)',
    'reap(int)', 'load(text, text, text)'] loop
    if f not like 'load%' then reset role; end if;
    execute 'revoke all on function plimsoll.' || f || ' from public';
    execute 'grant execute on function plimsoll.' || f || ' to plimsoll_app';
  end loop;
end $rights$;
reset role;
