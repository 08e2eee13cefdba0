/**
 * Somebody follows a run whose agent minds when nobody does (K2). Being followed is a lease on the database's clock: it
 * is renewed while a stream is open, on whatever instance, and a client that is gone needs nobody to notice it.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Absence } from './agent.ts'
import type { RunStore } from './run.store.ts'

interface Attending {
  readonly runs: RunStore
  readonly clock: Clock
}

/** Passes on what is followed, and renews beside it. */
export async function* attended<T>(
  parts: Attending,
  scope: Scope,
  { run, absence }: { readonly run: string; readonly absence: Absence },
  followed: AsyncGenerator<T>,
): AsyncGenerator<T> {
  const left = new AbortController()
  const renewing = renew(parts, scope, { run, absence }, left.signal)
  try {
    yield* followed
  } finally {
    left.abort()
    await renewing
  }
}

/** Three times within an absence, so that one lost renewal is none. */
async function renew(
  { runs, clock }: Attending,
  scope: Scope,
  { run, absence }: { readonly run: string; readonly absence: Absence },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // a store that is away for longer than an absence may find the run left alone when it is back
    const isActive = await runs.attend(scope, run, absence).catch(() => true)
    if (!isActive) return
    await clock.sleep(absence.ms / 3, signal).catch(() => {})
  }
}
