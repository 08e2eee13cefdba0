/**
 * Batches without a timer: while a statement is in flight, others queue and go out together. A lone caller pays nothing.
 *
 * Two in flight and half of the queue each time, because two batches of about 25 rows beat one of 50 in lockstep.
 */
import { Fault } from '../kernel/fault.ts'

const MOST_ROWS = 64
const IN_FLIGHT = 2

/**
 * `send` answers one result per item, in order. When a batch fails, its items are sent one by one, so that one bad row
 * does not fail its neighbours; not so when the store cannot be reached, which is no row's fault and may take seconds each time.
 */
export function batch<T, R>(send: (items: readonly T[]) => Promise<readonly R[]>): (item: T) => Promise<R> {
  interface Waiting {
    readonly item: T
    readonly resolve: (value: R) => void
    readonly reject: (reason: unknown) => void
  }
  const queue: Waiting[] = []
  let flying = 0

  async function settle(some: readonly Waiting[]): Promise<void> {
    try {
      const results = await send(some.map((w) => w.item))
      some.forEach((w, i) => w.resolve(results[i] as R))
    } catch (error) {
      const [only] = some
      if (some.length === 1 && only) only.reject(error)
      else if (Fault.is(error) && error.code === 'store_unavailable') for (const w of some) w.reject(error)
      else for (const w of some) await settle([w])
    }
  }

  function pump(): void {
    while (flying < IN_FLIGHT && queue.length > 0) {
      const share = flying === 0 && queue.length > 1 ? Math.ceil(queue.length / 2) : queue.length
      const some = queue.splice(0, Math.min(MOST_ROWS, share))
      flying++
      void settle(some).finally(() => {
        flying--
        pump()
      })
    }
  }

  return (item) =>
    new Promise<R>((resolve, reject) => {
      queue.push({ item, resolve, reject })
      pump()
    })
}
