/** What stands between a call and its tool: how many at once, whose object, how often. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import type { Contract } from '../../src/tool/contract.ts'
import { tool } from '../../src/tool/define.ts'
import { rateStore } from '../../src/tool/rate.store.ts'
import { toolError } from '../../src/tool/toolerror.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { gate, play } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })
const calls = (contract: Contract, ...ns: readonly number[]): ScriptedAnswer => ({
  calls: ns.map((n) => ({ name: contract.exposedName, arguments: { n } })),
})
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

describe.each(ENGINES)('calls of tools, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it('I7 of a dozen reads eight run at once, and their results stand in the order of the calls', async () => {
    const open = gate()
    let running = 0
    let most = 0
    const look = tool('world.look@1', {
      input,
      effect: 'read',
      async run({ n }) {
        most = Math.max(most, (running += 1))
        await open.opened
        // the later ones are ready first
        for (let i = n; i < 12; i++) await turn()
        running -= 1
        return n
      },
    })
    const stage = await play(store, { tools: [look], script: [calls(look, ...upTo(12)), { text: 'done' }] })
    const said = await stage.say('go')
    while (running < 8) await turn()
    for (let i = 0; i < 50; i++) await turn()
    open.open()
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(most).toBe(8)
    expect(await said.results()).toEqual(upTo(12))
  })

  it('I7 writes of one answer run one at a time, in the order of the calls', async () => {
    const order: string[] = []
    const push = tool('world.push@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      async commit({ n }) {
        order.push(`begin ${n}`)
        for (let i = 0; i < 3; i++) await turn()
        order.push(`end ${n}`)
      },
    })
    const stage = await play(store, { tools: [push], script: [calls(push, 1, 2, 3), { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(order).toEqual([1, 2, 3].flatMap((n) => [`begin ${n}`, `end ${n}`]))
  })

  it('I3 a read of an object that is not his is denied, one that fails or is no boolean too, and the tool never runs', async () => {
    const seen: number[] = []
    const look = tool('orders.show@1', {
      input,
      effect: 'read',
      breaker: { identicalErrors: 9 },
      authorize({ n }) {
        if (n === 2) throw new Error('down')
        return n === 3 ? ('yes' as unknown as boolean) : n === 1
      },
      run: ({ n }) => void seen.push(n),
    })
    const stage = await play(store, { tools: [look], script: [calls(look, 0, 1, 2, 3), { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    const denied = { code: 'permission_denied', retryable: false }
    expect(await said.results()).toMatchObject([denied, null, denied, denied])
    expect(seen).toEqual([1])
  })

  it('I3 K1 an authoriser of an object that never answers refuses in the time of the call', async () => {
    const look = tool('orders.show@1', {
      input,
      effect: 'read',
      timeoutMs: 200,
      authorize: () => new Promise(() => {}),
      run: () => null,
    })
    const stage = await play(store, { tools: [look], script: [calls(look, 1), { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await said.results()).toMatchObject([{ code: 'permission_denied' }])
  })

  it('I3 J1 an object is asked for before anybody is asked to confirm, and again right before the commit', async () => {
    const done: number[] = []
    let owner = true
    const book = tool('orders.book@1', {
      input,
      effect: 'irreversible',
      unknown: 'manual',
      authorize: ({ n }) => owner && n === 1,
      commit: ({ n }) => void done.push(n),
    })
    const stage = await play(store, { tools: [book], script: [calls(book, 1, 2), { text: 'done' }] })
    const said = await stage.say('go')
    const [card] = await said.asked(1)
    owner = false
    await said.decide(card!, true)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    const denied = { code: 'permission_denied' }
    expect(await said.results()).toMatchObject([denied, denied])
    expect(done).toEqual([])
  })

  it('I1 of more calls than a rate allows exactly so many start, over all workers, for each tenant alone', async () => {
    const stores = [rateStore(store.db), rateStore(await store.another())]
    const scope = { tenant: 'acme', environment: 'production' }
    const rate = { calls: 5, perMs: 60_000 }
    const take = (tenant: string, count: number) =>
      Promise.all(upTo(count).map((i) => stores[i % 2]!.take({ ...scope, tenant }, 'mail.list', rate)))
    const taken = (await take('rated', 40)).filter((t) => t.taken)
    expect(taken).toHaveLength(5)
    expect((await take('other', 3)).every((t) => t.taken)).toBe(true)
    const refused = await stores[0]!.take({ ...scope, tenant: 'rated' }, 'mail.list', rate)
    expect(refused).toMatchObject({ taken: false })
    expect(refused.taken || refused.waitMs).toBeGreaterThan(1_000)
    // the oldest two leave the span: two more may start
    await store.admin(
      `update plimsoll.tool_calls set starts = (select array_agg(s - case when i <= 2 then interval '61 s' else '0 s' end order by i)
         from unnest(starts) with ordinality as x(s, i)) where tenant_id = 'rated'`,
    )
    expect((await take('rated', 10)).filter((t) => t.taken)).toHaveLength(2)
    const [row] = await store.admin(
      `select cardinality(starts) as kept from plimsoll.tool_calls where tenant_id = 'rated'`,
    )
    expect(row).toEqual({ kept: 5 })
  })

  it('I1 a call beyond the rate is told apart, may be tried later, and starts nothing', async () => {
    let looked = 0
    const done: number[] = []
    const look = tool('world.look@1', { input, effect: 'read', rate: { calls: 2, perMs: 60_000 }, run: () => ++looked })
    const push = tool('world.push@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      rate: { calls: 1, perMs: 60_000 },
      commit: ({ n }) => void done.push(n),
    })
    const script = [calls(look, 1, 2, 3), calls(push, 1, 2), { text: 'done' }]
    const stage = await play(store, { tools: [look, push], script })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    const results = await said.results()
    const limited = { code: 'rate_limited', retryable: true, hint: expect.stringMatching(/^Try again in \d+ s,/) }
    expect(results.slice(0, 3)).toEqual(expect.arrayContaining([1, 2, expect.objectContaining(limited)]))
    expect(results.slice(3)).toMatchObject([null, limited])
    expect(looked).toBe(2)
    expect(done).toEqual([1])
    expect(await said.effects()).toMatchObject([
      {},
      {},
      {},
      { outcome: 'ok' },
      { outcome: 'error', code: 'rate_limited' },
    ])
  })

  it('N2 a permanent failure is observed once, and one of a moment is the adapter’s own to repeat', async () => {
    const tried: string[] = []
    const look = tool('world.look@1', {
      input,
      effect: 'read',
      errors: ['provider_timeout', 'not_found'],
      retry: { attempts: 3 },
      run({ n }) {
        const before = tried.filter((t) => t === `${n}`).length
        tried.push(`${n}`)
        if (n === 1) throw toolError('not_found')
        if (n === 2 && before < 2) throw toolError('provider_timeout')
        if (n === 3) throw toolError('provider_timeout')
        if (n === 4) throw new Error('undeclared')
        return n
      },
    })
    const stage = await play(store, { tools: [look], script: [calls(look, 1, 2, 3, 4), { text: 'done' }] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await said.results()).toMatchObject([
      { code: 'not_found', retryable: false },
      2,
      { code: 'provider_timeout', retryable: true },
      { code: 'tool_failed', retryable: false },
    ])
    expect(tried.sort().join('')).toBe('12223334')
  })

  it('B2 BR-123 a model that asks for the same again is stopped the third time, and a tool that is polled has its own limit', async () => {
    let listed = 0
    let polled = 0
    const list = tool('files.list@1', { input, effect: 'read', run: () => (listed += 1) && [] })
    const poll = tool('jobs.status@1', {
      input,
      effect: 'read',
      breaker: { identicalCalls: 6, alternation: false },
      run: () => (polled += 1),
    })
    const stage = await play(store, { tools: [list, poll], script: () => calls(list, 1), budget: BUDGET })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'repeated_action' })
    await stage.stop()
    expect(listed).toBeLessThan(3)
    const other = await play(store, { tools: [list, poll], script: () => calls(poll, 1), budget: BUDGET })
    const again = await other.say('go')
    expect(await again.rest()).toMatchObject({ end: 'repeated_action' })
    await other.stop()
    expect(polled).toBe(5)
  })
})

const BUDGET = { steps: 20, toolCalls: 20, tokens: 500_000, costCents: 1_000, seconds: 60 }
