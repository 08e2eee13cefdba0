-- safe with the version before: yes
--
-- What cannot be done for one tenant is put off, so that nobody else waits for it: a run whose rows nobody can open, a sweep, an
-- errand and a deletion that fail. The functions touch times and places only, and are called without the keys of the tenant, which may be
-- what is missing.

set local role plimsoll_owner;
-- when a sweep of it failed last
alter table plimsoll.retention add column failed_at timestamptz not null default '-infinity';
grant update (failed_at) on plimsoll.retention to plimsoll_retain;

do $wall$
declare
  t text;
  tenant_key constant text := $$tenant_id = nullif(current_setting('app.tenant', true), '')
    and environment = nullif(current_setting('app.environment', true), '')$$;
begin
  foreach t in array array['errand', 'deletion'] loop
    execute format('create policy put_off on plimsoll.%I for update to plimsoll_retain using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;
grant update (due_at) on plimsoll.errand, plimsoll.deletion to plimsoll_retain;
reset role;

grant create on schema plimsoll to plimsoll_step, plimsoll_retain;

-- A worker lets go of a run that it can neither drive nor end: counted, and due later each time.
set local role plimsoll_step;
create function plimsoll.lay_down(p_tenant text, p_environment text, p_run text, p_worker text, p_epoch int8)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  perform set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_run || '|', true);
  update plimsoll.run x set status = 'queued', wait_reason = null, worker_id = null, version = x.version + 1,
    attempts = x.attempts + 1, due_at = now() + least(2 ^ least(x.attempts, 20), 300) * interval '1 second'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_run
    and x.status = 'running' and x.worker_id = p_worker and x.epoch = p_epoch;
  get diagnostics taken = row_count;
  perform set_config('app.batch', '', true);
  return taken;
end $f$;
revoke all on function plimsoll.lay_down(text, text, text, text, int8) from public;
grant execute on function plimsoll.lay_down(text, text, text, text, int8) to plimsoll_app;
reset role;

set local role plimsoll_retain;
create or replace function plimsoll.retention_due(p_limit int)
returns table (tenant text, environment text, class text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
begin
  return query select x.tenant_id, x.environment, x.class::text from plimsoll.retention x
  where x.days is not null and x.swept_at < now() - interval '1 day' order by greatest(x.swept_at, x.failed_at) limit p_limit;
end $f$;

-- It comes last the next time.
create function plimsoll.retention_failed(p_tenant text, p_environment text, p_class text)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.retention x set failed_at = now()
  where x.tenant_id = p_tenant and x.environment = p_environment and x.class::text = p_class;
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $f$;
revoke all on function plimsoll.retention_failed(text, text, text) from public;
grant execute on function plimsoll.retention_failed(text, text, text) to plimsoll_app;

-- Nobody could take it: it is looked at again later.
create function plimsoll.errand_failed(p_tenant text, p_environment text, p_id text)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.errand x set due_at = now() + interval '5 minutes'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_id and x.done_at is null and x.due_at <= now();
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $f$;
revoke all on function plimsoll.errand_failed(text, text, text) from public;
grant execute on function plimsoll.errand_failed(text, text, text) to plimsoll_app;

-- Nobody could carry on with it: the same.
create function plimsoll.deletion_failed(p_tenant text, p_environment text, p_id text)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.deletion x set due_at = now() + interval '5 minutes'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_id and x.done_at is null and x.due_at <= now();
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $f$;
revoke all on function plimsoll.deletion_failed(text, text, text) from public;
grant execute on function plimsoll.deletion_failed(text, text, text) to plimsoll_app;
reset role;
revoke create on schema plimsoll from plimsoll_step, plimsoll_retain;
