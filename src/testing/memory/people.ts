/** What people do from outside: decide, cancel, and look at what waits for them. */
import { confirmation, decide, inbox } from '../../gate/confirmation.sql.ts'
import { attend, audited, cancel } from '../../run/run.sql.ts'
import type { ConfirmationRow, RunRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { batchOf, bytes, evidence, type Guards, isActive, named, on, passes, seen, type Verbs } from './verb.ts'

export interface Deciding {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly confirmation: string
  readonly version: number
  readonly params_hash: string
  readonly actor: string
  readonly actor_kind: string
  readonly approve: boolean
  readonly execute_ms: number
  readonly audit: string
  readonly reason: string | null
  readonly event: string
}

/** The WHERE of a decision, condition by condition. */
export const DECIDE: Guards<readonly [ConfirmationRow, RunRow, Deciding, number]> = {
  pending: (c) => c.status === 'pending',
  expiry: (c, _r, _t, now) => c.expires_at > now,
  version: (c, _r, t) => c.version === t.version,
  hash: (c, _r, t) => c.params_hash === t.params_hash,
  confirmer: (c, _r, t) => c.confirmers.includes(t.actor),
  active: (_c, r) => isActive(r.status),
  wait: (_c, r) => r.wait_reason === (r.status === 'waiting_confirmation' ? 'confirmation' : null),
  cancel: (_c, r) => r.cancel_cause === null,
  deadline: (_c, r, _t, now) => r.deadline_at > now,
}

export interface Canceling {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly version: number
  readonly cause: string
  readonly event: string
}

export const CANCEL: Guards<readonly [RunRow, Canceling]> = {
  version: (x, t) => x.version === t.version,
  running: (x) => x.status === 'running',
  first: (x) => x.cancel_cause === null,
}

export interface PeopleGuards {
  readonly decide: typeof DECIDE
  readonly cancel: typeof CANCEL
}

export function addPeople(verbs: Verbs, guards: PeopleGuards): void {
  on(verbs, audited, (tables, { tenant, run, action, target, actor, outcome, reason }, walls) => {
    const found = [...tables.audit.all()].some(
      (a) =>
        seen(walls, a) &&
        a.tenant_id === tenant &&
        a.run_id === run &&
        a.action === action &&
        a.target === target &&
        a.actor === actor &&
        a.outcome === outcome &&
        a.reason === reason,
    )
    return [{ found }]
  })
  on(verbs, attend, (tables, { tenant, environment, run, ms, parks }) => {
    const r = tables.run.get(`${tenant}/${run}`)
    if (r?.environment !== environment || !isActive(r.status)) return [{ followed: 0 }]
    tables.run.change(r, {
      followed_until: Math.max(r.followed_until ?? 0, tables.now() + ms),
      parks_alone: parks,
      ...(r.wait_reason === 'follower' && { due_at: tables.now() }),
    })
    return [{ followed: 1 }]
  })
  on(verbs, decide, (tables, { decisions, keys }) => {
    const known = evidence(keys)
    return batchOf<Deciding>(decisions, (t) => `${t.tenant} ${t.run}`).map(({ row: t, n }) => {
      const found = tables.confirmation.get(`${t.tenant}/${t.confirmation}`)
      const isThere = found?.environment === t.environment && found.run_id === t.run && named(known, found, t.run)
      const run = isThere ? tables.run.get(`${t.tenant}/${t.run}`) : undefined
      if (!found || !run) return { n, outcome: 'not_found', status: null, version: null }
      if (!passes(guards.decide, found, run, t, tables.now()))
        return { n, outcome: whyNot(found, t, tables.now()), status: found.status, version: found.version }
      write(tables, found, run, t)
      return { n, outcome: 'decided', status: found.status, version: found.version }
    })
  })
  on(verbs, cancel, (tables, { cancels, keys }) => {
    const known = evidence(keys)
    return batchOf<Canceling>(cancels, (t) => `${t.tenant} ${t.run}`).flatMap(({ row: t, n }) => {
      const x = tables.run.get(`${t.tenant}/${t.run}`)
      if (!x || x.environment !== t.environment || !named(known, x, x.id) || !passes(guards.cancel, x, t)) return []
      tables.run.change(x, { cancel_cause: t.cause, version: x.version + 1, event_seq: x.event_seq + 1 })
      tell(tables, x, 'cancel_requested', t.event)
      return [{ n, version: x.version }]
    })
  })
  on(verbs, confirmation, (tables, { tenant, confirmation: id }, walls) => {
    const c = tables.confirmation.get(`${tenant}/${id}`)
    return c && seen(walls, c) ? [cardOf(tables, c)] : []
  })
  on(verbs, inbox, (tables, { user, run, after, limit }, walls) => {
    const now = tables.now()
    return [...tables.confirmation.all()]
      .filter((c) => seen(walls, c) && c.status === 'pending' && c.expires_at > now && c.id > after)
      .filter((c) => (user === '' || c.confirmers.includes(user)) && (run === '' || c.run_id === run))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map((c) => cardOf(tables, c))
  })
}

function tell(tables: Tables, x: RunRow, type: string, body: string): void {
  const { tenant_id, environment } = x
  const told = { tenant_id, environment, run_id: x.id, seq: x.event_seq, type, visibility: 'user', body }
  tables.event.insert(tables.rowOf('event', told))
}

function write(tables: Tables, c: ConfirmationRow, run: RunRow, t: Deciding): void {
  const now = tables.now()
  const status = t.approve ? 'approved' : 'rejected'
  tables.confirmation.change(c, {
    status,
    version: c.version + 1,
    decided_by: t.actor,
    decided_at: now,
    execute_by: now + t.execute_ms,
  })
  const waited = run.status === 'waiting_confirmation'
  tables.run.change(run, {
    version: run.version + 1,
    event_seq: run.event_seq + 1,
    wait_reason: null,
    ...(waited ? { status: 'queued', due_at: now } : {}),
  })
  tell(tables, run, 'confirmation_decided', t.event)
  const { tenant_id, environment } = run
  tables.audit.insert(
    tables.rowOf('audit', {
      tenant_id,
      environment,
      id: t.audit,
      run_id: run.id,
      actor_kind: t.actor_kind,
      actor: t.actor,
      action: 'confirmation.decide',
      target: c.id,
      outcome: status,
      reason: t.reason,
    }),
  )
}

function whyNot(c: ConfirmationRow, t: Deciding, now: number): string {
  if (!c.confirmers.includes(t.actor)) return 'not_permitted'
  if (c.status === 'superseded') return 'superseded'
  if (c.status === 'expired' || (c.status === 'pending' && c.expires_at <= now)) return 'expired'
  if (c.status !== 'pending') return 'already_decided'
  if (c.version !== t.version) return 'version'
  return c.params_hash === t.params_hash ? 'run_closed' : 'hash'
}

const isOpen = (c: ConfirmationRow, now: number): boolean => c.status === 'pending' && c.expires_at > now

const othersOf = (tables: Tables, c: ConfirmationRow): number =>
  [...tables.confirmation.all()].filter(
    (o) =>
      o.id !== c.id &&
      o.tenant_id === c.tenant_id &&
      o.environment === c.environment &&
      o.resource !== null &&
      o.resource === c.resource &&
      isOpen(o, tables.now()),
  ).length

const cardOf = (tables: Tables, c: ConfirmationRow) => ({
  id: c.id,
  run: c.run_id,
  session: c.session_id,
  user: c.user_id,
  step: c.step,
  position: c.position,
  tool: c.tool,
  toolVersion: c.tool_version,
  level: c.level,
  version: c.version,
  status: c.status === 'pending' && !isOpen(c, tables.now()) ? 'expired' : c.status,
  paramsHash: c.params_hash,
  resource: c.resource,
  resourceVersion: c.resource_version,
  plan: bytes(c.plan),
  confirmers: [...c.confirmers],
  decidedBy: c.decided_by,
  createdAt: Math.floor(c.created_at),
  expiresAt: Math.floor(c.expires_at),
  others: othersOf(tables, c),
})
