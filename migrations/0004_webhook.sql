-- safe with the version before: yes
--
-- The way of events to others. The event log is the outbox: nothing is written for it at a commit. A relay finds what is
-- new by the time of the events, looks back further than any transaction lasts, and keeps for each endpoint and run how
-- far it has come. Order is that of the run's own numbers.

do $roles$
begin
  -- roles belong to the whole server: another database of it may be migrating at this moment
  begin
    if not exists (select from pg_roles where rolname = 'plimsoll_relay') then
      create role plimsoll_relay nologin nosuperuser nobypassrls;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant plimsoll_relay to %I', current_user); end if;
end $roles$;

grant usage on schema plimsoll to plimsoll_relay;
set local role plimsoll_owner;

create domain plimsoll.endpoint_state as text check (value in ('enabled', 'disabled'));
create domain plimsoll.delivery_outcome as text check (value in ('delivered', 'failed', 'given_up'));

-- Places of the program itself, such as a stream of Redis, which hear of every tenant: no content and no wall.
create table plimsoll.sink (
  name      text primary key check (name ~ '^[a-z0-9_]{1,40}$' and name !~ '^whk_'),
  starts_at timestamptz not null default now(),
  seen_at   timestamptz not null default now()
);

create table plimsoll.endpoint (
  tenant_id       text not null,
  id              text not null,
  environment     text not null,
  url             bytea not null,
  secret          bytea not null,
  -- the one before the last rotation signs too, for a day
  previous_secret bytea,
  previous_until  timestamptz,
  -- null: all
  types           text[],
  state           plimsoll.endpoint_state not null default 'enabled',
  reason          text,
  -- events from then on
  starts_at       timestamptz not null default now(),
  -- up to when the log was looked through
  seen_at         timestamptz not null default now(),
  -- failures in a row, of all runs
  failures        int not null default 0,
  failing_since   timestamptz,
  retry_at        timestamptz not null default now(),
  created_at      timestamptz not null default now(),
  primary key (tenant_id, id)
) with (fillfactor = 70);
create index endpoint_enabled on plimsoll.endpoint (tenant_id, environment) where state = 'enabled';

-- How far one endpoint has come in one run; `sent` and `head` are numbers of the run's events.
create table plimsoll.delivery (
  tenant_id   text not null,
  endpoint_id text not null,
  run_id      text not null,
  environment text not null,
  sent        int8 not null,
  head        int8 not null,
  -- failed attempts of the event after `sent`
  attempt     int not null default 0,
  -- infinity: everything is sent
  due_at      timestamptz not null default now(),
  worker_id   text,
  -- rises with every claim and replay: what an earlier claim still wants to say is refused
  epoch       int8 not null default 0,
  primary key (tenant_id, endpoint_id, run_id)
) with (fillfactor = 70);
create index delivery_due on plimsoll.delivery (endpoint_id, due_at) where due_at < 'infinity';
create index delivery_claimed on plimsoll.delivery (endpoint_id) where worker_id is not null;

create table plimsoll.delivery_attempt (
  tenant_id   text not null,
  endpoint_id text not null,
  run_id      text not null,
  seq         int8 not null,
  epoch       int8 not null,
  environment text not null,
  outcome     plimsoll.delivery_outcome not null,
  -- HTTP status; null when there was no answer
  status      int,
  -- code of the fault table
  fault       text,
  millis      int not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, endpoint_id, run_id, seq, epoch)
);
create index delivery_attempt_newest on plimsoll.delivery_attempt (tenant_id, endpoint_id, created_at);

-- Events are added in the order of time and stay where they are: one entry for many pages, and next to nothing per insert.
create index event_created on plimsoll.event using brin (created_at);

-- ── what the planner knows (see 0001) ───────────────────────────────────────────────────────────────────────────────

insert into plimsoll.endpoint (tenant_id, id, environment, url, secret)
select 'example', 'whk_' || s, 'production', '', '' from generate_series(1, 100) s;
insert into plimsoll.delivery (tenant_id, endpoint_id, run_id, environment, sent, head, due_at)
select 'example', 'whk_' || s % 100, 'r' || s, 'production', 1, 1, case when s % 10 = 0 then now() else 'infinity' end from generate_series(1, 2000) s;
insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, millis, created_at)
select 'example', 'whk_' || s % 100, 'r' || s, n, n, 'production', 'delivered', 1, now() - s * interval '1 second' from generate_series(1, 2000) s, generate_series(1, 3) n;
analyze plimsoll.endpoint, plimsoll.delivery, plimsoll.delivery_attempt;
truncate plimsoll.endpoint, plimsoll.delivery, plimsoll.delivery_attempt;
do $new$
declare t text;
begin
  foreach t in array array['endpoint', 'delivery', 'delivery_attempt'] loop
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
  foreach t in array array['endpoint', 'delivery', 'delivery_attempt'] loop
    execute format('alter table plimsoll.%I enable row level security', t);
    execute format('alter table plimsoll.%I force row level security', t);
    execute format('create policy tenant on plimsoll.%I for all to plimsoll_app using (%s) with check (%s)', t, tenant_key, tenant_key);
  end loop;
