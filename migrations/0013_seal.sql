-- safe with the version before: yes
--
-- The keys of tenants, and how they end. `tenant_key` holds data keys wrapped by a key that is in no database. What must stay
-- so when an older state of the database is put back is read by `restore_entries`, kept outside of it, and told again to `restore`.

do $roles$
begin
  -- roles belong to the whole server: another database of it may be migrating at this moment
  begin
    if not exists (select from pg_roles where rolname = 'plimsoll_shred') then
      create role plimsoll_shred nologin nosuperuser nobypassrls;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant plimsoll_shred to %I', current_user); end if;
end $roles$;

grant usage on schema plimsoll to plimsoll_shred;
set local role plimsoll_owner;

create table plimsoll.tenant_key (
  tenant_id    text not null,
  epoch        int not null check (epoch > 0),
  -- a key is good in all environments of its tenant: its rows stand in `_`
  environment  text not null,
  kek          text not null,
  wrapped      bytea not null,
  created_at   timestamptz not null default now(),
  destroyed_at timestamptz,
  primary key (tenant_id, epoch),
  check (destroyed_at is null or wrapped = '')
);

-- How far the restore log, which is outside, has come: one row.
create table plimsoll.restore_log (
  name       text primary key check (name = 'log'),
  segment    text not null default '',
  written_at timestamptz not null default now()
);
insert into plimsoll.restore_log (name) values ('log');

create index confirmation_spent on plimsoll.confirmation (consumed_at) where consumed_at is not null;
create index tombstone_new on plimsoll.tombstone (created_at);
create index credential_revoked on plimsoll.credential (revoked_at) where revoked_at is not null;
create index tenant_key_destroyed on plimsoll.tenant_key (destroyed_at) where destroyed_at is not null;

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.tenant_key (tenant_id, epoch, environment, kek, wrapped)
select 'example' || s, n, '_', 'kek', '' from generate_series(1, 100) s, generate_series(1, 3) n;
analyze plimsoll.tenant_key;
truncate plimsoll.tenant_key;
alter table plimsoll.tenant_key set unlogged;
alter table plimsoll.tenant_key set logged;

-- ── the wall ────────────────────────────────────────────────────────────────────────────────────────────────────────

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
  -- a tenant ends in all its environments at once
  whole_tenant constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')$$;
begin
  alter table plimsoll.tenant_key enable row level security;
  alter table plimsoll.tenant_key force row level security;
  execute format('create policy tenant on plimsoll.tenant_key for all to plimsoll_app using (%s) with check (%s)', tenant_key, tenant_key);
  foreach t in array array['tenant_key', 'run', 'effect', 'confirmation', 'delta', 'idempotency', 'signal', 'delivery', 'endpoint',
    'tombstone', 'audit', 'legal_hold', 'retention', 'session', 'artifact', 'memory', 'memory_version',
    'memory_source'] loop
    execute format('create policy shred on plimsoll.%I for all to plimsoll_shred using (%s) with check (%s)', t, whole_tenant, whole_tenant);
  end loop;
end $wall$;
-- which keys are wrapped how, what was spent and what is gone, over all tenants: no content
create policy wrapped on plimsoll.tenant_key for select to plimsoll_shred using (epoch > 0);
create policy spent on plimsoll.confirmation for select to plimsoll_shred using (consumed_at is not null);
create policy gone on plimsoll.tombstone for select to plimsoll_shred using (created_at is not null);

grant select, insert, update (kek, wrapped) on plimsoll.tenant_key to plimsoll_app;
grant select, update (segment, written_at) on plimsoll.restore_log to plimsoll_app;
grant select (tenant_id, epoch, environment, kek, created_at, destroyed_at), insert, update (wrapped, destroyed_at) on plimsoll.tenant_key to plimsoll_shred;
grant select (tenant_id, id, environment, status, ended_at), update (status, wait_reason, phase, version, epoch, worker_id, due_at, followed_until,
  reserved_tokens, reserved_cost, cancel_cause, end_reason, ended_at) on plimsoll.run to plimsoll_shred;
grant select (version, epoch) on plimsoll.run to plimsoll_shred;
grant select (tenant_id, environment, run_id, step, position, status, attempt), update (status, started_at, attempt, resource, resource_version)
  on plimsoll.effect to plimsoll_shred;
grant select (tenant_id, environment, id, run_id, step, position, status, version, consumed_at, decided_by),
  update (status, version, consumed_at, decided_by, decided_at, resource, resource_version) on plimsoll.confirmation to plimsoll_shred;
