/** Sinks that say nothing: what they hold, and for how long. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/kernel/clock.ts'
import { systemClock } from '../../src/kernel/system.shell.ts'
import type { Sink } from '../../src/journal/sink.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import { type Relaying, type RelayScene, relaying, runWith } from '../setup/relay.ts'

const STORY = ['run_queued', 'step_planned', 'calls_settled', 'run_ended']

/** The time of the system, but for the bells that are set to `ms`: they are rung by hand. */
function ringing(ms: number) {
  const rings: (() => void)[] = []
  const after: Clock['after'] = (wait, then) =>
    wait === ms ? (rings.push(then), () => {}) : systemClock.after(wait, then)
  return { clock: { ...systemClock, after }, rings }
}

describe.each(ENGINES)('silent sinks on %s', (engine) => {
  let store: TestStore
  const running: Relaying[] = []
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store?.close())
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.stop()))
    for (const t of ['delivery_attempt', 'delivery', 'endpoint', 'event', 'run', 'sink'])
      await store.admin(`delete from plimsoll.${t}`)
  })
  const go = async (scene: RelayScene) => {
    const one = await relaying(store, scene)
    running.push(one)
    return one
  }
  const one = async (text: string) => (await store.admin(text))[0] ?? {}

  it('J9 a sink that never answers has failed after a while: it is asked again, and not held for ever', async () => {
    const { clock, rings } = ringing(60_000)
    let calls = 0
    const heard: number[] = []
    const sink: Sink = {
      name: 'silent',
      publish: async ({ seq }) => {
        calls += 1
        if (calls === 1) await new Promise(() => {})
        heard.push(seq)
      },
    }
    await go({ sinks: [sink], clock })
    await until(
      () => one(`select count(*)::int as n from plimsoll.sink`),
      (row) => row.n === 1,
    )
    await runWith(store, STORY)
    await until(
      async () => calls,
      (count) => count === 1,
    )
    for (const ring of rings) ring()
    await until(
      async () => {
        await store.admin(`update plimsoll.delivery set due_at = now() where attempt > 0`)
        return heard.length
      },
      (count) => count >= 4,
    )
    expect(heard).toEqual([1, 2, 3, 4])
  })

  it('P6 a sink that does not listen holds no worker that stops, and its event is not lost', async () => {
    const { clock, rings } = ringing(5_000)
    let calls = 0
    const sink: Sink = { name: 'deaf', publish: () => new Promise(() => void (calls += 1)) }
    const mine = await go({ sinks: [sink], clock })
    await until(
      () => one(`select count(*)::int as n from plimsoll.sink`),
      (row) => row.n === 1,
    )
    await runWith(store, STORY)
    await until(
      async () => calls,
      (count) => count === 1,
    )
    const stopped = mine.stop()
    await until(
      async () => rings.length,
      (count) => count > 0,
    )
    for (const ring of rings) ring()
    await stopped
    expect(await one(`select sent, worker_id from plimsoll.delivery`)).toEqual({ sent: 0, worker_id: null })
  })
})
