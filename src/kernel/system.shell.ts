import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from './clock.ts'
import { formatId, type Ids } from './ids.ts'
import type { Random } from './random.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, signal ? { signal } : undefined).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error
    })
  },
}

export const systemRandom: Random = {
  bytes: (n) => randomBytes(n),
  fraction: () => randomBytes(4).readUInt32BE() / 2 ** 32,
}

export const systemIds: Ids = {
  next: (prefix) => formatId(prefix, Date.now(), randomBytes(10)),
}
