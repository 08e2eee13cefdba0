-- safe with the version before: yes
--
-- One tenant does not hold up the events of others: nothing is made due for a tenant that was destroyed, and the places of a
-- relay are shared.

set local role plimsoll_owner;

-- which tenants are gone, and nothing of a key
create policy relay on plimsoll.tenant_key for select to plimsoll_relay using (destroyed_at is not null);
grant select (tenant_id, destroyed_at) on plimsoll.tenant_key to plimsoll_relay;

-- what is not asleep, by tenant: a sink finds the tenants that wait for it without reading what one of them has piled up
create index delivery_waiting on plimsoll.delivery (endpoint_id, tenant_id, due_at) where due_at < 'infinity';
drop index plimsoll.delivery_due;
reset role;

grant create on schema plimsoll to plimsoll_relay;
set local role plimsoll_relay;

-- As before, without tenants that were destroyed: their events stay, and nobody can open them.
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
      and not exists (select from plimsoll.tenant_key k where k.tenant_id = f.tenant_id and k.destroyed_at is not null)
    on conflict (tenant_id, endpoint_id, run_id) do update
      set head = excluded.head, due_at = case when d.due_at = 'infinity' then now() else d.due_at end
      where d.head < excluded.head
  ), told as (
    update plimsoll.endpoint e set seen_at = now() from listener l where e.tenant_id = l.tenant_id and e.id = l.id
  )
  update plimsoll.sink s set seen_at = now() from sinking x where s.name = x.name;
  return served;
end $f$;

-- Takes up to `p_limit` deliveries that are due: of one endpoint or sink at most `p_each` at a time over all relays, and one
-- while an endpoint fails. A delivery belongs to one relay as long as the lease of its worker lives and it carries it
-- (`p_held`, each `endpoint/run`), so a run's events go out in order.
--
-- What the relay carries and what it has room for are its places. The endpoints of one tenant have a quarter of them at most,
-- and so has what sinks hear of it, of each sink all places but one; endpoints and sinks leave a quarter to each other. Whoever
-- holds fewer places is first, and then what has been due for longer.
create or replace function plimsoll.outbox_take(p_worker text, p_sinks text[], p_limit int, p_each int, p_held text[])
returns table (tenant text, environment text, endpoint text, run text, epoch int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
declare
  places constant int := p_limit + cardinality(p_held);
  share constant int := greatest(1, places / 4);
begin
  return query
  with recursive heard as (
    -- the tenants that a sink has something to hear of, from one to the next
    select s.name, (select min(d.tenant_id) from plimsoll.delivery d where d.endpoint_id = s.name and d.due_at < 'infinity') as tenant_id
    from plimsoll.sink s where s.name = any (p_sinks)
    union all
    select h.name, (select min(d.tenant_id) from plimsoll.delivery d
                    where d.endpoint_id = h.name and d.tenant_id > h.tenant_id and d.due_at < 'infinity')
    from heard h where h.tenant_id is not null
  ), carried as materialized (
    select c.tenant_id, c.endpoint_id, c.endpoint_id = any (p_sinks) as is_sink, w.id = p_worker as is_own
    from plimsoll.delivery c join plimsoll.worker w on w.id = c.worker_id
    where c.worker_id is not null and w.lease_until > now()
      and (w.id <> p_worker or c.endpoint_id || '/' || c.run_id = any (p_held))
  ), beside as materialized (
    select c.tenant_id, c.endpoint_id, count(*) as n from carried c group by 1, 2
  ), own as materialized (
    select c.tenant_id, c.is_sink, count(*) as n from carried c where c.is_own group by 1, 2
  ), place as materialized (
    select e.tenant_id, e.id, false as is_sink, case when e.failures > 0 then 1 else p_each end as most, null as free
    from plimsoll.endpoint e
    where e.state = 'enabled' and e.retry_at <= now()
    union all
    -- one that hears of a single tenant alone would be stopped by it
    select h.tenant_id, h.name, true, greatest(1, p_each - 1), p_each - (select coalesce(sum(b.n), 0) from beside b where b.endpoint_id = h.name)
    from heard h where h.tenant_id is not null
  ), waiting as materialized (
    select x.tenant_id, x.endpoint_id, x.run_id, x.due_at, x.epoch, p.is_sink, p.free, coalesce(o.n, 0) as owned,
      coalesce(b.n, 0) + row_number() over (partition by p.tenant_id, p.id order by x.due_at) as of_place
    from place p
    left join beside b on b.tenant_id = p.tenant_id and b.endpoint_id = p.id
    left join own o on o.tenant_id = p.tenant_id and o.is_sink = p.is_sink
    cross join lateral (
      select d.tenant_id, d.endpoint_id, d.run_id, d.due_at, d.epoch from plimsoll.delivery d
      where d.endpoint_id = p.id and d.tenant_id = p.tenant_id and d.due_at <= now()
        and d.due_at < 'infinity'
        and not exists (select from plimsoll.worker w where w.id = d.worker_id and w.lease_until > now()
                        and (w.id <> p_worker or d.endpoint_id || '/' || d.run_id = any (p_held)))
        and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      order by d.due_at
      limit greatest(0, least(p.most - coalesce(b.n, 0), share - coalesce(o.n, 0), p.free))
    ) x
  ), shared as (
    select w.*, w.owned + row_number() over (partition by w.tenant_id, w.is_sink order by w.of_place, w.due_at) as of_tenant from waiting w
  ), fitting as (
    select s.*, row_number() over (partition by s.endpoint_id order by s.of_tenant, s.due_at) as of_sink from shared s
    where s.of_tenant <= share
  ), kind as (
    select f.*, row_number() over (partition by f.is_sink order by f.of_tenant, f.due_at)
        + (select coalesce(sum(o.n), 0) from own o where o.is_sink = f.is_sink) as of_kind
    from fitting f
    where not f.is_sink or f.of_sink <= f.free
  ), chosen as materialized (
    select k.tenant_id, k.endpoint_id, k.run_id, k.epoch from kind k
    where k.of_kind <= greatest(1, places - case when cardinality(p_sinks) > 0 then share else 0 end)
    order by k.of_tenant, k.due_at
    limit p_limit
  ), due as materialized (
    -- whoever took it since has raised the epoch
    select d.tenant_id, d.endpoint_id, d.run_id
    from chosen x join plimsoll.delivery d on d.tenant_id = x.tenant_id and d.endpoint_id = x.endpoint_id and d.run_id = x.run_id
    where d.epoch = x.epoch
    for update of d skip locked
  )
  update plimsoll.delivery d set worker_id = p_worker, epoch = d.epoch + 1
  from due where d.tenant_id = due.tenant_id and d.endpoint_id = due.endpoint_id and d.run_id = due.run_id
  returning d.tenant_id, d.environment, d.endpoint_id, d.run_id, d.epoch;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_relay;
