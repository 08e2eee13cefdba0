/** Faults that users of other systems met, each with the right behaviour: what no other story tells. */
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../../src/testing/scripted.ts'
import { readArguments } from '../../src/tool/arguments.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, statement, type TestStore } from '../setup/engines.ts'
import { commit, runOf, seedRun, transition } from '../setup/seed.ts'
import { person, play } from '../setup/stage.ts'

const input = {
  type: 'object',
  properties: { order: { type: 'string' }, amount: { type: 'number' } },
  additionalProperties: false,
}

describe.each(ENGINES)('on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it('J3 BR-005 the key of an effect is the server’s: one from the model is refused, and a repeat under recovery has the same', async () => {
    const keys: string[] = []
    const pay = tool('shop.pay@1', {
      description: 'Pays.',
      input,
      effect: 'irreversible',
      unknown: 'key',
      commit: (_input, cx) => {
        keys.push(cx.effectKey)
        if (keys.length === 1) throw new Error('the line went dead')
        return 'paid'
      },
    })
    expect(readArguments(pay, '{"order":"1","idempotency_key":"k-1"}', { tenant: 'acme' })).toMatchObject({ ok: false })
    expect(JSON.stringify(pay.inputSchema)).not.toMatch(/key/i)
    const stage = await play(store, {
      tools: [pay],
      script: [{ calls: [{ name: pay.exposedName, arguments: { order: '1', amount: 2 } }] }, { text: 'done' }],
    })
    const said = await stage.say('pay')
    const [card] = await said.asked(1)
    if (card) await said.decide(card, true)
    expect(await said.rest()).toMatchObject({ status: 'succeeded' })
    await stage.stop()
    expect(keys).toHaveLength(2)
    expect(new Set(keys)).toEqual(new Set([`${said.run}/1/0/shop.pay@1`]))
  })

  it.each([1, 3])(
    'B1 BR-125 a limit of %i asks the model exactly so often, is no success, and lists what was done',
    async (steps) => {
      let asked = 0
      const done: number[] = []
      const count = tool('world.count@1', {
        input: z.strictObject({ n: z.int() }),
        effect: 'write',
        approval: 'auto',
        unknown: 'manual',
        commit: ({ n }) => void done.push(n),
      })
      const model = scripted(() => ({ calls: [{ name: count.exposedName, arguments: { n: (asked += 1) } }] }))
      const budget = { steps, toolCalls: 20, tokens: 200_000, costCents: 1_000, seconds: 60 }
      const stage = await play(store, { tools: [count], model, budget })
      const said = await stage.say('go')
      expect(await said.rest()).toEqual({ status: 'failed', wait: null, end: 'step_limit' })
      await stage.stop()
      expect(asked).toBe(steps)
      const view = await stage.runtime.reads.run(person(), said.run)
      expect(view.done.map((e) => [e.tool, e.outcome])).toEqual(done.map(() => ['world.count', 'ok']))
      // each call has its answer, the last ones too
      expect(await said.results()).toHaveLength(steps)
    },
  )

  it('J4 BR-010 an import that dies after its fourth row repeats none: each row has a key under the effect’s, and no count of what was done is believed', async () => {
    const rows = new Map<string, number>()
    let inserts = 0
    let died = false
    const imports = tool('shop.import@1', {
      description: 'Imports ten rows.',
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'key',
      commit: (_input, cx) => {
        for (let row = 1; row <= 10; row++) {
          inserts += 1
          rows.set(`${cx.effectKey}/${row}`, row)
          if (row === 4 && !died) {
            died = true
            throw new Error('the process is gone')
          }
        }
        return { rows: rows.size }
      },
    })
    const stage = await play(store, {
      tools: [imports],
      script: [{ calls: [{ name: imports.exposedName, arguments: { order: '1', amount: 2 } }] }, { text: 'done' }],
    })
    const said = await stage.say('import')
    expect(await said.rest()).toMatchObject({ status: 'succeeded' })
    await stage.stop()
    expect([inserts, [...rows.values()]]).toEqual([14, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
    expect(await said.results()).toEqual([{ rows: 10 }])
  })

  it('Q1 BR-043 five reservations at once against money for three: three are held, two are refused before anything is spent', async () => {
    const key = await seedRun(store, { max_tokens: 45, used_tokens: 0, reserved_tokens: 0, max_cost: 1_000 })
    const others = await Promise.all([store.another(), store.another()])
    const wanted = {
      tool_calls: 0,
      reserved_tokens: 15,
      released_tokens: 0,
      input_tokens: 0,
      output_tokens: 0,
      reserved_cost: 0,
      released_cost: 0,
      spent_cost: 0,
    }
    const bare = { messages: [], effects: [], settled: [], confirmations: [], closed: [], events: [] }
    const take = async (who: number): Promise<boolean> => {
      // as the loop does: a conflict is read again, a refusal for money stays one
      for (let tries = 0; tries < 20; tries++) {
        const row = await runOf(store, key)
        if (Number(row['reserved_tokens']) + 15 > 45) return false
        const change = transition(key, {
          ...wanted,
          ...bare,
          version: Number(row['version']),
          event_seq: Number(row['event_seq']),
          message_seq: Number(row['message_seq']),
        })
        if ((await commit(others[who % 2] ?? store.db, [change], { worker: key.worker })).length > 0) return true
      }
      return false
    }
    const won = await Promise.all([0, 1, 2, 3, 4].map(take))
    expect(won.filter(Boolean)).toHaveLength(3)
    expect(Number((await runOf(store, key))['reserved_tokens'])).toBe(45)
    const row = await runOf(store, key)
    const blind = transition(key, {
      ...wanted,
      ...bare,
      version: Number(row['version']),
      event_seq: Number(row['event_seq']),
      message_seq: Number(row['message_seq']),
    })
    expect(await commit(store.db, [blind], { worker: key.worker })).toEqual([])
  })

  it('I3 BR-074 a number that would change is refused with a hint, and the exact text of the others reaches tool and history', async () => {
    const seen: unknown[] = []
    const look = tool('orders.look@1', {
      description: 'Looks.',
      input: { type: 'object', properties: { id: {} } },
      effect: 'read',
      run: (i) => (seen.push(i['id']), 'ok'),
    })
    const asks = (raw: string) => ({
      parts: [
        { kind: 'call' as const, key: raw, call: { id: raw, name: look.exposedName, arguments: raw } },
        { kind: 'finish' as const, reason: 'tool_calls' as const },
      ],
    })
    const stage = await play(store, {
      tools: [look],
      script: [
        asks('{"id":7311204596012000003}'),
        asks('{"id":"7311204596012000003"}'),
        asks('{"id":1e400}'),
        asks('{"id":1.10}'),
        { text: 'done' },
      ],
    })
    const said = await stage.say('look')
    expect(await said.rest()).toMatchObject({ status: 'succeeded' })
    await stage.stop()
    expect(seen).toEqual(['7311204596012000003', 1.1])
    expect((await said.effects()).map((e) => e.code)).toEqual(['invalid_arguments', null, 'invalid_arguments', null])
  })

  it('G7 P3 BR-139 what was said, asked and answered is in the rows that hold content, and nowhere else', async () => {
    const marker = 'canary-7f31'
    const told: unknown[] = []
    const look = tool('orders.find@1', {
      description: 'Looks.',
      input,
      effect: 'read',
      run: () => {
        throw new Error(`connect postgres://svc:${marker}@db.internal:5432/core failed`)
      },
    })
    const stage = await play(store, {
      tools: [look],
      script: [
        { calls: [{ name: look.exposedName, arguments: { order: marker, amount: 1 } }] },
        { text: `it is ${marker}` },
      ],
      worker: { onError: (error) => told.push(error) },
    })
    const said = await stage.say(`find ${marker}`)
    expect(await said.rest()).toMatchObject({ status: 'succeeded' })
    await stage.stop()
    expect(JSON.stringify(await said.results())).not.toContain(marker)
    const tables = await store.admin(
      `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'plimsoll' and c.relkind = 'r'`,
    )
    const holding: string[] = []
    for (const { name } of tables) {
      const [hit] = await store.admin(
        `select count(*)::int as n from plimsoll.${String(name)} t where position($1 in t::text) > 0 or position(encode($1::bytea, 'hex') in t::text) > 0`,
        [marker],
      )
      if (Number(hit?.['n']) > 0) holding.push(String(name))
    }
    expect(holding.sort()).toEqual(['effect', 'message'])
    expect(JSON.stringify(told)).not.toContain(marker)
  })

  it.each([
    ['of a cast', `select cast(cast(:value as text) as int)`],
    ['inside JSON', `select cast(cast(:value as text) as jsonb)`],
  ])('P3 BR-139 an error of the store holds no value %s, whoever prints all of it', async (what, sql) => {
    const marker = 'canary 7f31 {'
    const refused = statement(`refused_${what.replaceAll(' ', '_')}`, sql.replace(':value', '$1'), ['value'])
    const thrown = await Promise.all([
      store.db.call(refused, { value: marker }).catch((error: unknown) => error),
      store.db
        .read({ tenant: 'acme', environment: 'production' }, refused, { value: marker })
        .catch((error: unknown) => error),
    ])
    for (const error of thrown) {
      expect(error).toBeInstanceOf(Error)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/canary|7f31/)
      // and still says what kind it is
      expect(error).toHaveProperty('code', expect.stringMatching(/^(22...|invalid_text)$/))
    }
  })
})
