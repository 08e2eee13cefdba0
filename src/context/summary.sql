-- name: summaryTurns
-- the runs of a conversation, oldest first, with the tokens of what was said in them
select r.id as "run!", r.generation as "generation!", r.ended_at is not null as "ended!", r.agent as "agent!", r.user_id as "user!", r.subject_id as "subject!",
  coalesce(sum(m.tokens), 0)::int8 as "tokens!", coalesce(max(m.seq), 0)::int as "last!"
from plimsoll.run r left join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
where r.tenant_id = :tenant::text and r.session_id = :session::text
group by r.tenant_id, r.id order by r.generation;

-- name: summariesOf
select s.id, s.from_generation as "from", s.to_generation as "to", s.state
from plimsoll.summary s where s.tenant_id = :tenant::text and s.session_id = :session::text order by s.from_generation, s.id;

-- name: summarySource
-- the messages of a range, as they were said
select m.run_id as run, m.seq, m.role, m.body, m.content_hash as hash, m.partial from plimsoll.run r
join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
where r.tenant_id = :tenant::text and r.session_id = :session::text and r.generation between :from::int8 and :to::int8
order by r.generation, m.seq;

-- name: summaryActions
-- what was done, and what people decided about it: from the journal, never from what was said
select e.run_id as "run!", e.tool as "tool!", e.status as "status!", e.outcome as "outcome?", c.id as "confirmation?", c.status as "decision?"
from plimsoll.run r join plimsoll.effect e on e.tenant_id = r.tenant_id and e.run_id = r.id
left join lateral (select x.id, x.status from plimsoll.confirmation x where x.tenant_id = e.tenant_id and x.run_id = e.run_id
  and x.step = e.step and x.position = e.position order by x.created_at desc, x.id desc limit 1) c on true
where r.tenant_id = :tenant::text and r.session_id = :session::text and r.generation between :from::int8 and :to::int8
  and (e.level <> 'read' or c.id is not null)
order by r.generation, e.step, e.position;

-- name: writeSummary
-- written while its errand is under way, or never: who forgets ends the errand first
with held as (
  select e.* from plimsoll.errand e
  where e.tenant_id = :tenant::text and e.environment = :environment::text and e.id = :id::text and e.state = 'running' for update
)
insert into plimsoll.summary (tenant_id, environment, id, session_id, user_id, subject_id, agent, from_generation, to_generation, from_message,
  to_message, model, prompt, state, reason, body)
select held.tenant_id, held.environment, held.id, held.session_id, held.user_id, held.subject_id, held.agent, held.from_generation,
  held.to_generation, :fromMessage::text, held.upto, :model::text, :prompt::int, :state::text, :reason?::text, :body::bytea
from held on conflict do nothing
returning id;

-- name: summaryAt
select s.id, s.state, s.body, s.from_generation as "from", s.to_generation as "to" from plimsoll.summary s
where s.tenant_id = :tenant::text and s.session_id = :session::text and s.from_generation = :from::int8 and s.to_generation = :to::int8
  and s.state = 'verified' order by s.id desc limit 1;

-- name: noteRecheck
-- what does not hold is used no more
update plimsoll.summary s set rechecked_at = now(), recheck_reason = :reason?::text,
  state = case when :reason?::text is null then s.state else 'stale' end,
  reason = case when :reason?::text is null then s.reason else 'recheck' end,
  body = case when :reason?::text is null then s.body else ''::bytea end
where s.tenant_id = :tenant::text and s.id = :id::text and s.state = 'verified';

-- name: staleSummaries
-- Every summary that covers one of the runs, or belongs to one of the conversations. Its words go with it: they were drawn from
-- what is gone, and it is made again from what is left.
update plimsoll.summary s set state = 'stale', reason = 'forgotten', body = ''::bytea
where s.tenant_id = :tenant::text and s.environment = :environment::text and s.state = 'verified'
  and (s.session_id = any (:sessions::text[]) or exists (select from unnest(:runs::text[]) x join plimsoll.run r on r.tenant_id = s.tenant_id
    and r.id = x where r.session_id = s.session_id and r.generation between s.from_generation and s.to_generation))
returning s.id, s.session_id as session;

-- name: runsOfSources
-- where the memories came from that are gone
select distinct coalesce(s.run_id, split_part(s.ref, '.', 1)) as "run!" from plimsoll.memory_source s
where s.tenant_id = :tenant::text and s.environment = :environment::text and s.memory_id = any (:memories::text[])
  and s.kind in ('message', 'call');

-- name: residueSummaries
-- those that still stand for what has a tombstone and was made before it, and for runs of which nothing is left
select r.id || '.1' as "message!" from plimsoll.summary s
join plimsoll.run r on r.tenant_id = s.tenant_id and r.session_id = s.session_id and r.generation between s.from_generation and s.to_generation
where s.tenant_id = :tenant::text and s.environment = :environment::text and s.state = 'verified' and r.ended_at is not null
  and not exists (select from plimsoll.message m where m.tenant_id = r.tenant_id and m.run_id = r.id)
union
select t.id as "message!" from plimsoll.tombstone t join plimsoll.run r on r.tenant_id = t.tenant_id and r.id = split_part(t.id, '.', 1)
join plimsoll.summary s on s.tenant_id = t.tenant_id and s.session_id = r.session_id and r.generation between s.from_generation and s.to_generation
where t.tenant_id = :tenant::text and t.environment = :environment::text and t.kind = 'message' and s.state = 'verified'
  and s.created_at < t.created_at;

-- name: summaryReport
select s.model, s.prompt, count(*)::int8 as "made!", (count(*) filter (where s.reason is null or s.state = 'stale'))::int8 as "verified!",
  (count(*) filter (where s.rechecked_at is not null))::int8 as "rechecked!",
  (count(*) filter (where s.recheck_reason is not null))::int8 as "failed!",
  coalesce((select jsonb_object_agg(x.reason, x.n) from (select r.reason, count(*) as n from plimsoll.summary r
    where r.tenant_id = :tenant::text and r.model = s.model and r.prompt = s.prompt and r.state = 'rejected' group by r.reason) x), '{}') as "rejected!"
from plimsoll.summary s where s.tenant_id = :tenant::text group by s.model, s.prompt order by s.model, s.prompt;
