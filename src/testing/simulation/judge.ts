/**
 * What must hold after every statement and every request that leaves. The judge keeps its own copy of what was there before
 * and believes neither the guards of the store nor the program.
 */
import type { ConfirmationRow, RunRow } from '../memory/rows.ts'
import { PLACES, RATES } from './agents.ts'
import { judgeEffects, type SeenRun } from './judge-effects.ts'
import { judgeSweep } from './judge-sweep.ts'
import type { Process } from './scheduler.ts'
import type { Judge, Order, World } from './world.ts'

const FINAL = ['succeeded', 'failed', 'canceled']
/** Where a status may lead to in one statement; a mark or a decision may leave it as it is. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  queued: ['queued', 'running', 'canceled'],
  running: ['running', 'queued', 'waiting_confirmation', ...FINAL],
  // an operator who leaves an effect as unknown ends its run
  waiting_confirmation: ['waiting_confirmation', 'queued', 'running', 'canceled', 'failed'],
}
/** A word that could not be worked on is heard again after this, at most. */
const AGAIN_MS = 5_000
const DECISIONS: Readonly<Record<string, readonly string[]>> = {
  pending: ['approved', 'rejected', 'expired', 'superseded'],
  approved: ['consumed', 'expired', 'superseded'],
}
const MOVING = new Set(['step', 'start', 'decide', 'cancel', 'submit', 'claim', 'reap', 'tell', 'abandon'])

