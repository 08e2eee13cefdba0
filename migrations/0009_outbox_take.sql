-- safe with the version before: no, its relays would claim by a function that is gone
--
-- A relay says which deliveries it carries. What the store believes it has, and it does not carry, was lost on the way: the
-- reply of its claim, or a statement of its own. Without this such a delivery was nobody's for as long as its process lived.
--
-- `delivery_due` holds what is not asleep, and no planner sees that now() is before infinity: without the second condition
-- on `due_at` a claim read every delivery that its endpoints ever had.

grant create on schema plimsoll to plimsoll_relay;
set local role plimsoll_relay;

drop function plimsoll.outbox_claim(text, text[], int, int);

-- Takes up to `p_limit` deliveries that are due: of one endpoint at most `p_each` at a time over all relays, and one while
-- it fails. A delivery belongs to one relay as long as the lease of its worker lives and it carries it (`p_held`, each
-- `endpoint/run`), so a run's events go out in order.
create function plimsoll.outbox_take(p_worker text, p_sinks text[], p_limit int, p_each int, p_held text[])
returns table (tenant text, environment text, endpoint text, run text, epoch int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
begin
  return query
  with place as materialized (
    select e.tenant_id, e.id, case when e.failures > 0 then 1 else p_each end as room from plimsoll.endpoint e
    where e.state = 'enabled' and e.retry_at <= now()
    union all
    select null, s.name, p_each from plimsoll.sink s where s.name = any (p_sinks)
  ), due as materialized (
    select x.tenant_id, x.endpoint_id, x.run_id from place p cross join lateral (
      select d.tenant_id, d.endpoint_id, d.run_id from plimsoll.delivery d
      where d.endpoint_id = p.id and (p.tenant_id is null or d.tenant_id = p.tenant_id) and d.due_at <= now()
        and d.due_at < 'infinity'
        and not exists (select from plimsoll.worker w where w.id = d.worker_id and w.lease_until > now()
                        and (w.id <> p_worker or d.endpoint_id || '/' || d.run_id = any (p_held)))
        and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      order by d.due_at
      limit greatest(0, p.room - (
        select count(*) from plimsoll.delivery c join plimsoll.worker w on w.id = c.worker_id
        where c.endpoint_id = p.id and c.worker_id is not null and w.lease_until > now()
          and (w.id <> p_worker or c.endpoint_id || '/' || c.run_id = any (p_held))))
      for update skip locked
    ) x
    limit p_limit
  )
  update plimsoll.delivery d set worker_id = p_worker, epoch = d.epoch + 1
  from due where d.tenant_id = due.tenant_id and d.endpoint_id = due.endpoint_id and d.run_id = due.run_id
  returning d.tenant_id, d.environment, d.endpoint_id, d.run_id, d.epoch;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_relay;
revoke all on function plimsoll.outbox_take(text, text[], int, int, text[]) from public;
grant execute on function plimsoll.outbox_take(text, text[], int, int, text[]) to plimsoll_app;
