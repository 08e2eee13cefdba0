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

export interface FailErrandParams {
  readonly ofTenant: string
  readonly ofEnvironment: string
  readonly id: string
}
export interface FailErrandRow {
  readonly taken: number
}
/**
 * without a parameter that names its tenant: the keys of it may be what is missing
 */
export const failErrand: Statement<FailErrandParams, FailErrandRow> = {
  name: 'errand_failErrand_c6e7a6d6',
  text: `select plimsoll.errand_failed($1::text, $2::text, $3::text) as "taken"`,
  params: ['ofTenant', 'ofEnvironment', 'id'],
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
  readonly tries: number
}
/**
 * Whoever takes it has it for a while, for longer each time that nothing came of it. One that is due gets the names of its next attempt before anything is done, so that the
 * attempt is found again whoever dies.
 */
export const takeErrand: Statement<TakeErrandParams, TakeErrandRow> = {
  name: 'errand_takeErrand_c751be6c',
  text: `update plimsoll.errand e set due_at = now() + $1::int8 * (2 ^ least(e.tries, 6)) * interval '1 millisecond',
  tries = e.tries + 1, attempts = e.attempts + (e.state = 'due')::int,
  work_session = case e.state when 'due' then $2::text else e.work_session end,
  run_id = case e.state when 'due' then $3::text else e.run_id end,
  state = case e.state when 'due' then 'running' else e.state end
where e.tenant_id = $4::text and e.environment = $5::text and e.id = $6::text and e.done_at is null and e.due_at <= now()
returning e.id, e.kind, e.agent, e.session_id as "session", e.user_id as "user", e.subject_id as "subject",
  e.from_generation as "from", e.to_generation as "to", e.upto, e.state, e.work_session as "workSession", e.run_id as "run",
  e.outcome, e.attempts, e.tries`,
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
  readonly run: string
}
export interface RestErrandRow {
  readonly id: string
}
/**
 * nothing when it is somebody else's by now, or was left
 */
export const restErrand: Statement<RestErrandParams, RestErrandRow> = {
  name: 'errand_restErrand_475772d9',
  text: `update plimsoll.errand e set due_at = now() + $1::int8 * interval '1 millisecond', tries = 0
where e.tenant_id = $2::text and e.id = $3::text and e.done_at is null and e.state = 'running' and e.run_id = $4::text
returning e.id`,
  params: ['ms', 'tenant', 'id', 'run'],
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
  name: 'errand_endAttempt_df6a36b8',
  text: `update plimsoll.errand e set state = 'clearing', outcome = $1::text, tries = 0
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

export interface DropWorkSessionParams {
  readonly tenant: string
  readonly environment: string
  readonly session: string
}
export interface DropWorkSessionRow {
  readonly n: number
}
/**
 * when nothing is left in it: the runs of an attempt stay, they say what it cost
 */
export const dropWorkSession: Statement<DropWorkSessionParams, DropWorkSessionRow> = {
  name: 'errand_dropWorkSession_000d5422',
  text: `select plimsoll.drop_session($1::text, $2::text, $3::text) as "n"`,
  params: ['tenant', 'environment', 'session'],
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
  name: 'errand_closeErrand_7b084dd0',
  text: `update plimsoll.errand e set done_at = case when e.outcome is not null then now() end,
  due_at = now() + $1::int8 * interval '1 millisecond',
  state = case when e.outcome is null then 'due' else 'done' end, tries = 0
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

export interface ErrandReportParams {
  readonly tenant: string
  readonly environment: string
}
export interface ErrandReportRow {
  readonly agent: string
  readonly kind: string
  readonly outcome: string
  readonly errands: number
  readonly attempts: number
}
/**
 * what came of errands: no content
 */
export const errandReport: Statement<ErrandReportParams, ErrandReportRow> = {
  name: 'errand_errandReport_8301e2ef',
  text: `select e.agent, e.kind, e.outcome as "outcome", count(*)::int8 as "errands", sum(e.attempts)::int8 as "attempts" from plimsoll.errand e
where e.tenant_id = $1::text and e.environment = $2::text and e.done_at is not null and e.outcome is not null
group by e.agent, e.kind, e.outcome order by e.agent, e.kind, e.outcome`,
  params: ['tenant', 'environment'],
}
