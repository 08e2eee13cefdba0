// Written by `npm run sql` from retention.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface SweepParams {
  readonly tenant: string
  readonly environment: string
  readonly class: string
  readonly limit: number
  readonly dry: boolean
  readonly afterAt: string | null
  readonly afterRun: string | null
  readonly blank: Uint8Array
  readonly blankPlan: Uint8Array
}
export interface SweepRow {
  readonly runs: number
  readonly kept: number
  readonly changed: number
  readonly done: boolean
  readonly afterAt: string | null
  readonly afterRun: string | null
}
export const sweep: Statement<SweepParams, SweepRow> = {
  name: 'retention_sweep_53fd92b2',
  text: `select runs as "runs", kept as "kept", changed as "changed", done as "done", after_at::text as "afterAt", after_run as "afterRun"
from plimsoll.sweep($1::text, $2::text, $3::text, $4::int, $5::boolean, $6::text::timestamptz,
  $7::text, $8::bytea, $9::bytea)`,
  params: ['tenant', 'environment', 'class', 'limit', 'dry', 'afterAt', 'afterRun', 'blank', 'blankPlan'],
}

export interface DueParams {
  readonly limit: number
}
export interface DueRow {
  readonly tenant: string
  readonly environment: string
  readonly class: string
}
export const due: Statement<DueParams, DueRow> = {
  name: 'retention_due_b93b3187',
  text: `select tenant as "tenant", environment as "environment", class as "class" from plimsoll.retention_due($1::int)`,
  params: ['limit'],
}

export interface FailedParams {
  readonly ofTenant: string
  readonly ofEnvironment: string
  readonly class: string
}
export interface FailedRow {
  readonly taken: number
}
/**
 * without a parameter that names its tenant: the keys of it may be what is missing
 */
export const failed: Statement<FailedParams, FailedRow> = {
  name: 'retention_failed_7ed0663e',
  text: `select plimsoll.retention_failed($1::text, $2::text, $3::text) as "taken"`,
  params: ['ofTenant', 'ofEnvironment', 'class'],
}

export interface RulesParams {
  readonly tenant: string
}
export interface RulesRow {
  readonly class: string
  readonly days: number | null
  readonly sweptAt: number | null
}
export const rules: Statement<RulesParams, RulesRow> = {
  name: 'retention_rules_98461abd',
  text: `select r.class, r.days, nullif((extract(epoch from nullif(r.swept_at, '-infinity')) * 1000)::int8, 0) as "sweptAt"
from plimsoll.retention r where r.tenant_id = $1::text order by r.class`,
  params: ['tenant'],
}

export interface SetRuleParams {
  readonly tenant: string
  readonly environment: string
  readonly class: string
  readonly days: number | null
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export const setRule: Statement<SetRuleParams, never> = {
  name: 'retention_setRule_adfde0fe',
  text: `with made as (
  insert into plimsoll.retention as r (tenant_id, environment, class, days) values ($1::text, $2::text, $3::text, $4::int)
  on conflict (tenant_id, environment, class) do update set days = excluded.days
  returning r.class
)
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
select $1::text, $2::text, $5::text, 'operator', $6::text, 'retention.set', made.class,
  coalesce($4::int::text, 'for ever'), $7::text
from made`,
  params: ['tenant', 'environment', 'class', 'days', 'audit', 'actor', 'reason'],
}

export interface HoldsParams {
  readonly tenant: string
}
export interface HoldsRow {
  readonly id: string
  readonly subject: string | null
  readonly createdAt: number
}
export const holds: Statement<HoldsParams, HoldsRow> = {
  name: 'retention_holds_1a22025e',
  text: `select h.id, h.subject_id as subject, (extract(epoch from h.created_at) * 1000)::int8 as "createdAt"
from plimsoll.legal_hold h where h.tenant_id = $1::text and h.released_at is null order by h.id`,
  params: ['tenant'],
}

export interface AddHoldParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly subject: string | null
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export const addHold: Statement<AddHoldParams, never> = {
  name: 'retention_addHold_4b369bbb',
  text: `with made as (
  insert into plimsoll.legal_hold (tenant_id, environment, id, subject_id) values ($1::text, $2::text, $3::text, $4::text)
  returning id
)
insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
select $1::text, $2::text, $5::text, 'operator', $6::text, 'hold.set', made.id, 'held', $7::text from made`,
  params: ['tenant', 'environment', 'id', 'subject', 'audit', 'actor', 'reason'],
}

export interface ReleaseHoldParams {
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export interface ReleaseHoldRow {
  readonly id: string
}
export const releaseHold: Statement<ReleaseHoldParams, ReleaseHoldRow> = {
  name: 'retention_releaseHold_95981532',
  text: `with made as (
  update plimsoll.legal_hold h set released_at = now() where h.tenant_id = $1::text and h.id = $2::text and h.released_at is null
  returning h.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $1::text, $3::text, $4::text, 'operator', $5::text, 'hold.release', made.id, 'released', $6::text from made
)
select id as "id" from made`,
  params: ['tenant', 'id', 'environment', 'audit', 'actor', 'reason'],
}

export interface NoteSweepParams {
  readonly tenant: string
  readonly environment: string
  readonly audit: string
  readonly kind: string
  readonly actor: string
  readonly class: string
  readonly outcome: string
}
export const noteSweep: Statement<NoteSweepParams, never> = {
  name: 'retention_noteSweep_4eef5e53',
  text: `insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
values ($1::text, $2::text, $3::text, $4::text, $5::text, 'retention.sweep', $6::text, $7::text)`,
  params: ['tenant', 'environment', 'audit', 'kind', 'actor', 'class', 'outcome'],
}
