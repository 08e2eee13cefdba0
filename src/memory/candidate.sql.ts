// Written by `npm run sql` from candidate.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface AskAboutParams {
  readonly candidate: string
  readonly tenant: string
  readonly environment: string
}
export interface AskAboutRow {
  readonly id: string | null
  readonly declined: boolean
}
/**
 * One open question per place, key and value: asked again, it is the same question. A newer value supersedes an older one of
 * the same key that nobody has answered. What was declined since it was said is not asked again, and nobody is asked about what may
 * not be written: what was forgotten since it was said, what has lost a source, what its subject has withdrawn the consent
 * to, what its person has corrected.
 */
export const askAbout: Statement<AskAboutParams, AskAboutRow> = {
  name: 'candidate_askAbout_ebcb7f03',
  text: `with asked as (
  select c.* from jsonb_to_record($1::jsonb) as c (id text, subject text, writer text, session text, run text, place text, key text,
    many boolean, body text, value_hash text, purpose text, forgotten text, sources text[], said_at int8, reasons text[], open_ms int8)
), source as (
  select split_part(s, ' ', 1) as kind, substr(s, strpos(s, ' ') + 1) as ref from asked a, unnest(a.sources) s
), held as (
  select m.id from plimsoll.memory m where m.tenant_id = $2::text and m.id in (select ref from source where kind = 'memory')
    and m.deleted_at is null order by m.id for share of m
), barred as (
  select from asked a where (select count(*) from held) < (select count(distinct ref) from source where kind = 'memory')
    or exists (select from plimsoll.tombstone t where t.tenant_id = $2::text and t.kind = 'memory_value' and t.id = a.forgotten
      and t.created_at >= to_timestamp(a.said_at / 1000.0))
    or exists (select from source s join plimsoll.tombstone t on t.tenant_id = $2::text and t.kind = s.kind and t.id = s.ref)
    or exists (select from plimsoll.consent c where c.tenant_id = $2::text and c.environment = $3::text
      and c.subject_id = a.subject and c.purpose in (a.purpose, '*') and c.state = 'withdrawn')
    or exists (select from plimsoll.memory m
      join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value_hash = a.value_hash
      join plimsoll.memory_version w on w.tenant_id = m.tenant_id and w.memory_id = m.id and w.version > v.version and w.change = 'corrected'
      where m.tenant_id = $2::text and m.environment = $3::text and m.place = a.place and m.subject_id = a.subject
        and m.key = a.key and m.deleted_at is null and w.recorded_at >= to_timestamp(a.said_at / 1000.0))
), before as (
  select c.status, c.decided_at from plimsoll.memory_candidate c join asked a on c.place = a.place and c.subject_id = a.subject
    and c.key = a.key and c.value_hash = a.value_hash
  where c.tenant_id = $2::text and c.environment = $3::text and c.status in ('pending', 'declined') for share of c
), declined as (
  select from before b, asked a where b.status = 'declined' and b.decided_at >= to_timestamp(a.said_at / 1000.0)
  union all select from barred
), superseded as (
  update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now() from asked a
  where c.tenant_id = $2::text and c.environment = $3::text and c.place = a.place and c.subject_id = a.subject and c.key = a.key
    and not a.many and c.status = 'pending' and c.value_hash <> a.value_hash and not exists (select from declined)
), made as (
  insert into plimsoll.memory_candidate (tenant_id, id, environment, subject_id, user_id, session_id, run_id, place, key, body, value_hash,
    sources, reasons, expires_at)
  select $2::text, id, $3::text, subject, writer, session, run, place, key, decode(body, 'base64'), value_hash, sources, reasons,
    now() + open_ms * interval '1 millisecond' from asked where not exists (select from declined)
  on conflict do nothing returning id
)
select coalesce((select id from made), (select c.id from plimsoll.memory_candidate c, asked a where c.tenant_id = $2::text
  and c.environment = $3::text and c.place = a.place and c.subject_id = a.subject and c.key = a.key and c.value_hash = a.value_hash
  and c.status = 'pending')) as "id", exists (select from declined) as "declined"`,
  params: ['candidate', 'tenant', 'environment'],
}