grant select (tenant_id, environment, run_id), delete on plimsoll.delta, plimsoll.delivery to plimsoll_shred;
grant select (tenant_id, environment, key), delete on plimsoll.idempotency, plimsoll.signal to plimsoll_shred;
grant select (tenant_id, environment, id), update (state, reason) on plimsoll.endpoint to plimsoll_shred;
grant select (tenant_id, closed_at), update (closed_at) on plimsoll.session to plimsoll_shred;
grant select (tenant_id, removed_at), update (expires_at) on plimsoll.artifact to plimsoll_shred;
grant select (tenant_id), update (days) on plimsoll.retention to plimsoll_shred;
grant select, insert on plimsoll.tombstone to plimsoll_shred;
grant select (tenant_id, environment, id), insert, update (reason) on plimsoll.audit to plimsoll_shred;
grant select (tenant_id, released_at) on plimsoll.legal_hold to plimsoll_shred;
grant select (tenant_id, environment, id, version, deleted_at), update (status, deleted_at, value, value_hash, version) on plimsoll.memory to plimsoll_shred;
grant select (tenant_id, memory_id), update (value, value_hash) on plimsoll.memory_version to plimsoll_shred;
grant select (tenant_id, memory_id), update (quote) on plimsoll.memory_source to plimsoll_shred;
grant select (tenant_id, environment, id, revoked_at), update (revoked_at) on plimsoll.credential to plimsoll_shred;
reset role;

grant create on schema plimsoll to plimsoll_shred;
set local role plimsoll_shred;

-- Tenants with a living key that none of these keys has wrapped. Crosses tenants; no content.
create function plimsoll.keys_under_others(p_keks text[], p_limit int)
returns table (tenant text, kek text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
begin
  return query select distinct k.tenant_id, k.kek from plimsoll.tenant_key k
  where k.destroyed_at is null and k.kek <> all (p_keks) order by 1 limit p_limit;
end $f$;

-- Ends a tenant, for a reason that is no content: the wrapped keys are overwritten, so that nothing sealed can be opened; its runs end; what points at content
-- or waits to send it goes. The ledger, the audit and the tombstone stay. A second call changes nothing.
-- `held`: a legal hold forbids it.
create function plimsoll.destroy_tenant(p_tenant text, p_environment text, p_audit text, p_actor_kind text, p_actor text, p_reason text)
returns table (outcome text, runs int)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
#variable_conflict use_column
begin
  perform set_config('app.tenant', p_tenant, true);
  runs := 0;
  perform pg_advisory_xact_lock(hashtextextended('plimsoll.destroy/' || p_tenant, 0));
  if exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.released_at is null) then
    outcome := 'held';
  elsif exists (select from plimsoll.tenant_key k where k.tenant_id = p_tenant and k.destroyed_at is not null) then
    outcome := 'destroyed_before';
  else
    outcome := 'destroyed';
    -- a tenant that has sealed nothing yet must not get a key afterwards
    insert into plimsoll.tenant_key (tenant_id, epoch, environment, kek, wrapped) values (p_tenant, 1, '_', '', '')
    on conflict do nothing;
    update plimsoll.tenant_key k set wrapped = '', destroyed_at = now() where k.tenant_id = p_tenant;
    update plimsoll.run x set status = 'canceled', wait_reason = null, worker_id = null, cancel_cause = 'operator',
      end_reason = 'operator_canceled', ended_at = now(), due_at = now(), followed_until = null, reserved_tokens = 0, reserved_cost = 0,
      version = x.version + 1, epoch = x.epoch + 1
    where x.tenant_id = p_tenant and x.status in ('queued', 'running', 'waiting_confirmation');
    get diagnostics runs = row_count;
    update plimsoll.confirmation c set status = 'superseded', version = c.version + 1
    where c.tenant_id = p_tenant and c.status in ('pending', 'approved');
    update plimsoll.confirmation c set resource = null, resource_version = null where c.tenant_id = p_tenant;
    update plimsoll.effect e set resource = null, resource_version = null where e.tenant_id = p_tenant;
    update plimsoll.audit a set reason = null where a.tenant_id = p_tenant;
    -- files on disks and in buckets are what the sweeps take, and rules what they go by
    update plimsoll.session s set closed_at = now() where s.tenant_id = p_tenant and s.closed_at is null;
    update plimsoll.artifact a set expires_at = now() where a.tenant_id = p_tenant and a.removed_at is null;
    update plimsoll.retention r set days = null where r.tenant_id = p_tenant;
    delete from plimsoll.delta d where d.tenant_id = p_tenant;
    delete from plimsoll.delivery d where d.tenant_id = p_tenant;
    delete from plimsoll.idempotency i where i.tenant_id = p_tenant;
    delete from plimsoll.signal s where s.tenant_id = p_tenant;
    update plimsoll.endpoint e set state = 'disabled', reason = 'content_destroyed' where e.tenant_id = p_tenant;
    insert into plimsoll.tombstone (tenant_id, kind, id, environment) values (p_tenant, 'tenant', p_tenant, '_') on conflict do nothing;
    insert into plimsoll.audit (tenant_id, id, environment, actor_kind, actor, action, target, outcome, reason)
    values (p_tenant, p_audit, p_environment, p_actor_kind, p_actor, 'tenant.destroy', p_tenant, 'destroyed', p_reason);
  end if;
  perform set_config('app.tenant', '', true);
  return next;
