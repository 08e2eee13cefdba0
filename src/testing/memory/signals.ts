/** What the world tells runs that wait for it, as `plimsoll.tell` does. */
import { tell } from '../../run/run.sql.ts'
import type { RunRow, SignalRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { batchOf, evidence, type Guards, isActive, named, on, passes, type Verbs } from './verb.ts'

export interface Telling {
  readonly tenant: string
  readonly environment: string
  readonly signal: string
  readonly body: string
  readonly hash: string
}

/** The runs that are waked by a signal. */
export const WAKE: Guards<readonly [RunRow, Telling, Tables]> = {
  active: (r) => isActive(r.status),
  waiting: (r, t, tables) =>
    tables.effect.of(`${r.tenant_id}/${r.id}`).some((e) => e.status === 'waiting' && e.wait_signal === t.signal),
}

export function addSignals(verbs: Verbs, guards: { readonly wake: typeof WAKE }): void {
  on(verbs, tell, (tables, { told, keys }) => {
    const known = evidence(keys)
    return batchOf<Telling>(told, (t) => `${t.tenant} ${t.signal}`).map(({ row: t, n }) => {
      const place = { tenant_id: t.tenant, environment: t.environment }
      if (!named(known, place, `signal:${t.signal}`)) throw new Error('row-level security of signal')
      const s = store(tables, t)
      if (s.body_hash !== t.hash) return { n, outcome: 'told_otherwise', waiters: 0 }
      for (const id of s.waiters) wake(tables, guards.wake, t, id)
      return { n, outcome: 'told', waiters: s.waiters.length }
    })
  })
}

/** The first body stays. */
function store(tables: Tables, t: Telling): SignalRow {
  const told = { body: t.body, body_hash: t.hash, told_at: tables.now() }
  const known = tables.signal.get(`${t.tenant}/${t.environment}/${t.signal}`)
  if (known) {
    if (known.body === null) tables.signal.change(known, told)
    return known
  }
  const made = tables.rowOf('signal', {
    tenant_id: t.tenant,
    environment: t.environment,
    key: t.signal,
    waiters: [],
    ...told,
  })
  tables.signal.insert(made)
  return made
}

function wake(tables: Tables, guards: typeof WAKE, t: Telling, id: string): void {
  const r = tables.run.get(`${t.tenant}/${id}`)
  if (r?.environment !== t.environment || !passes(guards, r, t, tables)) return
  const sleeps = r.status === 'waiting_confirmation' && r.wait_reason !== 'unknown_effect'
  tables.run.change(r, { version: r.version + 1, ...(sleeps ? { due_at: tables.now() } : {}) })
}
