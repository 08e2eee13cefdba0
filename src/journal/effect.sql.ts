// Written by `npm run sql` from effect.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface StartParams {
  readonly starts: string
  readonly keys: readonly (string | null)[]
  readonly worker: string
}
export interface StartRow {
  readonly n: number
  readonly outcome: string
  readonly version: number | null
}
export const start: Statement<StartParams, StartRow> = {
  name: 'effect_start_5cac55f6',
  text: `select n as "n", outcome as "outcome", version as "version" from plimsoll.start($1::jsonb, $2::text[], $3::text)`,
  params: ['starts', 'keys', 'worker'],
}

export interface RepeatsParams {
  readonly tenant: string
  readonly session: string
  readonly argumentsHash: string
  readonly key: string
}
export interface RepeatsRow {
  readonly key: string
}
/**
 * an earlier effect of the conversation with equal tool and arguments that did, or may have, happened
 */
export const repeats: Statement<RepeatsParams, RepeatsRow> = {
  name: 'effect_repeats_5868507a',
  text: `select e.idempotency_key as key from plimsoll.effect e
where e.tenant_id = $1::text and e.session_id = $2::text and e.level = 'irreversible'
  and e.arguments_hash = $3::text and e.status in ('started', 'settled', 'unknown')
  and (e.outcome is null or e.outcome = 'ok') and e.idempotency_key <> $4::text
order by e.created_at desc limit 1`,
  params: ['tenant', 'session', 'argumentsHash', 'key'],
}

export interface CandidatesParams {
  readonly tenant: string
  readonly session: string
  readonly user: string
  readonly tool: string
  readonly limit: number
}
export interface CandidatesRow {
  readonly tool: string
  readonly version: number
  readonly key: string
  readonly arguments: Uint8Array
  readonly result: Uint8Array | null
  readonly status: string
  readonly outcome: string | null
  readonly isAnswered: boolean
}
/**
 * the effects of a tool in a conversation that have begun, newest first, and whether something undoes them, or may have
 */
export const candidates: Statement<CandidatesParams, CandidatesRow> = {
  name: 'effect_candidates_e22db447',
  text: `select e.tool, e.tool_version as version, e.idempotency_key as key, e.arguments, e.result, e.status, e.outcome,
  exists (select from plimsoll.effect o where o.tenant_id = e.tenant_id and o.compensates = e.idempotency_key
    and (o.outcome is null or o.outcome = 'ok')) as "isAnswered"
from plimsoll.run r join plimsoll.effect e on e.tenant_id = r.tenant_id and e.run_id = r.id
where r.tenant_id = $1::text and r.session_id = $2::text and e.user_id = $3::text and e.tool = $4::text
  and e.level <> 'read' and e.status <> 'intended'
order by e.created_at desc limit $5::int`,
  params: ['tenant', 'session', 'user', 'tool', 'limit'],
}

export interface AnsweredParams {
  readonly tenant: string
  readonly key: string
}
export interface AnsweredRow {
  readonly tool: string
  readonly version: number
  readonly key: string
  readonly arguments: Uint8Array
  readonly result: Uint8Array | null
}
export const answered: Statement<AnsweredParams, AnsweredRow> = {
  name: 'effect_answered_2f172f2c',
  text: `select e.tool, e.tool_version as version, e.idempotency_key as key, e.arguments, e.result
from plimsoll.effect e where e.tenant_id = $1::text and e.idempotency_key = $2::text and e.level <> 'read'`,
  params: ['tenant', 'key'],
}

export interface UnknownEffectsParams {
  readonly tenant: string
  readonly limit: number
}
export interface UnknownEffectsRow {
  readonly run: string
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly toolVersion: number
  readonly key: string
  readonly argumentsHash: string
  readonly attempt: number
  readonly startedAt: number | null
}
export const unknownEffects: Statement<UnknownEffectsParams, UnknownEffectsRow> = {
  name: 'effect_unknownEffects_cbd836da',
  text: `select e.run_id as run, e.step, e.position, e.tool, e.tool_version as "toolVersion", e.idempotency_key as key,
  e.arguments_hash as "argumentsHash", e.attempt, extract(epoch from e.started_at)::float8 * 1000 as "startedAt"
from plimsoll.effect e where e.tenant_id = $1::text and e.status = 'unknown'
order by e.started_at limit $2::int`,
  params: ['tenant', 'limit'],
}

export interface EffectsOfRunParams {
  readonly tenant: string
  readonly run: string
}
export interface EffectsOfRunRow {
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly toolVersion: number
  readonly level: string
  readonly approval: string
  readonly status: string
  readonly outcome: string | null
  readonly errorCode: string | null
  readonly key: string
  readonly argumentsHash: string
  readonly attempt: number
}
export const effectsOfRun: Statement<EffectsOfRunParams, EffectsOfRunRow> = {
  name: 'effect_effectsOfRun_248ce483',
  text: `select e.step, e.position, e.tool, e.tool_version as "toolVersion", e.level, e.approval, e.status, e.outcome, e.error_code as "errorCode",
  e.idempotency_key as key, e.arguments_hash as "argumentsHash", e.attempt
from plimsoll.effect e where e.tenant_id = $1::text and e.run_id = $2::text order by e.step, e.position`,
  params: ['tenant', 'run'],
}
