-- name: currentOf
-- the memory of a key at a place, if there is one: what a candidate is judged against
select m.id, m.version, m.value, m.value_hash as "valueHash", m.status, m.integrity, m.confidence, m.confirmed_by as "confirmedBy",
  (select s.kind from plimsoll.memory_source s where s.tenant_id = m.tenant_id and s.memory_id = m.id and s.role = 'evidence'
   order by s.version desc, s.kind limit 1) as "source?",
  (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom!", (extract(epoch from m.expires_at) * 1000)::int8 as "expiresAt?",
  coalesce(m.expires_at <= now(), false) as "expired!"
from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = :place::text and m.subject_id = :subject::text
  and m.key = :key::text and m.slot = :slot::text and m.deleted_at is null;

-- name: insertMemory
-- A new memory with its first version, sources and audit, or nothing: another was faster, the place is full, the value was
-- forgotten or corrected since it was said, the purpose has no consent, or the writer left the group.
with entry as (
  select e.* from jsonb_to_record(:entry::jsonb) as e (id text, subject text, writer text, scope text, scope_id text,
    permission_scope text[], layer text, kind text, key text, slot text, value text, value_hash text, integrity text, confidentiality text,
    confidence real, importance real, sensitivity text, purpose text, consent_basis text, confirmed_by text, authority text,
    authority_ref text, detectors int, valid_from int8, expires_at int8, said_at int8, forgotten text, most_subject int, most_tenant int,
    candidate text, candidate_version int8, audit text, actor_kind text)
), asked as (
  -- the word that allows this one: whoever else answers at the same time waits, and finds it answered
  select c.tenant_id, c.id from plimsoll.memory_candidate c join entry e on c.tenant_id = :tenant::text and c.id = e.candidate
    and c.version = e.candidate_version and c.status = 'pending' and c.expires_at > now() for update of c
), held as (
  -- what it is drawn from stays as it was read until this is written; who forgets or corrects it afterwards takes this along
  select m.id from plimsoll.memory m join jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text, role text, seen int8)
    on s.kind = 'memory' and s.role = 'evidence' and m.id = s.ref and m.version = coalesce(s.seen, m.version)
  where m.tenant_id = :tenant::text and m.deleted_at is null order by m.id for share of m
), allowed as (
  select e.* from entry e
  where (select count(*) from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text
      and m.subject_id = e.subject and m.deleted_at is null) < e.most_subject
    and (select count(*) from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text
      and m.deleted_at is null) < e.most_tenant
    and not exists (select from plimsoll.tombstone t where t.tenant_id = :tenant::text and t.kind = 'memory_value' and t.id = e.forgotten
      and t.created_at >= to_timestamp(e.said_at / 1000.0))
    and not exists (select from plimsoll.tombstone t, jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text)
      where t.tenant_id = :tenant::text and t.kind = s.kind and t.id = s.ref)
    and not exists (select from plimsoll.consent c where c.tenant_id = :tenant::text and c.environment = :environment::text
      and c.subject_id = e.subject and c.purpose in (e.purpose, '*') and c.state = 'withdrawn')
    and (e.scope not in ('group', 'project') or e.actor_kind = 'operator' or exists (select from plimsoll.member g where g.tenant_id = :tenant::text
      and g.environment = :environment::text and g.place = e.scope || ':' || e.scope_id and g.user_id = e.writer and g.left_at is null))
    and (select count(*) from held) = (select count(*) from jsonb_to_recordset(:sources::jsonb) as s (kind text, role text)
      where s.kind = 'memory' and s.role = 'evidence')
    and (e.candidate is null or exists (select from asked))
    -- an old message does not bring back what its person has corrected since
    and not exists (select from plimsoll.memory m
      join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value_hash = e.value_hash
      join plimsoll.memory_version w on w.tenant_id = m.tenant_id and w.memory_id = m.id and w.version > v.version and w.change = 'corrected'
      where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = e.scope || ':' || e.scope_id
        and m.subject_id = e.subject and m.key = e.key and m.deleted_at is null and w.recorded_at >= to_timestamp(e.said_at / 1000.0))
), made as (
  insert into plimsoll.memory (tenant_id, id, environment, subject_id, user_id, scope, scope_id, permission_scope, layer, kind, key, slot, value,
    value_hash, integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, confirmed_by, authority,
    authority_ref, detectors, valid_from, expires_at)
  select :tenant::text, id, :environment::text, subject, writer, scope, scope_id, permission_scope, layer, kind, key, slot, decode(value, 'base64'), value_hash,
    integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, confirmed_by, authority, authority_ref,
    detectors, to_timestamp(valid_from / 1000.0), to_timestamp(expires_at / 1000.0)
  from allowed
  on conflict do nothing
  returning tenant_id, id, environment, value, value_hash, user_id, integrity, confidence, valid_from
), versioned as (
  insert into plimsoll.memory_version (tenant_id, memory_id, version, environment, value, value_hash, user_id, change, integrity, confidence,
    valid_from)
  select tenant_id, id, 1, environment, value, value_hash, user_id, 'created', integrity, confidence, valid_from from made
), sourced as (
  insert into plimsoll.memory_source (tenant_id, memory_id, kind, ref, environment, role, version, run_id, quote)
  select m.tenant_id, m.id, s.kind, s.ref, m.environment, s.role, 1, s.run, decode(s.quote, 'base64')
  from made m, jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text, role text, run text, quote text)
), answered as (
  update plimsoll.memory_candidate c set status = 'accepted', version = c.version + 1, body = ''::bytea, memory_id = m.id, decided_by = e.writer,
    decided_at = now()
  from made m, entry e, asked a where c.tenant_id = a.tenant_id and c.id = a.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome)
  select m.tenant_id, m.environment, e.audit, :run?::text, e.actor_kind, e.writer, 'memory.create', m.id,
    case when e.candidate is null then 'created' else 'accepted' end from made m, entry e
)
select id as "id!", 1::int8 as "version!" from made;

