// Written by `npm run sql` from artifact.sql: change that file.
import type { Statement } from '../../db/port.ts'

export interface RecordArtifactsParams {
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly resultHash: string
  readonly origin: string
  readonly artifacts: string
  readonly tenant: string
  readonly run: string
}
/**
 * Owners come from the run, so that a confused caller cannot give an artifact away. A repeat after a lost reply adds nothing.
 */
export const recordArtifacts: Statement<RecordArtifactsParams, never> = {
  name: 'artifact_recordArtifacts_b3356490',
  text: `insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
  media_type, bytes, sha256, object_key, about, result_hash, integrity, confidentiality, origin)
select r.tenant_id, a.id, r.environment, r.session_id, r.user_id, r.subject_id, r.id, $1::int, $2::int, $3::text, a.kind,
  a.media_type, a.bytes, a.sha256, a.object_key, decode(a.about, 'base64'), $4::text, 'untrusted', 'subject', $5::jsonb
from plimsoll.run r, jsonb_to_recordset($6::jsonb) as a (id text, kind text, media_type text, bytes int8, sha256 text,
  object_key text, about text)
where r.tenant_id = $7::text and r.id = $8::text
on conflict do nothing`,
  params: ['step', 'position', 'callId', 'resultHash', 'origin', 'artifacts', 'tenant', 'run'],
}

export interface RecordUploadsParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly user: string
  readonly subject: string
  readonly run: string
  readonly hash: string
  readonly artifacts: string
}
/**
 * what came with the message that opens a run, before the run is there; `hash` is that of the message
 */
export const recordUploads: Statement<RecordUploadsParams, never> = {
  name: 'artifact_recordUploads_0c9f51b9',
  text: `insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
  media_type, bytes, sha256, object_key, about, result_hash, integrity, confidentiality, origin)
select $1::text, a.id, $2::text, $3::text, $4::text, $5::text, $6::text, 0, a.position, '', 'upload',
  a.media_type, a.bytes, a.sha256, a.object_key, decode(a.about, 'base64'), $7::text, 'untrusted', 'subject', '{"kind":"user"}'
from jsonb_to_recordset($8::jsonb) as a (id text, position int, media_type text, bytes int8, sha256 text, object_key text,
  about text)
on conflict do nothing`,
  params: ['tenant', 'environment', 'session', 'user', 'subject', 'run', 'hash', 'artifacts'],
}

export interface ArtifactsOfRunParams {
  readonly tenant: string
  readonly run: string
  readonly user: string
}
export interface ArtifactsOfRunRow {
  readonly id: string
  readonly run: string
  readonly subject: string
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly kind: string
  readonly mediaType: string
  readonly bytes: number
  readonly sha256: string
  readonly about: Uint8Array | null
  readonly objectKey: string
  readonly integrity: string
  readonly confidentiality: string
  readonly createdAt: number
  readonly expiresAt: number | null
}
/**
 * in the order of the calls; an empty `user` is a caller who sees the whole tenant
 */
export const artifactsOfRun: Statement<ArtifactsOfRunParams, ArtifactsOfRunRow> = {
  name: 'artifact_artifactsOfRun_f87eb5a2',
  text: `select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt"
from plimsoll.artifact a
where a.tenant_id = $1::text and a.run_id = $2::text and ($3::text = '' or a.user_id = $3::text)
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
  and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
    and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
    or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
      and m.seq = 1 and m.content_hash = a.result_hash)))
order by a.step, a.position, a.id`,
  params: ['tenant', 'run', 'user'],
}

export interface ArtifactDetailParams {
  readonly tenant: string
  readonly artifact: string
  readonly user: string
}
export interface ArtifactDetailRow {
  readonly id: string
  readonly run: string
  readonly subject: string
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly kind: string
  readonly mediaType: string
  readonly bytes: number
  readonly sha256: string
  readonly about: Uint8Array | null
  readonly objectKey: string
  readonly integrity: string
  readonly confidentiality: string
  readonly createdAt: number
  readonly expiresAt: number | null
}
export const artifactDetail: Statement<ArtifactDetailParams, ArtifactDetailRow> = {
  name: 'artifact_artifactDetail_286f7a2f',
  text: `select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt"
from plimsoll.artifact a
where a.tenant_id = $1::text and a.id = $2::text and ($3::text = '' or a.user_id = $3::text)
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
  and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
    and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
    or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
      and m.seq = 1 and m.content_hash = a.result_hash)))`,
  params: ['tenant', 'artifact', 'user'],
}

