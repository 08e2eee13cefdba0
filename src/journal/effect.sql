-- name: start
select n as "n!", outcome as "outcome!", version as "version?" from plimsoll.start(:starts::jsonb, :keys::text[], :worker::text);

-- name: repeats
-- an earlier effect of the conversation with equal tool and arguments that did, or may have, happened
select e.idempotency_key as key from plimsoll.effect e
where e.tenant_id = :tenant::text and e.session_id = :session::text and e.level = 'irreversible'
  and e.arguments_hash = :argumentsHash::text and e.status in ('started', 'settled', 'unknown')
  and (e.outcome is null or e.outcome = 'ok') and e.idempotency_key <> :key::text
order by e.created_at desc limit 1;

-- name: candidates
-- the effects of a tool in a conversation that have begun, newest first, and whether something undoes them, or may have
select e.tool, e.tool_version as version, e.idempotency_key as key, e.arguments, e.result, e.status, e.outcome,
  exists (select from plimsoll.effect o where o.tenant_id = e.tenant_id and o.compensates = e.idempotency_key
    and (o.outcome is null or o.outcome = 'ok')) as "isAnswered!"
from plimsoll.run r join plimsoll.effect e on e.tenant_id = r.tenant_id and e.run_id = r.id
where r.tenant_id = :tenant::text and r.session_id = :session::text and e.user_id = :user::text and e.tool = :tool::text
  and e.level <> 'read' and e.status <> 'intended'
order by e.created_at desc limit :limit::int;

-- name: answered
select e.tool, e.tool_version as version, e.idempotency_key as key, e.arguments, e.result
from plimsoll.effect e where e.tenant_id = :tenant::text and e.idempotency_key = :key::text and e.level <> 'read';

-- name: unknownEffects
select e.run_id as run, e.step, e.position, e.tool, e.tool_version as "toolVersion", e.idempotency_key as key,
  e.arguments_hash as "argumentsHash", e.attempt, extract(epoch from e.started_at)::float8 * 1000 as "startedAt?"
from plimsoll.effect e where e.tenant_id = :tenant::text and e.status = 'unknown'
order by e.started_at limit :limit::int;

-- name: effectsOfRun
select e.step, e.position, e.tool, e.tool_version as "toolVersion", e.level, e.approval, e.status, e.outcome, e.error_code as "errorCode",
  e.idempotency_key as key, e.arguments_hash as "argumentsHash", e.attempt
from plimsoll.effect e where e.tenant_id = :tenant::text and e.run_id = :run::text order by e.step, e.position;
