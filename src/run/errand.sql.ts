// Written by `npm run sql` from errand.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface OpenErrandParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly kind: string
  readonly agent: string
  readonly session: string
  readonly user: string
  readonly subject: string
  readonly from: number
  readonly to: number
  readonly upto: string
  readonly delayMs: number
}
export interface OpenErrandRow {
  readonly id: string
}
/**
 * nothing happens when the same is under way; `at?` null is now
 */
export const openErrand: Statement<OpenErrandParams, OpenErrandRow> = {
  name: 'errand_openErrand_a93428bd',
  text: `insert into plimsoll.errand (tenant_id, environment, id, kind, agent, session_id, user_id, subject_id, from_generation, to_generation, upto,
  due_at)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
  $9::int8, $10::int8, $11::text, now() + $12::int8 * interval '1 millisecond')
on conflict do nothing
returning id`,
  params: ['tenant', 'environment', 'id', 'kind', 'agent', 'session', 'user', 'subject', 'from', 'to', 'upto', 'delayMs'],
}

export interface ErrandsUnderWayParams {
  readonly tenant: string
  readonly session: string
  readonly kind: string
}
export interface ErrandsUnderWayRow {
  readonly id: string
}
export const errandsUnderWay: Statement<ErrandsUnderWayParams, ErrandsUnderWayRow> = {
  name: 'errand_errandsUnderWay_86ce74b1',
  text: `select e.id from plimsoll.errand e
where e.tenant_id = $1::text and e.session_id = $2::text and e.kind = $3::text and e.done_at is null`,
  params: ['tenant', 'session', 'kind'],
}

