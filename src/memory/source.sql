-- name: saidMessage
-- a message as evidence: who said it, when, and whether it was forgotten
select m.role, m.user_id as "user", m.subject_id as subject, m.session_id as session, m.body, m.content_hash as "hash", m.integrity,
  m.visibility, m.partial, (extract(epoch from m.created_at) * 1000)::int8 as "at!",
  exists (select from plimsoll.tombstone t where t.tenant_id = m.tenant_id and t.kind = 'message' and t.id = m.run_id || '.' || m.seq) as "gone!"
from plimsoll.message m
where m.tenant_id = :tenant::text and m.run_id = :run::text and m.seq = :seq::int;

-- name: settledCall
-- what a call returned, as evidence
select e.tool, e.result, e.session_id as session, e.subject_id as subject, (extract(epoch from e.settled_at) * 1000)::int8 as "at!"
from plimsoll.effect e
where e.tenant_id = :tenant::text and e.run_id = :run::text and e.step = :step::int and e.position = :position::int
  and e.status = 'settled' and e.outcome = 'ok' and e.forgotten_at is null;

-- name: turnsBefore
-- what was said just before a message in its conversation, the nearest first
select m.run_id || '.' || m.seq as "id!" from plimsoll.message m
join plimsoll.run r on r.tenant_id = m.tenant_id and r.id = m.run_id
join plimsoll.run a on a.tenant_id = r.tenant_id and a.session_id = r.session_id and a.id = :run::text
where m.tenant_id = :tenant::text and m.role in ('user', 'assistant') and m.visibility = 'user' and not m.partial
  and (r.generation < a.generation or (r.id = a.id and m.seq < :seq::int))
order by r.generation desc, m.seq desc limit :limit::int;

-- name: latestTexts
-- what a subject had stored of late: parts of an order are read together
select m.value from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text
  and m.subject_id = :subject::text and m.status = 'active' order by m.recorded_at desc limit :limit::int;

-- name: toIndex
select m.id, m.version, m.key, m.value, (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom!" from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = any (:ids::text[]) and m.deleted_at is null;

-- name: neighboursOf
-- what was said around, as far as it is still there, the nearest first
select s.memory_id as memory, m.role, m.body, (extract(epoch from m.created_at) * 1000)::int8 as "at!"
from plimsoll.memory_source s
join plimsoll.message m on m.tenant_id = s.tenant_id and m.run_id = split_part(s.ref, '.', 1) and m.seq = split_part(s.ref, '.', 2)::int
where s.tenant_id = :tenant::text and s.memory_id = any (:ids::text[]) and s.role = 'neighbour' and s.kind = 'message'
  and not exists (select from plimsoll.tombstone t where t.tenant_id = s.tenant_id and t.kind = 'message' and t.id = s.ref)
order by s.memory_id, m.created_at desc, m.seq desc;
