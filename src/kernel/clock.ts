/** Time as the runtime sees it. Leases never use it: their only clock is the database's (invariant 6). */
export interface Clock {
  /** Milliseconds since the epoch, for records and deadlines of a single process. */
  now(): number
  /** Milliseconds that never step back, for durations. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts (K1). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `then` once, after `ms`, unless what it returns is called before. */
  after(ms: number, then: () => void): () => void
  /** Resolves when everything that needs no waiting has been done. */
  turn(): Promise<void>
}
