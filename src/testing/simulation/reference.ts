/**
 * A sequential model of a run: what may follow what, from its durable events alone. Small on purpose; it knows nothing of
 * workers, leases, versions or the machine, and what it believes in the end is compared with the row.
 */
import type { JsonObject } from '../../kernel/json.ts'

export interface Told {
  readonly type: string
  readonly body: JsonObject
}

/** Null when the history can be true, else why it cannot. `isRead`: whether a tool changes nothing and needs no start. */
export function implausible(events: readonly Told[], isRead: (tool: string) => boolean): string | null {
  const [first, ...rest] = events
  if (first?.type !== 'run_queued') return 'it does not begin with its message'
  const run = newRun(isRead)
  for (const [i, { type, body }] of rest.entries()) {
    if (run.ended) return `${type} after the end`
    const waited = run.waits
    if (waited && !(WAKES[waited] ?? []).includes(type)) return `${type} while it waits as ${waited}`
    run.waits = null
    if (!RULES[type]?.(run, body)) return `${type} as event ${i + 2}${waited ? `, after a wait as ${waited}` : ''}`
  }
  return run.ended ? null : 'it does not end'
}

/** The status and the reason that the history ends with. */
export function endOf(events: readonly Told[]): { readonly status: unknown; readonly reason: unknown } {
  const { status, reason } = events.at(-1)?.body ?? {}
  return { status, reason }
}

type CallState = 'open' | 'asked' | 'approved' | 'rejected' | 'closed' | 'started' | 'waiting' | 'unknown' | 'done'
type WaitReason = 'confirmation' | 'unknown_effect' | 'timer' | 'question' | 'external'

interface Call {
  readonly tool: string
  state: CallState
  /** It has left the house at least once. */
  hasLeft: boolean
  /** Once it is settled. */
  outcome: unknown
}

interface Model {
  readonly isRead: (tool: string) => boolean
  step: number
  ended: boolean
  canceled: boolean
  waits: WaitReason | null
  calls: Map<number, Call>
  /** The call of each card. */
  readonly cards: Map<string, Call>
  readonly happened: Set<string>
  readonly rejected: Set<string>
}

const newRun = (isRead: Model['isRead']): Model => ({
  isRead,
  step: 0,
  ended: false,
  canceled: false,
  waits: null,
  calls: new Map(),
  cards: new Map(),
  happened: new Set(),
  rejected: new Set(),
})

const ANYTIME = ['cancel_requested', 'run_ended', 'attempt_lost']
const GOES_ON = ['run_parked', 'calls_settled', 'calls_waiting', 'effect_unknown', 'effect_started', 'step_planned']
/** What may come next when a run lies down: who waits for people moves when they do, or their time is over. */
const WAKES: Readonly<Record<WaitReason, readonly string[]>> = {
  confirmation: [...ANYTIME, ...GOES_ON, 'confirmation_decided', 'confirmation_closed', 'confirmation_requested'],
  // a newer message wakes it, and it lies down again
  unknown_effect: [...ANYTIME, 'effect_resolved', 'confirmation_closed', 'run_parked'],
  timer: [...ANYTIME, ...GOES_ON, 'confirmation_requested', 'confirmation_closed'],
  external: [...ANYTIME, ...GOES_ON, 'confirmation_requested', 'confirmation_closed'],
  question: [],
}

const text = (value: unknown): string => (typeof value === 'object' ? '' : `${value as string | number}`)

type Of = readonly JsonObject[]
const listOf = (body: JsonObject, name: string): Of => body[name] as unknown as Of
const placeOf = (run: Model, position: unknown): string => `${run.step}/${text(position)}`

/** The named calls go from one of these states to the next; false when one is in another, or was never planned. */
function go(run: Model, of: Of, next: CallState, from: readonly CallState[]): boolean {
  return of.every(({ position }) => {
    const call = run.calls.get(Number(position))
    if (!call || !from.includes(call.state)) return false
    call.state = next
    return true
  })
}

