-- name: recordArtifacts
-- Owners come from the run, so that a confused caller cannot give an artifact away. A repeat after a lost reply adds nothing.
insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
  media_type, bytes, sha256, object_key, about, result_hash, integrity, confidentiality, origin)
select r.tenant_id, a.id, r.environment, r.session_id, r.user_id, r.subject_id, r.id, :step::int, :position::int, :callId::text, a.kind,
  a.media_type, a.bytes, a.sha256, a.object_key, decode(a.about, 'base64'), :resultHash::text, 'untrusted', 'subject', :origin::jsonb
from plimsoll.run r, jsonb_to_recordset(:artifacts::jsonb) as a (id text, kind text, media_type text, bytes int8, sha256 text,
  object_key text, about text)
where r.tenant_id = :tenant::text and r.id = :run::text
on conflict do nothing;

-- name: recordUploads
-- what came with the message that opens a run, before the run is there; `hash` is that of the message
insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
  media_type, bytes, sha256, object_key, about, result_hash, integrity, confidentiality, origin)
select :tenant::text, a.id, :environment::text, :session::text, :user::text, :subject::text, :run::text, 0, a.position, '', 'upload',
  a.media_type, a.bytes, a.sha256, a.object_key, decode(a.about, 'base64'), :hash::text, 'untrusted', 'subject', '{"kind":"user"}'
from jsonb_to_recordset(:artifacts::jsonb) as a (id text, position int, media_type text, bytes int8, sha256 text, object_key text,
  about text)
on conflict do nothing;

-- name: artifactsOfRun
-- in the order of the calls; an empty `user` is a caller who sees the whole tenant
select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt?"
from plimsoll.artifact a
where a.tenant_id = :tenant::text and a.run_id = :run::text and (:user::text = '' or a.user_id = :user::text)
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
  and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
    and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
    or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
      and m.seq = 1 and m.content_hash = a.result_hash)))
order by a.step, a.position, a.id;

-- name: artifactDetail
select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt?"
from plimsoll.artifact a
where a.tenant_id = :tenant::text and a.id = :artifact::text and (:user::text = '' or a.user_id = :user::text)
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
  and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
    and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
    or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
      and m.seq = 1 and m.content_hash = a.result_hash)));

-- name: keptFiles
-- what the folder of a conversation is made again from, the oldest first: a later file of a name replaces an earlier one
select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt!",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt?"
from plimsoll.artifact a
join plimsoll.effect e on e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step and e.position = a.position
  and e.status = 'settled' and e.result_hash = a.result_hash
where a.tenant_id = :tenant::text and a.session_id = :session::text and a.kind = 'file'
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
order by a.created_at, a.id;

-- name: dropArtifacts
-- of these objects, those that nobody may read: expired, removed, never referred to. Their rows become tombstones in the
-- same statement; an object without a row has none to lose. What has expired stays as long as a legal hold covers it.
with kept as (
  select a.object_key from plimsoll.artifact a
  where a.tenant_id = :tenant::text and a.object_key = any (:keys::text[])
    and a.removed_at is null and (a.expires_at is null or a.expires_at > now() or exists (select from plimsoll.legal_hold h
      where h.tenant_id = a.tenant_id and h.environment = a.environment and h.released_at is null
        and (h.subject_id is null or h.subject_id = a.subject_id)))
    and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
      and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
      or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
        and m.seq = 1 and m.content_hash = a.result_hash)))
), dropped as (
  update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null
  where a.tenant_id = :tenant::text and a.object_key = any (:keys::text[]) and a.object_key not in (select object_key from kept)
)
select k.key as "key!" from unnest(:keys::text[]) as k (key) where k.key not in (select object_key from kept);

-- name: auditDownload
insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, digest)
values (:tenant::text, :id::text, :environment::text, :run::text, :actorKind::text, :actor::text, 'artifact.download', :artifact::text,
  :outcome::text, :sha256::text);
