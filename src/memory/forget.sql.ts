// Written by `npm run sql` from forget.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface MarksOfParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
export interface MarksOfRow {
  readonly place: string
  readonly subject: string
  readonly key: string
  readonly now: number
  readonly value: Uint8Array | null
}
/**
 * everything that a memory has ever held, to know it again
 */
export const marksOf: Statement<MarksOfParams, MarksOfRow> = {
  name: 'forget_marksOf_09cee067',
  text: `select m.place as "place", m.subject_id as "subject", m.key as "key", m.version as "now", v.value as "value"
from plimsoll.memory m
left join plimsoll.memory_version v on v.tenant_id = m.tenant_id and v.memory_id = m.id and v.value is not null
where m.tenant_id = $1::text and m.environment = $2::text and m.id = $3::text and m.deleted_at is null
order by v.version`,
  params: ['tenant', 'environment', 'id'],
}

export interface EntombMemoryParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly version: number
  readonly marks: readonly (string | null)[]
  readonly hashes: readonly (string | null)[]
  readonly audit: string
  readonly actorKind: string
  readonly actor: string
}
export interface EntombMemoryRow {
  readonly id: string
}
/**
 * The tombstone: from here on no read finds it, no write brings it back, and who was asked about the value, or about what is
 * drawn from it, is asked no more. What was drawn from it, and from that, is not used until it is drawn again. Nothing happens when
 * another version came meanwhile.
 */
export const entombMemory: Statement<EntombMemoryParams, EntombMemoryRow> = {
  name: 'forget_entombMemory_249d8179',
  text: `with recursive gone as (
  update plimsoll.memory m set status = 'deleted', deleted_at = now(), value = ''::bytea, value_hash = '', version = m.version + 1
  where m.tenant_id = $1::text and m.environment = $2::text and m.id = $3::text and m.version = $4::int8
    and m.deleted_at is null
  returning m.id, m.place, m.subject_id, m.key
), marked as (
  insert into plimsoll.tombstone (tenant_id, environment, kind, id)
  select $1::text, $2::text, x.kind, x.id from gone, lateral (
    select 'memory' as kind, gone.id as id union all select 'memory_value', mark from unnest($5::text[]) as mark) x
  on conflict (tenant_id, kind, id) do update set created_at = excluded.created_at
), stale as (
  select gone.id from gone
  union
  select s.memory_id from stale join plimsoll.memory_source s on s.tenant_id = $1::text and s.kind = 'memory' and s.ref = stale.id
    and s.role = 'evidence'
), unasked as (
  update plimsoll.memory_candidate c set status = 'superseded', version = c.version + 1, body = ''::bytea, decided_at = now() from gone
  where c.tenant_id = $1::text and c.environment = $2::text and c.status = 'pending'
    and (c.sources && (select array_agg('memory ' || s.id) from stale s)
      or c.place = gone.place and c.subject_id = gone.subject_id and c.key = gone.key and c.value_hash = any ($6::text[]))
), drawn as (
  update plimsoll.memory d set status = 'invalid', version = d.version + 1 from gone
  where d.tenant_id = $1::text and d.status in ('active', 'cold') and d.id <> gone.id and d.id in (select s.id from stale s)
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $2::text, $7::text, $8::text, $9::text, 'memory.forget', gone.id, 'forgotten' from gone
)
select id as "id" from gone`,
  params: ['tenant', 'environment', 'id', 'version', 'marks', 'hashes', 'audit', 'actorKind', 'actor'],
}

export interface OpenDeletionParams {
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly subject: string
  readonly kind: string
  readonly target: string
  readonly memories: readonly (string | null)[]
  readonly messages: readonly (string | null)[]
  readonly sessions: readonly (string | null)[]
  readonly actorKind: string
  readonly actor: string
  readonly audit: string
  readonly reason: string | null
  readonly derivatives: readonly (string | null)[]
}
/**
 * who asked does it at once; half a minute later whoever comes by takes it for left behind
 */
