-- name: marksOf
-- everything that a memory has ever held, to know it again
select m.place as "place!", m.subject_id as "subject!", m.key as "key!", m.version as "now!", v.value as "value?"
from plimsoll.memory m
left join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value is not null
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = :id::text and m.deleted_at is null
order by v.version;

-- name: entombMemory
-- The tombstone: from here on no read finds it, no write brings it back, and who was asked about the value, or about what is
-- drawn from it, is asked no more. What was drawn from it, and from that, is not used until it is drawn again. Nothing happens when
-- another version came meanwhile.
with recursive gone as (
  update plimsoll.memory m set status = 'deleted', deleted_at = now(), value = ''::bytea, value_hash = '', version = m.version + 1
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = :id::text and m.version = :version::int8
    and m.deleted_at is null
  returning m.id, m.place, m.subject_id, m.key
), marked as (
  insert into plimsoll.tombstone (tenant_id, environment, kind, id)
  select :tenant::text, :environment::text, x.kind, x.id from gone, lateral (
    select 'memory' as kind, gone.id as id union all select 'memory_value', mark from unnest(:marks::text[]) as mark) x
  -- said again and forgotten again: the later word counts
  on conflict (tenant_id, kind, id) do update set created_at = excluded.created_at
), stale as (
  select gone.id from gone
  union
  select s.memory_id from stale join plimsoll.memory_source s on s.tenant_id = :tenant::text and s.kind = 'memory' and s.ref = stale.id
    and s.role = 'evidence'
), unasked as (
  update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now() from gone
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.status = 'pending'
    and (c.sources && (select array_agg('memory ' || s.id) from stale s)
      or c.place = gone.place and c.subject_id = gone.subject_id and c.key = gone.key and c.value_hash = any (:hashes::text[]))
), drawn as (
  update plimsoll.memory d set status = 'invalid', version = d.version + 1 from gone
  where d.tenant_id = :tenant::text and d.status in ('active', 'cold') and d.id <> gone.id and d.id in (select s.id from stale s)
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'memory.forget', gone.id, 'forgotten' from gone
)
select id as "id!" from gone;

-- name: openDeletion
-- who asked does it at once; half a minute later whoever comes by takes it for left behind
with made as (
  insert into plimsoll.deletion (tenant_id, id, environment, subject_id, kind, target, memories, messages, sessions, actor_kind, actor, due_at)
  values (:tenant::text, :id::text, :environment::text, :subject::text, :kind::text, :target::text, :memories::text[], :messages::text[],
    :sessions::text[], :actorKind::text, :actor::text, now() + interval '30 seconds')
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'memory.forget', made.id, 'opened', :reason?::text from made
)
insert into plimsoll.deletion_part (tenant_id, deletion_id, derivative, environment)
select :tenant::text, made.id, d, :environment::text from made, unnest(:derivatives::text[]) d;

-- name: widenDeletion
-- what has come to belong to it while it was under way
update plimsoll.deletion d set memories = (select array_agg(distinct m) from unnest(d.memories || :memories::text[]) m)
where d.tenant_id = :tenant::text and d.id = :id::text;

-- name: partDone
update plimsoll.deletion_part p set removed = p.removed + :removed::int8, error = :error?::text,
  done_at = case when :error?::text is null then coalesce(p.done_at, now()) end
where p.tenant_id = :tenant::text and p.deletion_id = :id::text and p.derivative = :derivative::text;

-- name: deletionTried
-- done when each part is; otherwise looked at again later, and later still
update plimsoll.deletion d set attempts = d.attempts + 1,
  done_at = case when not exists (select from plimsoll.deletion_part p where p.tenant_id = d.tenant_id and p.deletion_id = d.id
    and p.done_at is null) then coalesce(d.done_at, now()) end,
  due_at = now() + least(power(2, d.attempts) * 1000, 3600000) * interval '1 millisecond'
where d.tenant_id = :tenant::text and d.id = :id::text
returning (extract(epoch from d.done_at) * 1000)::int8 as "doneAt?";

-- name: deletions
-- newest first, or one; an empty `subject` is an operator
select d.id, d.subject_id as subject, d.kind, d.target, d.memories, d.messages, d.sessions, d.attempts,
  (extract(epoch from d.created_at) * 1000)::int8 as "createdAt!", (extract(epoch from d.done_at) * 1000)::int8 as "doneAt?"
