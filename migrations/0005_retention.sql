-- safe with the version before: yes
--
-- How long what a finished run has left is kept. Rows of the ledger, the journal and the audit stay; what goes is content and
-- what was only on the way. Each sweep is one short transaction of some runs, remembers how far it came, and is stopped by a
-- legal hold.

do $roles$
begin
  begin
    if not exists (select from pg_roles where rolname = 'plimsoll_retain') then
      create role plimsoll_retain nologin nosuperuser nobypassrls;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant plimsoll_retain to %I', current_user); end if;
end $roles$;

grant usage on schema plimsoll to plimsoll_retain;
set local role plimsoll_owner;

create domain plimsoll.retention_class as text check (value in ('delta', 'event', 'message', 'value', 'attempt', 'idempotency'));

create table plimsoll.retention (
  tenant_id   text not null,
  environment text not null,
  class       plimsoll.retention_class not null,
  -- after the end of the run; null keeps for ever
  days        int check (days between 0 and 36500),
  -- runs up to here are done
  after_at    timestamptz not null default '-infinity',
  after_run   text not null default '',
  -- the first run that this pass has left alone: the next pass begins there
  kept_at     timestamptz,
  swept_at    timestamptz not null default '-infinity',
  primary key (tenant_id, environment, class)
);

-- Stops every sweep of the subject, or without one of the whole environment.
create table plimsoll.legal_hold (
  tenant_id   text not null,
  id          text not null,
  environment text not null,
  subject_id  text,
  created_at  timestamptz not null default now(),
  released_at timestamptz,
  primary key (tenant_id, id)
);

create index run_ended on plimsoll.run (tenant_id, environment, ended_at, id) where ended_at is not null;

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.retention (tenant_id, environment, class, days)
select 'example', 'e' || s, 'event', 30 from generate_series(1, 100) s;
insert into plimsoll.legal_hold (tenant_id, id, environment, subject_id)
select 'example', 'h' || s, 'production', 's' || s from generate_series(1, 100) s;
analyze plimsoll.retention, plimsoll.legal_hold;
truncate plimsoll.retention, plimsoll.legal_hold;
do $new$
declare t text;
begin
  foreach t in array array['retention', 'legal_hold'] loop
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
  foreach t in array array['retention', 'legal_hold'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
  -- the sweep stands behind the same wall as the program
  foreach t in array array['retention', 'legal_hold', 'run', 'event', 'message', 'effect', 'confirmation', 'delta', 'idempotency', 'delivery',
    'delivery_attempt'] loop
    execute format('create policy retain on plimsoll.%I for all to plimsoll_retain using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;
-- which classes of which tenants are to be swept: no content
create policy due on plimsoll.retention for select to plimsoll_retain using (days is not null);

grant select, insert on plimsoll.retention, plimsoll.legal_hold to plimsoll_app;
grant update (days, after_at, after_run, kept_at) on plimsoll.retention to plimsoll_app;
grant update (released_at) on plimsoll.legal_hold to plimsoll_app;
grant select, update (after_at, after_run, kept_at, swept_at) on plimsoll.retention to plimsoll_retain;
grant select on plimsoll.legal_hold to plimsoll_retain;
grant select (tenant_id, id, environment, subject_id, ended_at) on plimsoll.run to plimsoll_retain;
grant select (tenant_id, run_id, environment), delete on plimsoll.event, plimsoll.message, plimsoll.delta to plimsoll_retain;
grant select (tenant_id, run_id, environment, endpoint_id, due_at), delete on plimsoll.delivery to plimsoll_retain;
grant select (tenant_id, run_id, environment, endpoint_id, seq, epoch, created_at), delete on plimsoll.delivery_attempt to plimsoll_retain;
grant select (tenant_id, environment, caller, key, expires_at), delete on plimsoll.idempotency to plimsoll_retain;
grant select (tenant_id, run_id, environment, status), update (arguments, result) on plimsoll.effect to plimsoll_retain;
grant select (tenant_id, run_id, environment), update (plan) on plimsoll.confirmation to plimsoll_retain;
reset role;

grant create on schema plimsoll to plimsoll_retain;
set local role plimsoll_retain;

-- One batch of one class: up to `p_limit` ended runs (or rows, where a class is of rows), oldest first, from where the last
-- batch ended. A run stays as it is while a hold covers it, while events of it are to be sent, and while it is not known
-- whether an action happened. `p_dry` counts, changes nothing, and goes on from the place that it gave back.
-- `p_blank` and `p_blank_plan` stand for sealed values that are no more.
create function plimsoll.sweep(p_tenant text, p_environment text, p_class text, p_limit int, p_dry boolean, p_after_at timestamptz,
  p_after_run text, p_blank bytea, p_blank_plan bytea)
returns table (runs int, kept int, changed int, done boolean, after_at timestamptz, after_run text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
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

    if p_class in ('attempt', 'idempotency') then
      if not exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment and h.released_at is null) then
        if p_dry and p_class = 'attempt' then
          select count(*) into changed from plimsoll.delivery_attempt a where a.tenant_id = p_tenant and a.created_at < cutoff;
        elsif p_dry then
          select count(*) into changed from plimsoll.idempotency i where i.tenant_id = p_tenant and i.expires_at < cutoff;
        elsif p_class = 'attempt' then
          delete from plimsoll.delivery_attempt a using (
            select b.endpoint_id, b.run_id, b.seq, b.epoch from plimsoll.delivery_attempt b
            where b.tenant_id = p_tenant and b.created_at < cutoff limit p_limit) old
          where a.tenant_id = p_tenant and a.endpoint_id = old.endpoint_id and a.run_id = old.run_id and a.seq = old.seq and a.epoch = old.epoch;
          get diagnostics changed = row_count;
        else
          delete from plimsoll.idempotency i using (
            select k.caller, k.key from plimsoll.idempotency k where k.tenant_id = p_tenant and k.expires_at < cutoff limit p_limit) old
          where i.tenant_id = p_tenant and i.environment = p_environment and i.caller = old.caller and i.key = old.key;
          get diagnostics changed = row_count;
        end if;
        done := p_dry or changed < p_limit;
      end if;
    else
      for r in
        select x.id, x.ended_at, x.subject_id from plimsoll.run x
        where x.tenant_id = p_tenant and x.environment = p_environment and x.ended_at < cutoff and (x.ended_at, x.id) > (after_at, after_run)
        order by x.ended_at, x.id limit p_limit
      loop
        after_at := r.ended_at;
        after_run := r.id;
        if exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment
                   and h.released_at is null and (h.subject_id is null or h.subject_id = r.subject_id))
          or (p_class = 'event' and exists (select from plimsoll.delivery d where d.tenant_id = p_tenant and d.run_id = r.id and d.due_at < 'infinity'))
          or (p_class = 'value' and exists (select from plimsoll.effect e where e.tenant_id = p_tenant and e.run_id = r.id and e.status in ('started', 'unknown')))
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

-- Which classes were not swept for a day. Crosses tenants; no content.
create function plimsoll.retention_due(p_limit int)
returns table (tenant text, environment text, class text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
begin
  return query select x.tenant_id, x.environment, x.class::text from plimsoll.retention x
  where x.days is not null and x.swept_at < now() - interval '1 day' order by x.swept_at limit p_limit;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_retain;
revoke all on function plimsoll.sweep(text, text, text, int, boolean, timestamptz, text, bytea, bytea), plimsoll.retention_due(int) from public;
grant execute on function plimsoll.sweep(text, text, text, int, boolean, timestamptz, text, bytea, bytea), plimsoll.retention_due(int) to plimsoll_app;