export const openDeletion: Statement<OpenDeletionParams, never> = {
  name: 'forget_openDeletion_ca3f72f6',
  text: `with made as (
  insert into plimsoll.deletion (tenant_id, id, environment, subject_id, kind, target, memories, messages, sessions, actor_kind, actor, due_at)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text[], $8::text[],
    $9::text[], $10::text, $11::text, now() + interval '30 seconds')
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $1::text, $3::text, $12::text, $10::text, $11::text, 'memory.forget', made.id, 'opened', $13::text from made
)
insert into plimsoll.deletion_part (tenant_id, deletion_id, derivative, environment)
select $1::text, made.id, d, $3::text from made, unnest($14::text[]) d`,
  params: ['tenant', 'id', 'environment', 'subject', 'kind', 'target', 'memories', 'messages', 'sessions', 'actorKind', 'actor', 'audit', 'reason', 'derivatives'],
}

export interface WidenDeletionParams {
  readonly memories: readonly (string | null)[]
  readonly tenant: string
  readonly id: string
}
/**
 * what has come to belong to it while it was under way
 */
export const widenDeletion: Statement<WidenDeletionParams, never> = {
  name: 'forget_widenDeletion_bb1caab0',
  text: `update plimsoll.deletion d set memories = (select array_agg(distinct m) from unnest(d.memories || $1::text[]) m)
where d.tenant_id = $2::text and d.id = $3::text`,
  params: ['memories', 'tenant', 'id'],
}

export interface PartDoneParams {
  readonly removed: number
  readonly error: string | null
  readonly tenant: string
  readonly id: string
  readonly derivative: string
}
export const partDone: Statement<PartDoneParams, never> = {
  name: 'forget_partDone_a4043caa',
  text: `update plimsoll.deletion_part p set removed = p.removed + $1::int8, error = $2::text,
  done_at = case when $2::text is null then coalesce(p.done_at, now()) end
where p.tenant_id = $3::text and p.deletion_id = $4::text and p.derivative = $5::text`,
  params: ['removed', 'error', 'tenant', 'id', 'derivative'],
}

export interface DeletionTriedParams {
  readonly tenant: string
  readonly id: string
}
export interface DeletionTriedRow {
  readonly doneAt: number | null
}
/**
 * done when each part is; otherwise looked at again later, and later still
 */
export const deletionTried: Statement<DeletionTriedParams, DeletionTriedRow> = {
  name: 'forget_deletionTried_b9f0027d',
  text: `update plimsoll.deletion d set attempts = d.attempts + 1,
  done_at = case when not exists (select from plimsoll.deletion_part p where p.tenant_id = d.tenant_id and p.deletion_id = d.id
    and p.done_at is null) then coalesce(d.done_at, now()) end,
  due_at = now() + least(power(2, d.attempts) * 1000, 3600000) * interval '1 millisecond'
where d.tenant_id = $1::text and d.id = $2::text
returning (extract(epoch from d.done_at) * 1000)::int8 as "doneAt"`,
  params: ['tenant', 'id'],
}

export interface DeletionsParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly id: string
  readonly after: string
  readonly limit: number
}
export interface DeletionsRow {
  readonly id: string
  readonly subject: string
  readonly kind: string
  readonly target: string
  readonly memories: string[]
  readonly messages: string[]
  readonly sessions: string[]
  readonly attempts: number
  readonly createdAt: number
  readonly doneAt: number | null
}
/**
 * newest first, or one; an empty `subject` is an operator
 */
export const deletions: Statement<DeletionsParams, DeletionsRow> = {
  name: 'forget_deletions_40a90dd9',
  text: `select d.id, d.subject_id as subject, d.kind, d.target, d.memories, d.messages, d.sessions, d.attempts,
  (extract(epoch from d.created_at) * 1000)::int8 as "createdAt", (extract(epoch from d.done_at) * 1000)::int8 as "doneAt"
from plimsoll.deletion d
where d.tenant_id = $1::text and d.environment = $2::text and ($3::text = '' or d.subject_id = $3::text)
  and ($4::text = '' or d.id = $4::text) and ($5::text = '' or d.id < $5::text)
order by d.id desc limit $6::int`,
  params: ['tenant', 'environment', 'subject', 'id', 'after', 'limit'],
}

export interface PartsOfParams {
  readonly tenant: string
  readonly id: string
}
export interface PartsOfRow {
  readonly derivative: string
  readonly removed: number
  readonly error: string | null
  readonly doneAt: number | null
}
export const partsOf: Statement<PartsOfParams, PartsOfRow> = {
  name: 'forget_partsOf_f115c0e6',
  text: `select p.derivative, p.removed, p.error, (extract(epoch from p.done_at) * 1000)::int8 as "doneAt"
from plimsoll.deletion_part p where p.tenant_id = $1::text and p.deletion_id = $2::text order by p.derivative`,
  params: ['tenant', 'id'],
}

