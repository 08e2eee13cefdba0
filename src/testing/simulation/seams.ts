/** The seams of one process: clock, ids and randomness, all of the world. */
import type { Clock } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { Random } from '../../kernel/random.ts'
import type { Process, Scheduler } from './scheduler.ts'
import type { Chance } from './random.ts'

/** What the wall clock of a process shows. Its monotonic clock keeps its promise, as the operating system's does. */
export interface Skew {
  offsetMs: number
  /** The wall clock stands still at this time. */
  frozenAt: number | null
}

const EPOCH_MS = 1_700_000_000_000

export function clockOf(sched: Scheduler, process: Process, skew: Skew): Clock {
  const after = (ms: number, then: () => void): (() => void) => sched.after(process, ms, then)
  return {
    now: () => EPOCH_MS + (skew.frozenAt ?? sched.now()) + skew.offsetMs,
    monotonic: () => sched.now() + 1,
    after,
    turn: () => sched.turn(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        const stop = (): void => {
          cancel()
          reject(signal?.reason as Error)
        }
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        })
        signal?.addEventListener('abort', stop, { once: true })
      }),
  }
}

/** Short and in order, so that a trace can be read. */
export const idsOf = (next: () => number): Ids => ({
  next: (prefix) => `${prefix}_${String(next()).padStart(5, '0')}`,
})

export const randomOf = (chance: Chance): Random => ({
  bytes: (n) => Uint8Array.from({ length: n }, () => chance.below(256)),
  fraction: () => chance.fraction(),
})
