-- name: decide
select n as "n!", outcome as "outcome!", status as "status?", version as "version?"
from plimsoll.decide(:decisions::jsonb, :keys::text[]);

-- name: confirmation
select c.id, c.run_id as run, c.session_id as session, c.user_id as "user", c.step, c.position, c.tool, c.tool_version as "toolVersion", c.level, c.version,
  case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status!",
  c.params_hash as "paramsHash", c.resource, c.resource_version as "resourceVersion", c.plan, c.confirmers,
  c.decided_by as "decidedBy", (extract(epoch from c.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt!",
  (select count(*)::int from plimsoll.confirmation o where o.tenant_id = c.tenant_id and o.environment = c.environment
    and o.resource = c.resource and o.status = 'pending' and o.expires_at > now() and o.id <> c.id) as "others!"
from plimsoll.confirmation c where c.tenant_id = :tenant::text and c.id = :confirmation::text;

-- name: inbox
-- open confirmations that this user may decide, oldest first; `after` is the id of the last one seen, '' filters nothing
select c.id, c.run_id as run, c.session_id as session, c.user_id as "user", c.step, c.position, c.tool, c.tool_version as "toolVersion", c.level, c.version,
  case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status!",
  c.params_hash as "paramsHash", c.resource, c.resource_version as "resourceVersion", c.plan, c.confirmers,
  c.decided_by as "decidedBy", (extract(epoch from c.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt!",
  (select count(*)::int from plimsoll.confirmation o where o.tenant_id = c.tenant_id and o.environment = c.environment
    and o.resource = c.resource and o.status = 'pending' and o.expires_at > now() and o.id <> c.id) as "others!"
from plimsoll.confirmation c
where c.tenant_id = :tenant::text and c.status = 'pending' and c.expires_at > now()
  and (:user::text = '' or :user::text = any (c.confirmers))
  and (:run::text = '' or c.run_id = :run::text)
  and c.id > :after::text
order by c.id limit :limit::int;
