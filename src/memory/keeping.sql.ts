// Written by `npm run sql` from keeping.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface WallsParams {
  readonly afterTenant: string
  readonly afterEnvironment: string
  readonly limit: number
}
export interface WallsRow {
  readonly tenant: string
  readonly environment: string
}
/**
 * crosses tenants: where something is remembered, and no content
 */
export const walls: Statement<WallsParams, WallsRow> = {
  name: 'keeping_walls_1a3bf91e',
  text: `select tenant as "tenant", environment as "environment" from plimsoll.memory_walls($1::text, $2::text, $3::int)`,
  params: ['afterTenant', 'afterEnvironment', 'limit'],
}

export interface UnscannedParams {
  readonly tenant: string
  readonly environment: string
  readonly detectors: number
  readonly limit: number
}
export interface UnscannedRow {
  readonly id: string
  readonly version: number
  readonly key: string
  readonly value: Uint8Array
  readonly detectors: number
}
/**
 * what the detectors of today have not seen: the memory with all that it holds
 */
export const unscanned: Statement<UnscannedParams, UnscannedRow> = {
  name: 'keeping_unscanned_9355b245',
  text: `select m.id, m.version, m.key, m.value, m.detectors from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.detectors < $3::int and m.deleted_at is null
order by m.id limit $4::int`,
  params: ['tenant', 'environment', 'detectors', 'limit'],
}

export interface PastOfParams {
  readonly tenant: string
  readonly environment: string
  readonly ids: readonly (string | null)[]
}
export interface PastOfRow {
  readonly memory: string
  readonly version: number
  readonly value: Uint8Array
}
export const pastOf: Statement<PastOfParams, PastOfRow> = {
  name: 'keeping_pastOf_570a7d5d',
  text: `select v.memory_id as memory, v.version, v.value as "value" from plimsoll.memory_version v
where v.tenant_id = $1::text and v.environment = $2::text and v.memory_id = any ($3::text[]) and v.value is not null`,
  params: ['tenant', 'environment', 'ids'],
}

export interface QuotesOfParams {
  readonly tenant: string
  readonly environment: string
  readonly ids: readonly (string | null)[]
}
export interface QuotesOfRow {
  readonly memory: string
  readonly kind: string
  readonly ref: string
  readonly quote: Uint8Array
}
export const quotesOf: Statement<QuotesOfParams, QuotesOfRow> = {
  name: 'keeping_quotesOf_3c97b6a8',
  text: `select s.memory_id as memory, s.kind, s.ref, s.quote as "quote" from plimsoll.memory_source s
where s.tenant_id = $1::text and s.environment = $2::text and s.memory_id = any ($3::text[]) and s.quote is not null`,
  params: ['tenant', 'environment', 'ids'],
}

export interface MarkScannedParams {
  readonly detectors: number
  readonly barred: boolean
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly version: number
  readonly versions: readonly (string | null)[]
  readonly quotes: readonly (string | null)[]
  readonly audit: string
}
export interface MarkScannedRow {
  readonly id: string
}
/**
 * What was found bars the memory, or takes away the version or the quote that holds it. A memory that changed meanwhile was
 * judged by whoever changed it.
 */
export const markScanned: Statement<MarkScannedParams, MarkScannedRow> = {
  name: 'keeping_markScanned_e067fb8a',
  text: `with seen as (
  update plimsoll.memory m set detectors = $1::int, status = case when $2::boolean then 'barred' else m.status end
  where m.tenant_id = $3::text and m.environment = $4::text and m.id = $5::text and m.version = $6::int8
    and m.deleted_at is null
  returning m.id
), versions as (
  update plimsoll.memory_version v set value = null, value_hash = '' from seen
  where v.tenant_id = $3::text and v.memory_id = seen.id and v.version = any ($7::text[]::int8[])
), quotes as (
  update plimsoll.memory_source s set quote = null from seen
  where s.tenant_id = $3::text and s.memory_id = seen.id and s.kind || ' ' || s.ref = any ($8::text[])
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $3::text, $4::text, $9::text, 'operator', 'plimsoll', 'memory.bar', seen.id,
    case when $2::boolean then 'barred' else 'cut' end
  from seen where $2::boolean or cardinality($7::text[]) > 0 or cardinality($8::text[]) > 0
)
select id as "id" from seen`,
  params: ['detectors', 'barred', 'tenant', 'environment', 'id', 'version', 'versions', 'quotes', 'audit'],
}

export interface CoolParams {
  readonly tenant: string
  readonly environment: string
  readonly days: readonly (string | null)[]
  readonly kinds: readonly (string | null)[]
  readonly limit: number
}
export interface CoolRow {
  readonly id: string
}
/**
 * neither used nor written for as long as its kind allows: `days` stand in the order of `kinds`
 */
export const cool: Statement<CoolParams, CoolRow> = {
  name: 'keeping_cool_1d7ea718',
  text: `update plimsoll.memory m set status = 'cold'
where m.tenant_id = $1::text and m.environment = $2::text and m.deleted_at is null and m.status = 'active' and m.id in (
  select c.id from plimsoll.memory c
  where c.tenant_id = $1::text and c.environment = $2::text and c.deleted_at is null and c.status = 'active'
    and greatest(c.recorded_at, c.last_used_at)
      < now() - ($3::text[]::int[])[array_position($4::text[], c.kind::text)] * interval '1 day'
  order by c.id limit $5::int for update of c skip locked)
returning m.id`,
  params: ['tenant', 'environment', 'days', 'kinds', 'limit'],
}

export interface UnvectoredParams {
  readonly tenant: string
  readonly environment: string
  readonly model: string
  readonly limit: number
}
export interface UnvectoredRow {
  readonly id: string
}
/**
 * memories without a vector of their version and of this model
 */
export const unvectored: Statement<UnvectoredParams, UnvectoredRow> = {
  name: 'keeping_unvectored_0dadacd4',
  text: `select m.id as "id" from plimsoll.memory m
left join plimsoll.memory_vector v on v.tenant_id = m.tenant_id and v.environment = m.environment and v.place = m.place and v.memory_id = m.id
where m.tenant_id = $1::text and m.environment = $2::text and m.deleted_at is null and m.status in ('active', 'cold')
  and (v.version is distinct from m.version or v.model is distinct from $3::text)
order by m.id limit $4::int`,
  params: ['tenant', 'environment', 'model', 'limit'],
}

export interface EvictableParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
}
export interface EvictableRow {
  readonly id: string
  readonly kind: string
  readonly status: string
  readonly importance: number
  readonly confidence: number
  readonly useCount: number
  readonly recordedAt: number
  readonly expired: boolean
}
/**
 * what a subject has that no person has confirmed
 */
export const evictable: Statement<EvictableParams, EvictableRow> = {
  name: 'keeping_evictable_16cdbaee',
  text: `select m.id as "id", m.kind as "kind", m.status as "status", m.importance, m.confidence, m.use_count as "useCount",
  (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt", coalesce(m.expires_at <= now(), false) as "expired"
from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.subject_id = $3::text and m.deleted_at is null
  and m.confirmed_by is null
  and not exists (select from plimsoll.procedure p where p.tenant_id = m.tenant_id and p.status = 'approved' and m.id = any (p.sources))`,
  params: ['tenant', 'environment', 'subject'],
}
