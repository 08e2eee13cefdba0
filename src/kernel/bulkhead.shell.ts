/**
 * Bulkheads: each party outside (a model, a tool) has so many places in this process and a bounded queue, so that a slow
 * one cannot take the places of the others, and a circuit, so that one that is down is not asked (N4).
 *
 * K1  who waits for a place stops waiting when the signal aborts
 *
 * They hold for one process: a worker that knows nothing yet tries, which costs a few calls. No correctness rests on them.
 */
import { type Circuit, CLOSED, judged, passed, type Showed } from './circuit.ts'
import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'

/** A place, until it is given back with what the call showed of the other side. */
export interface Place {
  leave(showed: Showed): void
}

export interface Bulkhead {
  /** @throws Fault `circuit_open` · `overloaded` when the queue is full · the reason of the signal */
  enter(signal: AbortSignal): Promise<Place>
}

export interface Bulkheads {
  /** The one of this name; `places` counts when it is asked for first. */
  of(name: string, places: number): Bulkhead
}

/** So many wait for each place: more would wait longer than a call lasts. */
const QUEUE = 8

export function openBulkheads(clock: Clock): Bulkheads {
  const known = new Map<string, Bulkhead>()
  return {
    of(name, places) {
      const found = known.get(name) ?? openBulkhead(clock, places)
      known.set(name, found)
      return found
    },
  }
}

function openBulkhead(clock: Clock, places: number): Bulkhead {
  let free = places
  let circuit: Circuit = CLOSED
  const queue = new Set<() => void>()

  function place(): Place {
    const on = passed(circuit, clock.monotonic())
    if (!on) throw new Fault('circuit_open')
    circuit = on
    free -= 1
    let isLeft = false
    return {
      leave(showed) {
        if (isLeft) return
        isLeft = true
        circuit = judged(circuit, showed, clock.monotonic())
        free += 1
        for (const next of queue) {
          queue.delete(next)
          next()
          break
        }
      },
    }
  }

  const turn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        queue.delete(go)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', stop, { once: true })
      queue.add(go)
    })

  return {
    async enter(signal) {
      signal.throwIfAborted()
      while (free <= 0) {
        if (queue.size >= places * QUEUE) throw new Fault('overloaded')
        await turn(signal)
      }
      return place()
    },
  }
}
