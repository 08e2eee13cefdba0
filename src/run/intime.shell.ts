import type { Clock } from '../kernel/clock.ts'

/** The answer of code that is not ours, or undefined when its time is over or the signal aborts before it is there. */
export function inTime(
  clock: Clock,
  signal: AbortSignal,
  { answer, ms }: { readonly answer: unknown; readonly ms: number },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(undefined)
    const cancel = clock.after(ms, stop)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    Promise.resolve(answer)
      .finally(() => {
        cancel()
        signal.removeEventListener('abort', stop)
      })
      .then(resolve, reject)
  })
}
