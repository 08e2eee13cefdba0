/**
 * One run in memory, judged at every commit by what the database would demand of it. The judge keeps rows of its own and
 * believes nothing that the machine counts.
 */
import { END_REASONS } from '../../src/run/reasons.ts'
import { isFinal, type Call, type CallConfirmation, type Run } from '../../src/run/state.ts'
import type { LedgerEntry, Moved, NewMessage } from '../../src/run/writes.ts'
import { aRun, moved } from './runs.ts'

interface Asked {
  readonly key: string
  status: CallConfirmation['status']
  readonly expiresAt: number
  executeBy: number
  readonly resourceVersion: string | null
}

interface Effect {
  status: Call['status']
  readonly level: Call['level']
  readonly approval: Call['approval']
  starts: number
  wait: { readonly until: number; readonly signal: string | null; readonly count: number; told: boolean } | null
}

/** A decision is good for this long. */
const EXECUTE_MS = 60_000

export interface Store {
  readonly run: Run
  now: number
  readonly deadline: number
  readonly dueAt: number
  readonly ledger: readonly LedgerEntry[]
  readonly messages: readonly NewMessage[]
  readonly events: readonly string[]
  readonly asked: ReadonlyMap<string, Asked>
  readonly effects: ReadonlyMap<string, Effect>
  /** The run as a worker reads it now. */
  load(): Run
  commit(before: Run, result: Moved): boolean
  claim(): void
  reap(): void
  /** COMMIT S: what it answers. */
  start(run: Run, call: Call): 'started' | 'refused'
  decide(id: string, approve: boolean): void
  supersede(id: string): void
  mark(cause: NonNullable<Run['cancel']>): void
  /** Somebody tells what a call of the open step waits for. */
  tell(position: number): void
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`broken: ${what}`)
}

