/** Chance by a seed: the same seed tells the same story. */
export interface Chance {
  /** In [0, 1). */
  fraction(): number
  /** A whole number in [0, n). */
  below(n: number): number
  /** A whole number in [from, to]. */
  between(from: number, to: number): number
  yes(probability: number): boolean
  pick<T>(list: readonly T[]): T
}

/** mulberry32: small, quick, and good enough to choose who goes on. */
export function chanceOf(seed: number): Chance {
  let a = seed >>> 0
  const fraction = (): number => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(fraction() * n)
  return {
    fraction,
    below,
    between: (from, to) => from + below(to - from + 1),
    yes: (probability) => fraction() < probability,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
  }
}
