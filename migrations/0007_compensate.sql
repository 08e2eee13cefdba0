-- safe with the version before: yes
--
-- An effect may answer an earlier one (J7), and a run may rest because nobody follows it (K2). The functions are those of
-- 0002 with what these two add to them.

grant create on schema plimsoll to plimsoll_step, plimsoll_claim;
set local role plimsoll_owner;

-- An effect is answered once: by a compensation that is under way, whose outcome nobody knows, or that is done. One that
-- surely had no effect leaves the index, and may be tried again.
create unique index effect_compensates on plimsoll.effect (tenant_id, compensates)
  where compensates is not null and (outcome is null or outcome = 'ok');

-- The batch names the effect that is answered, and with it whatever answers it: both may lie in other runs.
create policy compensated on plimsoll.effect for select to plimsoll_step
  using (strpos(current_setting('app.batch', true),
    '|' || tenant_id || '/' || environment || '/effect:' || coalesce(compensates, idempotency_key) || '|') > 0);
grant select (session_id, user_id, tool, idempotency_key, outcome, compensates) on plimsoll.effect to plimsoll_step;

alter domain plimsoll.wait_reason drop constraint wait_reason_check;
alter domain plimsoll.wait_reason add constraint wait_reason_check
  check (value in ('confirmation', 'unknown_effect', 'question', 'timer', 'external', 'follower'));
-- what becomes of a run that was followed and is not any more: it ends, or it parks
alter table plimsoll.run add column parks_alone boolean not null default false;
grant update (parks_alone) on plimsoll.run to plimsoll_step;
grant select (parks_alone) on plimsoll.run to plimsoll_claim;
reset role;

set local role plimsoll_step;

-- COMMIT A, COMMIT B, parking, ending (0002). What is answered is looked at in the commit that records the intent.
create or replace function plimsoll.step(p jsonb, p_keys text[], p_worker text)
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
  -- who answers the same effect comes one after the other, in one order, and before any run is touched: no circle
  if strpos(wall, '/effect:') > 0 then
    perform pg_advisory_xact_lock(hashtextextended(k, 0))
    from (select x as k from unnest(p_keys) as x where strpos(x, '/effect:') > 0 order by 1) as answered;
  end if;
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
    -- a compensation answers an effect of this conversation that is done, and that nothing answers yet (J7)
    if jsonb_path_exists(t.effects, '$[*].compensates ? (@ != null)') then
      continue when (select count(e.compensates) <> count(distinct e.compensates) or bool_or(e.compensates is not null and (
        not exists (
          select from plimsoll.run mine join plimsoll.effect d on d.tenant_id = mine.tenant_id and d.environment = mine.environment
            and d.session_id = mine.session_id and d.user_id = mine.user_id
          where mine.tenant_id = t.tenant and mine.environment = t.environment and mine.id = t.run
            and d.idempotency_key = e.compensates and d.tool = e.compensated_tool
            and d.level <> 'read' and d.status = 'settled' and d.outcome = 'ok')
        or exists (
          select from plimsoll.effect o where o.tenant_id = t.tenant and o.compensates = e.compensates
            and (o.outcome is null or o.outcome = 'ok'))))
        from jsonb_to_recordset(t.effects) as e (compensates text, compensated_tool text));
    end if;
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
        result, result_hash, compensates, settled_at)
      select r.tenant_id, r.id, e.step, e.position, r.environment, r.session_id, r.user_id, r.subject_id, e.call_id, e.tool,
        e.tool_version, e.level, e.approval, decode(e.arguments, 'base64'), e.arguments_hash, e.fingerprint, e.key, e.status,
        e.outcome, e.error_code, decode(e.result, 'base64'), e.result_hash, e.compensates, case when e.status = 'settled' then now() end
      from jsonb_to_recordset(t.effects) as e (step int, position int, call_id text, tool text, tool_version int, level text,
        approval text, arguments text, arguments_hash text, fingerprint text, key text, status text, outcome text,
        error_code text, result text, result_hash text, compensates text);
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

-- A message opens a run (0002), and wakes one that rests because nobody was there.
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
      response text, status int))
      with ordinality as t(tenant, environment, session, session_version, user_id, subject, permissions, agent, release, run,
        parent_run, parent_message, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, deadline_ms, progress_ms,
        reserved_tokens, reserved_cost, body, hash, tokens, replaced, resting, event, response, status, n)
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
      reserved_tokens, reserved_cost)
    values (t.tenant, t.run, t.environment, t.session, s.generation, t.user_id, t.subject, t.permissions, t.agent, t.release,
      t.parent_run, 'queued', 1, 1, now() + t.deadline_ms * interval '1 millisecond',
      t.progress_ms, t.max_steps, t.max_tool_calls,
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

drop function plimsoll.attend(text, text, text, int8);
-- Somebody follows the run, for as long as this says (K2). No version: who looks on moves nothing.
create function plimsoll.attend(p_tenant text, p_environment text, p_run text, p_ms int8, p_parks boolean default false)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  wall text;
  found_rows int;
begin
  wall := set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_run || '|', true);
  update plimsoll.run r set followed_until = greatest(r.followed_until, now() + p_ms * interval '1 millisecond'),
    parks_alone = p_parks,
    due_at = case when r.wait_reason = 'follower' then now() else r.due_at end
  where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run
    and r.status in ('queued', 'running', 'waiting_confirmation');
  get diagnostics found_rows = row_count;
  wall := set_config('app.batch', '', true);
  return found_rows;
end $f$;

reset role;
set local role plimsoll_claim;

drop function plimsoll.driven(text);
-- What a worker drives (0002), and which of it nobody follows any more.
create function plimsoll.driven(p_worker text)
returns table (tenant text, environment text, run text, epoch int8, canceled boolean, alone boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
begin
  return query select r.tenant_id::text, r.environment::text, r.id, r.epoch, r.cancel_cause is not null,
    r.parks_alone and coalesce(r.followed_until < now(), false) from plimsoll.run r
  where r.worker_id = p_worker and r.status = 'running';
end $f$;

-- Nobody follows them any more, and their agents say that this is their end (0002).
create or replace function plimsoll.abandon(p_limit int)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  with left_alone as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.followed_until < now() and q.status in ('queued', 'running', 'waiting_confirmation') and q.cancel_cause is null
      and not q.parks_alone
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set cancel_cause = 'disconnect', version = r.version + 1,
    due_at = case when r.status = 'running' or r.wait_reason = 'unknown_effect' then r.due_at else now() end
  from left_alone x where r.tenant_id = x.tenant_id and r.id = x.id;
  get diagnostics taken = row_count;
  return taken;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_step, plimsoll_claim;
set local role plimsoll_owner;

-- One run as its worker needs it (0002).
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
      from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = r.step), '[]'))
  into found
  from plimsoll.run r where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return found;
end $f$;

reset role;
revoke all on function plimsoll.attend(text, text, text, int8, boolean), plimsoll.driven(text) from public;
grant execute on function plimsoll.attend(text, text, text, int8, boolean), plimsoll.driven(text) to plimsoll_app;
