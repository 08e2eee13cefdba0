/** The way of events to sinks, as `plimsoll.outbox_look`, `outbox_take` and the statements of the relay keep it. */
import { claim, failed, look, parcel, putOff, released, sent } from '../../journal/outbox.sql.ts'
import { isAlive } from './queue.ts'
import type { DeliveryRow, EventRow, SinkRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { bytes, type Guards, on, passes, seen, type Verbs, type Walls } from './verb.ts'

export interface Taking {
  readonly tables: Tables
  readonly worker: string
  readonly held: readonly (string | null)[]
}

/** A living relay has it, and if that is the one that asks, it knows so. */
const isCarried = (d: DeliveryRow, { tables, worker, held }: Taking): boolean =>
  isAlive(tables.worker.get(d.worker_id ?? ''), tables.now()) &&
  (d.worker_id !== worker || held.includes(`${d.endpoint_id}/${d.run_id}`))

/** The conditions under which a relay takes a delivery. */
export const DELIVER: Guards<readonly [DeliveryRow, Taking]> = {
  due: (d, { tables }) => d.due_at <= tables.now(),
  free: (d, taking) => !isCarried(d, taking),
  lease: (_d, { tables, worker }) => isAlive(tables.worker.get(worker), tables.now()),
}

/** Whoever was taken over marks nothing any more. */
export const MARK: Guards<readonly [DeliveryRow, { readonly epoch: number }]> = {
  epoch: (d, of) => d.epoch === of.epoch,
}

export interface OutboxGuards {
  readonly deliver: typeof DELIVER
  readonly mark: typeof MARK
}

export function addOutbox(verbs: Verbs, guards: OutboxGuards): void {
  on(verbs, look, (tables, { sinks, everyMs, backMs }) => {
    const now = tables.now()
    const served = sinks.filter((name) => name !== null)
    for (const name of served) if (!tables.sink.get(name)) tables.sink.insert({ name, starts_at: now, seen_at: now })
    for (const name of served) {
      const sink = tables.sink.get(name)
      if (sink && sink.seen_at <= now - everyMs) lookFor(tables, sink, backMs)
    }
    return [{ served: served.length }]
  })
  on(verbs, claim, (tables, { worker, sinks, limit, each, held }) => {
    const taking: Taking = { tables, worker, held }
    const all = sinks.flatMap((name) => [...tables.delivery.all()].filter((d) => d.endpoint_id === name))
    const carried = all.filter((d) => isCarried(d, taking))
    const due = all.filter((d) => passes(guards.deliver, d, taking))
    return shared(due, { carried, worker, each, limit, places: limit + held.length }).map((d) => {
      tables.delivery.change(d, { worker_id: worker, epoch: d.epoch + 1 })
      return { tenant: d.tenant_id, environment: d.environment, endpoint: d.endpoint_id, run: d.run_id, epoch: d.epoch }
    })
  })
  const marked = (tables: Tables, of: Of, walls: Walls, change: (d: DeliveryRow) => Partial<DeliveryRow>) => {
    const d = deliveryOf(tables, of, walls)
    if (!d || !passes(guards.mark, d, of)) return []
    tables.delivery.change(d, change(d))
    return [{ marked: 1 }]
  }
  on(verbs, parcel, (tables, of, walls) => {
    const d = deliveryOf(tables, of, walls)
    if (!d || !passes(guards.mark, d, of)) return []
    const first = { head: d.head, attempt: d.attempt, url: null, secret: null, previous: null, failures: 0 }
    const events = toldTo(tables, d)
      .filter((e) => e.seq > d.sent && e.seq <= d.head)
      .sort((a, b) => a.seq - b.seq)
      .slice(0, of.limit)
    if (events.length === 0) return [{ ...first, seq: null, type: null, body: null, session: null, at: null }]
    const session = tables.run.get(`${d.tenant_id}/${d.run_id}`)?.session_id ?? null
    return events.map((e) => ({
      ...{ ...first, session, seq: e.seq, type: e.type, body: bytes(e.body), at: Math.floor(e.created_at) },
    }))
  })
  on(verbs, sent, (tables, of, walls) =>
    marked(tables, of, walls, (d) => ({ sent: of.seq, attempt: 0, due_at: restOf(tables, d, of.seq) })),
  )
  on(verbs, failed, (tables, of, walls) =>
    marked(tables, of, walls, (d) => ({
      worker_id: null,
      sent: of.giveUp ? of.seq : d.sent,
      attempt: of.giveUp ? 0 : d.attempt + 1,
      due_at: of.giveUp ? restOf(tables, d, of.seq) : tables.now() + of.delayMs,
    })),
  )
  on(verbs, putOff, (tables, of, walls) => {
    marked(tables, of, walls, () => ({ worker_id: null, due_at: tables.now() + of.delayMs }))
    return []
  })
  on(verbs, released, (tables, of, walls) => {
    const { head } = of
    marked(tables, of, walls, (d) => ({
      worker_id: null,
      sent: Math.max(d.sent, head ?? d.sent),
      due_at: head === null ? d.due_at : restOf(tables, d, head),
    }))
    return []
  })
}

interface Places {
  /** By living relays, this one among them. */
  readonly carried: readonly DeliveryRow[]
  readonly worker: string
  readonly each: number
  readonly limit: number
  /** Of this relay. */
  readonly places: number
}

/** Rows with their places in a row of their own kind, in this order, after what is held of it. */
function ranked<R extends object, K extends string>(
  rows: readonly R[],
  name: K,
  order: (a: R, b: R) => number,
  kind: (row: R) => string,
  held: (row: R) => number,
): (R & Record<K, number>)[] {
  const before = new Map<string, number>()
  return [...rows].sort(order).map((row) => {
    const place = (before.get(kind(row)) ?? held(row)) + 1
    before.set(kind(row), place)
    return { ...row, [name]: place } as R & Record<K, number>
  })
}

const placeOf = (d: DeliveryRow): string => `${d.tenant_id}/${d.endpoint_id}`

/**
 * Of what is due to sinks, what is taken: first of whoever holds fewest places, of one tenant a quarter of the relay's at
 * most and of each sink all places but one, of all sinks three quarters.
 */
function shared(due: readonly DeliveryRow[], { carried, worker, each, limit, places }: Places): readonly DeliveryRow[] {
  const share = Math.max(1, Math.floor(places / 4))
  const own = carried.filter((d) => d.worker_id === worker)
  const count = (rows: readonly DeliveryRow[], of: (d: DeliveryRow) => boolean): number => rows.filter(of).length
  const ofTenant = (d: DeliveryRow): number => count(own, (c) => c.tenant_id === d.tenant_id)
  const ofPlace = (d: DeliveryRow): number => count(carried, (c) => placeOf(c) === placeOf(d))
  const free = (d: DeliveryRow): number => each - count(carried, (c) => c.endpoint_id === d.endpoint_id)
  const rows = due.map((d) => ({ d, due: d.due_at }))
  const first = ranked(
    rows,
    'place',
    (a, b) => a.due - b.due,
    (r) => placeOf(r.d),
    (r) => ofPlace(r.d),
  )
  const waiting = first.filter((r) => {
    const held = ofPlace(r.d)
    return r.place - held <= Math.min(Math.max(1, each - 1) - held, share - ofTenant(r.d), free(r.d))
  })
  const byPlace = (a: (typeof first)[number], b: (typeof first)[number]): number => a.place - b.place || a.due - b.due
  const second = ranked(
    waiting,
    'tenant',
    byPlace,
    (r) => r.d.tenant_id,
    (r) => ofTenant(r.d),
  )
  const byTenant = (a: (typeof second)[number], b: (typeof second)[number]): number =>
    a.tenant - b.tenant || a.due - b.due
  const fitting = second.filter((r) => r.tenant <= share)
  const third = ranked(
    fitting,
    'sink',
    byTenant,
    (r) => r.d.endpoint_id,
    () => 0,
  ).filter((r) => r.sink <= free(r.d))
  const most = Math.max(1, places - share) - own.length
  return third.slice(0, Math.max(0, Math.min(limit, most))).map((r) => r.d)
}

interface Of {
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}

function deliveryOf(tables: Tables, { tenant, endpoint, run }: Of, walls: Walls): DeliveryRow | undefined {
  const d = tables.delivery.get(`${tenant}/${endpoint}/${run}`)
  return d && seen(walls, d) ? d : undefined
}

const toldTo = (tables: Tables, d: Pick<DeliveryRow, 'tenant_id' | 'run_id'>): EventRow[] =>
  tables.event.of(`${d.tenant_id}/${d.run_id}`).filter((e) => e.visibility === 'user')

/** At once, when there is more than `seq`; else never. */
const restOf = (tables: Tables, d: DeliveryRow, seq: number): number =>
  d.head > seq ? tables.now() : Number.POSITIVE_INFINITY

/** Makes due what is new for a sink. */
function lookFor(tables: Tables, sink: SinkRow, backMs: number): void {
  const now = tables.now()
  for (const run of tables.run.all()) {
    // what errands do is nobody's to hear of
    if (run.agent.includes('/')) continue
    const { tenant_id, environment, id: run_id } = run
    const told = toldTo(tables, { tenant_id, run_id }).filter((e) => e.created_at >= sink.starts_at)
    const fresh = told.filter((e) => e.created_at > sink.seen_at - backMs)
    if (fresh.length === 0) continue
    const head = Math.max(...fresh.map((e) => e.seq))
    const d = tables.delivery.get(`${tenant_id}/${sink.name}/${run_id}`)
    const first = Math.min(...told.map((e) => e.seq)) - 1
    const made = { tenant_id, environment, endpoint_id: sink.name, run_id, sent: first, head, due_at: now }
    if (!d) tables.delivery.insert(tables.rowOf('delivery', made))
    else if (d.head < head)
      tables.delivery.change(d, { head, due_at: d.due_at === Number.POSITIVE_INFINITY ? now : d.due_at })
  }
  tables.sink.change(sink, { seen_at: now })
}
