// Written by `npm run sql` from procedure.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface ProposeProcedureParams {
  readonly tenant: string
  readonly environment: string
  readonly sources: readonly (string | null)[]
  readonly id: string
  readonly name: string
  readonly body: Uint8Array
  readonly hash: string
  readonly actor: string
  readonly occasions: number
  readonly audit: string
  readonly reason: string
}
export interface ProposeProcedureRow {
  readonly id: string
  readonly complete: boolean
  readonly often: boolean
}
/**
 * The sources are held while it is written: who forgets one of them finds the procedure. One success is no rule: what it comes from
 * happened on several occasions. An occasion is a conversation, and what somebody wrote without one.
 */
export const proposeProcedure: Statement<ProposeProcedureParams, ProposeProcedureRow> = {
  name: 'procedure_proposeProcedure_53137dec',
  text: `with recursive held as (
  select m.id, m.version from plimsoll.memory m
  where m.tenant_id = $1::text and m.environment = $2::text and m.id = any ($3::text[]) and m.kind = 'experience'
    and m.status in ('active', 'cold') and m.deleted_at is null and (m.expires_at is null or m.expires_at > now())
  order by m.id for share
), trail as (
  select s.tenant_id, s.memory_id, s.kind, s.ref, s.run_id from held join plimsoll.memory_source s
    on s.tenant_id = $1::text and s.memory_id = held.id and s.role = 'evidence'
  union
  select s.tenant_id, s.memory_id, s.kind, s.ref, s.run_id from trail t join plimsoll.memory_source s
    on t.kind = 'memory' and s.tenant_id = t.tenant_id and s.memory_id = t.ref and s.role = 'evidence'
), occasions as (
  select count(distinct case when s.kind in ('message', 'call') then coalesce(r.session_id, s.run_id, substring(s.ref from '^[^./]+'))
    else s.memory_id end) as n
  from trail s
  left join plimsoll.run r on r.tenant_id = s.tenant_id and r.id = coalesce(s.run_id, substring(s.ref from '^[^./]+'))
  where s.kind <> 'memory'
), all_of as (
  select array_agg(id order by id) as ids, array_agg(version order by id) as versions, count(*) as n from held
), made as (
  insert into plimsoll.procedure (tenant_id, environment, id, name, version, body, body_hash, sources, source_versions, proposed_by)
  select $1::text, $2::text, $4::text, $5::text,
    1 + coalesce((select max(p.version) from plimsoll.procedure p where p.tenant_id = $1::text and p.environment = $2::text
      and p.name = $5::text), 0), $6::bytea, $7::text, a.ids, a.versions, $8::text
  from all_of a, occasions o where a.n = cardinality($3::text[]) and o.n >= $9::int
  on conflict (tenant_id, environment, name, version) do nothing
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $1::text, $2::text, $10::text, 'operator', $8::text, 'procedure.propose', made.id, 'proposed', $11::text from made
)
select coalesce((select id from made), '') as "id", (select n = cardinality($3::text[]) from all_of) as "complete",
  (select n >= $9::int from occasions) as "often"`,
  params: ['tenant', 'environment', 'sources', 'id', 'name', 'body', 'hash', 'actor', 'occasions', 'audit', 'reason'],
}

export interface ProceduresParams {
  readonly body: boolean
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly name: string
  readonly after: string
  readonly limit: number
}
export interface ProceduresRow {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly body: Uint8Array
  readonly hash: string
  readonly status: string
  readonly sources: string[]
  readonly sourceVersions: unknown
  readonly evaluation: string | null
  readonly score: number | null
  readonly passed: boolean | null
  readonly proposedBy: string
  readonly approvedBy: string | null
  readonly createdAt: number
  readonly evaluatedAt: number | null
  readonly approvedAt: number | null
  readonly endedAt: number | null
  readonly forgottenAt: number | null
}
/**
 * newest first, or one; without their texts where `body` is false
 */