end $wall$;

-- The relay crosses tenants by nature: of events their place and type, of endpoints their state, and no content of either.
create policy relay on plimsoll.event for select to plimsoll_relay using (visibility = 'user');
create policy relay on plimsoll.endpoint for all to plimsoll_relay using (state = 'enabled') with check (state = 'enabled');
-- a delivery is of an endpoint of its own tenant and environment, or of a sink
create policy relay on plimsoll.delivery for all to plimsoll_relay
  using (exists (select from plimsoll.sink s where s.name = endpoint_id)
      or exists (select from plimsoll.endpoint e where e.tenant_id = delivery.tenant_id and e.environment = delivery.environment and e.id = endpoint_id))
  with check (exists (select from plimsoll.sink s where s.name = endpoint_id)
      or exists (select from plimsoll.endpoint e where e.tenant_id = delivery.tenant_id and e.environment = delivery.environment and e.id = endpoint_id));

grant select, insert, delete on plimsoll.endpoint, plimsoll.delivery, plimsoll.delivery_attempt to plimsoll_app;
grant update (secret, previous_secret, previous_until, state, reason, failures, failing_since, retry_at) on plimsoll.endpoint to plimsoll_app;
grant update (sent, head, attempt, due_at, worker_id, epoch) on plimsoll.delivery to plimsoll_app;
grant select on plimsoll.worker to plimsoll_relay;
grant select, insert, update (seen_at) on plimsoll.sink to plimsoll_relay;
grant select (tenant_id, run_id, seq, environment, type, visibility, created_at) on plimsoll.event to plimsoll_relay;
grant select (tenant_id, id, environment, types, state, starts_at, seen_at, failures, retry_at), update (seen_at) on plimsoll.endpoint to plimsoll_relay;
grant select, insert, update (head, due_at, worker_id, epoch) on plimsoll.delivery to plimsoll_relay;
reset role;

grant create on schema plimsoll to plimsoll_relay;
set local role plimsoll_relay;

-- Looks through the log for what is new to the enabled endpoints and to these sinks, and makes it due. Whose log was looked
-- through less than `p_every_ms` ago is left alone, so that many relays look as often as one. `p_back_ms` is longer than any
-- transaction of ours lasts: an event whose commit came late is found by a later look. Answers how many there are to serve.
create function plimsoll.outbox_look(p_sinks text[], p_every_ms int8, p_back_ms int8)
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
    on conflict (tenant_id, endpoint_id, run_id) do update
      set head = excluded.head, due_at = case when d.due_at = 'infinity' then now() else d.due_at end
      where d.head < excluded.head
  ), told as (
    update plimsoll.endpoint e set seen_at = now() from listener l where e.tenant_id = l.tenant_id and e.id = l.id
  )
  update plimsoll.sink s set seen_at = now() from sinking x where s.name = x.name;
  return served;
end $f$;

-- Takes up to `p_limit` deliveries that are due: of one endpoint at most `p_each` at a time over all relays, and one while
-- it fails. A delivery belongs to one relay as long as the lease of its worker lives, so a run's events go out in order.
create function plimsoll.outbox_claim(p_worker text, p_sinks text[], p_limit int, p_each int)
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
        and not exists (select from plimsoll.worker w where w.id = d.worker_id and w.lease_until > now())
        and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      order by d.due_at
      limit greatest(0, p.room - (
        select count(*) from plimsoll.delivery c join plimsoll.worker w on w.id = c.worker_id
        where c.endpoint_id = p.id and c.worker_id is not null and w.lease_until > now()))
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
revoke all on function plimsoll.outbox_look(text[], int8, int8), plimsoll.outbox_claim(text, text[], int, int) from public;
grant execute on function plimsoll.outbox_look(text[], int8, int8), plimsoll.outbox_claim(text, text[], int, int) to plimsoll_app;
