import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { type Bulkhead, openBulkheads, type Place } from './bulkhead.shell.ts'
import type { Showed } from './circuit.ts'
import { mayHold } from './share.ts'

const never = new AbortController().signal
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}
const opened = (places: number) => openBulkheads(virtualClock()).of('x', places, 'acme')
/** Who asked, and whether they got a place. */
function asking(bulkhead: Bulkhead, signal: AbortSignal = new AbortController().signal) {
  const asked: { place: Place | null; refused: unknown } = { place: null, refused: null }
  void bulkhead.enter(signal).then(
    (place) => (asked.place = place),
    (error: unknown) => (asked.refused = error),
  )
  return asked
}

describe('a bulkhead', () => {
  it('N4 has so many places, gives a free one to who waited longest, and never one twice', async () => {
    const bulkhead = opened(2)
    const all = Array.from({ length: 5 }, () => asking(bulkhead))
    const placed = () => all.map((a) => a.place !== null)
    await turns()
    expect(placed()).toEqual([true, true, false, false, false])
    all[1]!.place!.leave('answered')
    all[1]!.place!.leave('answered')
    await turns()
    expect(placed()).toEqual([true, true, true, false, false])
    all[0]!.place!.leave('answered')
    all[2]!.place!.leave('answered')
    await turns()
    expect(placed()).toEqual([true, true, true, true, true])
  })

  it('N4 refuses at once when its queue is full, instead of letting everybody wait', async () => {
    const bulkhead = opened(1)
    const all = Array.from({ length: 11 }, () => asking(bulkhead))
    await turns()
    expect(all.map((a) => (a.refused as { code?: string } | null)?.code ?? null)).toEqual([
      ...Array.from({ length: 9 }, () => null),
      'overloaded',
      'overloaded',
    ])
  })

  it('K1 who waits stops waiting when the signal aborts, and the others keep their order', async () => {
    const bulkhead = opened(1)
    const first = asking(bulkhead)
    const leaver = new AbortController()
    const second = asking(bulkhead, leaver.signal)
    const third = asking(bulkhead)
    await turns()
    leaver.abort(new Error('gone'))
    await turns()
    expect(second.refused).toMatchObject({ message: 'gone' })
    first.place!.leave('answered')
    await turns()
    expect(third.place).not.toBeNull()
  })

  it('N4 a party that is down is not asked, and those of other names are', async () => {
    const clock = virtualClock()
    const all = openBulkheads(clock)
    for (let i = 0; i < 5; i++) (await all.of('down', 4, 'acme').enter(never)).leave('failed')
    await expect(all.of('down', 4, 'acme').enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
    expect(await all.of('up', 4, 'acme').enter(never)).toBeDefined()
    await clock.advance(10_000)
    const trying = await all.of('down', 4, 'acme').enter(never)
    await expect(all.of('down', 4, 'acme').enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
    trying.leave('answered')
    expect(await all.of('down', 4, 'acme').enter(never)).toBeDefined()
  })

  it('N4 what one tenant breaks is broken for nobody else: another is served while the first is refused', async () => {
    const all = openBulkheads(virtualClock())
    for (let i = 0; i < 50; i++)
      (
        await all
          .of('x', 4, 'noisy')
          .enter(never)
          .catch(() => null)
      )?.leave('failed')
    await expect(all.of('x', 4, 'noisy').enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
    expect(await all.of('x', 4, 'quiet').enter(never)).toBeDefined()
  })

  it('N4 when five tenants were failed in a row the next failure is enough, and one answer to anybody forgets them', async () => {
    const all = openBulkheads(virtualClock())
    const call = async (tenant: string, showed: Showed) => (await all.of('x', 4, tenant).enter(never)).leave(showed)
    const isOpen = (tenant: string) =>
      all
        .of('x', 4, tenant)
        .enter(never)
        .then(
          (place) => place.leave('nothing') ?? false,
          () => true,
        )
    for (let i = 0; i < 4; i++) await call(`t${i}`, 'failed')
    expect(await isOpen('t3')).toBe(false)
    // nobody is refused who has not failed
    expect(await isOpen('new')).toBe(false)
    await call('t4', 'failed')
    expect(await isOpen('t4')).toBe(true)
    expect(await isOpen('new')).toBe(false)
    await call('new', 'failed')
    expect(await isOpen('new')).toBe(true)
    await call('t0', 'answered')
    await call('other', 'failed')
    expect(await isOpen('other')).toBe(false)
  })

  it('N4 a busy tenant holds not all places, and a full queue of its own refuses nobody else', async () => {
    const all = openBulkheads(virtualClock())
    const noisy = Array.from({ length: 3 + 4 * 8 + 5 }, () => asking(all.of('x', 4, 'noisy')))
    await turns()
    const placed = noisy.filter((a) => a.place)
    expect(placed).toHaveLength(3)
    expect(noisy.filter((a) => a.refused)).toHaveLength(5)
    const quiet = asking(all.of('x', 4, 'quiet'))
    const third = asking(all.of('x', 4, 'third'))
    await turns()
    expect([quiet.place !== null, third.place !== null]).toEqual([true, false])
    placed[0]!.place!.leave('answered')
    await turns()
    expect(third.place).not.toBeNull()
    expect(noisy.filter((a) => a.place)).toHaveLength(3)
  })

  it('N4 whoever comes and goes, places are never given twice, never left unused, and who has none waits for one turn of each who came before', async () => {
    const tenants = ['a', 'b', 'c', 'd', 'e']
    // one of them is busy, from the beginning
    const tenant = fc.oneof({ weight: 3, arbitrary: fc.constant('a') }, fc.constantFrom(...tenants))
    const step = fc.record({ tenant, leaves: fc.boolean(), which: fc.nat(50) })
    const busy = Array.from({ length: 12 }, () => ({ tenant: 'a', leaves: false, which: 0 }))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 80 }), async (places, story) => {
        const all = openBulkheads(virtualClock())
        const asked: { tenant: string; ask: ReturnType<typeof asking>; patience: number; left: boolean }[] = []
        const holding = () => asked.filter((a) => a.ask.place && !a.left)
        const waiting = () => asked.filter((a) => !a.ask.place && !a.ask.refused)
        const heldBy = (tenant: string) => holding().filter((a) => a.tenant === tenant).length
        for (const { tenant, leaves, which } of [...busy, ...story]) {
          const holders = holding()
          if (leaves && holders.length > 0) {
            const without = waiting().filter((a) => heldBy(a.tenant) === 0)
            const one = holders[which % holders.length]!
            one.left = true
            one.ask.place!.leave('answered')
            await turns()
            const first = without.filter((a) => waiting().find((w) => w.tenant === a.tenant) === a)
            for (const a of first.filter((a) => heldBy(a.tenant) === 0)) expect((a.patience -= 1)).toBeGreaterThan(0)
          } else {
            const before = new Set(waiting().map((a) => a.tenant)).size
            asked.push({ tenant, ask: asking(all.of('x', places, tenant)), patience: before + 1, left: false })
            await turns()
          }
          expect(holding().length).toBeLessThanOrEqual(places)
          const free = places - holding().length
          expect(waiting().filter((a) => mayHold(heldBy(a.tenant), free, places))).toEqual([])
        }
        for (let rest = holding(); rest.length > 0; rest = holding()) {
          for (const one of rest) {
            one.left = true
            one.ask.place!.leave('answered')
          }
          await turns()
        }
        expect(waiting()).toEqual([])
      }),
      { numRuns: 150 },
    )
  })

  it('N4 tenants who failed once are remembered up to a number, and the longest away are forgotten', async () => {
    const all = openBulkheads(virtualClock())
    const fail = async (tenant: string) => {
      for (let i = 0; i < 5; i++)
        (
          await all
            .of('x', 4, tenant)
            .enter(never)
            .catch(() => null)
        )?.leave('failed')
    }
    await fail('first')
    for (let i = 0; i < 1_000; i++) await fail(`t${i}`)
    expect(await all.of('x', 4, 'first').enter(never)).toBeDefined()
    await expect(all.of('x', 4, 't999').enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
  })
})
