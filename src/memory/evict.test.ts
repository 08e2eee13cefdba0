import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MemoryId, MemoryKind } from './entry.ts'
import { type Evictable, evictedBefore, victimOf } from './evict.ts'

const KINDS: readonly MemoryKind[] = ['task', 'experience', 'fact', 'preference']
const share = fc.double({ min: 0, max: 1, noNaN: true })
const evictable: fc.Arbitrary<Evictable> = fc.record({
  id: fc.uuid().map((id) => id as unknown as MemoryId),
  kind: fc.constantFrom(...KINDS),
  status: fc.constantFrom('active', 'cold', 'barred', 'invalid'),
  expired: fc.boolean(),
  importance: share,
  confidence: share,
  useCount: fc.nat(50),
  recordedAt: fc.nat(),
})
const plain: Evictable = {
  id: 'mem_b' as MemoryId,
  kind: 'fact',
  status: 'active',
  expired: false,
  importance: 0.5,
  confidence: 0.5,
  useCount: 3,
  recordedAt: 100,
}
const made = (over: Partial<Omit<Evictable, 'id'>> & { id?: string }): Evictable => ({ ...plain, ...over }) as Evictable

describe('which memory makes room', () => {
  it('E11 the order is total, so that every process forgets the same one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(evictable, { selector: (m) => m.id, maxLength: 12 }), fc.nat(), (all, turn) => {
        const sorted = [...all].sort(evictedBefore)
        const turned = [...all.slice(turn % (all.length + 1)), ...all.slice(0, turn % (all.length + 1))]
        expect(turned.sort(evictedBefore)).toEqual(sorted)
        for (const kind of KINDS) expect(victimOf(turned, kind)?.id).toBe(victimOf(all, kind)?.id)
      }),
    )
  })

  it('E11 what is in use never goes for what is worth less, and what is barred never goes', () => {
    const worth: Record<MemoryKind, number> = { task: 0, experience: 0, fact: 1, preference: 2 }
    fc.assert(
      fc.property(fc.array(evictable, { maxLength: 12 }), fc.constantFrom(...KINDS), (all, incoming) => {
        const victim = victimOf(all, incoming)
        if (!victim) return
        expect(victim.status).not.toBe('barred')
        const inUse = victim.status === 'active' && !victim.expired
        if (inUse) expect(worth[victim.kind]).toBeLessThanOrEqual(worth[incoming])
      }),
    )
  })

  it.each<[string, Partial<Evictable>, Partial<Evictable>]>([
    ['what has ended before what is cold', { expired: true, kind: 'preference', importance: 1 }, { status: 'cold' }],
    ['what is out of use before what is cold', { status: 'invalid' }, { status: 'cold', importance: 0 }],
    ['what is cold before what is in use', { status: 'cold', importance: 1 }, { importance: 0 }],
    ['a task before a fact', { kind: 'task', importance: 1 }, { importance: 0 }],
    ['a fact before a preference', { importance: 1 }, { kind: 'preference', importance: 0 }],
    ['the less important and believed', { importance: 0.4 }, { useCount: 0 }],
    ['the less used', { useCount: 2 }, { recordedAt: 1 }],
    ['the oldest', { recordedAt: 99 }, {}],
  ])('E11 goes first: %s', (_what, first, then) => {
    const [a, b] = [made({ ...first, id: 'mem_b' }), made({ ...then, id: 'mem_a' })]
    expect(victimOf([b, a], 'preference')).toBe(a)
    expect(victimOf([a, b], 'preference')).toBe(a)
  })

  it('E11 nothing goes where only better things stand', () => {
    expect(victimOf([made({ kind: 'preference' })], 'task')).toBeNull()
    expect(victimOf([made({ status: 'barred', expired: true })], 'preference')).toBeNull()
    expect(victimOf([], 'fact')).toBeNull()
  })
})