export interface CandidatesParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly user: string
  readonly id: string
  readonly after: string
  readonly limit: number
}
export interface CandidatesRow {
  readonly id: string
  readonly subject: string
  readonly writer: string
  readonly session: string | null
  readonly run: string | null
  readonly place: string
  readonly key: string
  readonly body: Uint8Array
  readonly valueHash: string
  readonly reasons: string[]
  readonly status: string
  readonly version: number
  readonly memory: string | null
  readonly expiresAt: number
  readonly createdAt: number
}
/**
 * Open questions, oldest first, or one of any state: of a subject, and what `user` has brought up where they are a member. An
 * operator has no subject, and sees all that is about nobody.
 */
export const candidates: Statement<CandidatesParams, CandidatesRow> = {
  name: 'candidate_candidates_83e1ba95',
  text: `select c.id, c.subject_id as subject, c.user_id as writer, c.session_id as session, c.run_id as run, c.place, c.key, c.body,
  c.value_hash as "valueHash", c.reasons, case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status",
  c.version, c.memory_id as memory, (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt",
  (extract(epoch from c.created_at) * 1000)::int8 as "createdAt"
from plimsoll.memory_candidate c
where c.tenant_id = $1::text and c.environment = $2::text and (c.subject_id = $3::text
    or (c.subject_id = '' and c.user_id = $4::text and exists (select from plimsoll.member g
      where g.tenant_id = c.tenant_id and g.environment = c.environment and g.place = c.place and g.user_id = $4::text and g.left_at is null)))
  and case when $5::text = '' then c.status = 'pending' and c.expires_at > now() else c.id = $5::text end
  and ($6::text = '' or c.id > $6::text)
order by c.id limit $7::int`,
  params: ['tenant', 'environment', 'subject', 'user', 'id', 'after', 'limit'],
}

export interface CloseQuestionsParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly keys: readonly (string | null)[]
}
export interface CloseQuestionsRow {
  readonly id: string
}
/**
 * nobody answers these any more: of these keys, of a subject
 */
export const closeQuestions: Statement<CloseQuestionsParams, CloseQuestionsRow> = {
  name: 'candidate_closeQuestions_08fec826',
  text: `update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now()
where c.tenant_id = $1::text and c.environment = $2::text and c.subject_id = $3::text and c.key = any ($4::text[])
  and c.status = 'pending'
returning c.id`,
  params: ['tenant', 'environment', 'subject', 'keys'],
}

export interface ExpireQuestionsParams {
  readonly tenant: string
  readonly environment: string
  readonly place: string | null
  readonly key: string | null
}
export interface ExpireQuestionsRow {
  readonly id: string
}
/**
 * What nobody has answered in time is no question any more, and its value goes. `place?` with `key?`: only there.
 */
export const expireQuestions: Statement<ExpireQuestionsParams, ExpireQuestionsRow> = {
  name: 'candidate_expireQuestions_65fdda26',
  text: `update plimsoll.memory_candidate c set status = 'expired', version = c.version + 1, body = ''::bytea, decided_at = now()
where c.tenant_id = $1::text and c.environment = $2::text and c.status = 'pending' and c.expires_at <= now()
  and ($3::text is null or c.place = $3::text) and ($4::text is null or c.key = $4::text)
returning c.id`,
  params: ['tenant', 'environment', 'place', 'key'],
}

export interface DeclineCandidateParams {
  readonly actor: string
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly version: number
  readonly audit: string
  readonly actorKind: string
}
export interface DeclineCandidateRow {
  readonly version: number
}
/**
 * Declined: the body goes. What is accepted is answered by the statement that remembers it.
 */
export const declineCandidate: Statement<DeclineCandidateParams, DeclineCandidateRow> = {
  name: 'candidate_declineCandidate_4b84f6ad',
  text: `with decided as (
  update plimsoll.memory_candidate c set status = 'declined', version = c.version + 1, body = ''::bytea,
    decided_by = $1::text, decided_at = now()
  where c.tenant_id = $2::text and c.environment = $3::text and c.id = $4::text and c.status = 'pending'
    and c.version = $5::int8 and c.expires_at > now()
  returning c.id, c.run_id, c.version
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome)
  select $2::text, $3::text, $6::text, run_id, $7::text, $1::text, 'memory.decide', id, 'declined' from decided
)
select version as "version" from decided`,
  params: ['actor', 'tenant', 'environment', 'id', 'version', 'audit', 'actorKind'],
}