export interface DueDeletionsParams {
  readonly limit: number
}
export interface DueDeletionsRow {
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
/**
 * crosses tenants: where something is left to do, and no content
 */
export const dueDeletions: Statement<DueDeletionsParams, DueDeletionsRow> = {
  name: 'forget_dueDeletions_1678b45d',
  text: `select tenant as "tenant", environment as "environment", id as "id" from plimsoll.deletion_due($1::int)`,
  params: ['limit'],
}

export interface FailDeletionParams {
  readonly ofTenant: string
  readonly ofEnvironment: string
  readonly id: string
}
export interface FailDeletionRow {
  readonly taken: number
}
/**
 * without a parameter that names its tenant: the keys of it may be what is missing
 */
export const failDeletion: Statement<FailDeletionParams, FailDeletionRow> = {
  name: 'forget_failDeletion_4dbd6699',
  text: `select plimsoll.deletion_failed($1::text, $2::text, $3::text) as "taken"`,
  params: ['ofTenant', 'ofEnvironment', 'id'],
}

export interface ForgetVersionsParams {
  readonly tenant: string
  readonly environment: string
  readonly only: readonly (string | null)[] | null
}
export interface ForgetVersionsRow {
  readonly memory_id: string
}
export const forgetVersions: Statement<ForgetVersionsParams, ForgetVersionsRow> = {
  name: 'forget_forgetVersions_b5f13e70',
  text: `update plimsoll.memory_version v set value = null, value_hash = '' from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.status = 'deleted' and v.tenant_id = m.tenant_id
  and v.memory_id = m.id and v.value is not null and ($3::text[] is null or m.id = any ($3::text[]))
returning v.memory_id`,
  params: ['tenant', 'environment', 'only'],
}

export interface ForgetQuotesParams {
  readonly tenant: string
  readonly environment: string
  readonly only: readonly (string | null)[] | null
}
export interface ForgetQuotesRow {
  readonly memory_id: string
}
/**
 * of forgotten memories, and of messages that are gone
 */
export const forgetQuotes: Statement<ForgetQuotesParams, ForgetQuotesRow> = {
  name: 'forget_forgetQuotes_9f8dee6a',
  text: `update plimsoll.memory_source s set quote = null from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and s.tenant_id = m.tenant_id and s.memory_id = m.id
  and s.quote is not null and ($3::text[] is null or m.id = any ($3::text[]))
  and (m.status = 'deleted' or exists (select from plimsoll.tombstone t where t.tenant_id = s.tenant_id and t.kind = s.kind and t.id = s.ref))
returning s.memory_id`,
  params: ['tenant', 'environment', 'only'],
}

export interface DrawnFromParams {
  readonly tenant: string
  readonly environment: string
  readonly withSource: readonly (string | null)[]
}
export interface DrawnFromRow {
  readonly id: string
  readonly version: number
  readonly alone: boolean
}
/**
 * What was drawn from a memory that is gone, which may hold its words; and what goes with its message or call, when all that it
 * comes from is gone. `alone`: nothing is left that says it.
 */
export const drawnFrom: Statement<DrawnFromParams, DrawnFromRow> = {
  name: 'forget_drawnFrom_8e6164b3',
  text: `select d.id, d.version, bool_and(not x.other) as "alone" from plimsoll.memory d
join plimsoll.memory_source s on s.tenant_id = d.tenant_id and s.memory_id = d.id and s.role = 'evidence'
join plimsoll.tombstone t on t.tenant_id = s.tenant_id and t.kind = s.kind and t.id = s.ref,
lateral (select exists (select from plimsoll.memory_source o where o.tenant_id = d.tenant_id and o.memory_id = d.id and o.role = 'evidence'
  and not exists (select from plimsoll.tombstone g where g.tenant_id = o.tenant_id and g.kind = o.kind and g.id = o.ref)) as other) x
where d.tenant_id = $1::text and d.environment = $2::text and d.deleted_at is null
  and (s.kind = 'memory' or (d.key = any ($3::text[]) and not x.other))
group by d.id, d.version order by d.id`,
  params: ['tenant', 'environment', 'withSource'],
}

export interface CallsOfParams {
  readonly tenant: string
  readonly environment: string
  readonly only: readonly (string | null)[] | null
}
export interface CallsOfRow {
  readonly ref: string
  readonly run: string | null
}
/**
 * the calls that wrote a forgotten memory, and the messages that hold them
 */
export const callsOf: Statement<CallsOfParams, CallsOfRow> = {
  name: 'forget_callsOf_c7f4bc8d',
  text: `select s.ref as "ref", s.run_id as "run" from plimsoll.memory_source s join plimsoll.memory m on m.tenant_id = s.tenant_id and m.id = s.memory_id
where m.tenant_id = $1::text and m.environment = $2::text and m.status = 'deleted' and s.kind = 'call' and s.role = 'writer'
  and ($3::text[] is null or m.id = any ($3::text[]))`,
  params: ['tenant', 'environment', 'only'],
}

export interface MessagesOfStepParams {
  readonly tenant: string
  readonly run: string
  readonly step: number
}
export interface MessagesOfStepRow {
  readonly seq: number
  readonly role: string
  readonly position: number | null
  readonly body: Uint8Array
}
export const messagesOfStep: Statement<MessagesOfStepParams, MessagesOfStepRow> = {
  name: 'forget_messagesOfStep_758aed16',
  text: `select m.seq, m.role, m.position, m.body from plimsoll.message m
where m.tenant_id = $1::text and m.run_id = $2::text and m.step = $3::int order by m.seq`,
  params: ['tenant', 'run', 'step'],
}

export interface MessagesAtParams {
  readonly tenant: string
  readonly environment: string
  readonly messages: readonly (string | null)[]
  readonly runs: readonly (string | null)[]
}
export interface MessagesAtRow {
  readonly run: string
  readonly seq: number
  readonly role: string
  readonly body: Uint8Array
  readonly user: string
  readonly subject: string
  readonly session: string
}
export const messagesAt: Statement<MessagesAtParams, MessagesAtRow> = {
  name: 'forget_messagesAt_c23dc3a2',
  text: `select m.run_id as run, m.seq, m.role, m.body, m.user_id as "user", m.subject_id as "subject", m.session_id as "session"
from plimsoll.message m
where m.tenant_id = $1::text and m.environment = $2::text and m.run_id || '.' || m.seq = any ($3::text[])
  and m.run_id = any ($4::text[]) order by m.run_id, m.seq`,
  params: ['tenant', 'environment', 'messages', 'runs'],
}

export interface EntombParams {
  readonly kind: string
  readonly ids: readonly (string | null)[]
  readonly tenant: string
  readonly environment: string
}
export interface EntombRow {
  readonly id: string
}
export const entomb: Statement<EntombParams, EntombRow> = {
  name: 'forget_entomb_d492f7df',
  text: `with these as (select $1::text as kind, x as id from unnest($2::text[]) x), made as (
  insert into plimsoll.tombstone (tenant_id, environment, kind, id)
  select $3::text, $4::text, kind, id from these on conflict do nothing
)
select t.id from plimsoll.tombstone t, these where t.tenant_id = $3::text and t.kind = these.kind and t.id = these.id`,
  params: ['kind', 'ids', 'tenant', 'environment'],
}

export interface ForgetMessageBodiesParams {
  readonly tenant: string
  readonly environment: string
  readonly messages: string
}
export interface ForgetMessageBodiesRow {
  readonly n: number
}
export const forgetMessageBodies: Statement<ForgetMessageBodiesParams, ForgetMessageBodiesRow> = {
  name: 'forget_forgetMessageBodies_20a5c26c',
  text: `select plimsoll.forget_messages($1::text, $2::text, $3::jsonb) as "n"`,
  params: ['tenant', 'environment', 'messages'],
}

export interface ForgetCallsParams {
  readonly tenant: string
  readonly environment: string
  readonly calls: string
  readonly blank: Uint8Array
  readonly blankPlan: Uint8Array
}
export interface ForgetCallsRow {
  readonly n: number
}
export const forgetCalls: Statement<ForgetCallsParams, ForgetCallsRow> = {
  name: 'forget_forgetCalls_53b04e8f',
  text: `select plimsoll.forget_calls($1::text, $2::text, $3::jsonb, $4::bytea, $5::bytea) as "n"`,
  params: ['tenant', 'environment', 'calls', 'blank', 'blankPlan'],
}

export interface ForgetSessionParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly blank: Uint8Array
  readonly blankPlan: Uint8Array
}
export interface ForgetSessionRow {
  readonly removed: number
  readonly active: number
}
export const forgetSession: Statement<ForgetSessionParams, ForgetSessionRow> = {
  name: 'forget_forgetSession_f08611dd',
  text: `select removed as "removed", active as "active" from plimsoll.forget_session($1::text, $2::text, $3::text, $4::bytea, $5::bytea)`,
  params: ['tenant', 'environment', 'session', 'blank', 'blankPlan'],
}

