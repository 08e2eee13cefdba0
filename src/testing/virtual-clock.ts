/** A clock that stands still until a test moves it. */
import type { Clock } from '../kernel/clock.ts'

export interface VirtualClock extends Clock {
  /** Moves time on by `ms`, waking each sleeper at its own instant and letting it run before the next. */
  advance(ms: number): Promise<void>
  /** How many are asleep: what a test waits for before it moves time. */
  sleepers(): number
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export function virtualClock(startMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = startMs
  const sleeping = new Set<Sleeper>()

  const after = (ms: number, then: () => void): (() => void) => {
    const sleeper: Sleeper = {
      at: now + Math.max(0, ms),
      wake: () => {
        sleeping.delete(sleeper)
        then()
      },
    }
    sleeping.add(sleeper)
    return () => void sleeping.delete(sleeper)
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error)
        return
      }
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })

  const advance = async (ms: number): Promise<void> => {
    const end = now + ms
    await settled()
    for (;;) {
      const next = [...sleeping].sort((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > end) break
      now = Math.max(now, next.at)
      next.wake()
      await settled()
    }
    now = end
    await settled()
  }

  const sleepers = (): number => sleeping.size
  return { now: () => now, monotonic: () => now - startMs, sleep, after, turn, advance, sleepers }
}

/** Everything that is ready has run: two turns of the event loop, because a turn may make the next one ready. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