export interface SetConsentParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly purpose: string
  readonly state: string
  readonly basis: string
  readonly actor: string
  readonly audit: string
  readonly actorKind: string
}
export interface SetConsentRow {
  readonly purpose: string
}
export const setConsent: Statement<SetConsentParams, SetConsentRow> = {
  name: 'candidate_setConsent_1eae3090',
  text: `with said as (
  insert into plimsoll.consent (tenant_id, environment, subject_id, purpose, state, basis, decided_by)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text)
  on conflict (tenant_id, environment, subject_id, purpose) do update set state = excluded.state, basis = excluded.basis,
    decided_by = excluded.decided_by, decided_at = now()
  returning purpose
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $2::text, $8::text, $9::text, $7::text, 'consent.set', purpose, $5::text from said
)
select purpose as "purpose" from said`,
  params: ['tenant', 'environment', 'subject', 'purpose', 'state', 'basis', 'actor', 'audit', 'actorKind'],
}

export interface ConsentsParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
}
export interface ConsentsRow {
  readonly purpose: string
  readonly state: string
  readonly basis: string
  readonly decidedBy: string
  readonly decidedAt: number
}
export const consents: Statement<ConsentsParams, ConsentsRow> = {
  name: 'candidate_consents_423c4b72',
  text: `select c.purpose, c.state, c.basis, c.decided_by as "decidedBy", (extract(epoch from c.decided_at) * 1000)::int8 as "decidedAt"
from plimsoll.consent c
where c.tenant_id = $1::text and c.environment = $2::text and c.subject_id = $3::text order by c.purpose`,
  params: ['tenant', 'environment', 'subject'],
}

export interface AffectedParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly purpose: string
}
export interface AffectedRow {
  readonly id: string
}
/**
 * what a withdrawn purpose takes with it
 */
export const affected: Statement<AffectedParams, AffectedRow> = {
  name: 'candidate_affected_e86d7c7e',
  text: `select m.id from plimsoll.memory m where m.tenant_id = $1::text and m.environment = $2::text and m.subject_id = $3::text
  and m.deleted_at is null and ($4::text = '*' or m.purpose = $4::text) order by m.id`,
  params: ['tenant', 'environment', 'subject', 'purpose'],
}

export interface JoinPlaceParams {
  readonly tenant: string
  readonly environment: string
  readonly place: string
  readonly user: string
  readonly audit: string
  readonly actorKind: string
  readonly actor: string
}
export interface JoinPlaceRow {
  readonly user: string
}
export const joinPlace: Statement<JoinPlaceParams, JoinPlaceRow> = {
  name: 'candidate_joinPlace_d3ce2eb8',
  text: `with joined as (
  insert into plimsoll.member (tenant_id, environment, place, user_id)
  values ($1::text, $2::text, $3::text, $4::text)
  on conflict (tenant_id, environment, place, user_id) do update
    set left_at = null, joined_at = case when plimsoll.member.left_at is null then plimsoll.member.joined_at else now() end
  returning user_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $2::text, $5::text, $6::text, $7::text, 'member.join', $3::text, 'joined' from joined
)
select user_id as "user" from joined`,
  params: ['tenant', 'environment', 'place', 'user', 'audit', 'actorKind', 'actor'],
}

export interface LeavePlaceParams {
  readonly tenant: string
  readonly environment: string
  readonly place: string
  readonly user: string
  readonly audit: string
  readonly actorKind: string
  readonly actor: string
}
export interface LeavePlaceRow {
  readonly user: string
}
export const leavePlace: Statement<LeavePlaceParams, LeavePlaceRow> = {
  name: 'candidate_leavePlace_074a35bd',
  text: `with gone as (
  update plimsoll.member g set left_at = now() where g.tenant_id = $1::text and g.environment = $2::text
    and g.place = $3::text and g.user_id = $4::text and g.left_at is null
  returning g.user_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $2::text, $5::text, $6::text, $7::text, 'member.leave', $3::text, 'left' from gone
)
select user_id as "user" from gone`,
  params: ['tenant', 'environment', 'place', 'user', 'audit', 'actorKind', 'actor'],
}

export interface MembersOfParams {
  readonly tenant: string
  readonly environment: string
  readonly place: string
}
export interface MembersOfRow {
  readonly user: string
  readonly joinedAt: number
}
export const membersOf: Statement<MembersOfParams, MembersOfRow> = {
  name: 'candidate_membersOf_b3e14d77',
  text: `select g.user_id as user, (extract(epoch from g.joined_at) * 1000)::int8 as "joinedAt" from plimsoll.member g
where g.tenant_id = $1::text and g.environment = $2::text and g.place = $3::text and g.left_at is null order by g.user_id`,
  params: ['tenant', 'environment', 'place'],
}
