import { describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { batch } from './batch.ts'

/** A store that answers when it is told to. */
function store() {
  const flights: { readonly items: readonly number[]; land(): void; crash(error: Error): void }[] = []
  const send = batch<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        flights.push({ items, land: () => resolve(items.map((n) => `r${n}`)), crash: reject })
      }),
  )
  const sent = () => flights.map((flight) => flight.items)
  return { send, flights, sent }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe('batch', () => {
  it('A7 a lone caller goes at once and alone', async () => {
    const { send, flights, sent } = store()
    const one = send(1)
    expect(sent()).toEqual([[1]])
    flights[0]?.land()
    expect(await one).toBe('r1')
    const two = send(2)
    expect(sent()).toEqual([[1], [2]])
    flights[1]?.land()
    expect(await two).toBe('r2')
  })

  it('A7 while two are in flight the others wait, and then go together in their order', async () => {
    const { send, flights, sent } = store()
    const all = numbers(1, 6).map(send)
    expect(sent()).toEqual([[1], [2]])
    flights[1]?.land()
    await settled()
    expect(sent()).toEqual([[1], [2], [3, 4, 5, 6]])
    flights[0]?.land()
    flights[2]?.land()
    expect(await Promise.all(all)).toEqual(numbers(1, 6).map((n) => `r${n}`))
  })

  it('A7 no batch is larger than 64, and never are more than two in flight', async () => {
    const { send, flights, sent } = store()
    const all = numbers(1, 300).map(send)
    let landed = 0
    while (landed < flights.length) {
      expect(flights.length - landed).toBeLessThanOrEqual(2)
      flights[landed++]?.land()
      await settled()
    }
    expect(Math.max(...sent().map((items) => items.length))).toBe(64)
    expect(sent().flat()).toEqual(numbers(1, 300))
    expect(await Promise.all(all)).toHaveLength(300)
  })

  it('A7 what has queued while nothing could fly is split into two', async () => {
    const { send, flights, sent } = store()
    const all = numbers(1, 10).map(send)
    flights[0]?.land()
    flights[1]?.land()
    await settled()
    expect(sent().slice(2)).toEqual([numbers(3, 10)])
    flights[2]?.land()
    await Promise.all(all)
    const more = numbers(11, 12).map(send)
    expect(sent().slice(3)).toEqual([[11], [12]])
    flights[3]?.land()
    flights[4]?.land()
    await Promise.all(more)
  })

  it('A3 one bad row fails alone: its neighbours are sent again one by one', async () => {
    const { send, flights, sent } = store()
    const all = Promise.allSettled(numbers(1, 5).map(send))
    flights[0]?.land()
    await settled()
    flights[2]?.crash(new Error('a bad row'))
    flights[1]?.land()
    await settled()
    expect(sent().slice(2)).toEqual([[3, 4, 5], [3]])
    flights[3]?.land()
    await settled()
    flights[4]?.crash(new Error('this one'))
    await settled()
    flights[5]?.land()
    const results = await all
    expect(results.map((r) => (r.status === 'fulfilled' ? r.value : (r.reason as Error).message))).toEqual([
      'r1',
      'r2',
      'r3',
      'this one',
      'r5',
    ])
  })

  it('L5 a store that cannot be reached is not asked once per row', async () => {
    const { send, flights, sent } = store()
    const all = Promise.allSettled(numbers(1, 5).map(send))
    flights[0]?.land()
    await settled()
    flights[1]?.land()
    flights[2]?.crash(new Fault('store_unavailable'))
    const results = await all
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'])
    expect(sent()).toHaveLength(3)
  })
})
