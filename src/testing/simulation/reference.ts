/**
 * A run as a story that can be true: one thing after another, from its durable events alone. Small on purpose; it knows
 * nothing of workers, leases or the machine.
 */
import type { JsonObject } from '../../kernel/json.ts'

export interface Told {
  readonly type: string
  readonly body: JsonObject
}

type CallState = 'open' | 'asked' | 'approved' | 'rejected' | 'started' | 'unknown' | 'done'
interface Place {
  readonly position: number
}
interface Asked extends Place {
  readonly id: string
}

/** Null, or what cannot be true. */
export function implausible(events: readonly Told[]): string | null {
  let step = 0
  let ended = false
  let parked = false
  let calls = new Map<number, CallState>()
  const cards = new Map<string, number>()
  const happened = new Set<string>()

  const each: Readonly<Record<string, (b: JsonObject) => boolean>> = {
    run_queued: () => false,
    step_planned(b) {
      const isNext = b['step'] === step + 1 && [...calls.values()].every((state) => state === 'done')
      step += 1
      calls = new Map((b['calls'] as unknown as readonly Place[]).map((c) => [c.position, 'open']))
      return isNext
    },
    confirmation_requested: (b) =>
      (b['confirmations'] as unknown as readonly Asked[]).every(({ id, position }) => {
        cards.set(id, position)
        return become(position, 'asked', 'open')
      }),
    confirmation_decided: (b) =>
      become(cards.get(b['confirmation'] as string), b['outcome'] === 'approved' ? 'approved' : 'rejected', 'asked'),
    confirmation_closed: () => true,
    effect_started: (b) => b['step'] === step && become(position(b), 'started', 'open', 'approved', 'started'),
    effect_unknown: (b) => b['step'] === step && become(position(b), 'unknown', 'started'),
    effect_resolved(b) {
      if (b['outcome'] === 'retry') return become(position(b), 'started', 'unknown')
      if (b['outcome'] === 'happened') happened.add(`${step}/${position(b)}`)
      return become(position(b), 'done', 'unknown')
    },
    calls_settled: (b) =>
      (b['calls'] as unknown as readonly (Place & { readonly outcome: string })[]).every(({ position, outcome }) => {
        const wasStarted = calls.get(position) === 'started'
        if (outcome === 'ok' && wasStarted) happened.add(`${step}/${position}`)
        calls.set(position, 'done')
        return true
      }),
    run_parked() {
      parked = true
      return true
    },
    attempt_lost: () => true,
    calls_waiting: () => true,
    cancel_requested: () => true,
    run_ended(b) {
      ended = true
      const done = (b['done'] as unknown as readonly { step: number; position: number }[]).map(
        (d) => `${d.step}/${d.position}`,
      )
      const isOpen = [...calls.values()].some((state) => state === 'started' || state === 'unknown')
      return !isOpen && done.length === happened.size && done.every((place) => happened.has(place))
    },
  }
  const position = (b: JsonObject): number => Number(b['position'])
  function become(at: number | undefined, next: CallState, ...from: CallState[]): boolean {
    const now = at === undefined ? undefined : calls.get(at)
    if (at === undefined || now === undefined || !from.includes(now)) return false
    calls.set(at, next)
    return true
  }

  if (events[0]?.type !== 'run_queued') return 'it does not begin with its message'
  for (const [i, { type, body }] of events.entries()) {
    if (i === 0) continue
    if (ended) return `${type} after the end`
    if (!each[type]?.(body)) return `${type} as event ${i + 1}${parked ? ', after a wait' : ''}`
  }
  return ended ? null : 'it does not end'
}
