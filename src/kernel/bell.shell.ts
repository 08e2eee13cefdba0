/**
 * The bell of a loop that looks and rests: who rings while it looks is not overlooked, it looks once more. A loop that
 * only heard what rings while it rests would sleep beside what became due in the moment in which its look was under way.
 */
import type { Clock } from './clock.ts'

export interface Bell {
  readonly ring: () => void
  /** Until it rings, or has rung since the last rest; `ms` at most. */
  readonly rest: (ms: number) => Promise<void>
}

export function bell(clock: Pick<Clock, 'after'>): Bell {
  let rang = false
  let wake = (): void => {}
  return {
    ring() {
      rang = true
      wake()
    },
    async rest(ms) {
      if (!rang)
        await new Promise<void>((resolve) => {
          const cancel = clock.after(ms, resolve)
          wake = () => {
            cancel()
            resolve()
          }
        })
      rang = false
    },
  }
}