-- name: changeMemory
-- The next version of a memory that is still at the version that was judged. `late` is a fact from before the one that is
-- current: it goes into the past, and nothing is changed. A merge adds sources and never raises what it is trusted for. Another
-- value puts what was drawn from the old one out of use, and who is asked about such is asked no more.
with recursive entry as (
  select e.* from jsonb_to_record(:entry::jsonb) as e (id text, version int8, change text, subject text, writer text,
    permission_scope text[], slot text, value text, value_hash text, integrity text, confidentiality text, confidence real, importance real,
    sensitivity text, purpose text, consent_basis text, confirmed_by text, authority text, authority_ref text, detectors int,
    valid_from int8, expires_at int8, said_at int8, forgotten text, candidate text, candidate_version int8, audit text, actor_kind text)
), asked as (
  -- the word that allows this one: whoever else answers at the same time waits, and finds it answered
  select c.tenant_id, c.id from plimsoll.memory_candidate c join entry e on c.tenant_id = :tenant::text and c.id = e.candidate
    and c.version = e.candidate_version and c.status = 'pending' and c.expires_at > now() for update of c
), held as (
  -- what it is drawn from stays as it was read until this is written; who forgets or corrects it afterwards takes this along
  select m.id from plimsoll.memory m join jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text, role text, seen int8)
    on s.kind = 'memory' and s.role = 'evidence' and m.id = s.ref and m.version = coalesce(s.seen, m.version)
  where m.tenant_id = :tenant::text and m.deleted_at is null order by m.id for share of m
), allowed as (
  select e.*, m.scope, m.place, e.change = 'late' as late, e.change = 'merged' as merged
  from entry e join plimsoll.memory m on m.tenant_id = :tenant::text and m.id = e.id and m.version = e.version and m.deleted_at is null
  where not exists (select from plimsoll.tombstone t where t.tenant_id = :tenant::text and t.kind = 'memory_value' and t.id = e.forgotten
      and t.created_at >= to_timestamp(e.said_at / 1000.0))
    and not exists (select from plimsoll.tombstone t, jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text)
      where t.tenant_id = :tenant::text and t.kind = s.kind and t.id = s.ref)
    and not exists (select from plimsoll.consent c where c.tenant_id = :tenant::text and c.environment = :environment::text
      and c.subject_id = e.subject and c.purpose in (e.purpose, '*') and c.state = 'withdrawn')
    and (m.scope not in ('group', 'project') or e.actor_kind = 'operator' or exists (select from plimsoll.member g where g.tenant_id = :tenant::text
      and g.environment = :environment::text and g.place = m.place and g.user_id = e.writer and g.left_at is null))
    and (select count(*) from held) = (select count(*) from jsonb_to_recordset(:sources::jsonb) as s (kind text, role text)
      where s.kind = 'memory' and s.role = 'evidence')
    and (e.candidate is null or exists (select from asked))
), changed as (
  update plimsoll.memory m set version = m.version + 1,
    user_id = case when a.late or a.merged then m.user_id else a.writer end,
    value = case when a.late or a.merged then m.value else decode(a.value, 'base64') end,
    value_hash = case when a.late or a.merged then m.value_hash else a.value_hash end,
    slot = case when a.late or a.merged then m.slot else a.slot end,
    permission_scope = case when a.late or a.merged then m.permission_scope else a.permission_scope end,
    integrity = case when a.late or a.merged then m.integrity else a.integrity end,
    confidentiality = case when a.late or a.merged then m.confidentiality else a.confidentiality end,
    confidence = case when a.late then m.confidence when a.merged then greatest(m.confidence, a.confidence) else a.confidence end,
    importance = case when a.late then m.importance else greatest(m.importance, a.importance) end,
    sensitivity = case when a.late or a.merged then m.sensitivity else a.sensitivity end,
    purpose = case when a.late or a.merged then m.purpose else a.purpose end,
    consent_basis = case when a.late or a.merged then m.consent_basis else a.consent_basis end,
    confirmed_by = case when a.late then m.confirmed_by when a.merged then coalesce(m.confirmed_by, a.confirmed_by) else a.confirmed_by end,
    authority = case when a.late or a.merged then m.authority else a.authority end,
    authority_ref = case when a.late or a.merged then m.authority_ref else a.authority_ref end,
    detectors = case when a.late or a.merged then m.detectors else a.detectors end,
    recorded_at = case when a.late or a.merged then m.recorded_at else now() end,
    valid_from = case when a.late or a.merged then m.valid_from else to_timestamp(a.valid_from / 1000.0) end,
    expires_at = case when a.late then m.expires_at else to_timestamp(a.expires_at / 1000.0) end,
    status = case when a.late then m.status when m.status in ('cold', 'invalid') or not a.merged then 'active' else m.status end
  from allowed a
  where m.tenant_id = :tenant::text and m.id = a.id and m.version = a.version and m.deleted_at is null
  returning m.tenant_id, m.id, m.environment, m.version
), versioned as (
  insert into plimsoll.memory_version (tenant_id, memory_id, version, environment, value, value_hash, user_id, change, integrity, confidence,
    valid_from)
  select c.tenant_id, c.id, c.version, c.environment, decode(e.value, 'base64'), e.value_hash, e.writer, e.change, e.integrity, e.confidence,
    to_timestamp(e.valid_from / 1000.0)
  from changed c, entry e
), sourced as (
  insert into plimsoll.memory_source (tenant_id, memory_id, kind, ref, environment, role, version, run_id, quote)
  select c.tenant_id, c.id, s.kind, s.ref, c.environment, s.role, c.version, s.run, decode(s.quote, 'base64')
  from changed c, jsonb_to_recordset(:sources::jsonb) as s (kind text, ref text, role text, run text, quote text)
  on conflict do nothing
), stale as (
  select s.memory_id as id from changed c join entry e on e.change in ('superseded', 'corrected')
    join plimsoll.memory_source s on s.tenant_id = c.tenant_id and s.kind = 'memory' and s.ref = c.id and s.role = 'evidence'
  union
  select s.memory_id from stale join plimsoll.memory_source s on s.tenant_id = :tenant::text and s.kind = 'memory' and s.ref = stale.id
    and s.role = 'evidence'
), drawn as (
  update plimsoll.memory d set status = 'invalid', version = d.version + 1 from stale, entry e
  where d.tenant_id = :tenant::text and d.id = stale.id and d.id <> e.id and d.status in ('active', 'cold')
), unasked as (
  update plimsoll.memory_candidate q set status = 'superseded', version = q.version + 1, body = ''::bytea, decided_at = now()
  from changed c join entry e on e.change in ('superseded', 'corrected')
  where q.tenant_id = c.tenant_id and q.environment = c.environment and q.status = 'pending'
    and q.sources && (select array_agg('memory ' || x.id) from (select c.id union select id from stale) x)
), answered as (
  update plimsoll.memory_candidate q set status = 'accepted', version = q.version + 1, body = ''::bytea, memory_id = c.id, decided_by = e.writer,
    decided_at = now()
  from changed c, entry e, asked a where q.tenant_id = a.tenant_id and q.id = a.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome)
  select c.tenant_id, c.environment, e.audit, :run?::text, e.actor_kind, e.writer, 'memory.change', c.id, e.change from changed c, entry e
)
select version as "version!" from changed;

