-- name: runDetail
select r.id, r.session_id as session, r.branch, r.generation, r.user_id as "user", r.subject_id as subject, r.agent, r.release, r.status,
  r.wait_reason as wait, r.phase, r.step, r.version, r.event_seq as "eventSeq", r.attempts, r.cancel_cause as cancel, r.end_reason as "end",
  r.integrity, r.confidentiality, r.max_steps as "maxSteps", r.max_tool_calls as "maxToolCalls", r.max_tokens as "maxTokens",
  r.max_cost as "maxCost", r.used_tool_calls as "usedToolCalls", r.used_tokens as "usedTokens", r.used_cost as "usedCost",
  r.reserved_tokens as "reservedTokens", r.reserved_cost as "reservedCost", (extract(epoch from r.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from r.started_at) * 1000)::int8 as "startedAt?", (extract(epoch from r.ended_at) * 1000)::int8 as "endedAt?",
  (extract(epoch from r.deadline_at) * 1000)::int8 as "deadlineAt!",
  array(select c.id from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.status = 'pending'
    and c.expires_at > now() order by c.id) as "confirmations!"
from plimsoll.run r
where r.tenant_id = :tenant::text and r.id = :run::text and (:user::text = '' or (r.user_id = :user::text and strpos(r.agent, '/') = 0));

-- name: runList
-- newest first: the time stands at the front of an id. An empty filter filters nothing.
select r.id, r.session_id as session, r.generation, r.user_id as "user", r.subject_id as subject, r.agent, r.status, r.wait_reason as wait,
  r.phase, r.step, r.version, r.end_reason as "end", r.used_cost as "usedCost", r.max_cost as "maxCost",
  (extract(epoch from r.created_at) * 1000)::int8 as "createdAt!", (extract(epoch from r.ended_at) * 1000)::int8 as "endedAt?"
from plimsoll.run r
where r.tenant_id = :tenant::text and (:user::text = '' or (r.user_id = :user::text and strpos(r.agent, '/') = 0))
  and (:status::text = '' or r.status = :status::text) and (:wait::text = '' or r.wait_reason = :wait::text)
  and (:session::text = '' or r.session_id = :session::text) and (:agent::text = '' or r.agent = :agent::text)
  and (:after::text = '' or r.id < :after::text)
order by r.id desc limit :limit::int;

-- name: runLedger
select l.seq, l.level, l.step, l.kind, l.input_tokens as "inputTokens", l.output_tokens as "outputTokens", l.spent_cost as "spentCost",
  l.tool_calls as "toolCalls", l.known, l.suspect, l.reserved_tokens as "reservedTokens", l.reserved_cost as "reservedCost",
  l.released_tokens as "releasedTokens", l.released_cost as "releasedCost", (extract(epoch from l.created_at) * 1000)::int8 as "at!"
from plimsoll.ledger l where l.tenant_id = :tenant::text and l.run_id = :run::text order by l.seq, l.level;

-- name: runEffects
-- no arguments and no results: their hashes say whether two are equal, and nothing else. `compensation` undoes it, or may:
-- it is undone when that one is settled.
select e.step, e.position, e.kind, e.tool, e.tool_version as "toolVersion", e.level, e.approval, e.status, e.outcome, e.error_code as "errorCode",
  e.idempotency_key as key, e.arguments_hash as "argumentsHash", e.result_hash as "resultHash", e.attempt, e.compensates,
  (select jsonb_build_object('run_id', o.run_id, 'idempotency_key', o.idempotency_key, 'status', o.status, 'outcome', o.outcome)
    from plimsoll.effect o where o.tenant_id = e.tenant_id and o.compensates = e.idempotency_key
      and (o.outcome is null or o.outcome = 'ok')) as "compensation?",
  (extract(epoch from e.started_at) * 1000)::int8 as "startedAt?", (extract(epoch from e.settled_at) * 1000)::int8 as "settledAt?"
from plimsoll.effect e where e.tenant_id = :tenant::text and e.run_id = :run::text order by e.step, e.position;
