/**
 * Bulkheads: each party outside (a model, a tool) has so many places in this process, shared between tenants, and a bounded
 * queue for each of them, so that a slow party cannot take the places of the others, nor a busy tenant those of a party. A
 * circuit for each tenant stops asking who fails it; what one tenant has seen refuses no other (N4).
 *
 * K1  who waits for a place stops waiting when the signal aborts
 *
 * They hold for one process: a worker that knows nothing yet tries, which costs a few calls. No correctness rests on them.
 */
import { type Circuit, CLOSED, FAILURES, judged, passed, type Showed } from './circuit.ts'
import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'
import { mayHold, nextOf } from './share.ts'

/** A place, until it is given back with what the call showed of the other side. */
export interface Place {
  leave(showed: Showed): void
}

export interface Bulkhead {
  /** @throws Fault `circuit_open` · `overloaded` when the tenant's queue is full · the reason of the signal */
  enter(signal: AbortSignal): Promise<Place>
}

export interface Bulkheads {
  /** That of a party for a tenant. `places` are those of the party, and count when it is asked for first. */
  of(party: string, places: number, tenant: string): Bulkhead
}

/** So many of a tenant wait for each place: more would wait longer than a call lasts. */
const QUEUE = 8
/** Tenants with a failure behind them whom nobody serves at the moment; beyond these the longest away are forgotten. */
const MOST_REMEMBERED = 1_000

export function openBulkheads(clock: Clock): Bulkheads {
  const parties = new Map<string, Party>()
  return {
    of(party, places, tenant) {
      const found = parties.get(party) ?? openParty(clock, places)
      parties.set(party, found)
      return { enter: (signal) => found.enter(tenant, signal) }
    },
  }
}

interface Party {
  enter(tenant: string, signal: AbortSignal): Promise<Place>
}

interface Waiter {
  go(place: Place): void
  refuse(error: Error): void
}

/** A tenant at a party. */
interface Lane {
  readonly tenant: string
  circuit: Circuit
  held: number
  readonly queue: Set<Waiter>
  turn: number
}

function openParty(clock: Clock, places: number): Party {
  let free = places
  let turns = 0
  const lanes = new Map<string, Lane>()
  const waiting = new Set<Lane>()
  /** Tenants that were failed since the party last answered anybody. */
  const failed = new Set<string>()

  function laneOf(tenant: string): Lane {
    const lane = lanes.get(tenant) ?? { tenant, circuit: CLOSED, held: 0, queue: new Set(), turn: 0 }
    // the map's order is that of use
    lanes.delete(tenant)
    lanes.set(tenant, lane)
    return lane
  }

  const isIdle = (lane: Lane): boolean => lane.held === 0 && lane.queue.size === 0

  function forget(lane: Lane): void {
    if (isIdle(lane) && lane.circuit.failures === 0) lanes.delete(lane.tenant)
    if (lanes.size <= MOST_REMEMBERED) return
    for (const old of lanes.values()) {
      if (!isIdle(old)) continue
      lanes.delete(old.tenant)
      return
    }
  }

  function settle(lane: Lane, showed: Showed): void {
    if (showed === 'answered') failed.clear()
    else if (showed === 'failed' && failed.size < FAILURES) failed.add(lane.tenant)
    // so many tenants in a row: one more failure tells this tenant as much as five of its own
    const enough = failed.size < FAILURES ? FAILURES : 1
    lane.circuit = judged(lane.circuit, showed, clock.monotonic(), enough)
  }

  function place(lane: Lane): Place {
    const on = passed(lane.circuit, clock.monotonic())
    if (!on) throw new Fault('circuit_open')
    lane.circuit = on
    lane.held += 1
    free -= 1
    let isLeft = false
    return {
      leave(showed) {
        if (isLeft) return
        isLeft = true
        lane.held -= 1
        free += 1
        settle(lane, showed)
        serve()
        forget(lane)
      },
    }
  }

  function withdraw(lane: Lane, waiter: Waiter): void {
    lane.queue.delete(waiter)
    if (lane.queue.size === 0) waiting.delete(lane)
  }

  function serve(): void {
    for (let lane = nextOf(waiting, free, places); lane; lane = nextOf(waiting, free, places)) {
      const [waiter] = lane.queue
      if (!waiter) return
      withdraw(lane, waiter)
      lane.turn = turns += 1
      try {
        waiter.go(place(lane))
      } catch (error) {
        waiter.refuse(error as Error)
      }
    }
  }

  const turn = (lane: Lane, signal: AbortSignal): Promise<Place> =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        withdraw(lane, waiter)
        forget(lane)
        reject(signal.reason as Error)
      }
      const waiter: Waiter = {
        go(place) {
          signal.removeEventListener('abort', stop)
          resolve(place)
        },
        refuse(error) {
          signal.removeEventListener('abort', stop)
          reject(error)
        },
      }
      signal.addEventListener('abort', stop, { once: true })
      if (lane.queue.size === 0) lane.turn = turns += 1
      lane.queue.add(waiter)
      waiting.add(lane)
    })

  return {
    async enter(tenant, signal) {
      signal.throwIfAborted()
      const lane = laneOf(tenant)
      if (!passed(lane.circuit, clock.monotonic())) throw new Fault('circuit_open')
      if (lane.queue.size === 0 && mayHold(lane.held, free, places)) return place(lane)
      if (lane.queue.size >= places * QUEUE) throw new Fault('overloaded')
      return turn(lane, signal)
    },
  }
}
