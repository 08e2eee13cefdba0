// Written by `npm run sql` from consolidate.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface RipeParams {
  readonly tenant: string
  readonly environment: string
  readonly from: string
  readonly afterPlace: string
  readonly afterSubject: string
  readonly key: string
  readonly atLeast: number
  readonly limit: number
}
export interface RipeRow {
  readonly scope: string
  readonly scopeId: string
  readonly place: string
  readonly subject: string
}
/**
 * Places where memories of one key come from enough runs and are no part yet of what was drawn from them there. What was put
 * out of use, as its source was corrected, is drawn again; what ended by itself is not.
 */
export const ripe: Statement<RipeParams, RipeRow> = {
  name: 'consolidate_ripe_d97230de',
  text: `select m.scope as "scope", m.scope_id as "scopeId", m.place as "place", m.subject_id as "subject"
from plimsoll.memory m
join plimsoll.memory_source s on s.tenant_id = m.tenant_id and s.memory_id = m.id and s.role = 'evidence' and s.run_id is not null
where m.tenant_id = $1::text and m.environment = $2::text and m.key = $3::text and m.deleted_at is null
  and m.status = 'active' and (m.expires_at is null or m.expires_at > now())
  and (m.place, m.subject_id) > ($4::text, $5::text)
  and not exists (select from plimsoll.memory_source t join plimsoll.memory d on d.tenant_id = t.tenant_id and d.id = t.memory_id
    where t.tenant_id = m.tenant_id and t.kind = 'memory' and t.ref = m.id and t.role = 'evidence' and d.environment = m.environment
      and d.key = $6::text and d.place = m.place and d.subject_id = m.subject_id and d.deleted_at is null and d.status <> 'invalid')
group by m.scope, m.scope_id, m.place, m.subject_id
having count(distinct s.run_id) >= $7::int
order by m.place, m.subject_id limit $8::int`,
  params: ['tenant', 'environment', 'from', 'afterPlace', 'afterSubject', 'key', 'atLeast', 'limit'],
}

export interface EpisodesParams {
  readonly key: string
  readonly tenant: string
  readonly environment: string
  readonly from: string
  readonly place: string
  readonly subject: string
  readonly limit: number
}
export interface EpisodesRow {
  readonly memory: string
  readonly version: number
  readonly value: Uint8Array
  readonly run: string
  readonly at: number
  readonly isDrawn: boolean
}
/**
 * Memories of one key at one place, once for each run that says what they say now: not what they said before they were
 * corrected, and not what was true before that.
 */
export const episodes: Statement<EpisodesParams, EpisodesRow> = {
  name: 'consolidate_episodes_4fe3ae18',
  text: `select m.id as "memory", m.version as "version", m.value as "value", s.run_id as "run",
  (extract(epoch from max(s.created_at)) * 1000)::int8 as "at",
  exists (select from plimsoll.memory_source t join plimsoll.memory d on d.tenant_id = t.tenant_id and d.id = t.memory_id
    where t.tenant_id = m.tenant_id and t.kind = 'memory' and t.ref = m.id and t.role = 'evidence' and d.environment = m.environment
      and d.key = $1::text and d.place = m.place and d.subject_id = m.subject_id and d.deleted_at is null and d.status <> 'invalid')
    as "isDrawn"
from plimsoll.memory m
join plimsoll.memory_source s on s.tenant_id = m.tenant_id and s.memory_id = m.id and s.role = 'evidence' and s.run_id is not null
join plimsoll.memory_version v on v.tenant_id = s.tenant_id and v.memory_id = s.memory_id and v.version = s.version and v.change <> 'late'
where m.tenant_id = $2::text and m.environment = $3::text and m.key = $4::text and m.place = $5::text
  and m.subject_id = $6::text and m.deleted_at is null and m.status = 'active' and (m.expires_at is null or m.expires_at > now())
  and not exists (select from plimsoll.memory_version w where w.tenant_id = v.tenant_id and w.memory_id = v.memory_id
    and w.version > v.version and w.change in ('superseded', 'corrected'))
group by m.tenant_id, m.environment, m.id, m.version, m.value, m.place, m.subject_id, s.run_id
order by max(s.created_at) desc, m.id, s.run_id limit $7::int`,
  params: ['key', 'tenant', 'environment', 'from', 'place', 'subject', 'limit'],
}
