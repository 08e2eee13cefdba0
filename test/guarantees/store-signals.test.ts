/** Who waits and who tells meet at one row, and neither misses the other. On both engines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { seedEffect, seedRun, ms, tell, telling, transition, unique, commit } from '../setup/seed.ts'
import { TELL, WAIT } from '../setup/signal-guards.ts'

describe.each(ENGINES)('signals on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it.each(TELL)('T3 what is told reaches who waits, and nobody else: $name', (guard) => guard.run(store))

  it.each(WAIT)('T3 a call goes to wait, and what was told before counts: $name', (guard) => guard.run(store))

  it('T3 of who tells and who lies down at the same moment, the second sees the first: no run sleeps on news', async () => {
    const rounds = Array.from({ length: 40 }, async (_, i) => {
      const key = await seedRun(store)
      await seedEffect(store, key, { status: 'started', started_at: ms(-1) })
      const signal = unique('race')
      const going = transition(key, {
        to: 'waiting_confirmation',
        wait: 'external',
        due_ms: 600_000,
        effects: [],
        kind: null,
        waiting: [{ position: 0, signal, ms: 600_000 }],
        listens: [signal],
      })
      const keys = [`acme/production/${key.run}`, `acme/production/signal:${signal}`]
      const both = [
        () => commit(store.db, [going], { worker: key.worker, keys }),
        () => tell(store.db, [telling(key, signal)]),
      ]
      if (i % 2) both.reverse()
      await Promise.all(both.map((one) => one()))
      const [row] = await store.admin('select due_at <= now() as due from plimsoll.run where id = $1', [key.run])
      return row?.due
    })
    expect(new Set(await Promise.all(rounds))).toEqual(new Set([true]))
  })
})
