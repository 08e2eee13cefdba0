/** Reads, and the commit of the answer that asked for them. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FaultPoint } from '../../src/kernel/faultpoint.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { play } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })
const call = (name: string) => ({ calls: [{ name, arguments: { n: 1 } }] })

describe.each(ENGINES)('reads, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  const commitsOf = async (run: string) => {
    const [row] = await store.admin('select commits from plimsoll.run where id = $1', [run])
    return Number(row?.commits)
  }

  it.each([
    ['at once is stored with the answer that asked for it', () => ({ found: true }), 2],
    [
      'later is stored in a commit of its own',
      async () => {
        for (let i = 0; i < 3; i++) await turn()
        return { found: true }
      },
      3,
    ],
  ])('J5 A11 what ends %s', async (_, run, commits) => {
    const look = tool('world.look@1', { input, effect: 'read', run })
    const stage = await play(store, { tools: [look], script: [call(look.exposedName), { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await commitsOf(said.run)).toBe(commits)
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
    expect(await said.results()).toEqual([{ found: true }])
  })

  it.each(['at once', 'later'])(
    'I7 of two equal reads of one answer that end %s each has its own outcome',
    async (when) => {
      let asked = 0
      const look = tool('world.look@1', {
        input,
        effect: 'read',
        async run() {
          asked += 1
          const mine = asked
          if (when === 'later') for (let i = 0; i < 3; i++) await turn()
          if (mine === 1) throw new Error('down')
          return { found: true }
        },
      })
      const two = [call(look.exposedName), call(look.exposedName)].flatMap((one) => one.calls)
      const stage = await play(store, { tools: [look], script: [{ calls: two }, { text: 'done' }] })
      const said = await stage.say('go')
      expect(await said.rest()).toMatchObject({ end: 'completed' })
      await stage.stop()
      expect(await said.results()).toMatchObject([{ code: 'tool_failed' }, { found: true }])
    },
  )

  it('K1 J1 an authoriser that never answers refuses, and holds neither the run nor its worker', async () => {
    const look = tool('world.look@1', { input, effect: 'read', timeoutMs: 200, run: () => ({ found: true }) })
    const stage = await play(store, {
      tools: [look],
      script: [call(look.exposedName), { text: 'done' }],
      authorize: () => new Promise(() => {}),
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await said.results()).toMatchObject([{ code: 'permission_denied' }])
  })

  it('J5 an effect beside a read never begins before the answer that asked for both is stored', async () => {
    const order: string[] = []
    const look = tool('world.look@1', { input, effect: 'read', run: () => void order.push('read') })
    const push = tool('world.push@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: () => void order.push('effect'),
    })
    const fault = (point: FaultPoint) => {
      if (point === 'step.afterIntent' || point === 'preflight.after') order.push(point)
    }
    const script = [
      { calls: [push, look].map(({ exposedName }) => ({ name: exposedName, arguments: { n: 1 } })) },
      { text: 'done' },
    ]
    const stage = await play(store, { tools: [look, push], script, fault })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(order).toEqual(['read', 'step.afterIntent', 'preflight.after', 'effect'])
  })
})
