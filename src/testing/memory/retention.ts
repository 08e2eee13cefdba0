/** What finished runs leave, as `plimsoll.sweep` takes it away: the four classes of runs, without holds. */
import { noteSweep, rules, setRule, sweep } from '../../journal/retention.sql.ts'
import type { RetentionRow, RunRow } from './rows.ts'
import type { Table, Tables } from './tables.ts'
import { base64, type Guards, on, passes, seen, type Verbs } from './verb.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

export interface Sweeping {
  readonly class: string
  readonly tables: Tables
  readonly cutoff: number
}

/** The conditions under which a run loses what a class is of. */
export const SWEEP: Guards<readonly [RunRow, Sweeping]> = {
  ended: (r) => r.ended_at !== null,
  old: (r, { cutoff }) => (r.ended_at ?? 0) < cutoff,
  sent: (r, s) => s.class !== 'event' || s.tables.delivery.of(keyOf(r)).every((d) => d.due_at === Infinity),
  looked: (r, s) => s.class !== 'event' || !isUnseen(r, s.tables),
  known: (r, s) => s.class !== 'value' || s.tables.effect.of(keyOf(r)).every((e) => !OPEN.has(e.status)),
}
const OF_AGE: ReadonlySet<string> = new Set(['ended', 'old'])
const OPEN: ReadonlySet<string> = new Set(['started', 'unknown'])
/** As far as a relay looks back. */
const BACK_MS = 30_000

/** Some sink has not been looked for since an event came. */
const isUnseen = (r: RunRow, tables: Tables): boolean =>
  [...tables.sink.all()].some((sink) =>
    tables.event
      .of(keyOf(r))
      .some((e) => e.visibility === 'user' && e.created_at >= sink.starts_at && e.created_at > sink.seen_at - BACK_MS),
  )

const keyOf = (r: RunRow): string => `${r.tenant_id}/${r.id}`

interface Blank {
  readonly blank: Uint8Array
  readonly blankPlan: Uint8Array
}

export function addRetention(verbs: Verbs, guards: { readonly sweep: typeof SWEEP }): void {
  on(verbs, rules, (tables, { tenant }, walls) =>
    [...tables.retention.all()]
      .filter((x) => seen(walls, x) && x.tenant_id === tenant)
      .sort((a, b) => (a.class < b.class ? -1 : 1))
      .map((x) => ({ class: x.class, days: x.days, sweptAt: Number.isFinite(x.swept_at) ? x.swept_at : null })),
  )
  on(verbs, setRule, (tables, { tenant, environment, class: name, days, actor, audit, reason }) => {
    const owner = { tenant_id: tenant, environment }
    const known = tables.retention.get(`${tenant}/${environment}/${name}`)
    if (known) tables.retention.change(known, { days })
    else tables.retention.insert(tables.rowOf('retention', { ...owner, class: name, days }))
    const said = { id: audit, actor_kind: 'operator', actor, action: 'retention.set', target: name }
    tables.audit.insert(tables.rowOf('audit', { ...owner, ...said, outcome: String(days ?? 'for ever'), reason }))
    return []
  })
  on(verbs, sweep, (tables, { tenant, environment, class: name, limit, blank, blankPlan, ...how }) => {
    if (how.dry) throw new Error('the memory store sweeps in earnest')
    const rule = tables.retention.get(`${tenant}/${environment}/${name}`)
    const nothing = { runs: 0, kept: 0, changed: 0, done: true, afterAt: null, afterRun: null }
    if (!rule || rule.days === null) return [nothing]
    const cutoff = tables.now() - Math.max(rule.days * DAY_MS, HOUR_MS)
    return [sweepBatch(tables, { rule, limit, cutoff, guards: guards.sweep, blank, blankPlan })]
  })
  on(verbs, noteSweep, (tables, { tenant, environment, audit, kind, actor, class: target, outcome }) => {
    const said = { id: audit, actor_kind: kind, actor, action: 'retention.sweep', target, outcome }
    tables.audit.insert(tables.rowOf('audit', { tenant_id: tenant, environment, ...said }))
    return []
  })
}

interface Batch extends Blank {
  readonly rule: RetentionRow
  readonly limit: number
  readonly cutoff: number
  readonly guards: typeof SWEEP
}

function sweepBatch(tables: Tables, { rule, limit, cutoff, guards, ...blank }: Batch) {
  const sweeping: Sweeping = { class: rule.class, tables, cutoff }
  // what is taken away must be old; what is old may still have to stay
  const named = (isAge: boolean): Guards<readonly [RunRow, Sweeping]> =>
    Object.fromEntries(Object.entries(guards).filter(([name]) => OF_AGE.has(name) === isAge))
  const [aged, loose] = [named(true), named(false)]
  const due = [...tables.run.all()]
    .filter((r) => r.tenant_id === rule.tenant_id && r.environment === rule.environment)
    .filter((r) => passes(aged, r, sweeping) && isAfter(r, rule))
    .sort((a, b) => endOf(a) - endOf(b) || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
  const gone = due.filter((r) => passes(loose, r, sweeping))
  const changed = gone.reduce((sum, r) => sum + takeAway(tables, r, rule.class, blank), 0)
  const done = due.length < limit
  const first = due.find((r) => !gone.includes(r))
  const firstKept = Math.min(rule.kept_at ?? Infinity, first ? endOf(first) : Infinity)
  const last = due.at(-1)
  const place = { after_at: last ? endOf(last) : rule.after_at, after_run: last?.id ?? rule.after_run }
  const isBack = done && firstKept < Infinity
  tables.retention.change(rule, {
    ...(isBack ? { after_at: firstKept - 0.001, after_run: '' } : place),
    kept_at: done || firstKept === Infinity ? null : firstKept,
    ...(done ? { swept_at: tables.now() } : {}),
  })
  return { runs: gone.length, kept: due.length - gone.length, changed, done, afterAt: null, afterRun: place.after_run }
}

const endOf = (r: RunRow): number => r.ended_at ?? 0
const isAfter = (r: RunRow, { after_at, after_run }: RetentionRow): boolean =>
  endOf(r) > after_at || (endOf(r) === after_at && r.id > after_run)

function takeAway(tables: Tables, r: RunRow, name: string, { blank, blankPlan }: Blank): number {
  const key = keyOf(r)
  const removeAll = <R>(table: Table<R>): number => {
    const rows = [...table.of(key)]
    rows.forEach((row) => table.remove(row))
    return rows.length
  }
  if (name === 'delta') return removeAll(tables.delta)
  if (name === 'message') return removeAll(tables.message)
  if (name === 'event') {
    const events = removeAll(tables.event)
    removeAll(tables.delivery)
    return events
  }
  if (name !== 'value') throw new Error(`the memory store does not sweep ${name}`)
  const effects = tables.effect.of(key)
  for (const e of effects) tables.effect.change(e, { arguments: base64(blank), result: null })
  for (const c of tables.confirmation.of(key)) tables.confirmation.change(c, { plan: base64(blankPlan) })
  return effects.length
}