export function judgeOf(world: World): Judge {
  const runs = new Map<string, SeenRun>()
  const owners = new Map<string, string>()
  const consents = new Map<string, string>()
  /** When calls of a tool with a rate were counted, and how many of them have started. */
  const taken = new Map<string, number[]>()
  /** Until when a run is followed. */
  const follows = new Map<string, number>()
  const inside = new Map<string, { readonly by: Process; readonly tool: string }>()

  const check = (holds: boolean, invariant: string, detail: string): void => {
    if (!holds) world.broken(invariant, detail)
  }

  function look(verb: string, params: unknown): void {
    const { tables } = world
    for (const row of tables.run.all()) {
      const key = `${row.tenant_id}/${row.id}`
      const known = runs.get(key)
      if (!known) {
        check(row.version === 1 && row.status === 'queued', '4 versions form a chain', `${row.id} begins`)
        runs.set(key, { row: { ...row }, movedAt: world.sched.now(), effects: new Map(), asked: new Map() })
      } else if (known.row.version !== row.version) moved(known, row, verb, params)
      else check(isSame(known.row, row), '4 versions form a chain', `${row.id} moved without a version`)
    }
  }

  function moved(known: SeenRun, row: RunRow, verb: string, params: unknown): void {
    const { row: old } = known
    const { id } = row
    check(row.version === old.version + 1, '4 versions form a chain', `${id} ${old.version} to ${row.version}`)
    check(
      (MOVES[old.status] ?? []).includes(row.status),
      'A1 only moves of the table',
      `${id} ${old.status} to ${row.status} by ${verb}`,
    )
    check(old.end_reason === null, 'A1 an end is the end', id)
    check(old.cancel_cause === null || row.cancel_cause === old.cancel_cause, 'J7 a cancel mark stays', id)
    check(row.step <= row.max_steps && row.used_tool_calls <= row.max_tool_calls, '17 within the limits', id)
    owned(old, row, verb, params)
    booked(old, row)
    told(old, row)
    asked(known, row)
    heard(row)
    if (row.cancel_cause === 'disconnect' && old.cancel_cause === null)
      check((follows.get(`${row.tenant_id}/${id}`) ?? Infinity) < world.sched.now(), 'K2 who is followed goes on', id)
    judgeEffects(world, { known, row, old, check, taken })
    known.row = { ...row }
    known.movedAt = world.sched.now()
  }

  function owned(old: RunRow, row: RunRow, verb: string, params: unknown): void {
    const { tables, sched } = world
    const isLive = (worker: string | null): boolean =>
      (tables.worker.get(worker ?? '')?.lease_until ?? -1) > sched.now()
    if (row.status === 'running' && old.status !== 'running') {
      check(row.epoch === old.epoch + 1, '5 a claim raises the epoch', row.id)
      check(isLive(row.worker_id), '6 a claim needs a lease', row.id)
      check(!owners.has(`${row.id}/${row.epoch}`), '6 one owner per epoch', row.id)
      owners.set(`${row.id}/${row.epoch}`, row.worker_id ?? '')
      check(isOldest(row), 'A4 one active generation', row.id)
    } else check(row.epoch === old.epoch, '5 only a claim raises the epoch', row.id)
    if (old.status !== 'running') return
    if (row.status === 'running') check(row.worker_id === old.worker_id, '6 one owner per epoch', row.id)
    if (verb === 'reap') check(!isLive(old.worker_id), '6 a living worker keeps its runs', row.id)
    if (verb === 'step' || verb === 'start') {
      const { worker } = params as { readonly worker: string }
      check(worker === old.worker_id, '5 only its owner commits', `${row.id} by ${worker}`)
      check(epochIn(params, row.id) === old.epoch, '5 only its epoch commits', row.id)
    }
  }

  function isOldest(row: RunRow): boolean {
    for (const r of world.tables.run.all())
      if (r.session_id === row.session_id && r.tenant_id === row.tenant_id && r.generation < row.generation)
        if (!FINAL.includes(r.status)) return false
    return true
  }

  /** Every move of the counters has its row in the ledger, and what is held fits. */
  function booked(old: RunRow, row: RunRow): void {
    const entry = world.tables.ledger.get(`${row.tenant_id}/${row.id}/${row.version}/run`)
    const spent = entry ? entry.input_tokens + entry.output_tokens : 0
    const held = entry ? entry.reserved_tokens - entry.released_tokens : 0
    const heldCost = entry ? entry.reserved_cost - entry.released_cost : 0
    check(row.used_tokens - old.used_tokens === spent, '16 the ledger has what was used', row.id)
    check(row.used_cost - old.used_cost === (entry?.spent_cost ?? 0), '16 the ledger has what was spent', row.id)
    check(row.used_tool_calls - old.used_tool_calls === (entry?.tool_calls ?? 0), '16 the ledger has the calls', row.id)
    check(row.reserved_tokens - old.reserved_tokens === held, '16 the ledger has what is held', row.id)
    check(row.reserved_cost - old.reserved_cost === heldCost, '16 the ledger has what is held', row.id)
    if (row.reserved_tokens > 0)
      check(row.used_tokens + row.reserved_tokens <= row.max_tokens, '16 reserved within the limit', row.id)
    if (row.reserved_cost > 0)
      check(row.used_cost + row.reserved_cost <= row.max_cost, '16 reserved within the limit', row.id)
  }

  /** The events of a run are numbered without a gap, in the order in which they were written. */
  function told(old: RunRow, row: RunRow): void {
    const events = world.tables.event.of(`${row.tenant_id}/${row.id}`)
    check(events.length === row.event_seq, '22 no gap in the events', row.id)
    for (let seq = old.event_seq + 1; seq <= row.event_seq; seq++)
      check(events[seq - 1]?.seq === seq, '22 events are in order', `${row.id} ${seq}`)
  }

  function asked(known: SeenRun, row: RunRow): void {
    const now = world.sched.now()
    for (const c of world.tables.confirmation.of(`${row.tenant_id}/${row.id}`)) {
      const before = known.asked.get(c.id)
      if (before === c.status) continue
      known.asked.set(c.id, c.status)
      if (before === undefined) check(c.status === 'pending', '10 a question begins open', c.id)
      else
        check(
          (DECISIONS[before] ?? []).includes(c.status),
          '10 a decision is used once',
          `${c.id} ${before} to ${c.status}`,
        )
      if (c.status === 'approved' || c.status === 'rejected') decided(c, known.row, now)
      if (c.status === 'consumed') check((c.execute_by ?? 0) > now, '12 old consent is no consent', c.id)
    }
  }

  function decided(c: ConfirmationRow, run: RunRow, now: number): void {
    check(c.expires_at > now, '12 what has expired stays dead', c.id)
    check(run.cancel_cause === null, '14 nobody decides for a canceled run', c.id)
    check(c.decided_by !== null && c.confirmers.includes(c.decided_by), '11 only who was named decides', c.id)
  }

  /** What is counted is within the rate, whatever the counter says. */
  function took(tool: string): void {
    const { calls, perMs } = RATES[tool] ?? { calls: 0, perMs: 0 }
    const times = taken.get(tool) ?? []
    taken.set(tool, times)
    times.push(world.sched.now())
    const before = times.at(-1 - calls)
    check(before === undefined || world.sched.now() - before >= perMs, 'I1 within the rate', tool)
  }

  function followed({ tenant, run, ms }: Following): void {
    const key = `${tenant}/${run}`
    follows.set(key, Math.max(follows.get(key) ?? 0, world.sched.now() + ms))
  }

  /** Whoever waits for a word that was told is due: at once, or soon again after a try that failed. */
  function heard(row: RunRow): void {
    if (row.status !== 'waiting_confirmation' || row.wait_reason === 'unknown_effect') return
    const { tables, sched } = world
    for (const e of tables.effect.of(`${row.tenant_id}/${row.id}`)) {
      if (e.status !== 'waiting' || e.wait_signal === null) continue
      const told = tables.signal.get(`${row.tenant_id}/${row.environment}/${e.wait_signal}`)?.body ?? null
      check(told === null || row.due_at <= sched.now() + AGAIN_MS, 'T3 who is told is due', row.id)
    }
  }

  /** Of a tool that has few places so many calls of one process are outside at once; what is repeated asks for none. */
  function squeezed(order: Order, by: Process, attempt: number): void {
    const places = PLACES[order.tool]
    if (places === undefined || attempt > 1) return
    inside.set(order.place, { by, tool: order.tool })
    const together = [...inside.values()].filter((one) => one.by === by && one.tool === order.tool).length
    check(together <= places, 'N4 as many at once as there are places', order.place)
  }

  function leaves(order: Order, by: Process): void {
    const { tables, sched } = world
    const [runId = '', step, position] = order.place.split('/')
    const run = [...tables.run.all()].find((r) => r.id === runId)
    if (!run) return world.broken('23 an effect has its intent', order.place)
    const effect = tables.effect.get(`${run.tenant_id}/${run.id}/${step}/${position}`)
    if (effect?.status !== 'started') return world.broken('J6 an effect has its start', order.place)
    const server = world.servers.find((s) => s.process === by)
    const worker = server?.worker?.id()
    const lease = tables.worker.get(worker ?? '')?.lease_until ?? -1
    check(run.status === 'running' && run.worker_id === worker, '5 no effect by who lost the run', order.place)
    check(lease > sched.now(), '5 no effect by a worker without a lease', order.place)
    check(order.key === effect.idempotency_key, '1 one key for a call', order.place)
    const sent = `{"item":${JSON.stringify(order.item)},"units":${order.units}}`
    squeezed(order, by, effect.attempt)
    if (!order.tool.endsWith('.hand')) return
    const used = tables.confirmation
      .of(`${run.tenant_id}/${run.id}`)
      .find((c) => c.step === effect.step && c.position === effect.position && c.status === 'consumed')
    check(used !== undefined, '10 no effect without its approval used up', order.place)
    check(consents.get(used?.id ?? '') === sent, '13 what is shown is what runs', order.place)
  }

  return {
    after(verb, params, rows) {
      if (verb === 'takeCall' && rows > 0) took((params as { readonly tool: string }).tool)
      if (verb === 'attend') followed(params as Following)
      if (MOVING.has(verb)) look(verb, params)
      if (verb === 'sweep') judgeSweep(world)
      if (verb === 'tell') for (const row of world.tables.run.all()) heard(row)
    },
    leaves,
    returned({ place }, by) {
      const narrow = inside.get(place)
      if (narrow?.by === by) inside.delete(place)
    },
    happened: ({ place }) => check(world.provider.count(place) <= 1, '1 2 one effect for a call', place),
    consented: (confirmation, params) => void consents.set(confirmation, params),
    lastMoved: (run) => runs.get(run)?.movedAt ?? 0,
  }
}

interface Following {
  readonly tenant: string
  readonly run: string
  readonly ms: number
}

const isSame = (a: RunRow, b: RunRow): boolean =>
  a.status === b.status && a.worker_id === b.worker_id && a.epoch === b.epoch && a.event_seq === b.event_seq

/** The epoch under which a batch moves this run. */
function epochIn(params: unknown, run: string): number | null {
  const { transitions, starts } = params as { readonly transitions?: string; readonly starts?: string }
  const found = new RegExp(`"run":"${run}","epoch":(\\d+)`).exec(transitions ?? starts ?? '')
  return found ? Number(found[1]) : null
}
