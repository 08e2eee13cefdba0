-- name: askAbout
-- One open question per place, key and value: asked again, it is the same question. A newer value supersedes an older one of
-- the same key that nobody has answered. What was declined since it was said is not asked again, and nobody is asked about what may
-- not be written: what was forgotten since it was said, what has lost a source, what its subject has withdrawn the consent
-- to, what its person has corrected.
with asked as (
  select c.* from jsonb_to_record(:candidate::jsonb) as c (id text, subject text, writer text, session text, run text, place text, key text,
    many boolean, body text, value_hash text, purpose text, forgotten text, sources text[], said_at int8, reasons text[], open_ms int8)
), source as (
  select split_part(s, ' ', 1) as kind, substr(s, strpos(s, ' ') + 1) as ref from asked a, unnest(a.sources) s
), held as (
  -- who forgets one of these afterwards finds the question
  select m.id from plimsoll.memory m where m.tenant_id = :tenant::text and m.id in (select ref from source where kind = 'memory')
    and m.deleted_at is null order by m.id for share of m
), barred as (
  select from asked a where (select count(*) from held) < (select count(distinct ref) from source where kind = 'memory')
    or exists (select from plimsoll.tombstone t where t.tenant_id = :tenant::text and t.kind = 'memory_value' and t.id = a.forgotten
      and t.created_at >= to_timestamp(a.said_at / 1000.0))
    or exists (select from source s join plimsoll.tombstone t on t.tenant_id = :tenant::text and t.kind = s.kind and t.id = s.ref)
    or exists (select from plimsoll.consent c where c.tenant_id = :tenant::text and c.environment = :environment::text
      and c.subject_id = a.subject and c.purpose in (a.purpose, '*') and c.state = 'withdrawn')
    or exists (select from plimsoll.memory m
      join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value_hash = a.value_hash
      join plimsoll.memory_version w on w.tenant_id = m.tenant_id and w.memory_id = m.id and w.version > v.version and w.change = 'corrected'
      where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = a.place and m.subject_id = a.subject
        and m.key = a.key and m.deleted_at is null and w.recorded_at >= to_timestamp(a.said_at / 1000.0))
), before as (
  -- waits for whoever answers just now, and sees the answer
  select c.status, c.decided_at from plimsoll.memory_candidate c join asked a on c.place = a.place and c.subject_id = a.subject
    and c.key = a.key and c.value_hash = a.value_hash
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.status in ('pending', 'declined') for share of c
), declined as (
  select from before b, asked a where b.status = 'declined' and b.decided_at >= to_timestamp(a.said_at / 1000.0)
  union all select from barred
), superseded as (
  update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now() from asked a
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.place = a.place and c.subject_id = a.subject and c.key = a.key
    and not a.many and c.status = 'pending' and c.value_hash <> a.value_hash and not exists (select from declined)
), made as (
  insert into plimsoll.memory_candidate (tenant_id, id, environment, subject_id, user_id, session_id, run_id, place, key, body, value_hash,
    sources, reasons, expires_at)
  select :tenant::text, id, :environment::text, subject, writer, session, run, place, key, decode(body, 'base64'), value_hash, sources, reasons,
    now() + open_ms * interval '1 millisecond' from asked where not exists (select from declined)
  on conflict do nothing returning id
)
select coalesce((select id from made), (select c.id from plimsoll.memory_candidate c, asked a where c.tenant_id = :tenant::text
  and c.environment = :environment::text and c.place = a.place and c.subject_id = a.subject and c.key = a.key and c.value_hash = a.value_hash
  and c.status = 'pending')) as "id?", exists (select from declined) as "declined!";

