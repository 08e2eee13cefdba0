/** The refund that waits after the first start, so that there is something to approve. */
import type { Actor, Runtime } from '../index.ts'

export const CUSTOMER = 'ann'
export const WISH = 'The mug of order 1042 arrived broken. Please refund $12.00.'

/** The worker has this long; on a busy machine the server starts without waiting for it. */
const LONGEST_MS = 10_000
const LOOK_MS = 20

/** Makes sure that a refund waits for `CUSTOMER` in the tenant of `actor`; true when it does. */
export async function ensureWaitingRefund(runtime: Runtime, actor: Actor): Promise<boolean> {
  if (await isWaiting(runtime, actor)) return true
  await runtime.submit(actor, { agent: 'support', text: WISH })
  const until = runtime.clock.monotonic() + LONGEST_MS
  while (runtime.clock.monotonic() < until) {
    if (await isWaiting(runtime, actor)) return true
    await runtime.clock.sleep(LOOK_MS)
  }
  return false
}

const isWaiting = async (runtime: Runtime, actor: Actor): Promise<boolean> =>
  (await runtime.reads.confirmations(actor, { run: '', after: '', limit: 1 })).items.length > 0
