// Written by `npm run sql` from view.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface RunDetailParams {
  readonly tenant: string
  readonly run: string
  readonly user: string
}
export interface RunDetailRow {
  readonly id: string
  readonly session: string
  readonly branch: string
  readonly generation: number
  readonly user: string
  readonly subject: string
  readonly agent: string
  readonly release: string
  readonly status: string
  readonly wait: string | null
  readonly phase: string
  readonly step: number
  readonly version: number
  readonly eventSeq: number
  readonly attempts: number
  readonly cancel: string | null
  readonly end: string | null
  readonly integrity: string
  readonly confidentiality: string
  readonly maxSteps: number
  readonly maxToolCalls: number
  readonly maxTokens: number
  readonly maxCost: number
  readonly usedToolCalls: number
  readonly usedTokens: number
  readonly usedCost: number
  readonly reservedTokens: number
  readonly reservedCost: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly deadlineAt: number
  readonly confirmations: string[]
}
export const runDetail: Statement<RunDetailParams, RunDetailRow> = {
  name: 'view_runDetail_53867b66',
  text: `select r.id, r.session_id as session, r.branch, r.generation, r.user_id as "user", r.subject_id as subject, r.agent, r.release, r.status,
  r.wait_reason as wait, r.phase, r.step, r.version, r.event_seq as "eventSeq", r.attempts, r.cancel_cause as cancel, r.end_reason as "end",
  r.integrity, r.confidentiality, r.max_steps as "maxSteps", r.max_tool_calls as "maxToolCalls", r.max_tokens as "maxTokens",
  r.max_cost as "maxCost", r.used_tool_calls as "usedToolCalls", r.used_tokens as "usedTokens", r.used_cost as "usedCost",
  r.reserved_tokens as "reservedTokens", r.reserved_cost as "reservedCost", (extract(epoch from r.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from r.started_at) * 1000)::int8 as "startedAt", (extract(epoch from r.ended_at) * 1000)::int8 as "endedAt",
  (extract(epoch from r.deadline_at) * 1000)::int8 as "deadlineAt",
  array(select c.id from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.status = 'pending'
    and c.expires_at > now() order by c.id) as "confirmations"
from plimsoll.run r
where r.tenant_id = $1::text and r.id = $2::text and ($3::text = '' or (r.user_id = $3::text and strpos(r.agent, '/') = 0))`,
  params: ['tenant', 'run', 'user'],
}

export interface RunListParams {
  readonly tenant: string
  readonly user: string
  readonly status: string
  readonly wait: string
  readonly session: string
  readonly agent: string
  readonly after: string
  readonly limit: number
}
export interface RunListRow {
  readonly id: string
  readonly session: string
  readonly generation: number
  readonly user: string
  readonly subject: string
  readonly agent: string
  readonly status: string
  readonly wait: string | null
  readonly phase: string
  readonly step: number
  readonly version: number
  readonly end: string | null
  readonly usedCost: number
  readonly maxCost: number
  readonly createdAt: number
  readonly endedAt: number | null
}
/**
 * newest first: the time stands at the front of an id. An empty filter filters nothing.
 */
export const runList: Statement<RunListParams, RunListRow> = {
  name: 'view_runList_6f61bc52',
  text: `select r.id, r.session_id as session, r.generation, r.user_id as "user", r.subject_id as subject, r.agent, r.status, r.wait_reason as wait,
  r.phase, r.step, r.version, r.end_reason as "end", r.used_cost as "usedCost", r.max_cost as "maxCost",
  (extract(epoch from r.created_at) * 1000)::int8 as "createdAt", (extract(epoch from r.ended_at) * 1000)::int8 as "endedAt"
from plimsoll.run r
where r.tenant_id = $1::text and ($2::text = '' or (r.user_id = $2::text and strpos(r.agent, '/') = 0))
  and ($3::text = '' or r.status = $3::text) and ($4::text = '' or r.wait_reason = $4::text)
  and ($5::text = '' or r.session_id = $5::text) and ($6::text = '' or r.agent = $6::text)
  and ($7::text = '' or r.id < $7::text)
order by r.id desc limit $8::int`,
  params: ['tenant', 'user', 'status', 'wait', 'session', 'agent', 'after', 'limit'],
}

export interface RunLedgerParams {
  readonly tenant: string
  readonly run: string
}
export interface RunLedgerRow {
  readonly seq: number
  readonly level: string
  readonly step: number
  readonly kind: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly spentCost: number
  readonly toolCalls: number
  readonly known: boolean
  readonly suspect: boolean
  readonly reservedTokens: number
  readonly reservedCost: number
  readonly releasedTokens: number
  readonly releasedCost: number
  readonly at: number
}
export const runLedger: Statement<RunLedgerParams, RunLedgerRow> = {
  name: 'view_runLedger_67c5d944',
  text: `select l.seq, l.level, l.step, l.kind, l.input_tokens as "inputTokens", l.output_tokens as "outputTokens", l.spent_cost as "spentCost",
  l.tool_calls as "toolCalls", l.known, l.suspect, l.reserved_tokens as "reservedTokens", l.reserved_cost as "reservedCost",
  l.released_tokens as "releasedTokens", l.released_cost as "releasedCost", (extract(epoch from l.created_at) * 1000)::int8 as "at"
from plimsoll.ledger l where l.tenant_id = $1::text and l.run_id = $2::text order by l.seq, l.level`,
  params: ['tenant', 'run'],
}

export interface RunEffectsParams {
  readonly tenant: string
  readonly run: string
}
export interface RunEffectsRow {
  readonly step: number
  readonly position: number
  readonly kind: string
  readonly tool: string
  readonly toolVersion: number
  readonly level: string
  readonly approval: string
  readonly status: string
  readonly outcome: string | null
  readonly errorCode: string | null
  readonly key: string
  readonly argumentsHash: string
  readonly resultHash: string | null
  readonly attempt: number
  readonly compensates: string | null
  readonly compensation: unknown
  readonly startedAt: number | null
  readonly settledAt: number | null
}
/**
 * no arguments and no results: their hashes say whether two are equal, and nothing else. `compensation` undoes it, or may:
 * it is undone when that one is settled.
 */
export const runEffects: Statement<RunEffectsParams, RunEffectsRow> = {
  name: 'view_runEffects_ce073e8e',
  text: `select e.step, e.position, e.kind, e.tool, e.tool_version as "toolVersion", e.level, e.approval, e.status, e.outcome, e.error_code as "errorCode",
  e.idempotency_key as key, e.arguments_hash as "argumentsHash", e.result_hash as "resultHash", e.attempt, e.compensates,
  (select jsonb_build_object('run_id', o.run_id, 'idempotency_key', o.idempotency_key, 'status', o.status, 'outcome', o.outcome)
    from plimsoll.effect o where o.tenant_id = e.tenant_id and o.compensates = e.idempotency_key
      and (o.outcome is null or o.outcome = 'ok')) as "compensation",
  (extract(epoch from e.started_at) * 1000)::int8 as "startedAt", (extract(epoch from e.settled_at) * 1000)::int8 as "settledAt"
from plimsoll.effect e where e.tenant_id = $1::text and e.run_id = $2::text order by e.step, e.position`,
  params: ['tenant', 'run'],
}