export interface SessionsOfParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
}
export interface SessionsOfRow {
  readonly id: string
  readonly agent: string
}
export const sessionsOf: Statement<SessionsOfParams, SessionsOfRow> = {
  name: 'forget_sessionsOf_7bab5a58',
  text: `select s.id, s.agent from plimsoll.session s
where s.tenant_id = $1::text and s.environment = $2::text and s.subject_id = $3::text order by s.id`,
  params: ['tenant', 'environment', 'subject'],
}

export interface ActiveRunsOfParams {
  readonly tenant: string
  readonly session: string
  readonly working: boolean
}
export interface ActiveRunsOfRow {
  readonly id: string
}
/**
 * `working`: only those that a worker has at hand, with all that was said to them
 */
export const activeRunsOf: Statement<ActiveRunsOfParams, ActiveRunsOfRow> = {
  name: 'forget_activeRunsOf_035c791f',
  text: `select r.id from plimsoll.run r where r.tenant_id = $1::text and r.session_id = $2::text and r.ended_at is null
  and (not $3::boolean or r.status = 'running') order by r.id`,
  params: ['tenant', 'session', 'working'],
}

export interface MemoriesAboutParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly subject: string
}
export interface MemoriesAboutRow {
  readonly id: string
  readonly version: number
}
/**
 * everything of a subject, or of one conversation alone
 */
