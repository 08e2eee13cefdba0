-- name: sweep
select runs as "runs!", kept as "kept!", changed as "changed!", done as "done!", after_at::text as "afterAt?", after_run as "afterRun?"
from plimsoll.sweep(:tenant::text, :environment::text, :class::text, :limit::int, :dry::boolean, :afterAt?::text::timestamptz,
  :afterRun?::text, :blank::bytea, :blankPlan::bytea);

-- name: due
select tenant as "tenant!", environment as "environment!", class as "class!" from plimsoll.retention_due(:limit::int);

-- name: failed
-- without a parameter that names its tenant: the keys of it may be what is missing
select plimsoll.retention_failed(:ofTenant::text, :ofEnvironment::text, :class::text) as "taken!";

-- name: rules
select r.class, r.days, nullif((extract(epoch from nullif(r.swept_at, '-infinity')) * 1000)::int8, 0) as "sweptAt?"
from plimsoll.retention r where r.tenant_id = :tenant::text order by r.class;

-- name: setRule
with made as (
  insert into plimsoll.retention as r (tenant_id, environment, class, days) values (:tenant::text, :environment::text, :class::text, :days?::int)
  on conflict (tenant_id, environment, class) do update set days = excluded.days
  returning r.class
)
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'retention.set', made.class,
  coalesce(:days?::int::text, 'for ever'), :reason::text
from made;

-- name: holds
select h.id, h.subject_id as subject, (extract(epoch from h.created_at) * 1000)::int8 as "createdAt!"
from plimsoll.legal_hold h where h.tenant_id = :tenant::text and h.released_at is null order by h.id;

-- name: addHold
with made as (
  insert into plimsoll.legal_hold (tenant_id, environment, id, subject_id) values (:tenant::text, :environment::text, :id::text, :subject?::text)
  returning id
)
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'hold.set', made.id, 'held', :reason::text from made;

-- name: releaseHold
with made as (
  update plimsoll.legal_hold h set released_at = now() where h.tenant_id = :tenant::text and h.id = :id::text and h.released_at is null
  returning h.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'hold.release', made.id, 'released', :reason::text from made
)
select id as "id!" from made;

-- name: noteSweep
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
values (:tenant::text, :environment::text, :audit::text, :kind::text, :actor::text, 'retention.sweep', :class::text, :outcome::text);