export function simulatedStore(given: Partial<Run>, seconds: number): Store {
  let run = aRun({ status: 'queued', ...given })
  let dueAt = 0
  const open = {
    kind: 'close',
    inputTokens: 0,
    outputTokens: 0,
    cost: 0,
    known: true,
    suspect: false,
    toolCalls: 0,
    reserved: run.reserved,
    released: { tokens: 0, cost: 0 },
  } as const
  const ledger: LedgerEntry[] = [open]
  const messages: NewMessage[] = []
  const events: string[] = ['run_queued']
  const asked = new Map<string, Asked>()
  const effects = new Map<string, Effect>()
  const startedAt = new Map<string, number>()
  const keyOf = (step: number, position: number): string => `${step}/${position}`

  /** A statement that is not the machine's own: the row, its version and at most one event. */
  function row(next: Run, event?: string): void {
    run = { ...next, version: run.version + 1 }
    if (event !== undefined) events.push(event)
    check(run.eventSeq === events.length, `the row counts ${run.eventSeq} events and there are ${events.length}`)
  }

  function load(): Run {
    const calls = run.calls.map((c): Call => {
      const id = c.confirmation?.id
      const a = id === undefined ? undefined : asked.get(id)
      const late = a?.status === 'approved' && a.executeBy <= store.now
      const effect = effects.get(keyOf(run.step, c.position))
      check(effect?.status === c.status, `call ${c.position} is ${c.status} and its row ${String(effect?.status)}`)
      const startedMs = store.now - (startedAt.get(keyOf(run.step, c.position)) ?? store.now)
      return {
        ...c,
        startedMs: c.startedMs === null ? null : startedMs,
        wait:
          c.status === 'waiting' && effect?.wait
            ? {
                ...effect.wait,
                leftMs: effect.wait.until - store.now,
                arrived: effect.wait.told ? { body: 'told' } : null,
              }
            : null,
        confirmation:
          c.confirmation && a
            ? { ...c.confirmation, status: late ? 'expired' : a.status, leftMs: a.expiresAt - store.now }
            : null,
      }
    })
    return { ...run, calls, lost: run.attempts > 0 && calls.length === 0 }
  }

  function commit(before: Run, { run: next, writes }: Moved): boolean {
    if (before.version !== run.version) return false
    check(before.status === run.status, 'from')
    for (const e of writes.events) {
      events.push(e.type)
      check(e.seq === events.length, `event ${e.seq} is the ${events.length}th`)
    }
    for (const m of writes.messages) {
      messages.push(m)
      check(m.seq === messages.length + 1, `message ${m.seq} is the ${messages.length + 1}th`)
    }
    check(next.messageSeq === messages.length + 1, 'the row counts its messages')
    if (writes.ledger) ledger.push(writes.ledger)
    guards(next, writes.ledger)
    check(
      run.cancel === null || writes.intents.length + writes.confirmations.length === 0,
      'a canceled run asks for nothing new',
    )
    for (const c of writes.intents) {
      check(!effects.has(keyOf(next.step, c.position)), 'an intent is new')
      effects.set(keyOf(next.step, c.position), {
        status: c.status,
        level: c.level,
        approval: c.approval,
        starts: 0,
        wait: null,
      })
    }
    for (const w of writes.waiting) {
      const effect = effects.get(keyOf(next.step, w.position))
      check(
        effect?.status === 'waiting' || effect?.status === (effect?.level === 'read' ? 'intended' : 'started'),
        'what waits was taken',
      )
      if (!effect) continue
      const told = w.signal !== null && effect.wait?.signal === w.signal && effect.wait.told
      effect.wait = { until: store.now + w.ms, signal: w.signal, count: (effect.wait?.count ?? 0) + 1, told }
      effect.status = 'waiting'
    }
    for (const s of writes.settled) {
      const effect = effects.get(keyOf(next.step, s.position))
      check(effect !== undefined && effect.status !== 'settled', 'nothing is settled twice')
      if (!effect) continue
      const happened = s.outcome?.ok === true && effect.level !== 'read'
      check(!happened || effect.starts > 0, 'only what started happened')
      effect.status = s.status
    }
    for (const c of writes.confirmations) {
      check(!asked.has(c.id), 'a confirmation is new')
      asked.set(c.id, {
        key: keyOf(next.step, c.position),
        status: 'pending',
        expiresAt: store.now + c.openMs,
        executeBy: 0,
        resourceVersion: c.resourceVersion,
      })
    }
    for (const c of writes.closed) {
      const a = asked.get(c.id)
      check(a?.status === 'pending' || a?.status === 'approved', 'only an open confirmation is closed')
      if (a) a.status = c.status
    }
    dueAt = next.status === 'waiting_confirmation' ? store.now + (writes.dueMs ?? Number.POSITIVE_INFINITY) : store.now
    row(next)
    if (isFinal(next.status)) atTheEnd(next)
    if (next.status === 'waiting_confirmation') whileItWaits(next)
    return true
  }

  function guards(next: Run, entry: LedgerEntry | null): void {
    const { limits, used, reserved } = next
    check(next.step <= limits.steps, 'steps')
    check(used.toolCalls <= limits.toolCalls, 'tool calls')
    check(!entry?.reserved.tokens || reserved.tokens === entry.reserved.tokens, 'one reservation at a time')
    check(
      !entry?.reserved.tokens || used.tokens + reserved.tokens <= limits.tokens,
      'tokens are reserved within the limit',
    )
    check(!entry?.reserved.cost || used.cost + reserved.cost <= limits.cost, 'money is reserved within the limit')
    for (const n of [used.tokens, used.cost, used.toolCalls, reserved.tokens, reserved.cost])
      check(Number.isSafeInteger(n) && n >= 0, `${n} is a count`)
    const sum = (of: (e: LedgerEntry) => number): number => ledger.reduce((total, e) => total + of(e), 0)
    check(sum((e) => e.inputTokens + e.outputTokens) === used.tokens, 'the ledger has the tokens')
    check(sum((e) => e.cost) === used.cost, 'the ledger has the cost')
    check(sum((e) => e.toolCalls) === used.toolCalls, 'the ledger has the calls')
    check(sum((e) => e.reserved.tokens - e.released.tokens) === reserved.tokens, 'the ledger has the reserved tokens')
    check(sum((e) => e.reserved.cost - e.released.cost) === reserved.cost, 'the ledger has the reserved money')
  }

  function whileItWaits(parked: Run): void {
    check(parked.reserved.tokens === 0 && parked.reserved.cost === 0, 'who waits holds nothing')
    check(parked.wait !== 'confirmation' || parked.cancel === null, 'nobody is asked about a canceled run')
    const isAbroad = parked.calls.some((c) => c.status === 'waiting' && c.level !== 'read')
    const decided =
      !isAbroad &&
      parked.calls.some(
        (c) => c.status === 'intended' && c.confirmation && asked.get(c.confirmation.id)?.status !== 'pending',
      )
    check(parked.wait !== 'confirmation' || !decided, 'a decision is not slept over')
  }

  /** Nothing is left open, and every call of the transcript has its one answer, in order. */
  function atTheEnd(ended: Run): void {
    check(ended.end !== null && END_REASONS[ended.end].status === ended.status, 'one reason, and it gives the status')
    check(ended.reserved.tokens === 0 && ended.reserved.cost === 0, 'everything is released')
    check(ended.calls.length === 0, 'no call is open')
    const mayBeLeft = ended.end === 'unknown_effect'
    for (const [key, e] of effects)
      check(e.status === 'settled' || (mayBeLeft && e.status === 'unknown'), `effect ${key} is settled`)
    for (const a of asked.values()) check(a.status !== 'pending' && a.status !== 'approved', 'no confirmation is open')
    check(events.filter((e) => e === 'run_ended').length === 1, 'one end')
    const bodies = messages.map((m) => m.body)
    let at = 0
    while (at < bodies.length) {
      const said = bodies[at++]
      check(said?.role === 'assistant', 'a tool message follows its call')
      for (const call of said?.role === 'assistant' ? said.calls : []) {
        const answer = bodies[at++]
        check(
          answer?.role === 'tool' && answer.callId === call.id && answer.name === call.name,
          'a call is followed by its answer',
        )
      }
    }
  }

  function start(mine: Run, call: Call): 'started' | 'refused' {
    const key = keyOf(mine.step, call.position)
    const effect = effects.get(key)
    const a = call.confirmation ? asked.get(call.confirmation.id) : undefined
    const approved =
      a?.key === key &&
      a.status === 'approved' &&
      a.executeBy > store.now &&
      a.resourceVersion === call.confirmation?.resourceVersion
    const again = effect?.status === 'started'
    const may = effect?.status === 'intended' && (effect.approval === 'auto' || approved)
    if (
      mine.version !== run.version ||
      run.cancel !== null ||
      store.deadline <= store.now ||
      !effect ||
      !(again || may)
    )
      return 'refused'
    check(
      [...effects.entries()].every(
        ([k, e]) => k === key || e.level === 'read' || ['intended', 'settled'].includes(e.status),
      ),
      'nothing starts beside an open effect',
    )
    check(effect.level !== 'read', 'a read is not an effect')
    const started = moved(mine, { kind: 'effect_started', position: call.position })
    effect.status = 'started'
    effect.starts += 1
    startedAt.set(key, store.now)
    if (a && a.status === 'approved') a.status = 'consumed'
    row(started.run, 'effect_started')
    return 'started'
  }

  function decide(id: string, approve: boolean): void {
    const a = asked.get(id)
    const mine = load()
    const call = mine.calls.find((c) => c.confirmation?.id === id)
    const isOpen = !isFinal(run.status) && (run.status !== 'waiting_confirmation' || run.wait === 'confirmation')
    if (
      !a ||
      !call ||
      a.status !== 'pending' ||
      a.expiresAt <= store.now ||
      !isOpen ||
      run.cancel ||
      store.deadline <= store.now
    )
      return
    const decided = moved(mine, { kind: 'confirmation_decided', position: call.position, approved: approve })
    a.status = approve ? 'approved' : 'rejected'
    a.executeBy = store.now + EXECUTE_MS
    if (run.status === 'waiting_confirmation') dueAt = store.now
    row(decided.run, 'confirmation_decided')
  }

  const store: Store = {
    get run() {
      return run
    },
    get dueAt() {
      return dueAt
    },
    now: 0,
    deadline: seconds * 1_000,
    ledger,
    messages,
    events,
    asked,
    effects,
    load,
    commit,
    claim: () => row({ ...moved(load(), { kind: 'claimed' }).run, epoch: run.epoch + 1 }),
    reap() {
      row(moved(load(), { kind: 'lease_lost' }).run)
      dueAt = store.now
    },
    start,
    decide,
    supersede(id) {
      const call = run.calls.find((c) => c.confirmation?.id === id)
      if (!call || asked.get(id)?.status !== 'pending' || run.wait !== 'confirmation') return
      commit(load(), moved(load(), { kind: 'plan_stale', position: call.position }))
    },
    tell(position) {
      const effect = effects.get(keyOf(run.step, position))
      if (effect?.status !== 'waiting' || !effect.wait?.signal || isFinal(run.status)) return
      effect.wait.told = true
      if (run.status === 'waiting_confirmation' && run.wait !== 'unknown_effect') dueAt = store.now
      row({ ...run })
    },
    mark(cause) {
      if (isFinal(run.status) || run.cancel) return
      if (run.status === 'running') row(moved(load(), { kind: 'cancel_requested', cause }).run, 'cancel_requested')
      else if (cause === 'superseded') {
        // a newer message only marks, and somebody looks
        dueAt = store.now
        row({ ...run, cancel: cause })
      } else commit(load(), moved(load(), { kind: 'cancel_requested', cause }))
    },
  }
  return store
}
