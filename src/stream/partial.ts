/**
 * The text of the attempt that may speak, and the fence before it. Pure.
 *
 * A4  a piece of an older generation, takeover, step or attempt is late: it is dropped   K3  text of two attempts is never joined
 */

/** One attempt of one step. `number` grows with every attempt of the run, across takeovers. */
export interface AttemptOf {
  readonly generation: number
  readonly step: number
  readonly number: number
}

/** What was said so far; `settled` steps have their message, and nothing more of them is let out. */
export interface Partial {
  readonly attempt: AttemptOf
  readonly text: string
}

export const NOTHING_SAID: Partial = { attempt: { generation: 0, step: 0, number: 0 }, text: '' }

/** A step has up to three attempts per claim; the epoch of the claim makes the numbers of a takeover greater. */
export const ATTEMPTS_PER_EPOCH = 100
export const attemptNumber = (epoch: number, attempt: number): number =>
  epoch * ATTEMPTS_PER_EPOCH + Math.min(attempt, ATTEMPTS_PER_EPOCH - 1)

/** Below 0 when `a` is older than `b`. */
function order(a: AttemptOf, b: AttemptOf): number {
  return a.generation - b.generation || a.step - b.step || a.number - b.number
}

/** Null for a late piece. */
export function said(now: Partial, attempt: AttemptOf, delta: string): Partial | null {
  const age = order(attempt, now.attempt)
  if (age < 0) return null
  return age > 0 ? { attempt, text: delta } : { attempt: now.attempt, text: now.text + delta }
}

/** The step has its message: pieces of it, and of what came before, are late from now on. */
export function settled(now: Partial, generation: number, step: number): Partial {
  const floor: AttemptOf = { generation, step, number: Number.MAX_SAFE_INTEGER }
  return order(floor, now.attempt) > 0 ? { attempt: floor, text: '' } : now
}

/** A piece as it lies in the store: the text of an attempt from `offset` on, in UTF-16 units. */
export interface Piece {
  readonly seq: number
  readonly step: number
  readonly attempt: number
  readonly offset: number
  readonly text: string
}

/** Room for the pieces of one attempt, in the sequence of a run's pieces. */
export const PIECES_PER_ATTEMPT = 1_000_000
export const firstPiece = (attempt: number): number => attempt * PIECES_PER_ATTEMPT
