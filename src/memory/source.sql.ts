// Written by `npm run sql` from source.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface SaidMessageParams {
  readonly tenant: string
  readonly run: string
  readonly seq: number
}
export interface SaidMessageRow {
  readonly role: string
  readonly user: string
  readonly subject: string
  readonly session: string
  readonly body: Uint8Array
  readonly hash: string
  readonly integrity: string
  readonly visibility: string
  readonly partial: boolean
  readonly at: number
  readonly gone: boolean
}
/**
 * a message as evidence: who said it, when, and whether it was forgotten
 */
export const saidMessage: Statement<SaidMessageParams, SaidMessageRow> = {
  name: 'source_saidMessage_8568a50c',
  text: `select m.role, m.user_id as "user", m.subject_id as subject, m.session_id as session, m.body, m.content_hash as "hash", m.integrity,
  m.visibility, m.partial, (extract(epoch from m.created_at) * 1000)::int8 as "at",
  exists (select from plimsoll.tombstone t where t.tenant_id = m.tenant_id and t.kind = 'message' and t.id = m.run_id || '.' || m.seq) as "gone"
from plimsoll.message m
where m.tenant_id = $1::text and m.run_id = $2::text and m.seq = $3::int`,
  params: ['tenant', 'run', 'seq'],
}

export interface SettledCallParams {
  readonly tenant: string
  readonly run: string
  readonly step: number
  readonly position: number
}
export interface SettledCallRow {
  readonly tool: string
  readonly result: Uint8Array | null
  readonly session: string
  readonly subject: string
  readonly at: number
}
/**
 * what a call returned, as evidence
 */
export const settledCall: Statement<SettledCallParams, SettledCallRow> = {
  name: 'source_settledCall_fc9baaea',
  text: `select e.tool, e.result, e.session_id as session, e.subject_id as subject, (extract(epoch from e.settled_at) * 1000)::int8 as "at"
from plimsoll.effect e
where e.tenant_id = $1::text and e.run_id = $2::text and e.step = $3::int and e.position = $4::int
  and e.status = 'settled' and e.outcome = 'ok' and e.forgotten_at is null`,
  params: ['tenant', 'run', 'step', 'position'],
}

export interface TurnsBeforeParams {
  readonly run: string
  readonly tenant: string
  readonly seq: number
  readonly limit: number
}
export interface TurnsBeforeRow {
  readonly id: string
}
/**
 * what was said just before a message in its conversation, the nearest first
 */
export const turnsBefore: Statement<TurnsBeforeParams, TurnsBeforeRow> = {
  name: 'source_turnsBefore_a0f60197',
  text: `select m.run_id || '.' || m.seq as "id" from plimsoll.message m
join plimsoll.run r on r.tenant_id = m.tenant_id and r.id = m.run_id
join plimsoll.run a on a.tenant_id = r.tenant_id and a.session_id = r.session_id and a.id = $1::text
where m.tenant_id = $2::text and m.role in ('user', 'assistant') and m.visibility = 'user' and not m.partial
  and (r.generation < a.generation or (r.id = a.id and m.seq < $3::int))
order by r.generation desc, m.seq desc limit $4::int`,
  params: ['run', 'tenant', 'seq', 'limit'],
}

export interface LatestTextsParams {
  readonly tenant: string
  readonly environment: string
  readonly subject: string
  readonly limit: number
}
export interface LatestTextsRow {
  readonly value: Uint8Array
}
/**
 * what a subject had stored of late: parts of an order are read together
 */
export const latestTexts: Statement<LatestTextsParams, LatestTextsRow> = {
  name: 'source_latestTexts_10b4660b',
  text: `select m.value from plimsoll.memory m where m.tenant_id = $1::text and m.environment = $2::text
  and m.subject_id = $3::text and m.status = 'active' order by m.recorded_at desc limit $4::int`,
  params: ['tenant', 'environment', 'subject', 'limit'],
}

export interface ToIndexParams {
  readonly tenant: string
  readonly environment: string
  readonly ids: readonly (string | null)[]
}
export interface ToIndexRow {
  readonly id: string
  readonly version: number
  readonly key: string
  readonly value: Uint8Array
  readonly validFrom: number
}
export const toIndex: Statement<ToIndexParams, ToIndexRow> = {
  name: 'source_toIndex_fd6ccb48',
  text: `select m.id, m.version, m.key, m.value, (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom" from plimsoll.memory m
where m.tenant_id = $1::text and m.environment = $2::text and m.id = any ($3::text[]) and m.deleted_at is null`,
  params: ['tenant', 'environment', 'ids'],
}

export interface NeighboursOfParams {
  readonly tenant: string
  readonly ids: readonly (string | null)[]
}
export interface NeighboursOfRow {
  readonly memory: string
  readonly role: string
  readonly body: Uint8Array
  readonly at: number
}
/**
 * what was said around, as far as it is still there, the nearest first
 */
export const neighboursOf: Statement<NeighboursOfParams, NeighboursOfRow> = {
  name: 'source_neighboursOf_f6dd111b',
  text: `select s.memory_id as memory, m.role, m.body, (extract(epoch from m.created_at) * 1000)::int8 as "at"
from plimsoll.memory_source s
join plimsoll.message m on m.tenant_id = s.tenant_id and m.run_id = split_part(s.ref, '.', 1) and m.seq = split_part(s.ref, '.', 2)::int
where s.tenant_id = $1::text and s.memory_id = any ($2::text[]) and s.role = 'neighbour' and s.kind = 'message'
  and not exists (select from plimsoll.tombstone t where t.tenant_id = s.tenant_id and t.kind = 'message' and t.id = s.ref)
order by s.memory_id, m.created_at desc, m.seq desc`,
  params: ['tenant', 'ids'],
}
