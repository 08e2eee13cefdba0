/**
 * Who listens in this process. A hint and nothing more: the truth is in the event log, and a listener that misses a hint
 * finds it there at its next look.
 */
export type Hint = 'committed' | 'said'

export interface Hub {
  /** Something of this run was committed (the default), or a piece of its answer arrived. */
  notify(run: string, hint?: Hint): void
  /** Returns how to stop listening. */
  listen(run: string, heard: (hint: Hint) => void): () => void
}

export function hub(): Hub {
  const listeners = new Map<string, Set<(hint: Hint) => void>>()
  return {
    notify(run, hint = 'committed') {
      for (const heard of listeners.get(run) ?? []) heard(hint)
    },
    listen(run, heard) {
      const of = listeners.get(run) ?? new Set()
      listeners.set(run, of)
      of.add(heard)
      return () => {
        of.delete(heard)
        if (of.size === 0) listeners.delete(run)
      }
    },
  }
}
