/** Randomness as the runtime sees it: seeded in simulations, the system's elsewhere. */
export interface Random {
  /** `n` random bytes. */
  bytes(n: number): Uint8Array
  /** A number in [0, 1), for jitter only. */
  fraction(): number
}
