import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { gate, play } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })

describe.each(ENGINES)('a run and its store, on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it('I7 reads run beside one another up to a limit, effects one at a time, and results come in call order', async () => {
    const eight = gate()
    const order: number[] = []
    let reading = 0
    let mostReading = 0
    let writing = 0
    let mostWriting = 0
    const read = tool('world.read@1', {
      input,
      effect: 'read',
      run: async ({ n }) => {
        reading += 1
        mostReading = Math.max(mostReading, reading)
        // none ends before eight of them have begun
        if (reading === 8) eight.open()
        await eight.opened
        reading -= 1
        return n
      },
    })
    const write = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: async ({ n }) => {
        writing += 1
        mostWriting = Math.max(mostWriting, writing)
        await new Promise((resolve) => setImmediate(resolve))
        writing -= 1
        order.push(n)
        return n
      },
    })
    const asked = [
      ...Array.from({ length: 10 }, (_, n) => ({ name: read.exposedName, arguments: { n } })),
      ...[10, 11].map((n) => ({ name: write.exposedName, arguments: { n } })),
    ]
    const stage = await play(store, { tools: [read, write], script: [{ calls: asked }, { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect({ mostReading, mostWriting, order }).toEqual({ mostReading: 8, mostWriting: 1, order: [10, 11] })
    expect(await said.results()).toEqual(asked.map((_, n) => n))
  })

  it('C5 L4 BR-062 a run whose transcript is damaged ends, and does not loop', async () => {
    const stage = await play(store, { attempts: 2, worker: null })
    const said = await stage.say('go')
    await store.admin(`update plimsoll.message set content_hash = 'other' where run_id = $1`, [said.run])
    const working = await stage.again({ worker: {} })
    expect(await said.rest()).toEqual({ status: 'failed', wait: null, end: 'attempts_exhausted' })
    await working.stop()
  })

  it.runIf(engine === 'postgres')(
    'L5 BR-066 nothing is open in the database while a model or a tool works',
    async () => {
      const open = async (): Promise<Map<string, unknown>> => {
        const rows = await store.admin(
          `select pid || ' ' || xact_start as transaction, state, query from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null`,
        )
        return new Map(rows.map((r) => [String(r.transaction), r]))
      }
      /** The transactions that are open at each of several looks: others work beside the call, each for a moment. */
      const openThroughout = async (): Promise<unknown[]> => {
        let seen = await open()
        for (let i = 0; i < 5; i++) {
          await store.admin('select pg_sleep(0.02)')
          const now = await open()
          seen = new Map([...seen].filter(([transaction]) => now.has(transaction)))
        }
        return [...seen.values()]
      }
      const held = await store.hold('select 1')
      expect(await openThroughout()).toHaveLength(1)
      await held.release()
      const found: unknown[] = []
      let looks = 0
      const look = async (): Promise<void> => {
        found.push(...(await openThroughout()))
        looks += 1
      }
      const read = tool('world.read@1', { input, effect: 'read', run: look })
      const write = tool('world.change@1', {
        input,
        effect: 'write',
        approval: 'auto',
        unknown: 'manual',
        commit: look,
      })
      const answers = scripted(
        (_, turn) =>
          turn < 2 ? { calls: [{ name: [read, write][turn]!.exposedName, arguments: { n: 1 } }] } : { text: 'done' },
        {
          pause: look,
        },
      )
      const stage = await play(store, { tools: [read, write], model: answers })
      const said = await stage.say('go')
      expect(await said.rest()).toMatchObject({ end: 'completed' })
      await stage.stop()
      // three answers and two calls
      expect(looks).toBeGreaterThanOrEqual(5)
      expect(found).toEqual([])
    },
  )

  it.runIf(engine === ENGINES[0])(
    'L6 a step of a long run stores as much as one of a short run',
    { timeout: 120_000 },
    async () => {
      const read = tool('world.read@1', { input, effect: 'read', run: () => 'a result of a fixed size' })
      const perStep = async (steps: number): Promise<{ rows: number; bytes: number }> => {
        const script = (_: unknown, turn: number): ScriptedAnswer =>
          turn < steps - 1 ? { calls: [{ name: read.exposedName, arguments: { n: 1_000 + turn } }] } : { text: 'done' }
        const budget = { steps, toolCalls: steps, tokens: 10_000_000, costCents: 1_000_000, seconds: 100 }
        const stage = await play(store, { tools: [read], script, budget })
        const said = await stage.say('go')
        expect(await said.rest()).toMatchObject({ end: 'completed' })
        await stage.stop()
        const tables = ['run', 'message', 'effect', 'ledger', 'event'].map(
          (t) =>
            `select count(*) as rows, sum(pg_column_size(t.*)) as bytes from plimsoll.${t} t where ${t === 'run' ? 'id' : 'run_id'} = '${said.run}'`,
        )
        const [total] = await store.admin(
          `select sum(rows)::int as rows, sum(bytes)::int as bytes from (${tables.join(' union all ')}) s`,
        )
        return { rows: Number(total!.rows) / steps, bytes: Number(total!.bytes) / steps }
      }
      const short = await perStep(10)
      const long = await perStep(200)
      expect(long.rows).toBeLessThanOrEqual(short.rows)
      // the numbers of steps and sequences get longer
      expect(long.bytes).toBeLessThan(short.bytes * 1.05)
    },
  )

  it('G2 A4 what a dead worker had let out of its answer is gone when the run has ended', async () => {
    const stage = await play(store, { worker: null })
    const said = await stage.say('go')
    await store.admin(
      `insert into plimsoll.delta (tenant_id, environment, run_id, seq, generation, step, attempt, body)
       values ('acme', 'production', $1, 401000000, 1, 1, 401, 'half a sen')`,
      [said.run],
    )
    await store.admin('update plimsoll.run set epoch = 4 where id = $1', [said.run])
    const next = await stage.again({ worker: {} })
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await expect
      .poll(() => store.admin('select seq from plimsoll.delta where run_id = $1', [said.run]), { timeout: 20_000 })
      .toEqual([])
    await next.stop()
    await stage.stop()
  })
})