export const procedures: Statement<ProceduresParams, ProceduresRow> = {
  name: 'procedure_procedures_6b4da7ae',
  text: `select p.id, p.name, p.version, case when $1::boolean then p.body else ''::bytea end as "body", p.body_hash as hash, p.status, p.sources,
  to_jsonb(p.source_versions) as "sourceVersions", p.evaluation, p.score, p.passed, p.proposed_by as "proposedBy", p.approved_by as "approvedBy",
  (extract(epoch from p.created_at) * 1000)::int8 as "createdAt", (extract(epoch from p.evaluated_at) * 1000)::int8 as "evaluatedAt",
  (extract(epoch from p.approved_at) * 1000)::int8 as "approvedAt", (extract(epoch from p.ended_at) * 1000)::int8 as "endedAt",
  (extract(epoch from coalesce(p.forgotten_at, (select min(t.created_at) from plimsoll.tombstone t where t.tenant_id = p.tenant_id
    and t.kind = 'memory' and t.id = any (p.sources)))) * 1000)::int8 as "forgottenAt"
from plimsoll.procedure p
where p.tenant_id = $2::text and p.environment = $3::text and ($4::text = '' or p.id = $4::text)
  and ($5::text = '' or p.name = $5::text) and ($6::text = '' or p.id < $6::text)
order by p.id desc limit $7::int`,
  params: ['body', 'tenant', 'environment', 'id', 'name', 'after', 'limit'],
}

export interface EvaluateProcedureParams {
  readonly evaluation: string
  readonly score: number
  readonly passed: boolean
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly hash: string
  readonly audit: string
  readonly actor: string
}
export interface EvaluateProcedureRow {
  readonly id: string
}
/**
 * once: what has failed is not evaluated until it passes
 */
export const evaluateProcedure: Statement<EvaluateProcedureParams, EvaluateProcedureRow> = {
  name: 'procedure_evaluateProcedure_3a9e30d4',
  text: `with done as (
  update plimsoll.procedure p set status = 'evaluated', evaluation = $1::text, score = $2::float8, passed = $3::boolean,
    evaluated_at = now()
  where p.tenant_id = $4::text and p.environment = $5::text and p.id = $6::text and p.status = 'proposed'
    and p.body_hash = $7::text
  returning p.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $4::text, $5::text, $8::text, 'operator', $9::text, 'procedure.evaluate', done.id,
    case when $3::boolean then 'passed' else 'failed' end from done
)
select id as "id" from done`,
  params: ['evaluation', 'score', 'passed', 'tenant', 'environment', 'id', 'hash', 'audit', 'actor'],
}

export interface ApproveProcedureParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly hash: string
  readonly actor: string
  readonly audit: string
  readonly reason: string
}
export interface ApproveProcedureRow {
  readonly id: string
}
/**
 * The version is locked, and then the memories that it comes from, so that one that is being forgotten is seen. What stood before ends
 * in the same statement. When another version of the name is approved at this moment, `procedure_standing` refuses: it is sent again.
 */
export const approveProcedure: Statement<ApproveProcedureParams, ApproveProcedureRow> = {
  name: 'procedure_approveProcedure_7aa29bc2',
  text: `with wanted as (
  select p.id, p.name, p.sources, p.source_versions from plimsoll.procedure p
  where p.tenant_id = $1::text and p.environment = $2::text and p.id = $3::text and p.status = 'evaluated' and p.passed
    and p.body_hash = $4::text
  for update
), standing as (
  select m.id, m.version, m.status from plimsoll.memory m
  where m.tenant_id = $1::text and m.environment = $2::text and m.deleted_at is null
    and m.id in (select unnest(w.sources) from wanted w) order by m.id for share
), good as (
  select w.id, w.name from wanted w where not exists (select from unnest(w.sources, w.source_versions) as s (id, version)
    where not exists (select from standing t where t.id = s.id and (t.version = s.version
      or t.status in ('active', 'cold') and t.version - s.version = (select count(*) from plimsoll.memory_version v
        where v.tenant_id = $1::text and v.memory_id = t.id and v.version > s.version and v.change in ('merged', 'late')))))
), ended as (
  update plimsoll.procedure p set status = 'retired', ended_at = now() from good
  where p.tenant_id = $1::text and p.environment = $2::text and p.name = good.name and p.status = 'approved'
  returning p.id
), begun as (
  update plimsoll.procedure p set status = 'approved', approved_by = $5::text, approved_at = now()
  from good, (select count(*) as n from ended) as e
  where p.tenant_id = $1::text and p.id = good.id and e.n >= 0
  returning p.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $1::text, $2::text, $6::text, 'operator', $5::text, 'procedure.approve', begun.id, 'approved', $7::text from begun
)
select id as "id" from begun`,
  params: ['tenant', 'environment', 'id', 'hash', 'actor', 'audit', 'reason'],
}