from plimsoll.deletion d
where d.tenant_id = :tenant::text and d.environment = :environment::text and (:subject::text = '' or d.subject_id = :subject::text)
  and (:id::text = '' or d.id = :id::text) and (:after::text = '' or d.id < :after::text)
order by d.id desc limit :limit::int;

-- name: partsOf
select p.derivative, p.removed, p.error, (extract(epoch from p.done_at) * 1000)::int8 as "doneAt?"
from plimsoll.deletion_part p where p.tenant_id = :tenant::text and p.deletion_id = :id::text order by p.derivative;

-- name: dueDeletions
-- crosses tenants: where something is left to do, and no content
select tenant as "tenant!", environment as "environment!", id as "id!" from plimsoll.deletion_due(:limit::int);

-- name: failDeletion
-- without a parameter that names its tenant: the keys of it may be what is missing
select plimsoll.deletion_failed(:ofTenant::text, :ofEnvironment::text, :id::text) as "taken!";

-- name: forgetVersions
update plimsoll.memory_version v set value = null, value_hash = '' from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.status = 'deleted' and v.tenant_id = m.tenant_id
  and v.memory_id = m.id and v.value is not null and (:only?::text[] is null or m.id = any (:only?::text[]))
returning v.memory_id;

-- name: forgetQuotes
-- of forgotten memories, and of messages that are gone
update plimsoll.memory_source s set quote = null from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and s.tenant_id = m.tenant_id and s.memory_id = m.id
  and s.quote is not null and (:only?::text[] is null or m.id = any (:only?::text[]))
  and (m.status = 'deleted' or exists (select from plimsoll.tombstone t where t.tenant_id = s.tenant_id and t.kind = s.kind and t.id = s.ref))
returning s.memory_id;

-- name: drawnFrom
-- What was drawn from a memory that is gone, which may hold its words; and what goes with its message or call, when all that it
-- comes from is gone. `alone`: nothing is left that says it.
select d.id, d.version, bool_and(not x.other) as "alone!" from plimsoll.memory d
join plimsoll.memory_source s on s.tenant_id = d.tenant_id and s.memory_id = d.id and s.role = 'evidence'
join plimsoll.tombstone t on t.tenant_id = s.tenant_id and t.kind = s.kind and t.id = s.ref,
lateral (select exists (select from plimsoll.memory_source o where o.tenant_id = d.tenant_id and o.memory_id = d.id and o.role = 'evidence'
  and not exists (select from plimsoll.tombstone g where g.tenant_id = o.tenant_id and g.kind = o.kind and g.id = o.ref)) as other) x
where d.tenant_id = :tenant::text and d.environment = :environment::text and d.deleted_at is null
  and (s.kind = 'memory' or (d.key = any (:withSource::text[]) and not x.other))
group by d.id, d.version order by d.id;

-- name: callsOf
-- the calls that wrote a forgotten memory, and the messages that hold them
select s.ref as "ref!", s.run_id as "run?" from plimsoll.memory_source s join plimsoll.memory m on m.tenant_id = s.tenant_id and m.id = s.memory_id
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.status = 'deleted' and s.kind = 'call' and s.role = 'writer'
  and (:only?::text[] is null or m.id = any (:only?::text[]));

-- name: messagesOfStep
select m.seq, m.role, m.position, m.body from plimsoll.message m
where m.tenant_id = :tenant::text and m.run_id = :run::text and m.step = :step::int order by m.seq;

-- name: messagesAt
select m.run_id as run, m.seq, m.role, m.body, m.user_id as "user", m.subject_id as "subject", m.session_id as "session"
from plimsoll.message m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.run_id || '.' || m.seq = any (:messages::text[])
  and m.run_id = any (:runs::text[]) order by m.run_id, m.seq;

-- name: entomb
with these as (select :kind::text as kind, x as id from unnest(:ids::text[]) x), made as (
  insert into plimsoll.tombstone (tenant_id, environment, kind, id)
  select :tenant::text, :environment::text, kind, id from these on conflict do nothing
)
select t.id from plimsoll.tombstone t, these where t.tenant_id = :tenant::text and t.kind = these.kind and t.id = these.id;

-- name: forgetMessageBodies
select plimsoll.forget_messages(:tenant::text, :environment::text, :messages::jsonb) as "n!";

