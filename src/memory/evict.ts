/** E11  Which memory makes room for another: what has ended first, and never what a person has confirmed or prefers. */
import type { MemoryId, MemoryKind } from './entry.ts'

/** A memory that no person has confirmed. */
export interface Evictable {
  readonly id: MemoryId
  readonly kind: MemoryKind
  readonly status: 'active' | 'cold' | 'barred' | 'invalid'
  readonly expired: boolean
  readonly importance: number
  readonly confidence: number
  readonly useCount: number
  readonly recordedAt: number
}

/** What is being done goes before what is true of somebody, and that before how they want it. */
const WORTH: Readonly<Record<MemoryKind, number>> = Object.freeze({ task: 0, experience: 0, fact: 1, preference: 2 })

const USABLE: readonly Evictable['status'][] = ['active', 'cold']
/** Ended or put out of use; long unused; in use. */
const ageOf = ({ expired, status }: Evictable): number =>
  expired || !USABLE.includes(status) ? 0 : status === 'cold' ? 1 : 2

/** Negative when `a` goes first. Total: no two memories are equal. */
export function evictedBefore(a: Evictable, b: Evictable): number {
  return (
    ageOf(a) - ageOf(b) ||
    WORTH[a.kind] - WORTH[b.kind] ||
    a.importance * a.confidence - b.importance * b.confidence ||
    a.useCount - b.useCount ||
    a.recordedAt - b.recordedAt ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  )
}

/**
 * The one that goes when `incoming` comes; null when nothing may. What is in use goes for its like or for what is worth more,
 * so that a task never costs a preference. What a detector has barred stays: somebody may have to look at it.
 */
export function victimOf(memories: readonly Evictable[], incoming: MemoryKind): Evictable | null {
  const may = memories.filter(
    (one) => one.status !== 'barred' && (ageOf(one) < 2 || WORTH[one.kind] <= WORTH[incoming]),
  )
  return may.reduce<Evictable | null>((first, one) => (first && evictedBefore(first, one) < 0 ? first : one), null)
}
