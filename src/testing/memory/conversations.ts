/** Conversations and the messages that open runs in them. */
import { before, openSession, submit } from '../../run/run.sql.ts'
import { closeSession, sessionDetail } from '../../session/session.sql.ts'
import type { MessageRow, RunRow, SessionRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { batchOf, evidence, type Evidence, type Guards, isActive, named, on, passes, seen, type Verbs } from './verb.ts'

export interface Submitting {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly session_version: number | null
  readonly user_id: string
  readonly subject: string
  readonly permissions: readonly string[]
  readonly agent: string
  readonly release: string
  readonly run: string
  readonly parent_run?: string | null
  readonly parent_message: string | null
  readonly max_steps: number
  readonly max_tool_calls: number
  readonly max_tokens: number
  readonly max_cost: number
  readonly max_attempts: number
  readonly deadline_ms: number
  readonly progress_ms: number
  readonly reserved_tokens: number
  readonly reserved_cost: number
  readonly body: string
  readonly hash: string
  readonly tokens: number
  readonly replaced: readonly string[]
  /** Runs that rest because nobody was there (K2). */
  readonly resting?: readonly string[]
  /** Rules that stand for the run. */
  readonly procedures?: readonly string[]
  readonly event: string
  readonly response: string | null
  readonly status: number | null
}

interface Opening {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly user_id: string
  readonly subject: string
  readonly agent: string
}

export interface Closing {
  readonly tenant: string
  readonly environment: string
  readonly session: string
  readonly version: number | null
}

export const SUBMIT: Guards<readonly [SessionRow, Submitting]> = {
  open: (x) => x.closed_at === null,
  version: (x, t) => x.version === (t.session_version ?? 1),
}

/** The runs that a message replaces. */
export const REPLACE: Guards<readonly [RunRow, Submitting]> = {
  conversation: (r, t) => r.session_id === t.session,
  active: (r) => isActive(r.status),
}

export const CLOSE: Guards<readonly [SessionRow, Closing]> = {
  open: (x) => x.closed_at === null,
  version: (x, t) => x.version === (t.version ?? x.version),
}

export interface ConversationGuards {
  readonly submit: typeof SUBMIT
  readonly replace: typeof REPLACE
  readonly close: typeof CLOSE
}

export function addConversations(verbs: Verbs, guards: ConversationGuards): void {
  on(verbs, submit, (tables, { submissions, keys }) => {
    const known = evidence(keys)
    return batchOf<Submitting>(submissions, (t) => `${t.tenant} ${t.run}`).map(({ row: t, n }) => {
      if (t.session_version === null) open(tables, known, t)
      const session = sessionOf(tables, known, t)
      if (!session) return { n, outcome: 'not_found', sessionVersion: null, generation: null }
      const isPassed = passes(guards.submit, session, t)
      if (isPassed) begin(tables, { session, t, known, replace: guards.replace })
      const refused = session.closed_at === null ? 'version' : 'closed'
      const { version: sessionVersion, generation } = session
      return { n, outcome: isPassed ? 'created' : refused, sessionVersion, generation }
    })
  })
  on(verbs, openSession, (tables, { sessions, keys }) =>
    batchOf<Opening>(sessions, (t) => `${t.tenant} ${t.session}`).flatMap(({ row, n }) =>
      open(tables, evidence(keys), row) ? [{ n }] : [],
    ),
  )
  on(verbs, closeSession, (tables, { sessions, keys }) =>
    batchOf<Closing>(sessions, (t) => `${t.tenant} ${t.session}`).flatMap(({ row, n }) => {
      const x = sessionOf(tables, evidence(keys), row)
      if (!x || !passes(guards.close, x, row)) return []
      tables.session.change(x, { closed_at: tables.now(), version: x.version + 1 })
      return [{ n, version: x.version }]
    }),
  )
  on(verbs, before, (tables, { tenant, session }, walls) => {
    const s = tables.session.get(`${tenant}/${session}`)
    if (!s || !seen(walls, s)) return []
    const runs = runsOf(tables, s)
    const tokens = runs.flatMap((r) => tables.message.of(`${tenant}/${r.id}`)).reduce((sum, m) => sum + m.tokens, 0)
    return [{ ...viewOf(s), closed: s.closed_at !== null, active: activeOf(runs), tokens, head: headOf(tables, runs) }]
  })
  on(verbs, sessionDetail, (tables, { tenant, session, user }, walls) => {
    const s = tables.session.get(`${tenant}/${session}`)
    if (!s || !seen(walls, s) || (user !== '' && s.user_id !== user)) return []
    const runs = runsOf(tables, s)
    const times = { closedAt: s.closed_at, createdAt: s.created_at }
    return [{ id: s.id, ...viewOf(s), ...times, active: activeOf(runs), head: headOf(tables, runs) }]
  })
}

function sessionOf(
  tables: Tables,
  known: Evidence,
  t: Pick<Closing, 'tenant' | 'environment' | 'session'>,
): SessionRow | undefined {
  const x = tables.session.get(`${t.tenant}/${t.session}`)
  return x?.environment === t.environment && named(known, x, x.id) ? x : undefined
}

/** False when the id is taken, by whomever. */
function open(tables: Tables, known: Evidence, t: Opening): boolean {
  const row = { tenant_id: t.tenant, environment: t.environment }
  if (!named(known, row, t.session)) throw new Error('row-level security of session')
  if (tables.session.get(`${t.tenant}/${t.session}`)) return false
  const { session: id, user_id, subject: subject_id, agent } = t
  tables.session.insert(tables.rowOf('session', { ...row, id, user_id, subject_id, agent }))
  return true
}

interface Beginning {
  readonly session: SessionRow
  readonly t: Submitting
  readonly known: Evidence
  readonly replace: typeof REPLACE
}

function begin(tables: Tables, { session, t, known, replace }: Beginning): void {
  const now = tables.now()
  tables.session.change(session, { version: session.version + 1, generation: session.generation + 1 })
  for (const id of [...t.replaced].sort()) {
    const r = tables.run.get(`${t.tenant}/${id}`)
    if (!r || r.environment !== t.environment || !named(known, r, r.id) || !passes(replace, r, t)) continue
    const due_at = r.status === 'running' ? r.due_at : now
    tables.run.change(r, { cancel_cause: r.cancel_cause ?? 'superseded', version: r.version + 1, due_at })
  }
  for (const id of [...(t.resting ?? [])].sort()) {
    const r = tables.run.get(`${t.tenant}/${id}`)
    if (!r || r.environment !== t.environment || !named(known, r, r.id)) continue
    if (r.session_id === t.session && r.wait_reason === 'follower')
      tables.run.change(r, { followed_until: null, due_at: now, version: r.version + 1 })
  }
  const ofTenant = { tenant_id: t.tenant, environment: t.environment }
  const owner = { session_id: t.session, user_id: t.user_id, subject_id: t.subject }
  const ofRun = { ...ofTenant, run_id: t.run }
  const parent_run_id = t.parent_run ?? null
  const { max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, reserved_tokens, reserved_cost } = t
  tables.run.insert(
    tables.rowOf('run', {
      ...ofTenant,
      ...owner,
      id: t.run,
      generation: session.generation,
      permissions: t.permissions,
      agent: t.agent,
      release: t.release,
      parent_run_id,
      status: 'queued',
      event_seq: 1,
      message_seq: 1,
      due_at: now,
      deadline_at: now + t.deadline_ms,
      progress_ms: t.progress_ms,
      procedures: t.procedures ?? [],
      ...{ max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, reserved_tokens, reserved_cost },
    }),
  )
  const labels = { visibility: 'user', integrity: 'user', confidentiality: 'subject', origin: { kind: 'user' } }
  const { body, hash: content_hash, tokens, parent_message } = t
  tables.message.insert(
    tables.rowOf('message', {
      ...ofRun,
      ...owner,
      ...labels,
      ...{ seq: 1, step: 0, role: 'user', body, content_hash, tokens, parent_message },
    }),
  )
  const paid = { reserved_tokens, reserved_cost }
  tables.ledger.insert(tables.rowOf('ledger', { ...ofRun, seq: 1, parent_run_id, step: 0, kind: 'open', ...paid }))
  const told = { seq: 1, type: 'run_queued', visibility: 'user', body: t.event }
  tables.event.insert(tables.rowOf('event', { ...ofRun, ...told }))
  if (t.status !== null) answer(tables, t)
}

/** The answer to the caller's key is stored with the run, or neither is. */
function answer(tables: Tables, t: Submitting): void {
  const waiting = tables.idempotency
    .of(`${t.tenant}/${t.run}`)
    .filter((i) => i.environment === t.environment && i.status === null)
  if (waiting.length === 0) throw new Error('idempotency key taken over')
  for (const i of waiting) tables.idempotency.change(i, { status: t.status, response: t.response })
}

const viewOf = (s: SessionRow) => ({
  version: s.version,
  generation: s.generation,
  agent: s.agent,
  user: s.user_id,
  subject: s.subject_id,
})

function runsOf(tables: Tables, s: SessionRow): RunRow[] {
  const found: RunRow[] = []
  for (const r of tables.run.all()) if (r.tenant_id === s.tenant_id && r.session_id === s.id) found.push(r)
  return found.sort((a, b) => a.generation - b.generation)
}

const activeOf = (runs: readonly RunRow[]) =>
  runs
    .filter((r) => isActive(r.status))
    .map((r) => ({ run: r.id, status: r.status, phase: r.phase, wait: r.wait_reason }))

/** The last message that people see. */
function headOf(tables: Tables, runs: readonly RunRow[]): string | null {
  for (const r of runs.toReversed()) {
    const shown = tables.message.of(`${r.tenant_id}/${r.id}`).filter((m: MessageRow) => m.visibility === 'user')
    if (shown.length > 0) return `${r.id}.${Math.max(...shown.map((m) => m.seq))}`
  }
  return null
}
