import { randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'
import { formatId, type Ids } from './ids.ts'
import type { Random } from './random.ts'

/** Node fires a longer timer at once. */
const LONGEST_MS = 2 ** 31 - 1

function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, Math.min(ms, LONGEST_MS))
  return () => clearTimeout(timer)
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // not `timers/promises`: it makes an AbortError with a stack for every wait that is cut short, which is nearly every one
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const stop = () => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      signal?.addEventListener('abort', stop, { once: true })
    }),
  after,
  turn: () => new Promise((resolve) => setImmediate(resolve)),
}

export const systemRandom: Random = {
  bytes: (n) => randomBytes(n),
  fraction: () => randomBytes(4).readUInt32BE() / 2 ** 32,
}

export const systemIds: Ids = {
  next: (prefix) => formatId(prefix, Date.now(), randomBytes(10)),
}
