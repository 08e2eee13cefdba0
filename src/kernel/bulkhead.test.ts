import { describe, expect, it } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { type Bulkhead, openBulkheads, type Place } from './bulkhead.shell.ts'

const never = new AbortController().signal
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}
const opened = (places: number) => openBulkheads(virtualClock()).of('x', places)
/** Who asked, and whether they got a place. */
function asking(bulkhead: Bulkhead, signal: AbortSignal = never) {
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
    for (let i = 0; i < 5; i++) (await all.of('down', 4).enter(never)).leave('failed')
    await expect(all.of('down', 4).enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
    expect(await all.of('up', 4).enter(never)).toBeDefined()
    await clock.advance(10_000)
    const trying = await all.of('down', 4).enter(never)
    await expect(all.of('down', 4).enter(never)).rejects.toMatchObject({ code: 'circuit_open' })
    trying.leave('answered')
    expect(await all.of('down', 4).enter(never)).toBeDefined()
  })
})
