// Written by `npm run sql` from run.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface StepParams {
  readonly transitions: string
  readonly keys: readonly (string | null)[]
  readonly worker: string
}
export interface StepRow {
  readonly n: number
  readonly version: number
}
export const step: Statement<StepParams, StepRow> = {
  name: 'run_step_20571c3f',
  text: `select n as "n", version as "version" from plimsoll.step($1::jsonb, $2::text[], $3::text)`,
  params: ['transitions', 'keys', 'worker'],
}

export interface LoadParams {
  readonly tenant: string
  readonly environment: string
  readonly run: string
}
export interface LoadRow {
  readonly snapshot: unknown
}
export const load: Statement<LoadParams, LoadRow> = {
  name: 'run_load_1ec4324e',
  text: `select plimsoll.load($1::text, $2::text, $3::text) as "snapshot"`,
  params: ['tenant', 'environment', 'run'],
}

export interface CancelParams {
  readonly cancels: string
  readonly keys: readonly (string | null)[]
}
export interface CancelRow {
  readonly n: number
  readonly version: number
}
export const cancel: Statement<CancelParams, CancelRow> = {
  name: 'run_cancel_3af2a73d',
  text: `select n as "n", version as "version" from plimsoll.cancel($1::jsonb, $2::text[])`,
  params: ['cancels', 'keys'],
}

export interface SubmitParams {
  readonly submissions: string
  readonly keys: readonly (string | null)[]
}
export interface SubmitRow {
  readonly n: number
  readonly outcome: string
  readonly sessionVersion: number | null
  readonly generation: number | null
}
export const submit: Statement<SubmitParams, SubmitRow> = {
  name: 'run_submit_1afb03de',
  text: `select n as "n", outcome as "outcome", session_version as "sessionVersion", generation as "generation"
from plimsoll.submit($1::jsonb, $2::text[])`,
  params: ['submissions', 'keys'],
}

export interface TellParams {
  readonly told: string
  readonly keys: readonly (string | null)[]
}
export interface TellRow {
  readonly n: number
  readonly outcome: string
  readonly waiters: number
}
export const tell: Statement<TellParams, TellRow> = {
  name: 'run_tell_3fddb27b',
  text: `select n as "n", outcome as "outcome", waiters as "waiters" from plimsoll.tell($1::jsonb, $2::text[])`,
  params: ['told', 'keys'],
}

export interface AttendParams {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly ms: number
  readonly parks: boolean
}
export interface AttendRow {
  readonly followed: number
}
export const attend: Statement<AttendParams, AttendRow> = {
  name: 'run_attend_ea769170',
  text: `select plimsoll.attend($1::text, $2::text, $3::text, $4::int8, $5::boolean) as "followed"`,
  params: ['tenant', 'environment', 'run', 'ms', 'parks'],
}

export interface BeforeParams {
  readonly tenant: string
  readonly session: string
}
export interface BeforeRow {
  readonly version: number
  readonly generation: number
  readonly agent: string
  readonly user: string
  readonly subject: string
  readonly closed: boolean
  readonly active: unknown
  readonly tokens: number
  readonly head: string | null
}
/**
 * what a submission must know: the conversation, its active runs, and how long its transcript is
 */
export const before: Statement<BeforeParams, BeforeRow> = {
  name: 'run_before_6c90b4a9',
  text: `select s.version, s.generation, s.agent, s.user_id as "user", s.subject_id as subject, s.closed_at is not null as "closed",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active",
  coalesce((select sum(m.tokens) from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id), 0)::int8 as "tokens",
  (select m.run_id || '.' || m.seq from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id and m.visibility = 'user'
    order by r.generation desc, m.seq desc limit 1) as "head"
from plimsoll.session s where s.tenant_id = $1::text and s.id = $2::text`,
  params: ['tenant', 'session'],
}

export interface OpenSessionParams {
  readonly sessions: string
  readonly keys: readonly (string | null)[]
}
export interface OpenSessionRow {
  readonly n: number
}
export const openSession: Statement<OpenSessionParams, OpenSessionRow> = {
  name: 'run_openSession_3c37e1f2',
  text: `select n as "n" from plimsoll.open_session($1::jsonb, $2::text[])`,
  params: ['sessions', 'keys'],
}

export interface AuditedParams {
  readonly tenant: string
  readonly run: string
  readonly action: string
  readonly target: string
  readonly actor: string
  readonly outcome: string
  readonly reason: string | null
}
export interface AuditedRow {
  readonly found: boolean
}
/**
 * whether a person has said exactly this before
 */
export const audited: Statement<AuditedParams, AuditedRow> = {
  name: 'run_audited_b3db8d49',
  text: `select exists (select from plimsoll.audit a where a.tenant_id = $1::text and a.run_id = $2::text and a.action = $3::text
  and a.target = $4::text and a.actor = $5::text and a.outcome = $6::text and a.reason is not distinct from $7::text) as "found"`,
  params: ['tenant', 'run', 'action', 'target', 'actor', 'outcome', 'reason'],
}
