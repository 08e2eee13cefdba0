/**
 * Facts that the product keeps elsewhere and memory only repeats: asked at the moment of use, for a short time.
 *
 * E14  the reader's value wins, and its failure is seen
 */
import { canonicalText } from '../kernel/canonical.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor } from '../kernel/scope.ts'
import { timely } from '../kernel/timely.shell.ts'

/** Reads one fact as it is now, such as the state of an order; null when there is none, or the actor may not know it. */
export interface Authority {
  read(actor: Actor, ref: string, signal: AbortSignal): Promise<Json | null>
}

/** By the name that keys give as `authority`. */
export type Authorities = Readonly<Record<string, Authority>>

export interface Asking {
  readonly authorities: Authorities
  readonly clock: Clock
}

/** `gone`: there is no such fact. `unavailable`: nobody knows, because the reader is missing, failed or was too slow. */
export type Word =
  | { readonly state: 'said'; readonly value: Json }
  | { readonly state: 'gone' }
  | { readonly state: 'unavailable' }

/** The question of a person waits for it, and is answered without it after that. */
const PATIENCE_MS = 2_000

export async function ask(
  { authorities, clock }: Asking,
  actor: Actor,
  { name, ref }: { readonly name: string; readonly ref: string },
  signal: AbortSignal,
): Promise<Word> {
  const authority = Object.hasOwn(authorities, name) ? authorities[name] : undefined
  if (!authority) return { state: 'unavailable' }
  const time = { ms: PATIENCE_MS, late: () => new Fault('unavailable') }
  try {
    // a reader that does not look at its signal is not waited for
    const value = await timely(clock, signal, time, (within) => authority.read(actor, ref, within))
    return value === null ? { state: 'gone' } : { state: 'said', value }
  } catch {
    return { state: 'unavailable' }
  }
}

export const isSame = (word: Word, value: Json): boolean =>
  word.state === 'said' && canonicalText(word.value) === canonicalText(value)
