/** COMMIT A, COMMIT B, parking and ending, as `plimsoll.step` does them. */
import { step } from '../../run/run.sql.ts'
import { type ANSWER, mayAnswer } from './answers.ts'
import type { ConfirmationRow, EffectRow, EventRow, MessageRow, RunRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { batchOf, type Evidence, evidence, type Guards, named, on, passes, type Verbs } from './verb.ts'

export interface Transition {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly epoch: number | null
  readonly version: number
  readonly from: string
  readonly to: string
  readonly wait: string | null
  readonly phase: string
  readonly step: number
  readonly attempts: number
  readonly due_ms: number | null
  readonly cancel: string | null
  readonly end_reason: string | null
  readonly message_seq: number
  readonly event_seq: number
  readonly tool_calls: number
  readonly kind: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly spent_cost: number
  readonly known: boolean
  readonly suspect: boolean
  readonly reserved_tokens: number
  readonly reserved_cost: number
  readonly released_tokens: number
  readonly released_cost: number
  readonly integrity: string
  readonly confidentiality: string
  readonly watermark_from: string | null
  readonly messages: readonly (Pick<
    MessageRow,
    | 'seq'
    | 'step'
    | 'position'
    | 'role'
    | 'body'
    | 'visibility'
    | 'integrity'
    | 'confidentiality'
    | 'origin'
    | 'partial'
    | 'tokens'
  > & { readonly hash: string })[]
  readonly effects: readonly (Pick<
    EffectRow,
    | 'step'
    | 'position'
    | 'call_id'
    | 'tool'
    | 'tool_version'
    | 'level'
    | 'approval'
    | 'arguments'
    | 'arguments_hash'
    | 'fingerprint'
    | 'status'
  > &
    Outcome & {
      readonly key: string
      readonly compensates?: string | null
      readonly compensated_tool?: string
    })[]
  readonly settled: readonly ({ readonly position: number; readonly status: string } & Outcome)[]
  readonly waiting?: readonly { readonly position: number; readonly signal: string | null; readonly ms: number }[]
  /** Signals that end the sleep of the run at once, when they are there already. */
  readonly listens?: readonly string[]
  readonly confirmations: readonly (Pick<
    ConfirmationRow,
    | 'id'
    | 'step'
    | 'position'
    | 'tool'
    | 'tool_version'
    | 'params_hash'
    | 'resource'
    | 'resource_version'
    | 'plan'
    | 'level'
    | 'confirmers'
    | 'nonce'
  > & { readonly open_ms: number })[]
  readonly closed: readonly { readonly id: string; readonly status: string }[]
  readonly events: readonly Pick<EventRow, 'seq' | 'type' | 'visibility' | 'body'>[]
  readonly audit?: readonly Audit[] | null
}

interface Outcome {
  readonly outcome?: string | null
  readonly error_code?: string | null
  readonly result?: string | null
  readonly result_hash?: string | null
}

interface Audit {
  readonly id: string
  readonly actor_kind: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly reason: string | null
}

const isDriven = (x: RunRow): boolean => x.status === 'running'

/** The WHERE of the UPDATE, condition by condition. */
export const STEP: Guards<readonly [RunRow, Transition, string]> = {
  version: (x, t) => x.version === t.version,
  status: (x, t) => x.status === t.from,
  open: (x) => x.end_reason === null,
  worker: (x, _, worker) => !isDriven(x) || x.worker_id === worker,
  epoch: (x, t) => !isDriven(x) || x.epoch === t.epoch,
  steps: (x, t) => t.step <= x.max_steps,
  toolCalls: (x, t) => x.used_tool_calls + t.tool_calls <= x.max_tool_calls,
  tokens: (x, t) =>
    t.reserved_tokens === 0 ||
    x.used_tokens + t.input_tokens + t.output_tokens + x.reserved_tokens - t.released_tokens + t.reserved_tokens <=
      x.max_tokens,
  cost: (x, t) =>
    t.reserved_cost === 0 ||
    x.used_cost + t.spent_cost + x.reserved_cost - t.released_cost + t.reserved_cost <= x.max_cost,
}

export interface StepGuards {
  readonly step: typeof STEP
  readonly answer: typeof ANSWER
}

export function addStep(verbs: Verbs, guards: StepGuards): void {
  on(verbs, step, (tables, { transitions, keys, worker }) => {
    const known = evidence(keys)
    return batchOf<Transition>(transitions, (t) => `${t.tenant} ${t.run}`).flatMap(({ row: t, n }) => {
      const x = tables.run.get(`${t.tenant}/${t.run}`)
      if (!x || x.environment !== t.environment || !named(known, x, x.id)) return []
      if (!mayAnswer(tables, known, x, t, guards.answer) || !passes(guards.step, x, t, worker)) return []
      move(tables, x, t)
      record(tables, x, t)
      wait(tables, known, x, t)
      return [{ n, version: x.version }]
    })
  })
}

function move(tables: Tables, x: RunRow, t: Transition): void {
  const now = tables.now()
  tables.run.change(x, {
    status: t.to,
    wait_reason: t.wait,
    phase: t.phase,
    step: t.step,
    version: x.version + 1,
    commits: x.commits + (isDriven(x) ? 1 : 0),
    event_seq: t.event_seq,
    message_seq: t.message_seq,
    attempts: t.attempts,
    progress_at: now,
    worker_id: t.to === 'running' ? x.worker_id : null,
    due_at: dueAt(x, t, now),
    used_tool_calls: x.used_tool_calls + t.tool_calls,
    used_tokens: x.used_tokens + t.input_tokens + t.output_tokens,
    used_cost: x.used_cost + t.spent_cost,
    reserved_tokens: x.reserved_tokens + t.reserved_tokens - t.released_tokens,
    reserved_cost: x.reserved_cost + t.reserved_cost - t.released_cost,
    cancel_cause: x.cancel_cause ?? t.cancel,
    integrity: t.integrity,
    confidentiality: t.confidentiality,
    watermark_from: t.watermark_from,
    end_reason: t.end_reason,
    ended_at: t.end_reason === null ? null : now,
  })
}

function dueAt(x: RunRow, t: Transition, now: number): number {
  if (t.to === 'queued') return now
  if (t.to === 'waiting_confirmation') return t.due_ms === null ? Number.POSITIVE_INFINITY : now + t.due_ms
  return x.due_at
}

/** Everything that goes with the run's move, in the order of the statements. */
function record(tables: Tables, x: RunRow, t: Transition): void {
  const now = tables.now()
  const ofRun = { tenant_id: x.tenant_id, environment: x.environment, run_id: x.id }
  const ofSession = { ...ofRun, session_id: x.session_id, user_id: x.user_id, subject_id: x.subject_id }
  for (const { hash, ...m } of t.messages)
    tables.message.insert(tables.rowOf('message', { ...ofSession, ...m, content_hash: hash }))
  for (const { key, compensated_tool: _, compensates = null, ...e } of t.effects)
    tables.effect.insert(
      tables.rowOf('effect', {
        ...ofSession,
        ...e,
        idempotency_key: key,
        compensates,
        settled_at: e.status === 'settled' ? now : null,
      }),
    )
  for (const s of t.settled) settle(tables, x, t.step, s)
  for (const { open_ms, ...c } of t.confirmations)
    tables.confirmation.insert(
      tables.rowOf('confirmation', { ...ofSession, ...c, generation: x.generation, expires_at: now + open_ms }),
    )
  for (const { id, status } of t.closed) {
    const c = tables.confirmation.get(`${x.tenant_id}/${id}`)
    if (c?.run_id === x.id && (c.status === 'pending' || c.status === 'approved'))
      tables.confirmation.change(c, { status, version: c.version + 1 })
  }
  if (t.kind !== null) tables.ledger.insert(tables.rowOf('ledger', { ...ofRun, ...bookedOf(x, t), kind: t.kind }))
  for (const e of t.events) tables.event.insert(tables.rowOf('event', { ...ofRun, ...e }))
  for (const a of t.audit ?? [])
    tables.audit.insert(
      tables.rowOf('audit', { tenant_id: x.tenant_id, environment: x.environment, run_id: x.id, ...a }),
    )
}

const bookedOf = (x: RunRow, t: Transition) => ({
  seq: x.version,
  parent_run_id: x.parent_run_id,
  step: t.step,
  input_tokens: t.input_tokens,
  output_tokens: t.output_tokens,
  spent_cost: t.spent_cost,
  tool_calls: t.tool_calls,
  known: t.known,
  suspect: t.suspect,
  reserved_tokens: t.reserved_tokens,
  reserved_cost: t.reserved_cost,
  released_tokens: t.released_tokens,
  released_cost: t.released_cost,
})

function settle(tables: Tables, x: RunRow, step: number, s: Transition['settled'][number]): void {
  const e = tables.effect.get(`${x.tenant_id}/${x.id}/${step}/${s.position}`)
  if (!e || e.status === 'settled') return
  tables.effect.change(e, {
    status: s.status,
    outcome: s.outcome ?? null,
    error_code: s.error_code ?? null,
    result: s.result ?? null,
    result_hash: s.result_hash ?? null,
    again: s.status === 'started',
    settled_at: s.status === 'settled' ? tables.now() : null,
  })
}

/** Calls go to wait outside, and their signals learn who waits. */
function wait(tables: Tables, known: Evidence, x: RunRow, t: Transition): void {
  for (const { position, signal, ms } of t.waiting ?? []) {
    const e = tables.effect.get(`${x.tenant_id}/${x.id}/${t.step}/${position}`)
    if (e && WAITS.has(e.status))
      tables.effect.change(e, {
        status: 'waiting',
        wait_signal: signal,
        wait_until: tables.now() + ms,
        waits: e.waits + 1,
      })
    if (signal !== null) addWaiter(tables, known, x, signal)
  }
  const isTold = (signal: string): boolean => {
    const s = tables.signal.get(`${x.tenant_id}/${x.environment}/${signal}`)
    return s !== undefined && s.body !== null && named(known, s, `signal:${signal}`)
  }
  if (t.to === 'waiting_confirmation' && t.listens?.some(isTold)) tables.run.change(x, { due_at: tables.now() })
}

const WAITS: ReadonlySet<string> = new Set(['intended', 'started', 'waiting'])

function addWaiter(tables: Tables, known: Evidence, x: RunRow, key: string): void {
  const place = { tenant_id: x.tenant_id, environment: x.environment }
  if (!named(known, place, `signal:${key}`)) throw new Error('row-level security of signal')
  const s = tables.signal.get(`${x.tenant_id}/${x.environment}/${key}`)
  if (s) tables.signal.change(s, { waiters: [...s.waiters.filter((run) => run !== x.id), x.id] })
  else tables.signal.insert(tables.rowOf('signal', { ...place, key, waiters: [x.id] }))
}