-- name: forgetCalls
select plimsoll.forget_calls(:tenant::text, :environment::text, :calls::jsonb, :blank::bytea, :blankPlan::bytea) as "n!";

-- name: forgetSession
select removed as "removed!", active as "active!" from plimsoll.forget_session(:tenant::text, :environment::text, :session::text, :blank::bytea, :blankPlan::bytea);

-- name: sessionsOf
select s.id, s.agent from plimsoll.session s
where s.tenant_id = :tenant::text and s.environment = :environment::text and s.subject_id = :subject::text order by s.id;

-- name: activeRunsOf
-- `working`: only those that a worker has at hand, with all that was said to them
select r.id from plimsoll.run r where r.tenant_id = :tenant::text and r.session_id = :session::text and r.ended_at is null
  and (not :working::boolean or r.status = 'running') order by r.id;

-- name: memoriesAbout
-- everything of a subject, or of one conversation alone
select m.id, m.version from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null
  and case when :session::text = '' then m.subject_id = :subject::text else m.place = 'conversation:' || :session::text end
order by m.id;

-- name: messagesOfSession
select m.run_id || '.' || m.seq as "id!" from plimsoll.message m join plimsoll.run r on r.tenant_id = m.tenant_id and r.id = m.run_id
where r.tenant_id = :tenant::text and r.environment = :environment::text and r.session_id = :session::text;

-- name: forgetCandidates
-- of a subject or a conversation, and what comes from anything that is gone
update plimsoll.memory_candidate c set body = ''::bytea, version = c.version + 1,
  status = case c.status when 'pending' then 'superseded' else c.status end
where c.tenant_id = :tenant::text and c.environment = :environment::text and octet_length(c.body) > 0
  and (c.session_id = any (:sessions::text[]) or (:subject::text <> '' and c.subject_id = :subject::text)
    or exists (select from unnest(c.sources) s join plimsoll.tombstone t on t.tenant_id = c.tenant_id
      and t.kind = split_part(s, ' ', 1) and t.id = substr(s, strpos(s, ' ') + 1)))
returning c.id;

-- name: forgetUses
-- which runs were given what: of forgotten memories nothing but the receipt is left
delete from plimsoll.memory_use u using plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.status = 'deleted' and u.tenant_id = m.tenant_id
  and u.memory_id = m.id and (:only?::text[] is null or m.id = any (:only?::text[]))
returning u.memory_id;

-- name: heldBy
select h.id from plimsoll.legal_hold h where h.tenant_id = :tenant::text and h.environment = :environment::text and h.released_at is null
  and (h.subject_id is null or h.subject_id = :subject::text) order by h.id limit 1;

-- name: removeArtifacts
-- of conversations, of a subject, or one; without any of these those that were removed of late, whose objects should be gone
update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null
where a.tenant_id = :tenant::text and a.environment = :environment::text
  and (a.session_id = any (:sessions::text[]) or a.id = :artifact::text or (:subject::text <> '' and a.subject_id = :subject::text)
    or (:recent::boolean and a.removed_at > now() - interval '30 days'))
returning a.object_key as "key!";

-- name: removeShown
-- what came with messages, or was shown by them
update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null from plimsoll.message m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.run_id = any (:runs::text[])
  and m.run_id || '.' || m.seq = any (:messages::text[]) and a.tenant_id = m.tenant_id and a.run_id = m.run_id
  and case when a.kind = 'upload' then m.seq = 1 else m.role = 'tool' and m.step = a.step and m.position = a.position end
returning a.object_key as "key!";

-- name: artifactOwner
select a.user_id as "user", a.subject_id as "subject" from plimsoll.artifact a
where a.tenant_id = :tenant::text and a.environment = :environment::text and a.id = :id::text and a.removed_at is null;

-- name: dropNeighbours
-- messages that are gone are no neighbours: whose entry was made of their words
with gone as (
  delete from plimsoll.memory_source s using plimsoll.tombstone t
  where t.tenant_id = :tenant::text and t.environment = :environment::text and t.kind = 'message' and s.tenant_id = t.tenant_id
    and s.environment = t.environment and s.kind = t.kind and s.ref = t.id and s.role = 'neighbour'
  returning s.memory_id
)
select distinct memory_id as "id!" from gone;