export const memoriesAbout: Statement<MemoriesAboutParams, MemoriesAboutRow> = {
  name: 'forget_memoriesAbout_44721ea7',
  text: `select m.id, m.version from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.deleted_at is null
  and case when $3::text = '' then m.subject_id = $4::text else m.place = 'conversation:' || $3::text end
order by m.id`,
  params: ['tenant', 'environment', 'session', 'subject'],
}

export interface MessagesOfSessionParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
}
export interface MessagesOfSessionRow {
  readonly id: string
}
export const messagesOfSession: Statement<MessagesOfSessionParams, MessagesOfSessionRow> = {
  name: 'forget_messagesOfSession_5f26ff3c',
  text: `select m.run_id || '.' || m.seq as "id" from plimsoll.message m join plimsoll.run r on r.tenant_id = m.tenant_id and r.id = m.run_id
where r.tenant_id = $1::text and r.environment = $2::text and r.session_id = $3::text`,
  params: ['tenant', 'environment', 'session'],
}

export interface ForgetCandidatesParams {
  readonly tenant: string
  readonly environment: string
  readonly sessions: readonly (string | null)[]
  readonly subject: string
}
export interface ForgetCandidatesRow {
  readonly id: string
}
/**
 * of a subject or a conversation, and what comes from anything that is gone
 */
export const forgetCandidates: Statement<ForgetCandidatesParams, ForgetCandidatesRow> = {
  name: 'forget_forgetCandidates_95c1770b',
  text: `update plimsoll.memory_candidate c set body = ''::bytea, version = c.version + 1,
  status = case c.status when 'pending' then 'superseded' else c.status end
where c.tenant_id = $1::text and c.environment = $2::text and octet_length(c.body) > 0
  and (c.session_id = any ($3::text[]) or ($4::text <> '' and c.subject_id = $4::text)
    or exists (select from unnest(c.sources) s join plimsoll.tombstone t on t.tenant_id = c.tenant_id
      and t.kind = split_part(s, ' ', 1) and t.id = substr(s, strpos(s, ' ') + 1)))
returning c.id`,
  params: ['tenant', 'environment', 'sessions', 'subject'],
}

export interface ForgetUsesParams {
  readonly tenant: string
  readonly environment: string
  readonly only: readonly (string | null)[] | null
}
export interface ForgetUsesRow {
  readonly memory_id: string
}
/**
 * which runs were given what: of forgotten memories nothing but the receipt is left
 */
