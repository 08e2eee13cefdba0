/**
 * A signal for one piece of work: it ends with another signal or when its time is over, and lets go of both when the work is done. Not
 * `AbortSignal.any`: Node 20 keeps a composed signal that somebody listens to, and all that the listener holds, until it aborts, so
 * that each piece of work would leave something behind for as long as the process lives.
 */
import type { Clock } from './clock.ts'

export interface Bound {
  readonly signal: AbortSignal
  /** The work is over. */
  readonly release: () => void
  /** Whatever is left of the work ends. */
  readonly abort: () => void
}

/** `late` is the reason of an end by time. */
export function bound(
  clock: Pick<Clock, 'after'>,
  outer: AbortSignal,
  { ms, late }: { readonly ms: number; readonly late: () => unknown },
): Bound {
  const own = new AbortController()
  const stop = (): void => own.abort(outer.reason)
  const cancel = clock.after(ms, () => own.abort(late()))
  if (outer.aborted) stop()
  else outer.addEventListener('abort', stop)
  return {
    signal: own.signal,
    abort: () => own.abort(),
    release() {
      cancel()
      outer.removeEventListener('abort', stop)
    },
  }
}

/** What `work` resolves to, or the reason of its signal: code that does not look at its signal is not waited for. */
export async function timely<T>(
  clock: Pick<Clock, 'after'>,
  outer: AbortSignal,
  time: { readonly ms: number; readonly late: () => unknown },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, release } = bound(clock, outer, time)
  const over = new Promise<never>((_, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
  try {
    // also what throws at once: nobody would hear the other one
    return await Promise.race([(async () => work(signal))(), over])
  } finally {
    release()
  }
}