const RULES: Readonly<Record<string, (run: Model, body: JsonObject) => boolean>> = {
  step_planned(run, body) {
    const isNext = body['step'] === run.step + 1 && [...run.calls.values()].every(({ state }) => state === 'done')
    run.step += 1
    const planned = listOf(body, 'calls').map((c): [number, Call] => [
      Number(c['position']),
      { tool: text(c['tool']), state: 'open', hasLeft: false, outcome: null },
    ])
    run.calls = new Map(planned)
    return isNext
  },
  confirmation_requested(run, body) {
    const asked = listOf(body, 'confirmations')
    for (const c of asked) {
      const call = run.calls.get(Number(c['position']))
      if (call) run.cards.set(text(c['id']), call)
    }
    return go(run, asked, 'asked', ['open', 'closed'])
  },
  confirmation_decided(run, { confirmation, outcome }) {
    const call = run.cards.get(text(confirmation))
    if (call?.state !== 'asked' || run.canceled) return false
    call.state = outcome === 'approved' ? 'approved' : 'rejected'
    if (outcome !== 'approved') run.rejected.add(text(confirmation))
    return true
  },
  confirmation_closed: (run, body) =>
    listOf(body, 'confirmations').every(({ id }) => {
      const call = run.cards.get(text(id))
      if (call?.state === 'asked' || call?.state === 'approved') call.state = 'closed'
      return call !== undefined
    }),
  effect_started(run, body) {
    const call = run.calls.get(Number(body['position']))
    const isOurs = body['step'] === run.step && call !== undefined && !run.isRead(call.tool) && !run.canceled
    if (call) call.hasLeft = true
    return isOurs && go(run, [body], 'started', ['open', 'approved', 'started'])
  },
  effect_unknown: (run, body) => body['step'] === run.step && go(run, [body], 'unknown', ['started', 'waiting']),
  effect_resolved(run, body) {
    if (body['outcome'] === 'retry') return !run.canceled && go(run, [body], 'started', ['unknown'])
    if (body['outcome'] === 'happened') run.happened.add(placeOf(run, body['position']))
    return go(run, [body], 'done', ['unknown'])
  },
  calls_waiting: (run, body) => go(run, listOf(body, 'calls'), 'waiting', ['open', 'started', 'waiting']),
  calls_settled: (run, body) =>
    listOf(body, 'calls').every((settled) => {
      const call = run.calls.get(Number(settled['position']))
      if (!call || call.state === 'unknown') return false
      // the word that closes a step names all of its calls
      if (call.state === 'done') return call.outcome === null || call.outcome === settled['outcome']
      call.state = 'done'
      call.outcome = settled['outcome']
      if (settled['outcome'] !== 'ok' || run.isRead(call.tool)) return true
      run.happened.add(placeOf(run, settled['position']))
      return call.hasLeft
    }),
  run_parked(run, { reason }) {
    run.waits = reason as WaitReason
    const states = [...run.calls.values()].map(({ state }) => state)
    return !run.canceled || states.some((s) => s === 'unknown' || s === 'started' || s === 'waiting')
  },
  attempt_lost: () => true,
  cancel_requested(run) {
    const isFirst = !run.canceled
    run.canceled = true
    return isFirst
  },
  run_ended(run, body) {
    run.ended = true
    const done = listOf(body, 'done').map((d) => `${text(d['step'])}/${text(d['position'])}`)
    const states = [...run.calls.values()].map(({ state }) => state)
    const isLeft = body['reason'] === 'unknown_effect' && states.includes('unknown')
    const isOpen = states.includes('started') || states.includes('unknown')
    const isAllTold = done.length === run.happened.size && done.every((place) => run.happened.has(place))
    return (isLeft || !isOpen) && isAllTold && isEnd(run, text(body['status']), text(body['reason']))
  },
}

const SUCCESSES = new Set(['completed', 'handed_over', 'insufficient_context'])
const CANCELS = new Set(['user_canceled', 'superseded', 'disconnected', 'operator_canceled', 'parent_ended'])

/** What may be the end of a canceled run all the same: what was over before somebody saw the mark. */
const BESIDE_A_CANCEL = new Set(['unknown_effect'])

/** The status goes with the reason, and the reason with what happened. */
function isEnd(run: Model, status: string, reason: string): boolean {
  const wanted = SUCCESSES.has(reason) ? 'succeeded' : CANCELS.has(reason) ? 'canceled' : 'failed'
  if (status !== wanted) return false
  if (run.canceled && !CANCELS.has(reason)) return BESIDE_A_CANCEL.has(reason)
  if (reason === 'confirmation_rejected') return run.rejected.size > 0
  return status !== 'succeeded' || [...run.calls.values()].every(({ state }) => state === 'done')
}
