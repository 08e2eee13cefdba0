/** A run as its worker reads it, and as people do. */
import { load } from '../../run/run.sql.ts'
import { runDetail, runEffects, runLedger } from '../../run/view.sql.ts'
import type { ConfirmationRow, EffectRow, MessageRow, RunRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { on, seen, type Verbs } from './verb.ts'

export function addRuns(verbs: Verbs): void {
  on(verbs, load, (tables, { tenant, environment, run }) => {
    const r = tables.run.get(`${tenant}/${run}`)
    return [{ snapshot: r?.environment === environment ? snapshotOf(tables, r) : null }]
  })
  on(verbs, runDetail, (tables, { tenant, run, user }, walls) => {
    const r = tables.run.get(`${tenant}/${run}`)
    return r && seen(walls, r) && (user === '' || r.user_id === user) ? [detailOf(tables, r)] : []
  })
  on(verbs, runLedger, (tables, { tenant, run }, walls) =>
    tables.ledger
      .of(`${tenant}/${run}`)
      .filter((l) => seen(walls, l))
      .sort((a, b) => a.seq - b.seq)
      .map((l) => ({
        seq: l.seq,
        level: l.level,
        step: l.step,
        kind: l.kind,
        inputTokens: l.input_tokens,
        outputTokens: l.output_tokens,
        spentCost: l.spent_cost,
        toolCalls: l.tool_calls,
        known: l.known,
        suspect: l.suspect,
        reservedTokens: l.reserved_tokens,
        reservedCost: l.reserved_cost,
        releasedTokens: l.released_tokens,
        releasedCost: l.released_cost,
        at: Math.floor(l.created_at),
      })),
  )
  on(verbs, runEffects, (tables, { tenant, run }, walls) =>
    inOrder(tables.effect.of(`${tenant}/${run}`))
      .filter((e) => seen(walls, e))
      .map((e) => ({
        step: e.step,
        position: e.position,
        kind: e.kind,
        tool: e.tool,
        toolVersion: e.tool_version,
        level: e.level,
        approval: e.approval,
        status: e.status,
        outcome: e.outcome,
        errorCode: e.error_code,
        key: e.idempotency_key,
        argumentsHash: e.arguments_hash,
        resultHash: e.result_hash,
        attempt: e.attempt,
        compensates: e.compensates,
        compensation: compensationOf(tables, e),
        startedAt: floor(e.started_at),
        settledAt: floor(e.settled_at),
      })),
  )
}

/** What undoes the effect, or may. */
function compensationOf(tables: Tables, e: EffectRow) {
  for (const o of tables.effect.all())
    if (o.tenant_id === e.tenant_id && o.compensates === e.idempotency_key && o.outcome !== 'error')
      return { run_id: o.run_id, idempotency_key: o.idempotency_key, status: o.status, outcome: o.outcome }
  return null
}

const floor = (at: number | null): number | null => (at === null ? null : Math.floor(at))

const inOrder = (effects: readonly EffectRow[]): EffectRow[] =>
  [...effects].sort((a, b) => a.step - b.step || a.position - b.position)

/** The one value of `plimsoll.load`: JSON, as the driver parses it. */
function snapshotOf(tables: Tables, r: RunRow): unknown {
  const now = tables.now()
  const key = `${r.tenant_id}/${r.id}`
  return {
    run: { ...r, permissions: [...r.permissions] },
    deadline_ms: Math.floor(r.deadline_at - now),
    alone: r.parks_alone && r.followed_until !== null && r.followed_until < now,
    messages: transcriptOf(tables, r).map(messageOf),
    effects: inOrder(tables.effect.of(key)).map((e) => effectOf(tables, e, r.step, now)),
    confirmations: tables.confirmation
      .of(key)
      .filter((c) => c.step === r.step)
      .sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1))
      .map((c) => askedOf(c, now)),
    summaries: [],
  }
}