-- name: whyNot
-- why nothing was written: the first reason that holds
select coalesce(
  (select 'no_consent' from plimsoll.consent c where c.tenant_id = :tenant::text and c.environment = :environment::text
    and c.subject_id = :subject::text and c.purpose in (:purpose::text, '*') and c.state = 'withdrawn' limit 1),
  (select 'forgotten' from plimsoll.tombstone t where t.tenant_id = :tenant::text and ((t.kind = 'memory_value' and t.id = :forgotten::text
    and t.created_at >= to_timestamp(:saidAt::int8 / 1000.0)) or t.kind || ' ' || t.id = any(:sources::text[])) limit 1),
  (select 'moved' from jsonb_to_recordset(:drawn::jsonb) as s (ref text, seen int8) where not exists (select from plimsoll.memory m
    where m.tenant_id = :tenant::text and m.id = s.ref and m.deleted_at is null and m.version = coalesce(s.seen, m.version)) limit 1),
  (select 'no_member' where :place::text ~ '^(group|project):' and not exists (select from plimsoll.member g where g.tenant_id = :tenant::text
    and g.environment = :environment::text and g.place = :place::text and g.user_id = :writer::text and g.left_at is null)),
  (select 'corrected' from plimsoll.memory m
    join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value_hash = :valueHash::text
    join plimsoll.memory_version w on w.tenant_id = m.tenant_id and w.memory_id = m.id and w.version > v.version and w.change = 'corrected'
    where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = :place::text and m.subject_id = :subject::text
      and m.key = :key::text and m.deleted_at is null and w.recorded_at >= to_timestamp(:saidAt::int8 / 1000.0) limit 1),
  (select 'exists' from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = :place::text
    and m.subject_id = :subject::text and m.key = :key::text and m.slot = :slot::text and m.deleted_at is null),
  'full') as "reason!";