-- name: candidates
-- Open questions, oldest first, or one of any state: of a subject, and what `user` has brought up where they are a member. An
-- operator has no subject, and sees all that is about nobody.
select c.id, c.subject_id as subject, c.user_id as writer, c.session_id as session, c.run_id as run, c.place, c.key, c.body,
  c.value_hash as "valueHash", c.reasons, case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status!",
  c.version, c.memory_id as memory, (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt!",
  (extract(epoch from c.created_at) * 1000)::int8 as "createdAt!"
from plimsoll.memory_candidate c
where c.tenant_id = :tenant::text and c.environment = :environment::text and (c.subject_id = :subject::text
    or (c.subject_id = '' and c.user_id = :user::text and exists (select from plimsoll.member g
      where g.tenant_id = c.tenant_id and g.environment = c.environment and g.place = c.place and g.user_id = :user::text and g.left_at is null)))
  and case when :id::text = '' then c.status = 'pending' and c.expires_at > now() else c.id = :id::text end
  and (:after::text = '' or c.id > :after::text)
order by c.id limit :limit::int;

-- name: closeQuestions
-- nobody answers these any more: of these keys, of a subject
update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now()
where c.tenant_id = :tenant::text and c.environment = :environment::text and c.subject_id = :subject::text and c.key = any (:keys::text[])
  and c.status = 'pending'
returning c.id;

-- name: expireQuestions
-- What nobody has answered in time is no question any more, and its value goes. `place?` with `key?`: only there.
update plimsoll.memory_candidate c set status = 'expired', version = c.version + 1, body = ''::bytea, decided_at = now()
where c.tenant_id = :tenant::text and c.environment = :environment::text and c.status = 'pending' and c.expires_at <= now()
  and (:place?::text is null or c.place = :place?::text) and (:key?::text is null or c.key = :key?::text)
returning c.id;

-- name: declineCandidate
-- Declined: the body goes. What is accepted is answered by the statement that remembers it.
with decided as (
  update plimsoll.memory_candidate c set status = 'declined', version = c.version + 1, body = ''::bytea,
    decided_by = :actor::text, decided_at = now()
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.id = :id::text and c.status = 'pending'
    and c.version = :version::int8 and c.expires_at > now()
  returning c.id, c.run_id, c.version
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, run_id, :actorKind::text, :actor::text, 'memory.decide', id, 'declined' from decided
)
select version as "version!" from decided;

-- name: setConsent
with said as (
  insert into plimsoll.consent (tenant_id, environment, subject_id, purpose, state, basis, decided_by)
  values (:tenant::text, :environment::text, :subject::text, :purpose::text, :state::text, :basis::text, :actor::text)
  on conflict (tenant_id, environment, subject_id, purpose) do update set state = excluded.state, basis = excluded.basis,
    decided_by = excluded.decided_by, decided_at = now()
  returning purpose
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'consent.set', purpose, :state::text from said
)
select purpose as "purpose!" from said;

-- name: consents
select c.purpose, c.state, c.basis, c.decided_by as "decidedBy", (extract(epoch from c.decided_at) * 1000)::int8 as "decidedAt!"
from plimsoll.consent c
where c.tenant_id = :tenant::text and c.environment = :environment::text and c.subject_id = :subject::text order by c.purpose;

-- name: affected
-- what a withdrawn purpose takes with it
select m.id from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text and m.subject_id = :subject::text
  and m.deleted_at is null and (:purpose::text = '*' or m.purpose = :purpose::text) order by m.id;

-- name: joinPlace
with joined as (
  insert into plimsoll.member (tenant_id, environment, place, user_id)
  values (:tenant::text, :environment::text, :place::text, :user::text)
  on conflict (tenant_id, environment, place, user_id) do update
    set left_at = null, joined_at = case when plimsoll.member.left_at is null then plimsoll.member.joined_at else now() end
  returning user_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'member.join', :place::text, 'joined' from joined
)
select user_id as "user!" from joined;

-- name: leavePlace
with gone as (
  update plimsoll.member g set left_at = now() where g.tenant_id = :tenant::text and g.environment = :environment::text
    and g.place = :place::text and g.user_id = :user::text and g.left_at is null
  returning g.user_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'member.leave', :place::text, 'left' from gone
)
select user_id as "user!" from gone;

-- name: membersOf
select g.user_id as user, (extract(epoch from g.joined_at) * 1000)::int8 as "joinedAt!" from plimsoll.member g
where g.tenant_id = :tenant::text and g.environment = :environment::text and g.place = :place::text and g.left_at is null order by g.user_id;
