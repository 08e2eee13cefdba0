import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { approve, crashActor, seen } from '../../src/eval/crash-case.ts'
import type { RunId } from '../../src/kernel/ids.ts'
import type { Agent } from '../../src/run/agent.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import { type Ground, openGround } from './ground.ts'
import { COMPLETED, newAgent, rest } from './story.ts'

const url = inject('postgres')
const TIMES = { heartbeatMs: 400, leaseMs: 1_600, pollMs: 50 }

describe.skipIf(!url)('a worker that stops politely', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround()
  })
  afterAll(() => ground.close())

  async function opened(agent: Agent): Promise<{ runtime: Runtime; run: RunId }> {
    const runtime = createRuntime({ db: ground.db, agents: [agent] })
    const { run } = await runtime.submit(crashActor(), { agent: agent.name, text: agent.name })
    return { runtime, run }
  }
  const arrived = (agent: Agent) => ground.provider.arrivals().filter((a) => a.resource === agent.name).length
  const effects = (agent: Agent) => ground.provider.effects().filter((e) => e.resource === agent.name).length
  async function until(runtime: Runtime, done: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await done())) await runtime.clock.sleep(20)
  }
  async function inFlight(agent: Agent, runtime: Runtime, run: RunId): Promise<void> {
    await until(runtime, async () => (await seen(runtime, run))?.wait === 'confirmation')
    await approve(runtime, run)
    await until(runtime, () => arrived(agent) === 1)
  }

  it('P6 BR-056 lets an effect come to its end and commits it; the rest goes back to the queue', async () => {
    const agent = newAgent(ground, 'manual')
    await ground.provider.trouble({ resource: agent.name, kind: 'slow', ms: 300 })
    const { runtime, run } = await opened(agent)
    const first = await runtime.work(TIMES)
    await inFlight(agent, runtime, run)
    await first.stop()
    expect(effects(agent)).toBe(1)
    const [row] = await ground.store.admin('select status, worker_id from plimsoll.run where id = $1', [run])
    expect(row).toEqual({ status: 'queued', worker_id: null })
    const [effect] = await ground.store.admin(
      `select status, outcome from plimsoll.effect where run_id = $1 and level <> 'read'`,
      [run],
    )
    expect(effect).toEqual({ status: 'settled', outcome: 'ok' })
    const second = await runtime.work(TIMES)
    expect(await rest(runtime, run, runtime)).toEqual(COMPLETED)
    await second.stop()
    expect(effects(agent)).toBe(1)
  })

  it('J4 does not trust "not there" while a request of the one before may be on its way', async () => {
    const agent = newAgent(ground, 'state')
    await ground.provider.trouble({ resource: agent.name, kind: 'hold' })
    const { runtime, run } = await opened(agent)
    const first = await runtime.work({ ...TIMES, graceMs: 1 })
    await inFlight(agent, runtime, run)
    await first.stop()
    const second = await runtime.work(TIMES)
    await until(runtime, async () => (await seen(runtime, run))?.wait === 'timer')
    // the worker has gone long ago, and within the time of the tool it happens
    await ground.provider.release(agent.name)
    expect(await rest(runtime, run, runtime)).toEqual(COMPLETED)
    await second.stop()
    expect({ arrived: arrived(agent), effects: effects(agent) }).toEqual({ arrived: 1, effects: 1 })
  })

  it.each(['no_reply', 'status_500'] as const)(
    'J4 an effect that ends in %s is asked about by a person, and its true outcome is told',
    async (kind) => {
      const agent = newAgent(ground, 'manual')
      await ground.provider.trouble({ resource: agent.name, kind })
      const { runtime, run } = await opened(agent)
      const worker = await runtime.work(TIMES)
      await inFlight(agent, runtime, run)
      await until(runtime, async () => (await seen(runtime, run))?.wait === 'unknown_effect')
      // a parked run holds no worker, and canceling cannot make the effect unhappen (J7)
      expect(await runtime.cancel(crashActor(), run, 'user', null)).toMatchObject({
        status: 'waiting_confirmation',
        wait: 'unknown_effect',
      })
      await runtime.resolve(
        crashActor('operator'),
        { run, step: 2, position: 0 },
        { outcome: 'happened', result: { id: 'found' }, reason: 'found at the provider' },
      )
      expect(await rest(runtime, run, runtime)).toEqual({ status: 'canceled', wait: null, end: 'user_canceled' })
      await worker.stop()
      const [effect] = await ground.store.admin(
        `select status, outcome from plimsoll.effect where run_id = $1 and level <> 'read'`,
        [run],
      )
      expect(effect).toEqual({ status: 'settled', outcome: 'ok' })
      expect({ arrived: arrived(agent), effects: effects(agent) }).toEqual({ arrived: 1, effects: 1 })
    },
  )

  it.each(['keyed', 'keyed_blind'] as const)(
    'J4 a %s effect without a reply is repeated under its own key, and happens once',
    async (mode) => {
      const agent = newAgent(ground, mode)
      await ground.provider.trouble({ resource: agent.name, kind: 'status_500' })
      const { runtime, run } = await opened(agent)
      const worker = await runtime.work(TIMES)
      expect(await rest(runtime, run, runtime)).toEqual(COMPLETED)
      await worker.stop()
      expect(effects(agent)).toBe(1)
      expect(
        new Set(
          ground.provider
            .arrivals()
            .filter((a) => a.resource === agent.name)
            .map((a) => a.key),
        ).size,
      ).toBe(1)
    },
  )
})
