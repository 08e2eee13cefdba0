/** How the places of one party are shared between tenants (N4). Pure. */

/** With fewer places, one that stands free for others is too much of them. */
const MANY_PLACES = 4

/** A tenant that waits. */
export interface Waiting {
  /** Places that it has. */
  readonly held: number
  /** Its number in the order in which tenants came to wait or were served. */
  readonly turn: number
}

/** Whether a tenant may have one more: the last place of many is for somebody who has none. */
export const mayHold = (held: number, free: number, places: number): boolean =>
  free > 1 || (free === 1 && (held === 0 || places < MANY_PLACES))

/**
 * Who gets the next free place: who has the fewest, and among equals whose turn was longest ago. Null when nobody may have it.
 * A tenant that has none waits for one turn of each tenant that waits already, and for no more.
 */
export function nextOf<T extends Waiting>(waiting: Iterable<T>, free: number, places: number): T | null {
  let next: T | null = null
  for (const one of waiting) {
    if (!mayHold(one.held, free, places)) continue
    if (!next || one.held < next.held || (one.held === next.held && one.turn < next.turn)) next = one
  }
  return next
}