export interface KeptFilesParams {
  readonly tenant: string
  readonly session: string
}
export interface KeptFilesRow {
  readonly id: string
  readonly run: string
  readonly subject: string
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly kind: string
  readonly mediaType: string
  readonly bytes: number
  readonly sha256: string
  readonly about: Uint8Array | null
  readonly objectKey: string
  readonly integrity: string
  readonly confidentiality: string
  readonly createdAt: number
  readonly expiresAt: number | null
}
/**
 * what the folder of a conversation is made again from, the oldest first: a later file of a name replaces an earlier one
 */
export const keptFiles: Statement<KeptFilesParams, KeptFilesRow> = {
  name: 'artifact_keptFiles_c2f3025c',
  text: `select a.id, a.run_id as run, a.subject_id as subject, a.step, a.position, a.call_id as "callId", a.kind, a.media_type as "mediaType", a.bytes, a.sha256, a.about,
  a.object_key as "objectKey", a.integrity, a.confidentiality, (extract(epoch from a.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from a.expires_at) * 1000)::int8 as "expiresAt"
from plimsoll.artifact a
join plimsoll.effect e on e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step and e.position = a.position
  and e.status = 'settled' and e.result_hash = a.result_hash
where a.tenant_id = $1::text and a.session_id = $2::text and a.kind = 'file'
  and a.removed_at is null and (a.expires_at is null or a.expires_at > now())
order by a.created_at, a.id`,
  params: ['tenant', 'session'],
}

export interface DropArtifactsParams {
  readonly tenant: string
  readonly keys: readonly (string | null)[]
}
export interface DropArtifactsRow {
  readonly key: string
}
/**
 * of these objects, those that nobody may read: expired, removed, never referred to. Their rows become tombstones in the
 * same statement; an object without a row has none to lose. What has expired stays as long as a legal hold covers it.
 */
export const dropArtifacts: Statement<DropArtifactsParams, DropArtifactsRow> = {
  name: 'artifact_dropArtifacts_eed4460d',
  text: `with kept as (
  select a.object_key from plimsoll.artifact a
  where a.tenant_id = $1::text and a.object_key = any ($2::text[])
    and a.removed_at is null and (a.expires_at is null or a.expires_at > now() or exists (select from plimsoll.legal_hold h
      where h.tenant_id = a.tenant_id and h.environment = a.environment and h.released_at is null
        and (h.subject_id is null or h.subject_id = a.subject_id)))
    and (exists (select from plimsoll.effect e where e.tenant_id = a.tenant_id and e.run_id = a.run_id and e.step = a.step
      and e.position = a.position and e.status = 'settled' and e.result_hash = a.result_hash)
      or (a.kind = 'upload' and exists (select from plimsoll.message m where m.tenant_id = a.tenant_id and m.run_id = a.run_id
        and m.seq = 1 and m.content_hash = a.result_hash)))
), dropped as (
  update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null
  where a.tenant_id = $1::text and a.object_key = any ($2::text[]) and a.object_key not in (select object_key from kept)
)
select k.key as "key" from unnest($2::text[]) as k (key) where k.key not in (select object_key from kept)`,
  params: ['tenant', 'keys'],
}

export interface AuditDownloadParams {
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly run: string
  readonly actorKind: string
  readonly actor: string
  readonly artifact: string
  readonly outcome: string
  readonly sha256: string
}
export const auditDownload: Statement<AuditDownloadParams, never> = {
  name: 'artifact_auditDownload_0d349945',
  text: `insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, digest)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, 'artifact.download', $7::text,
  $8::text, $9::text)`,
  params: ['tenant', 'id', 'environment', 'run', 'actorKind', 'actor', 'artifact', 'outcome', 'sha256'],
}
