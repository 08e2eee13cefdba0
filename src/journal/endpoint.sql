-- name: insertEndpoint
with made as (
  insert into plimsoll.endpoint (tenant_id, environment, id, url, secret, types)
  select :tenant::text, :environment::text, :id::text, :url::bytea, :secret::bytea, :types?::text[]
  where (select count(*) from plimsoll.endpoint e where e.tenant_id = :tenant::text and e.environment = :environment::text) < :most::int
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'endpoint.create', made.id, 'created' from made
)
select id as "id!" from made;

-- name: endpoints
select e.id, e.url, e.types, e.state, e.reason, e.failures, (extract(epoch from e.failing_since) * 1000)::int8 as "failingSince?",
  (extract(epoch from e.previous_until) * 1000)::int8 as "previousUntil?", (extract(epoch from e.created_at) * 1000)::int8 as "createdAt!",
  (select count(*) from plimsoll.delivery d where d.tenant_id = e.tenant_id and d.endpoint_id = e.id and d.due_at < 'infinity') as "waiting!"
from plimsoll.endpoint e where e.tenant_id = :tenant::text and (:id?::text is null or e.id = :id?::text) order by e.id;

-- name: secretsOf
select e.url, e.secret, case when e.previous_until > now() then e.previous_secret end as "previous?"
from plimsoll.endpoint e where e.tenant_id = :tenant::text and e.id = :id::text;

-- name: rotateSecret
with made as (
  update plimsoll.endpoint e set secret = :secret::bytea, previous_secret = e.secret,
    previous_until = now() + :keepMs::int8 * interval '1 millisecond'
  where e.tenant_id = :tenant::text and e.id = :id::text returning e.id, e.previous_until
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'endpoint.rotate', made.id, 'rotated' from made
)
select (extract(epoch from previous_until) * 1000)::int8 as "until!" from made;

-- name: setState
-- an endpoint that is enabled again goes on where it stopped, at once
with made as (
  update plimsoll.endpoint e set state = :state::text, reason = :reason?::text, failures = 0, failing_since = null, retry_at = now()
  where e.tenant_id = :tenant::text and e.id = :id::text and e.state <> :state::text returning e.id
), awake as (
  update plimsoll.delivery d set due_at = now() from made
  where :state::text = 'enabled' and d.tenant_id = :tenant::text and d.endpoint_id = made.id and d.due_at < 'infinity'
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'endpoint.state', made.id, :state::text, :reason?::text from made
)
select id as "id!" from made;

-- name: deleteEndpoint
with gone as (
  delete from plimsoll.endpoint e where e.tenant_id = :tenant::text and e.id = :id::text returning e.id
), deliveries as (
  delete from plimsoll.delivery d using gone where d.tenant_id = :tenant::text and d.endpoint_id = gone.id
), attempts as (
  delete from plimsoll.delivery_attempt a using gone where a.tenant_id = :tenant::text and a.endpoint_id = gone.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'endpoint.delete', gone.id, 'deleted' from gone
)
select id as "id!" from gone;

-- name: attempts
select a.run_id as run, a.seq, a.epoch, a.outcome, a.status, a.fault, a.millis, (extract(epoch from a.created_at) * 1000)::int8 as "at!"
from plimsoll.delivery_attempt a where a.tenant_id = :tenant::text and a.endpoint_id = :endpoint::text
order by a.created_at desc, a.seq desc limit :limit::int;

-- name: replay
-- From an event of one run, or from a time in all runs. What is under way under an earlier claim is not marked any more, so
-- that it does not undo this.
with wanted as (
  select v.run_id, min(v.seq) as first, max(v.seq) as head
  from plimsoll.event v join plimsoll.endpoint e on e.tenant_id = v.tenant_id and e.environment = v.environment and e.id = :id::text
  where v.tenant_id = :tenant::text and v.environment = :environment::text and v.visibility = 'user'
    and (e.types is null or v.type = any (e.types))
    and (:run?::text is null or v.run_id = :run?::text) and v.seq >= :seq::int8
    and (:since?::int8 is null or v.created_at >= to_timestamp(:since?::int8 / 1000.0))
  group by v.run_id
), made as (
  insert into plimsoll.delivery as d (tenant_id, endpoint_id, run_id, environment, sent, head)
  select :tenant::text, :id::text, w.run_id, :environment::text, w.first - 1, w.head from wanted w
  on conflict (tenant_id, endpoint_id, run_id) do update set sent = least(d.sent, excluded.sent), head = greatest(d.head, excluded.head),
    attempt = 0, due_at = now(), worker_id = null, epoch = d.epoch + 1
  returning run_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, :run?::text, 'operator', :actor::text, 'endpoint.replay', :id::text,
    (select count(*) from made) || ' runs', :reason::text
)
select count(*) as "runs!" from made;
