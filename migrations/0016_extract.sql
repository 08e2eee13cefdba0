-- safe with the version before: yes
--
-- Errands of more kinds: what users say is read for memories once, an errand that cannot be ended gives up, and nothing of its
-- attempts is left beside their runs, which are what they cost.

set local role plimsoll_owner;

-- takes since the last step that came to its end: whoever throws or dies at the same place again and again is counted
alter table plimsoll.errand add column tries int not null default 0;
grant update (tries) on plimsoll.errand to plimsoll_app;
-- Each extraction begins where the one before it ends: of two processes that open the next one, one does. What was left since
-- something was forgotten may be read again.
create unique index errand_extract on plimsoll.errand (tenant_id, session_id, from_generation)
  where kind = 'extract' and outcome is distinct from 'forgotten';

grant delete on plimsoll.session to plimsoll_step;

-- which runs are nobody's but ours: what happens in them is told to no endpoint and no sink
create policy relay on plimsoll.run for select to plimsoll_relay using (strpos(agent, '/') > 0);
grant select (tenant_id, id, agent) on plimsoll.run to plimsoll_relay;
reset role;

grant create on schema plimsoll to plimsoll_step, plimsoll_relay;
set local role plimsoll_step;

-- Takes away the conversation of an attempt, which nobody but its errand has known. That of a user is never one.
create function plimsoll.drop_session(p_tenant text, p_environment text, p_session text)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  n int;
begin
  perform set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_session || '|', true);
  delete from plimsoll.session s where s.tenant_id = p_tenant and s.environment = p_environment and s.id = p_session and strpos(s.agent, '/') > 0;
  get diagnostics n = row_count;
  perform set_config('app.batch', '', true);
  return n;
end $f$;

reset role;
set local role plimsoll_relay;

-- As before, without the runs of errands.
create or replace function plimsoll.outbox_look(p_sinks text[], p_every_ms int8, p_back_ms int8)
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare
  back constant interval := p_back_ms * interval '1 millisecond';
  stale constant timestamptz := now() - p_every_ms * interval '1 millisecond';
  served int;
begin
  insert into plimsoll.sink (name) select unnest(p_sinks) except select name from plimsoll.sink on conflict do nothing;
  select (select count(*) from plimsoll.endpoint e where e.state = 'enabled')
       + (select count(*) from plimsoll.sink s where s.name = any (p_sinks)) into served;
  if served = 0 then return 0; end if;

  with listener as materialized (
    select e.tenant_id, e.environment, e.id, e.types, e.starts_at, e.seen_at from plimsoll.endpoint e
    where e.state = 'enabled' and e.seen_at <= stale
    for update skip locked
  ), sinking as materialized (
    select s.name, s.starts_at, s.seen_at from plimsoll.sink s where s.name = any (p_sinks) and s.seen_at <= stale
    for update skip locked
  ), recent as materialized (
    select v.tenant_id, v.environment, v.run_id, v.seq, v.type, v.created_at from plimsoll.event v
    where v.visibility = 'user'
      and v.created_at > (select min(x.seen_at) from (select seen_at from listener union all select seen_at from sinking) x) - back
  ), fresh as (
    select l.tenant_id, l.environment, l.id as endpoint, l.starts_at, r.run_id, max(r.seq) as head
    from listener l join recent r on r.tenant_id = l.tenant_id and r.environment = l.environment
    where r.created_at >= l.starts_at and r.created_at > l.seen_at - back and (l.types is null or r.type = any (l.types))
    group by 1, 2, 3, 4, 5
    union all
    select r.tenant_id, r.environment, s.name, s.starts_at, r.run_id, max(r.seq)
    from sinking s join recent r on r.created_at >= s.starts_at and r.created_at > s.seen_at - back
    group by 1, 2, 3, 4, 5
  ), made as (
    insert into plimsoll.delivery as d (tenant_id, endpoint_id, run_id, environment, sent, head)
    select f.tenant_id, f.endpoint, f.run_id, f.environment,
      (select min(v.seq) - 1 from plimsoll.event v
       where v.tenant_id = f.tenant_id and v.run_id = f.run_id and v.visibility = 'user' and v.created_at >= f.starts_at),
      f.head
    from fresh f
    where not exists (select from plimsoll.run r where r.tenant_id = f.tenant_id and r.id = f.run_id and strpos(r.agent, '/') > 0)
    on conflict (tenant_id, endpoint_id, run_id) do update
      set head = excluded.head, due_at = case when d.due_at = 'infinity' then now() else d.due_at end
      where d.head < excluded.head
  ), told as (
    update plimsoll.endpoint e set seen_at = now() from listener l where e.tenant_id = l.tenant_id and e.id = l.id
  )
  update plimsoll.sink s set seen_at = now() from sinking x where s.name = x.name;
  return served;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_step, plimsoll_relay;
revoke all on function plimsoll.drop_session(text, text, text) from public;
grant execute on function plimsoll.drop_session(text, text, text) to plimsoll_app;
