import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { crashActor, seen } from '../../src/eval/crash-case.ts'
import type { FaultHook, FaultPoint } from '../../src/kernel/faultpoint.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { ProviderMode } from '../../src/testing/effect-provider.ts'
import { gate } from '../setup/stage.ts'
import { type Ground, openGround } from './ground.ts'
import { COMPLETED, newAgent, rest } from './story.ts'

const url = inject('postgres')
const TIMES = { heartbeatMs: 400, leaseMs: 1_600, pollMs: 50, onError: () => {} }

describe.skipIf(!url)('a run that hangs in a worker that lives', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround()
  })
  afterAll(() => ground.close())

  /** The first worker hangs at a place, its time is over, and a second one comes. */
  async function hang(place: FaultPoint, mode: ProviderMode) {
    const agent = newAgent(ground, mode)
    const stuck = gate()
    const reached = gate()
    let hangs = false
    const fault: FaultHook = async (point) => {
      if (point !== place || hangs) return
      hangs = true
      reached.open()
      await stuck.opened
    }
    const first = createRuntime({ db: ground.db, agents: [agent], fault })
    const { run } = await first.submit(crashActor(), { agent: agent.name, text: agent.name })
    const hanging = await first.work(TIMES)
    const ending = rest(first, run, first)
    await reached.opened
    // hours of waiting would prove nothing more: the database says that it was silent for too long
    await ground.store.admin(
      `update plimsoll.run set progress_at = progress_at - progress_ms * interval '1 ms' where id = $1`,
      [run],
    )
    const second = createRuntime({ db: ground.db, agents: [agent] })
    const taking = await second.work(TIMES)
    const end = await ending
    const [lease] = await ground.store.admin('select lease_until > now() as lives from plimsoll.worker where id = $1', [
      hanging.id(),
    ])
    const before = await ground.witness.evidence(run)
    // a call that has not left the house within two seconds of its start is not made
    await ground.store.admin('select pg_sleep(2.1)')
    stuck.open()
    while (hanging.driven() > 0) await first.clock.sleep(20)
    const after = await ground.witness.evidence(run)
    const effects = ground.provider.effects().filter((e) => e.resource === agent.name).length
    await Promise.all([hanging.stop(), taking.stop()])
    return {
      end,
      effects,
      lives: lease?.lives,
      isLeftAlone: JSON.stringify(before) === JSON.stringify(after),
      run,
      second,
    }
  }

  it.each<[FaultPoint, ProviderMode]>([
    ['context.built', 'keyed'],
    ['model.end', 'keyed'],
    ['step.beforeIntent', 'state'],
    ['ext.replied', 'keyed'],
    ['result.before', 'state'],
  ])(
    'L8 J5 at %s is taken over, and what the first one writes when it wakes is refused (%s)',
    async (place, mode) => {
      const { end, effects, lives, isLeftAlone } = await hang(place, mode)
      expect({ end, effects, lives, isLeftAlone }).toEqual({
        end: COMPLETED,
        effects: 1,
        lives: true,
        isLeftAlone: true,
      })
    },
    60_000,
  )

  it('L8 J4 between the start of an effect and its call asks a person where nobody else can tell, and never calls late', async () => {
    const { end, effects, isLeftAlone, run, second } = await hang('ext.before', 'manual')
    expect({ end, effects, isLeftAlone }).toEqual({
      end: { status: 'waiting_confirmation', wait: 'unknown_effect', end: null },
      effects: 0,
      isLeftAlone: true,
    })
    expect((await seen(second, run))?.wait).toBe('unknown_effect')
  }, 60_000)
})