-- name: memories
-- What one caller may see of what is remembered, newest first. `subject` sees its own, members see their groups and projects,
-- everybody the tenant's; an empty scope list sees nothing.
select m.id, m.subject_id as subject, m.scope, m.scope_id as "scopeId", m.layer, m.kind, m.key, m.value, m.value_hash as "valueHash",
  m.version, m.status, m.integrity, m.confidence, m.importance, m.sensitivity, m.purpose, m.consent_basis as "consentBasis",
  m.confirmed_by as "confirmedBy", m.authority, m.user_id as "writer", m.use_count as "useCount",
  (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt!", (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom!",
  (extract(epoch from m.expires_at) * 1000)::int8 as "expiresAt?", (extract(epoch from m.last_used_at) * 1000)::int8 as "lastUsedAt?",
  coalesce(m.expires_at <= now(), false) as "expired!"
from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null
  and (:id::text = '' or m.id = :id::text) and (:after::text = '' or m.id < :after::text)
  and (:kind::text = '' or m.kind = :kind::text) and (:key::text = '' or m.key = :key::text) and (:scope::text = '' or m.scope = :scope::text)
  and m.permission_scope && :scopes::text[]
  and case when m.scope in ('user', 'conversation') then m.subject_id = :subject::text
    when m.scope = 'tenant' then true
    else exists (select from plimsoll.member g where g.tenant_id = m.tenant_id and g.environment = m.environment and g.place = m.place
      and g.user_id = :user::text and g.left_at is null) end
order by m.id desc limit :limit::int;

-- name: lineageOf
-- memories as what another is drawn from, without their values: for whoever may draw from all of them
select m.id, m.version, m.subject_id as subject, m.scope, m.scope_id as "scopeId", m.integrity,
  (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt!"
from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = any (:ids::text[]) and m.status = 'active'
  and (m.expires_at is null or m.expires_at > now());

-- name: versionsOf
select v.version, v.change, v.value, v.value_hash as "valueHash", v.user_id as "writer", v.integrity, v.confidence,
  (extract(epoch from v.valid_from) * 1000)::int8 as "validFrom!", (extract(epoch from v.recorded_at) * 1000)::int8 as "recordedAt!"
from plimsoll.memory_version v where v.tenant_id = :tenant::text and v.memory_id = :id::text order by v.version;

-- name: sourcesOf
select s.kind as "kind!", s.ref as "ref!", s.role as "role!", s.version as "version!", s.run_id as run, s.quote, (extract(epoch from s.created_at) * 1000)::int8 as "at!",
  m.session_id as "session?"
from plimsoll.memory_source s
left join plimsoll.run m on m.tenant_id = s.tenant_id and m.id = s.run_id
where s.tenant_id = :tenant::text and s.memory_id = :id::text order by s.version, s.role, s.kind, s.ref;

-- name: usesOf
-- not those of others, whose groups may share the memory
select u.run_id as run, u.version, u.rank, u.score, u.reason, (extract(epoch from u.created_at) * 1000)::int8 as "at!"
from plimsoll.memory_use u where u.tenant_id = :tenant::text and u.memory_id = :id::text
  and not exists (select from plimsoll.run r where r.tenant_id = u.tenant_id and r.id = u.run_id and r.subject_id <> :subject::text)
order by u.created_at desc, u.run_id limit :limit::int;

-- name: usesOfRun
select u.memory_id as memory, u.version, u.rank, u.score, u.reason from plimsoll.memory_use u
where u.tenant_id = :tenant::text and u.run_id = :run::text order by u.rank, u.memory_id;

-- name: recordUses
-- What a run was given. Counted once per run and memory, however often the run asks.
with used as (
  insert into plimsoll.memory_use (tenant_id, run_id, memory_id, environment, version, rank, score, reason)
  select :tenant::text, :run::text, u.memory, :environment::text, u.version, u.rank, u.score, u.reason
  from jsonb_to_recordset(:uses::jsonb) as u (memory text, version int8, rank int, score real, reason text)
  on conflict do nothing returning memory_id, reason
)
update plimsoll.memory m set use_count = m.use_count + 1, last_used_at = now(), status = case m.status when 'cold' then 'active' else m.status end
from used u where u.reason = 'placed' and m.tenant_id = :tenant::text and m.id = u.memory_id and m.deleted_at is null
returning m.id;

-- name: memoryFacts
-- what an operator may see of a subject without a reason: everything but the values. Newest first.
select m.id, m.subject_id as subject, m.scope, m.scope_id as "scopeId", m.layer, m.kind, m.key, m.version, m.status, m.integrity,
  m.confidence, m.sensitivity, m.purpose, m.consent_basis as "consentBasis", m.confirmed_by as "confirmedBy", m.authority,
  m.user_id as "writer", m.use_count as "useCount", (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt!",
  (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom!", (extract(epoch from m.expires_at) * 1000)::int8 as "expiresAt?",
  (extract(epoch from m.last_used_at) * 1000)::int8 as "lastUsedAt?", coalesce(m.expires_at <= now(), false) as "expired!"
from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null
  and (:id::text = '' or m.id = :id::text) and (:subject::text = '' or m.subject_id = :subject::text)
  and (:after::text = '' or m.id < :after::text)
order by m.id desc limit :limit::int;

-- name: revealMemory
-- One value, with the reason in the audit: neither without the other.
with seen as (
  select m.id, m.value, m.status from plimsoll.memory m
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = :id::text and m.deleted_at is null
    and m.status <> 'barred'
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'memory.reveal', seen.id, 'revealed', :reason::text from seen
  returning id
)
select seen.value as "value!" from seen, audited;

-- name: noteAccess
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
values (:tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, :action::text, :target::text, 'done', :reason?::text);

-- name: authorityChanged
-- What repeats a fact of an authority that is another now, and what was drawn from it: not used until it is said again.
with recursive linked as (
  select m.id from plimsoll.memory m
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.authority = :name::text and m.authority_ref = :ref::text
    and (:id::text = '' or m.id = :id::text) and m.deleted_at is null
  union
  select s.memory_id from linked join plimsoll.memory_source s on s.tenant_id = :tenant::text and s.kind = 'memory' and s.ref = linked.id
    and s.role = 'evidence'
), changed as (
  update plimsoll.memory m set status = 'invalid', version = m.version + 1
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id in (select id from linked) and m.status in ('active', 'cold')
  returning m.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, :actorKind::text, :actor::text, 'memory.authority', :name::text,
    'invalidated' where exists (select from changed)
)
select id as "id!" from changed;