/** The messages of the branch up to this run, oldest first. */
function transcriptOf(tables: Tables, r: RunRow): MessageRow[] {
  const earlier: RunRow[] = []
  for (const h of tables.run.all())
    if (
      h.session_id === r.session_id &&
      h.tenant_id === r.tenant_id &&
      h.branch === r.branch &&
      h.generation <= r.generation
    )
      earlier.push(h)
  return earlier
    .sort((a, b) => a.generation - b.generation)
    .flatMap((h) => [...tables.message.of(`${h.tenant_id}/${h.id}`)].sort((a, b) => a.seq - b.seq))
}

const messageOf = (m: MessageRow) => ({
  run: m.run_id,
  seq: m.seq,
  step: m.step,
  position: m.position,
  role: m.role,
  body: m.body,
  hash: m.content_hash,
  visibility: m.visibility,
  integrity: m.integrity,
  confidentiality: m.confidentiality,
  origin: m.origin,
  partial: m.partial,
  tokens: m.tokens,
})

const waitOf = (tables: Tables, e: EffectRow, now: number) => ({
  signal: e.wait_signal,
  count: e.waits,
  leftMs: e.wait_until === null ? null : Math.floor(e.wait_until - now),
  body: tables.signal.get(`${e.tenant_id}/${e.environment}/${e.wait_signal ?? ''}`)?.body ?? null,
})

const effectOf = (tables: Tables, e: EffectRow, step: number, now: number) => ({
  step: e.step,
  position: e.position,
  callId: e.call_id,
  tool: e.tool,
  toolVersion: e.tool_version,
  level: e.level,
  approval: e.approval,
  argumentsHash: e.arguments_hash,
  fingerprint: e.fingerprint,
  key: e.idempotency_key,
  status: e.status,
  outcome: e.outcome,
  errorCode: e.error_code,
  resultHash: e.result_hash,
  attempt: e.attempt,
  again: e.again,
  compensates: e.compensates,
  startedMs: e.started_at === null ? null : Math.floor(now - e.started_at),
  wait: e.status === 'waiting' ? waitOf(tables, e, now) : null,
  arguments: e.step === step ? e.arguments : null,
  result: e.step === step || e.outcome === 'error' ? e.result : null,
})

const askedOf = (c: ConfirmationRow, now: number) => ({
  id: c.id,
  step: c.step,
  position: c.position,
  status: c.status,
  paramsHash: c.params_hash,
  resourceVersion: c.resource_version,
  leftMs: Math.floor(c.expires_at - now),
  executeMs: c.execute_by === null ? null : Math.floor(c.execute_by - now),
})

const detailOf = (tables: Tables, r: RunRow) => ({
  id: r.id,
  session: r.session_id,
  branch: r.branch,
  generation: r.generation,
  user: r.user_id,
  subject: r.subject_id,
  agent: r.agent,
  release: r.release,
  status: r.status,
  wait: r.wait_reason,
  phase: r.phase,
  step: r.step,
  version: r.version,
  eventSeq: r.event_seq,
  attempts: r.attempts,
  cancel: r.cancel_cause,
  end: r.end_reason,
  integrity: r.integrity,
  confidentiality: r.confidentiality,
  maxSteps: r.max_steps,
  maxToolCalls: r.max_tool_calls,
  maxTokens: r.max_tokens,
  maxCost: r.max_cost,
  usedToolCalls: r.used_tool_calls,
  usedTokens: r.used_tokens,
  usedCost: r.used_cost,
  reservedTokens: r.reserved_tokens,
  reservedCost: r.reserved_cost,
  createdAt: Math.floor(r.created_at),
  startedAt: floor(r.started_at),
  endedAt: floor(r.ended_at),
  deadlineAt: Math.floor(r.deadline_at),
  confirmations: tables.confirmation
    .of(`${r.tenant_id}/${r.id}`)
    .filter((c) => c.status === 'pending' && c.expires_at > tables.now())
    .map((c) => c.id)
    .sort(),
})