export const forgetUses: Statement<ForgetUsesParams, ForgetUsesRow> = {
  name: 'forget_forgetUses_3744cf74',
  text: `delete from plimsoll.memory_use u using plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.status = 'deleted' and u.tenant_id = m.tenant_id
  and u.memory_id = m.id and ($3::text[] is null or m.id = any ($3::text[]))
returning u.memory_id`,
  params: ['tenant', 'environment', 'only'],
}

export interface HeldByParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
}
export interface HeldByRow {
  readonly id: string
}
export const heldBy: Statement<HeldByParams, HeldByRow> = {
  name: 'forget_heldBy_79f2df69',
  text: `select h.id from plimsoll.legal_hold h where h.tenant_id = $1::text and h.environment = $2::text and h.released_at is null
  and (h.subject_id is null or h.subject_id = $3::text) order by h.id limit 1`,
  params: ['tenant', 'environment', 'subject'],
}

export interface RemoveArtifactsParams {
  readonly tenant: string
  readonly environment: string
  readonly sessions: readonly (string | null)[]
  readonly artifact: string
  readonly subject: string
  readonly recent: boolean
}
export interface RemoveArtifactsRow {
  readonly key: string
}
/**
 * of conversations, of a subject, or one; without any of these those that were removed of late, whose objects should be gone
 */
export const removeArtifacts: Statement<RemoveArtifactsParams, RemoveArtifactsRow> = {
  name: 'forget_removeArtifacts_3546bf81',
  text: `update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null
where a.tenant_id = $1::text and a.environment = $2::text
  and (a.session_id = any ($3::text[]) or a.id = $4::text or ($5::text <> '' and a.subject_id = $5::text)
    or ($6::boolean and a.removed_at > now() - interval '30 days'))
returning a.object_key as "key"`,
  params: ['tenant', 'environment', 'sessions', 'artifact', 'subject', 'recent'],
}

export interface RemoveShownParams {
  readonly tenant: string
  readonly environment: string
  readonly runs: readonly (string | null)[]
  readonly messages: readonly (string | null)[]
}
export interface RemoveShownRow {
  readonly key: string
}
/**
 * what came with messages, or was shown by them
 */
export const removeShown: Statement<RemoveShownParams, RemoveShownRow> = {
  name: 'forget_removeShown_9762c635',
  text: `update plimsoll.artifact a set removed_at = coalesce(a.removed_at, now()), about = null from plimsoll.message m
where m.tenant_id = $1::text and m.environment = $2::text and m.run_id = any ($3::text[])
  and m.run_id || '.' || m.seq = any ($4::text[]) and a.tenant_id = m.tenant_id and a.run_id = m.run_id
  and case when a.kind = 'upload' then m.seq = 1 else m.role = 'tool' and m.step = a.step and m.position = a.position end
returning a.object_key as "key"`,
  params: ['tenant', 'environment', 'runs', 'messages'],
}

export interface ArtifactOwnerParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
export interface ArtifactOwnerRow {
  readonly user: string
  readonly subject: string
}
export const artifactOwner: Statement<ArtifactOwnerParams, ArtifactOwnerRow> = {
  name: 'forget_artifactOwner_79d4146f',
  text: `select a.user_id as "user", a.subject_id as "subject" from plimsoll.artifact a
where a.tenant_id = $1::text and a.environment = $2::text and a.id = $3::text and a.removed_at is null`,
  params: ['tenant', 'environment', 'id'],
}

export interface DropNeighboursParams {
  readonly tenant: string
  readonly environment: string
}
export interface DropNeighboursRow {
  readonly id: string
}
/**
 * messages that are gone are no neighbours: whose entry was made of their words
 */
export const dropNeighbours: Statement<DropNeighboursParams, DropNeighboursRow> = {
  name: 'forget_dropNeighbours_5a5b332a',
  text: `with gone as (
  delete from plimsoll.memory_source s using plimsoll.tombstone t
  where t.tenant_id = $1::text and t.environment = $2::text and t.kind = 'message' and s.tenant_id = t.tenant_id
    and s.environment = t.environment and s.kind = t.kind and s.ref = t.id and s.role = 'neighbour'
  returning s.memory_id
)
select distinct memory_id as "id" from gone`,
  params: ['tenant', 'environment'],
}
