/** Drives a run of the crash agent in this process, for as long as somebody wants it. */
import { isFinal } from '../run/state.ts'
import type { Runtime } from '../runtime.ts'
import { approve, type CrashGround, type Seen, seen, TIMES } from './crash-case.ts'

const LOOK_MS = 30

/** Works on the run until it is `done`, and approves what is asked meanwhile unless told not to. The run as it was seen last. */
export async function drive(
  { patienceMs }: Pick<CrashGround, 'patienceMs'>,
  runtime: Runtime,
  run: string,
  done: (now: Seen) => boolean,
  { approves = true }: { readonly approves?: boolean } = {},
): Promise<Seen | null> {
  const worker = await runtime.work({ ...TIMES, onError: () => {} })
  let now: Seen | null = null
  try {
    for (const until = performance.now() + patienceMs; performance.now() < until; ) {
      now = await seen(runtime, run as `run_${string}`)
      if (now && (done(now) || isFinal(now.status))) break
      if (approves && now?.wait === 'confirmation') await approve(runtime, run as `run_${string}`)
      await runtime.clock.sleep(LOOK_MS)
    }
    return now
  } finally {
    await worker.stop()
  }
}
