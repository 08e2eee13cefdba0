import type { Clock } from '../kernel/clock.ts'

/** What is swept is a day old: an hour more or less is nothing to it. */
const EVERY_MS = 3_600_000

/** Does `work` every hour, one at a time, until what it returns is called. What it throws is told and not repeated sooner. */
export function repeated(
  clock: Clock,
  work: () => Promise<unknown>,
  onError: (error: unknown, where: null) => void = () => {},
): () => void {
  let cancel = (): void => {}
  let isOver = false
  const next = (): void => {
    if (isOver) return
    cancel = clock.after(EVERY_MS, () => {
      void work()
        .catch((error: unknown) => onError(error, null))
        .finally(next)
    })
  }
  next()
  return () => {
    isOver = true
    cancel()
  }
}