export interface EndProcedureParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly standing: readonly (string | null)[]
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export interface EndProcedureRow {
  readonly id: string
}
/**
 * a rule is retired; what never was one is declined
 */
export const endProcedure: Statement<EndProcedureParams, EndProcedureRow> = {
  name: 'procedure_endProcedure_6f9aede6',
  text: `with done as (
  update plimsoll.procedure p set status = case p.status when 'approved' then 'retired' else 'declined' end, ended_at = now()
  where p.tenant_id = $1::text and p.environment = $2::text and p.id = $3::text and p.status = any ($4::text[])
  returning p.id, p.status
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $1::text, $2::text, $5::text, 'operator', $6::text,
    case done.status when 'retired' then 'procedure.retire' else 'procedure.decline' end, done.id, done.status, $7::text from done
)
select id as "id" from done`,
  params: ['tenant', 'environment', 'id', 'standing', 'audit', 'actor', 'reason'],
}

export interface StandingProceduresParams {
  readonly tenant: string
  readonly environment: string
  readonly names: readonly (string | null)[]
}
export interface StandingProceduresRow {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly body: Uint8Array
  readonly hash: string
}
/**
 * the rules of these names as they stand now, in the order of the names
 */
export const standingProcedures: Statement<StandingProceduresParams, StandingProceduresRow> = {
  name: 'procedure_standingProcedures_ca0f2e40',
  text: `select p.id, p.name, p.version, p.body, p.body_hash as hash from plimsoll.procedure p
where p.tenant_id = $1::text and p.environment = $2::text and p.name = any ($3::text[]) and p.status = 'approved'
  and not exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory'
    and t.id = any (p.sources))
order by array_position($3::text[], p.name)`,
  params: ['tenant', 'environment', 'names'],
}

export interface KeptProceduresParams {
  readonly body: boolean
  readonly tenant: string
  readonly environment: string
  readonly ids: readonly (string | null)[]
}
export interface KeptProceduresRow {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly body: Uint8Array
  readonly hash: string
}
/**
 * what runs keep: rules that stood when they were made, and still have their text
 */
export const keptProcedures: Statement<KeptProceduresParams, KeptProceduresRow> = {
  name: 'procedure_keptProcedures_a50b303b',
  text: `select p.id, p.name, p.version, case when $1::boolean then p.body else ''::bytea end as "body", p.body_hash as hash
from plimsoll.procedure p
where p.tenant_id = $2::text and p.environment = $3::text and p.id = any ($4::text[]) and p.approved_at is not null
  and p.forgotten_at is null and not exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory'
    and t.id = any (p.sources))
order by array_position($4::text[], p.id)`,
  params: ['body', 'tenant', 'environment', 'ids'],
}

export interface ForgetProceduresParams {
  readonly tenant: string
  readonly environment: string
  readonly only: readonly (string | null)[] | null
}
export interface ForgetProceduresRow {
  readonly id: string
}
/**
 * what comes from a memory that is gone: its text goes, and it is no rule any more
 */
export const forgetProcedures: Statement<ForgetProceduresParams, ForgetProceduresRow> = {
  name: 'procedure_forgetProcedures_f2610e47',
  text: `update plimsoll.procedure p set body = ''::bytea, body_hash = '', forgotten_at = now(), ended_at = coalesce(p.ended_at, now()),
  status = case when p.approved_at is null then 'declined' else 'retired' end
where p.tenant_id = $1::text and p.environment = $2::text and p.forgotten_at is null
  and ($3::text[] is null or p.sources && $3::text[])
  and exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory' and t.id = any (p.sources))
returning p.id`,
  params: ['tenant', 'environment', 'only'],
}