end $f$;

-- What happened since then that an older state of the database must not undo. Crosses tenants; ids and times only.
create function plimsoll.restore_entries(p_since timestamptz)
returns table (kind text, tenant text, environment text, id text, target text, at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
begin
  return query
  select 'tombstone', t.tenant_id, t.environment, t.id, t.kind, t.created_at from plimsoll.tombstone t
  where t.created_at > p_since and t.kind <> 'tenant'
  union all
  select 'spent', c.tenant_id, c.environment, c.id, c.run_id, c.consumed_at from plimsoll.confirmation c where c.consumed_at > p_since
  union all
  select 'revoked', r.tenant_id, r.environment, r.id, '', r.revoked_at from plimsoll.credential r where r.revoked_at > p_since
  union all
  select 'destroyed', k.tenant_id, '_', k.tenant_id, '', max(k.destroyed_at) from plimsoll.tenant_key k
  where k.destroyed_at > p_since group by k.tenant_id;
end $f$;

-- Tells an older state of the database what the log says. Told twice it changes nothing. A confirmation that was spent
-- is spent, and its effect counts as started: whoever takes the run up asks for it by its key before anything else.
create function plimsoll.restore(p jsonb)
returns table (kind text, changed int)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $f$
#variable_conflict use_column
declare
  e record;
  c record;
begin
  for e in select * from jsonb_to_recordset(p) as x(kind text, tenant text, environment text, id text, target text, at_ms float8) loop
    perform set_config('app.tenant', e.tenant, true);
    kind := e.kind;
    changed := 0;
    if e.kind = 'tombstone' then
      insert into plimsoll.tombstone (tenant_id, kind, id, environment) values (e.tenant, e.target, e.id, e.environment) on conflict do nothing;
      get diagnostics changed = row_count;
      if e.target = 'memory' then
        update plimsoll.memory m set status = 'deleted', deleted_at = now(), value = '', value_hash = '', version = m.version + 1
        where m.tenant_id = e.tenant and m.id = e.id and m.deleted_at is null;
        update plimsoll.memory_version v set value = null, value_hash = '' where v.tenant_id = e.tenant and v.memory_id = e.id;
        update plimsoll.memory_source s set quote = null where s.tenant_id = e.tenant and s.memory_id = e.id;
      end if;
    elsif e.kind = 'revoked' then
      update plimsoll.credential r set revoked_at = to_timestamp(e.at_ms / 1000)
      where r.tenant_id = e.tenant and r.id = e.id and r.revoked_at is null;
      get diagnostics changed = row_count;
    elsif e.kind = 'destroyed' then
      select d.outcome into c from plimsoll.destroy_tenant(e.tenant, '_', 'aud_restored_' || e.tenant, 'system', 'restore', null) d;
      changed := (c.outcome = 'destroyed')::int;
    elsif e.kind = 'spent' then
      update plimsoll.confirmation x set status = 'consumed', version = x.version + 1, consumed_at = to_timestamp(e.at_ms / 1000)
      where x.tenant_id = e.tenant and x.environment = e.environment and x.id = e.id and x.status <> 'consumed'
      returning x.run_id, x.step, x.position into c;
      get diagnostics changed = row_count;
      if changed > 0 then
        update plimsoll.effect f set status = 'started', started_at = to_timestamp(e.at_ms / 1000), attempt = f.attempt + 1
        where f.tenant_id = e.tenant and f.run_id = c.run_id and f.step = c.step and f.position = c.position and f.status = 'intended';
        update plimsoll.run r set status = 'queued', wait_reason = null, worker_id = null, phase = 'tool_running', due_at = now(),
          version = r.version + 1, epoch = r.epoch + 1
        where r.tenant_id = e.tenant and r.id = c.run_id and r.status in ('queued', 'running', 'waiting_confirmation');
      end if;
    end if;
    perform set_config('app.tenant', '', true);
    return next;
  end loop;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_shred;
revoke all on function plimsoll.keys_under_others(text[], int), plimsoll.destroy_tenant(text, text, text, text, text, text),
  plimsoll.restore_entries(timestamptz), plimsoll.restore(jsonb) from public;
grant execute on function plimsoll.keys_under_others(text[], int), plimsoll.destroy_tenant(text, text, text, text, text, text),
  plimsoll.restore_entries(timestamptz), plimsoll.restore(jsonb) to plimsoll_app;