export interface DueErrandsParams {
  readonly limit: number
}
export interface DueErrandsRow {
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
/**
 * crosses tenants: where something is left to do, and no content
 */
export const dueErrands: Statement<DueErrandsParams, DueErrandsRow> = {
  name: 'errand_dueErrands_650d55a1',
  text: `select tenant as "tenant", environment as "environment", id as "id" from plimsoll.errand_due($1::int)`,
  params: ['limit'],
}

export interface TakeErrandParams {
  readonly holdMs: number
  readonly workSession: string
  readonly run: string
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
export interface TakeErrandRow {
  readonly id: string
  readonly kind: string
  readonly agent: string
  readonly session: string
  readonly user: string
  readonly subject: string
  readonly from: number
  readonly to: number
  readonly upto: string
  readonly state: string
  readonly workSession: string | null
  readonly run: string | null
  readonly outcome: string | null
  readonly attempts: number
}
/**
 * Whoever takes it has it for a while. One that is due gets the names of its next attempt before anything is done, so that the
 * attempt is found again whoever dies.
 */
export const takeErrand: Statement<TakeErrandParams, TakeErrandRow> = {
  name: 'errand_takeErrand_84c22610',
  text: `update plimsoll.errand e set due_at = now() + $1::int8 * interval '1 millisecond',
  attempts = e.attempts + (e.state = 'due')::int,
  work_session = case e.state when 'due' then $2::text else e.work_session end,
  run_id = case e.state when 'due' then $3::text else e.run_id end,
  state = case e.state when 'due' then 'running' else e.state end
where e.tenant_id = $4::text and e.environment = $5::text and e.id = $6::text and e.done_at is null and e.due_at <= now()
returning e.id, e.kind, e.agent, e.session_id as "session", e.user_id as "user", e.subject_id as "subject",
  e.from_generation as "from", e.to_generation as "to", e.upto, e.state, e.work_session as "workSession", e.run_id as "run",
  e.outcome, e.attempts`,
  params: ['holdMs', 'workSession', 'run', 'tenant', 'environment', 'id'],
}

export interface WakeErrandParams {
  readonly tenant: string
  readonly run: string
}
export const wakeErrand: Statement<WakeErrandParams, never> = {
  name: 'errand_wakeErrand_6a1f36f5',
  text: `update plimsoll.errand e set due_at = now() where e.tenant_id = $1::text and e.run_id = $2::text and e.done_at is null`,
  params: ['tenant', 'run'],
}

export interface RestErrandParams {
  readonly ms: number
  readonly tenant: string
  readonly id: string
}
export const restErrand: Statement<RestErrandParams, never> = {
  name: 'errand_restErrand_9c881ad9',
  text: `update plimsoll.errand e set due_at = now() + $1::int8 * interval '1 millisecond'
where e.tenant_id = $2::text and e.id = $3::text and e.done_at is null and e.state = 'running'`,
  params: ['ms', 'tenant', 'id'],
}

export interface EndAttemptParams {
  readonly outcome: string | null
  readonly tenant: string
  readonly id: string
  readonly run: string
}
/**
 * `outcome?` null: there will be another attempt
 */
export const endAttempt: Statement<EndAttemptParams, never> = {
  name: 'errand_endAttempt_22c64dd9',
  text: `update plimsoll.errand e set state = 'clearing', outcome = $1::text
where e.tenant_id = $2::text and e.id = $3::text and e.state = 'running' and e.run_id = $4::text`,
  params: ['outcome', 'tenant', 'id', 'run'],
}

export interface LeaveErrandsParams {
  readonly tenant: string
  readonly environment: string
  readonly sessions: readonly (string | null)[]
  readonly runs: readonly (string | null)[]
}
export interface LeaveErrandsRow {
  readonly id: string
}
/**
 * what is forgotten must not come back out of an errand that has read it
 */
export const leaveErrands: Statement<LeaveErrandsParams, LeaveErrandsRow> = {
  name: 'errand_leaveErrands_72361012',
  text: `update plimsoll.errand e set state = 'clearing', outcome = 'forgotten', due_at = now()
where e.tenant_id = $1::text and e.environment = $2::text and e.done_at is null and e.outcome is distinct from 'forgotten'
  and (e.session_id = any ($3::text[]) or exists (select from unnest($4::text[]) x join plimsoll.run r on r.tenant_id = e.tenant_id
    and r.id = x where r.session_id = e.session_id and r.generation between e.from_generation and e.to_generation))
returning e.id`,
  params: ['tenant', 'environment', 'sessions', 'runs'],
}

export interface ErrandsToClearParams {
  readonly tenant: string
  readonly environment: string
}
export interface ErrandsToClearRow {
  readonly id: string
  readonly workSession: string | null
  readonly run: string | null
}
/**
 * what was forgotten and may still be told to a model
 */
export const errandsToClear: Statement<ErrandsToClearParams, ErrandsToClearRow> = {
  name: 'errand_errandsToClear_3bde1bcc',
  text: `select e.id, e.work_session as "workSession", e.run_id as "run" from plimsoll.errand e
where e.tenant_id = $1::text and e.environment = $2::text and e.done_at is null and e.state = 'clearing'
  and e.outcome = 'forgotten' order by e.id`,
  params: ['tenant', 'environment'],
}

export interface ClearErrandParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly blank: Uint8Array
  readonly blankPlan: Uint8Array
}
export interface ClearErrandRow {
  readonly removed: number
  readonly active: number
}
export const clearErrand: Statement<ClearErrandParams, ClearErrandRow> = {
  name: 'errand_clearErrand_f08611dd',
  text: `select removed as "removed", active as "active" from plimsoll.forget_session($1::text, $2::text, $3::text, $4::bytea, $5::bytea)`,
  params: ['tenant', 'environment', 'session', 'blank', 'blankPlan'],
}

export interface CloseErrandParams {
  readonly delayMs: number
  readonly tenant: string
  readonly id: string
}
export interface CloseErrandRow {
  readonly state: string
}
/**
 * done, or due again when its attempt had no outcome
 */
export const closeErrand: Statement<CloseErrandParams, CloseErrandRow> = {
  name: 'errand_closeErrand_551d5fdb',
  text: `update plimsoll.errand e set done_at = case when e.outcome is not null then now() end,
  due_at = now() + $1::int8 * interval '1 millisecond',
  state = case when e.outcome is null then 'due' else 'done' end
where e.tenant_id = $2::text and e.id = $3::text and e.state = 'clearing'
returning e.state`,
  params: ['delayMs', 'tenant', 'id'],
}

export interface ErrandRunParams {
  readonly tenant: string
  readonly run: string
}
export interface ErrandRunRow {
  readonly status: string
  readonly end: string | null
}
export const errandRun: Statement<ErrandRunParams, ErrandRunRow> = {
  name: 'errand_errandRun_e7b5a27b',
  text: `select r.status, r.end_reason as "end" from plimsoll.run r where r.tenant_id = $1::text and r.id = $2::text`,
  params: ['tenant', 'run'],
}
