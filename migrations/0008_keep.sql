-- safe with the version before: yes
--
-- Three classes more of what retention takes away: what was told to runs, when tools with a rate were started, and what calls
-- have returned that is kept as an object. The row of an artifact becomes a tombstone here, in one commit; its object is
-- removed by the sweep of objects, which finds every object that no row promises, whoever died in between.

set local role plimsoll_owner;

alter domain plimsoll.retention_class drop constraint retention_class_check;
alter domain plimsoll.retention_class add constraint retention_class_check check (value in
  ('delta', 'event', 'message', 'value', 'attempt', 'idempotency', 'artifact', 'signal', 'rate'));

-- Which rules are due crosses tenants: not every rule of every tenant is read for it.
create index retention_due on plimsoll.retention (swept_at) where days is not null;
create index delivery_attempt_old on plimsoll.delivery_attempt (tenant_id, created_at);
create index signal_old on plimsoll.signal (tenant_id, environment, created_at);

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  foreach t in array array['artifact', 'signal', 'tool_calls', 'endpoint'] loop
    execute format('create policy retain on plimsoll.%I for all to plimsoll_retain using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;

grant select (session_id, status, created_at) on plimsoll.run to plimsoll_retain;
grant select (created_at, visibility) on plimsoll.event to plimsoll_retain;
grant select (tenant_id, environment, state, starts_at, seen_at) on plimsoll.endpoint to plimsoll_retain;
grant select (starts_at, seen_at) on plimsoll.sink to plimsoll_retain;
grant select (tenant_id, run_id, environment, removed_at), update (about, removed_at) on plimsoll.artifact to plimsoll_retain;
grant select (tenant_id, environment, key, waiters, told_at, created_at), delete on plimsoll.signal to plimsoll_retain;
grant select (tenant_id, environment, tool, starts), delete on plimsoll.tool_calls to plimsoll_retain;
reset role;

grant create on schema plimsoll to plimsoll_retain;
set local role plimsoll_retain;

-- As in 0005, with the three classes. Events stay until every listener has looked past them; how far back a look goes is said
-- in 0004. A sink is forgotten when no program has served it for a week, since nobody takes it back.
create or replace function plimsoll.sweep(p_tenant text, p_environment text, p_class text, p_limit int, p_dry boolean, p_after_at timestamptz,
  p_after_run text, p_blank bytea, p_blank_plan bytea)
returns table (runs int, kept int, changed int, done boolean, after_at timestamptz, after_run text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
-- a tenant that was not there when the table was last looked at is guessed to have no rows, and every index as good as another
set plan_cache_mode = force_generic_plan
as $f$
#variable_conflict use_column
declare
  rule record;
  r record;
  cutoff timestamptz;
  n int;
  first_kept timestamptz;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  runs := 0; kept := 0; changed := 0; done := true;
  select x.days, x.after_at, x.after_run, x.kept_at into rule from plimsoll.retention x
  where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class and x.days is not null
  for update skip locked;
  if found then
    -- an hour, so that a run whose end is being committed is not passed by
    cutoff := now() - greatest(rule.days * interval '1 day', interval '1 hour');
    after_at := coalesce(p_after_at, rule.after_at);
    after_run := coalesce(p_after_run, rule.after_run);
    first_kept := rule.kept_at;

    if p_class in ('attempt', 'idempotency', 'signal', 'rate') then
      if p_class = 'rate' then
        -- the longest span of a rate: a younger row may still count
        cutoff := least(cutoff, now() - interval '1 day');
      elsif p_class = 'signal' then
        -- what was told since the oldest living run began may be meant for it
        cutoff := least(cutoff, (select min(x.created_at) from plimsoll.run x
          where x.tenant_id = p_tenant and x.environment = p_environment and x.status in ('queued', 'running', 'waiting_confirmation')));
      end if;
      if not exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment and h.released_at is null) then
        if p_dry and p_class = 'attempt' then
          select count(*) into changed from plimsoll.delivery_attempt a where a.tenant_id = p_tenant and a.created_at < cutoff;
        elsif p_dry and p_class = 'idempotency' then
          select count(*) into changed from plimsoll.idempotency i where i.tenant_id = p_tenant and i.expires_at < cutoff;
        elsif p_dry and p_class = 'rate' then
          select count(*) into changed from plimsoll.tool_calls c
          where c.tenant_id = p_tenant and c.environment = p_environment and c.starts[cardinality(c.starts)] < cutoff;
        elsif p_dry then
          select count(*) into changed from plimsoll.signal s
          where s.tenant_id = p_tenant and s.environment = p_environment and s.created_at < cutoff
            and (s.told_at is null or s.told_at < cutoff) and not exists (select from plimsoll.run x where x.tenant_id = p_tenant
                and x.id = any (s.waiters) and x.status in ('queued', 'running', 'waiting_confirmation'));
        elsif p_class = 'attempt' then
          delete from plimsoll.delivery_attempt a using (
            select b.endpoint_id, b.run_id, b.seq, b.epoch from plimsoll.delivery_attempt b
            where b.tenant_id = p_tenant and b.created_at < cutoff order by b.created_at limit p_limit) old
          where a.tenant_id = p_tenant and a.endpoint_id = old.endpoint_id and a.run_id = old.run_id and a.seq = old.seq and a.epoch = old.epoch;
          get diagnostics changed = row_count;
        elsif p_class = 'idempotency' then
          delete from plimsoll.idempotency i using (
            select k.caller, k.key from plimsoll.idempotency k where k.tenant_id = p_tenant and k.expires_at < cutoff order by k.expires_at limit p_limit) old
          where i.tenant_id = p_tenant and i.environment = p_environment and i.caller = old.caller and i.key = old.key;
          get diagnostics changed = row_count;
        elsif p_class = 'rate' then
          delete from plimsoll.tool_calls c using (
            select k.tool, k.starts from plimsoll.tool_calls k where k.tenant_id = p_tenant and k.environment = p_environment
              and k.starts[cardinality(k.starts)] < cutoff limit p_limit) old
          where c.tenant_id = p_tenant and c.environment = p_environment and c.tool = old.tool and c.starts = old.starts;
          get diagnostics changed = row_count;
        else
          -- whoever has come to wait since then has changed the row, and keeps it
          delete from plimsoll.signal s using (
            select k.key, k.waiters from plimsoll.signal k
            where k.tenant_id = p_tenant and k.environment = p_environment and k.created_at < cutoff
              and (k.told_at is null or k.told_at < cutoff) and not exists (select from plimsoll.run x where x.tenant_id = p_tenant
                and x.id = any (k.waiters) and x.status in ('queued', 'running', 'waiting_confirmation'))
            order by k.created_at limit p_limit) old
          where s.tenant_id = p_tenant and s.environment = p_environment and s.key = old.key and s.waiters = old.waiters
            and (s.told_at is null or s.told_at < cutoff);
          get diagnostics changed = row_count;
        end if;
        done := p_dry or changed < p_limit;
      end if;
    else
      for r in
        select x.id, x.ended_at, x.subject_id, x.session_id from plimsoll.run x
        where x.tenant_id = p_tenant and x.environment = p_environment and x.ended_at < cutoff and (x.ended_at, x.id) > (after_at, after_run)
        order by x.ended_at, x.id limit p_limit
      loop
        after_at := r.ended_at;
        after_run := r.id;
        if exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment
                   and h.released_at is null and (h.subject_id is null or h.subject_id = r.subject_id))
          or (p_class = 'event' and exists (select from plimsoll.delivery d where d.tenant_id = p_tenant and d.run_id = r.id and d.due_at < 'infinity'))
          or (p_class = 'event' and exists (select from plimsoll.event v cross join (
                select e.starts_at, e.seen_at from plimsoll.endpoint e
                where e.tenant_id = p_tenant and e.environment = p_environment and e.state = 'enabled'
                union all
                select s.starts_at, s.seen_at from plimsoll.sink s where s.seen_at > now() - interval '7 days') listener
              where v.tenant_id = p_tenant and v.run_id = r.id and v.visibility = 'user'
                and v.created_at >= listener.starts_at and v.created_at > listener.seen_at - interval '30 seconds'))
          or (p_class in ('value', 'artifact') and exists (select from plimsoll.effect e where e.tenant_id = p_tenant and e.run_id = r.id and e.status in ('started', 'unknown')))
          -- a folder of the conversation may be made again from its files, on any machine
          or (p_class = 'artifact' and exists (select from plimsoll.run x where x.tenant_id = p_tenant and x.session_id = r.session_id
              and x.status in ('queued', 'running', 'waiting_confirmation')))
        then
          kept := kept + 1;
          first_kept := least(first_kept, r.ended_at);
          continue;
        end if;
        runs := runs + 1;
        n := 0;
        if p_dry then
          if p_class = 'delta' then select count(*) into n from plimsoll.delta x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'event' then select count(*) into n from plimsoll.event x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'message' then select count(*) into n from plimsoll.message x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'artifact' then
            select count(*) into n from plimsoll.artifact x where x.tenant_id = p_tenant and x.run_id = r.id and x.removed_at is null;
          else select count(*) into n from plimsoll.effect x where x.tenant_id = p_tenant and x.run_id = r.id;
          end if;
        elsif p_class = 'delta' then
          delete from plimsoll.delta x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
        elsif p_class = 'event' then
          delete from plimsoll.event x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
          delete from plimsoll.delivery x where x.tenant_id = p_tenant and x.run_id = r.id;
        elsif p_class = 'message' then
          delete from plimsoll.message x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
        elsif p_class = 'artifact' then
          -- from here on nobody is promised the bytes; the objects go after this is committed
          update plimsoll.artifact x set removed_at = now(), about = null
          where x.tenant_id = p_tenant and x.run_id = r.id and x.removed_at is null;
          get diagnostics n = row_count;
        else
          update plimsoll.effect x set arguments = p_blank, result = null where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
          update plimsoll.confirmation x set plan = p_blank_plan where x.tenant_id = p_tenant and x.run_id = r.id;
        end if;
        changed := changed + n;
      end loop;
      done := runs + kept < p_limit;
      if not p_dry then
        -- the next pass begins at the first run that this one has left alone
        update plimsoll.retention x set
          after_at = case when done and first_kept is not null then first_kept - interval '1 microsecond' else sweep.after_at end,
          after_run = case when done and first_kept is not null then '' else sweep.after_run end,
          kept_at = case when not done then first_kept end
        where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class;
      end if;
    end if;
    if not p_dry then
      update plimsoll.retention x set swept_at = now() where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class and done;
    end if;
  end if;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return next;
end $f$;

-- Its plan may be made on a table that is empty.
alter function plimsoll.retention_due(int) set enable_seqscan = off;

reset role;
revoke create on schema plimsoll from plimsoll_retain;
