-- name: look
select plimsoll.outbox_look(:sinks::text[], :everyMs::int8, :backMs::int8) as "served!";

-- name: claim
select tenant as "tenant!", environment as "environment!", endpoint as "endpoint!", run as "run!", epoch as "epoch!"
from plimsoll.outbox_take(:worker::text, :sinks::text[], :limit::int, :each::int, :held::text[]);

-- name: parcel
-- What a claim has to send, in order; one row without an event when there is nothing. No row: the claim is another's now.
select d.head as "head!", d.attempt as "attempt!", e.url as "url?", e.secret as "secret?",
  case when e.previous_until > now() then e.previous_secret end as "previous?", coalesce(e.failures, 0) as "failures!",
  v.seq as "seq?", v.type as "type?", v.body as "body?", v.session_id as "session?", v.at as "at?"
from plimsoll.delivery d
left join plimsoll.endpoint e on e.tenant_id = d.tenant_id and e.id = d.endpoint_id
left join lateral (
  select v.seq, v.type, v.body, r.session_id, (extract(epoch from v.created_at) * 1000)::int8 as at
  from plimsoll.event v join plimsoll.run r on r.tenant_id = v.tenant_id and r.id = v.run_id
  where v.tenant_id = d.tenant_id and v.run_id = d.run_id and v.seq > d.sent and v.seq <= d.head and v.visibility = 'user'
    and (e.types is null or v.type = any (e.types))
  order by v.seq limit :limit::int) v on true
where d.tenant_id = :tenant::text and d.endpoint_id = :endpoint::text and d.run_id = :run::text and d.epoch = :epoch::int8
order by v.seq;

-- name: sent
-- the epoch is that of the claim: who was taken over says nothing any more
with marked as (
  update plimsoll.delivery d set sent = :seq::int8, attempt = 0, due_at = case when d.head > :seq::int8 then now() else 'infinity' end
  where d.tenant_id = :tenant::text and d.endpoint_id = :endpoint::text and d.run_id = :run::text and d.epoch = :epoch::int8
  returning d.tenant_id, d.endpoint_id, d.run_id, d.environment, d.epoch
), told as (
  insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, status, millis)
  select m.tenant_id, m.endpoint_id, m.run_id, :seq::int8, m.epoch, m.environment, 'delivered', :status?::int, :millis::int from marked m
  on conflict do nothing
), healed as (
  update plimsoll.endpoint e set failures = 0, failing_since = null, retry_at = now() from marked m
  where e.tenant_id = m.tenant_id and e.id = m.endpoint_id and e.failures > 0
)
select 1 as "marked!" from marked;

-- name: failed
-- `giveUp`: what is up to `seq` is left behind, and the run goes on with what comes after it. `blame`: the endpoint has failed
with marked as (
  update plimsoll.delivery d set worker_id = null,
    sent = case when :giveUp::boolean then :seq::int8 else d.sent end,
    attempt = case when :giveUp::boolean then 0 else d.attempt + 1 end,
    due_at = case when not :giveUp::boolean then now() + :delayMs::int8 * interval '1 millisecond'
                  when d.head > :seq::int8 then now() else 'infinity' end
  where d.tenant_id = :tenant::text and d.endpoint_id = :endpoint::text and d.run_id = :run::text and d.epoch = :epoch::int8
  returning d.tenant_id, d.endpoint_id, d.run_id, d.environment, d.epoch
), told as (
  insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, status, fault, millis)
  select m.tenant_id, m.endpoint_id, m.run_id, :seq::int8, m.epoch, m.environment,
    case when :giveUp::boolean then 'given_up' else 'failed' end, :status?::int, :fault::text, :millis::int from marked m
  on conflict do nothing
), counted as (
  update plimsoll.endpoint e set failures = e.failures + 1, failing_since = coalesce(e.failing_since, now()),
    retry_at = greatest(e.retry_at, now() + :pauseMs::int8 * interval '1 millisecond'),
    state = case when x.ends is null then e.state else 'disabled' end, reason = coalesce(x.ends, e.reason)
  from marked m, lateral (
    select case when :gone::boolean then 'gone'
                when f.failures + 1 >= :most::int and f.failing_since < now() - :overMs::int8 * interval '1 millisecond' then 'failing' end as ends
    from plimsoll.endpoint f where f.tenant_id = m.tenant_id and f.id = m.endpoint_id) x
  where e.tenant_id = m.tenant_id and e.id = m.endpoint_id and e.state = 'enabled' and :blame::boolean
  returning e.tenant_id, e.environment, e.id, x.ends
), audited as (
  insert into plimsoll.audit (tenant_id, id, environment, actor_kind, actor, action, target, outcome, reason)
  select c.tenant_id, :audit::text, c.environment, 'system', 'relay', 'endpoint.disable', c.id, 'disabled', c.ends
  from counted c where c.ends is not null
)
select 1 as "marked!" from marked;

-- name: released
-- `head`: nothing up to there is for this endpoint any more; null leaves the place as it is
update plimsoll.delivery d set worker_id = null,
  sent = greatest(d.sent, coalesce(:head?::int8, d.sent)),
  due_at = case when :head?::int8 is null then d.due_at when d.head > :head?::int8 then now() else 'infinity' end
where d.tenant_id = :tenant::text and d.endpoint_id = :endpoint::text and d.run_id = :run::text and d.epoch = :epoch::int8;

-- name: putOff
-- of what cannot be read nothing is known, and nothing is counted
update plimsoll.delivery d set worker_id = null, due_at = now() + :delayMs::int8 * interval '1 millisecond'
where d.tenant_id = :tenant::text and d.endpoint_id = :endpoint::text and d.run_id = :run::text and d.epoch = :epoch::int8;
