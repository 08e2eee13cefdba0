import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { actorFrom } from '../../src/request/actor.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import type { Contract } from '../../src/tool/contract.ts'
import { tool } from '../../src/tool/define.ts'
import { later } from '../../src/tool/later.ts'
import type { ToolSpec } from '../../src/tool/spec.ts'
import { toolError } from '../../src/tool/toolerror.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { play, type Said, type Scene } from '../setup/stage.ts'

const input = z.strictObject({ key: z.string() })
const HOUR = 3_600_000
const service = (tenant = 'acme', permissions = ['signals.tell']) =>
  actorFrom({ kind: 'service', tenant, environment: 'production', user: 'shop', subject: 'shop', permissions })

const waitFor = tool('events.wait@1', {
  input,
  effect: 'read',
  run: ({ key }) => later({ signal: key, withinMs: HOUR }),
})

let made = 0
const unique = () => `payment:${process.pid}:${(made += 1)}`

describe.each(ENGINES)('what waits outside, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** Asks once, and answers when it was answered: the same for every run, and after every takeover. */
  const once =
    (calls: readonly { readonly name: string; readonly key: string }[]) =>
    (_: unknown, turn: number): ScriptedAnswer =>
      turn === 0 ? { calls: calls.map(({ name, key }) => ({ name, arguments: { key } })) } : { text: 'done' }
  const on = (contract: Contract, key: string, scene: Partial<Scene> = {}) =>
    play(store, { tools: [contract], script: once([{ name: contract.exposedName, key }]), ...scene })
  const external = (said: Said) => said.until((now) => now.wait === 'external')
  /** The time of what waits is over. */
  const pass = (said: Said) =>
    store.admin(
      `with e as (update plimsoll.effect set wait_until = now() where run_id = '${said.run}' and status = 'waiting')
       update plimsoll.run set due_at = now() where id = '${said.run}'`,
    )

  it('T3 a run that waits for a signal holds no worker, and goes on with what was told', async () => {
    const key = unique()
    const stage = await on(waitFor, key)
    const said = await stage.say('go')
    await external(said)
    const [row] = await store.admin('select worker_id, reserved_tokens::int as held from plimsoll.run where id = $1', [
      said.run,
    ])
    expect(row).toEqual({ worker_id: null, held: 0 })
    await stage.runtime.signal(service(), key, { paid: 1200 })
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual([{ paid: 1200 }])
    await stage.stop()
  })

  it('T3 what was told before anybody waited is not missed', async () => {
    const key = unique()
    const stage = await on(waitFor, key)
    await stage.runtime.signal(service(), key, 'early')
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual(['early'])
    await stage.stop()
  })

  it('T3 what is told while the run is about to lie down wakes it: no wait outlives its signal', async () => {
    const keys = Array.from({ length: 12 }, unique)
    const stage = await play(store, {
      tools: [waitFor],
      script: (request, turn) => {
        const asked = request.messages.find((m) => m.role === 'user')
        const key = asked?.role === 'user' ? asked.text : ''
        return once([{ name: waitFor.exposedName, key }])(request, turn)
      },
    })
    const all = await Promise.all(
      keys.map(async (key, i) => {
        const said = await stage.say(key)
        // around the moment at which the run lies down
        for (let turns = 0; turns < i * 6; turns++) await new Promise((resolve) => setImmediate(resolve))
        await stage.runtime.signal(service(), key, i)
        return said
      }),
    )
    for (const [i, said] of all.entries()) {
      expect(await said.rest()).toMatchObject({ end: 'completed' })
      expect(await said.results()).toEqual([i])
    }
    await stage.stop()
  })

  it('T3 the same body may be told twice; another one is refused, and the first stays', async () => {
    const key = unique()
    const stage = await on(waitFor, key)
    const told = [{ a: 1 }, { a: 1 }].map((body) => stage.runtime.signal(service(), key, body))
    await Promise.all(told)
    await expect(stage.runtime.signal(service(), key, { a: 2 })).rejects.toMatchObject({ code: 'already_signaled' })
    const said = await stage.say('go')
    await said.rest()
    expect(await said.results()).toEqual([{ a: 1 }])
    await stage.stop()
  })

  it('T3 one signal wakes every run that waits for it, and none of another tenant', async () => {
    const key = unique()
    const stage = await on(waitFor, key)
    const [first, second] = [await stage.say('one'), await stage.say('two')]
    await external(first)
    await external(second)
    await stage.runtime.signal(service('globex'), key, 'of others')
    expect([await first.seen(), await second.seen()]).toMatchObject([{ wait: 'external' }, { wait: 'external' }])
    await stage.runtime.signal(service(), key, 'ours')
    for (const said of [first, second]) {
      expect(await said.rest()).toMatchObject({ end: 'completed' })
      expect(await said.results()).toEqual(['ours'])
    }
    await stage.stop()
  })

  it('A2 an end user, a service without the permission and an odd name tell nothing', async () => {
    const stage = await on(waitFor, 'x')
    const of = (kind: 'end_user' | 'service', permissions: readonly string[]) =>
      actorFrom({ kind, tenant: 'acme', environment: 'production', user: 'u', subject: 'u', permissions })
    const { runtime } = stage
    await expect(runtime.signal(of('end_user', ['*']), 'x', 1)).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(runtime.signal(of('service', ['orders']), 'x', 1)).rejects.toMatchObject({ code: 'permission_denied' })
    for (const odd of ['', 'a|b', 'a/b', 'ä', 'x'.repeat(201)])
      await expect(runtime.signal(service(), odd, 1)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await store.admin(`select from plimsoll.signal where key = 'x'`)).toEqual([])
    await stage.stop()
  })

  if (!isFirst(engine)) return

  it('T3 a timer ends by itself, and the run with it', async () => {
    const nap = tool('time.wait@1', { input, effect: 'read', run: () => later({ afterMs: 50 }) })
    const stage = await on(nap, 'x')
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual([{ waited: true }])
    await stage.stop()
  })

  it('T3 a signal that does not come in time is an error of the read, and the run goes on', async () => {
    const stage = await on(waitFor, unique())
    const said = await stage.say('go')
    await external(said)
    await pass(said)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toMatchObject([{ code: 'wait_expired' }])
    await stage.stop()
  })

  /** A provider that takes an order now and delivers later. */
  function slow(more: Partial<ToolSpec<typeof input>> = {}) {
    const asked: unknown[] = []
    let commits = 0
    const contract = tool('parcels.order@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: ({ key }) => {
        commits += 1
        return later({ signal: key, withinMs: HOUR })
      },
      resume: (_, __, arrived) => {
        asked.push(arrived?.body ?? null)
        return { delivered: arrived !== null }
      },
      ...more,
    })
    return { contract, asked, commits: () => commits }
  }
  type Resume = NonNullable<ToolSpec<typeof input>['resume']>

  it('J5 an effect that waits is committed once, and its outcome is what `resume` says', async () => {
    const key = unique()
    const { contract, asked, commits } = slow()
    const stage = await on(contract, key)
    const said = await stage.say('go')
    await external(said)
    await stage.stop()
    const elsewhere = await stage.again({})
    await elsewhere.runtime.signal(service(), key, 'at the door')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect({ asked, commits: commits() }).toEqual({ asked: ['at the door'], commits: 1 })
    expect(await said.results()).toEqual([{ delivered: true }])
    await elsewhere.stop()
  })

  it('B7 T3 a run that a tool has ended lies down while its effect waits outside, beside a call that nobody has planned', async () => {
    const [told, paid] = [unique(), unique()]
    let tell = (): Promise<void> => Promise.resolve()
    const check = tool('fraud.check@1', {
      input,
      effect: 'read',
      errors: { fraud: { kind: 'business_rejected', reaction: 'stop' } },
      run: ({ key }) => later({ signal: key, withinMs: HOUR }),
      resume: () => {
        throw toolError('fraud')
      },
    })
    const pay = tool('crate.book@1', {
      ...{ input, effect: 'write', approval: 'auto', unknown: 'key' },
      async commit({ key }) {
        await tell()
        return later({ signal: key, withinMs: HOUR })
      },
      resume: () => ({ paid: true }),
    })
    const send = tool('crate.send@1', { input, effect: 'irreversible', unknown: 'manual', commit: () => null })
    const stage = await play(store, {
      tools: [check, pay, send],
      script: once([
        { name: check.exposedName, key: told },
        { name: pay.exposedName, key: paid },
        { name: send.exposedName, key: 'k' },
      ]),
    })
    tell = () => stage.runtime.signal(service(), told, {})
    const said = await stage.say('go')
    await said.until(({ status }) => status === 'waiting_confirmation')
    const results = () =>
      store.admin(`select position from plimsoll.effect where run_id = $1 and status = 'settled'`, [said.run])
    expect(await results()).toEqual([{ position: 0 }])
    await stage.runtime.signal(service(), paid, {})
    expect(await said.rest()).toMatchObject({ end: 'stopped_by_tool' })
    // what has not begun never begins, and says so
    expect(await results()).toHaveLength(3)
    await stage.stop()
  })

  it('J7 a canceled run asks once more what became of the effect that waits, and says the truth', async () => {
    const { contract } = slow()
    const stage = await on(contract, unique())
    const said = await stage.say('go')
    await external(said)
    await said.cancel()
    expect(await said.rest()).toEqual({ status: 'canceled', wait: null, end: 'user_canceled' })
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
    await stage.stop()
  })

  it('J4 an effect of which nobody ever tells is unknown, and never repeated', async () => {
    const { contract, commits } = slow({ resume: () => later({ signal: 'never', withinMs: HOUR }) })
    const stage = await on(contract, unique())
    const said = await stage.say('go')
    await external(said)
    await said.cancel()
    expect(await said.rest()).toMatchObject({ wait: 'unknown_effect' })
    expect(commits()).toBe(1)
    await stage.stop()
  })

  const silent = () => ({
    contract: tool('parcels.order@1', {
      input,
      effect: 'write',
      approval: 'auto',
      commit: ({ key }) => later({ signal: key, withinMs: HOUR }),
      probe: () => ({ happened: true, result: { late: true } }),
    }),
  })

  it.each([
    ['probe', 'asked about'],
    ['key', 'canceled'],
  ] as const)(
    'J4 that a taken request has not happened yet is no proof that it will not: it is never repeated, nor denied (%s, %s)',
    async (unknown, what) => {
      let tries = 0
      const slow = tool('events.order@1', {
        input,
        effect: 'write',
        approval: 'auto',
        unknown,
        timeoutMs: 100,
        // taken, to be done later; nobody hears of it
        commit: async (_, cx) => {
          tries += 1
          if (what === 'canceled')
            await store.admin(`update plimsoll.run set cancel_cause = 'user' where id = $1`, [cx.runId])
          throw new Error('status 502')
        },
        probe: () => ({ happened: false }),
        resume: () => 'done',
      })
      const stage = await on(slow, unique())
      const said = await stage.say('go')
      expect(await said.rest()).toMatchObject({ status: 'waiting_confirmation', wait: 'unknown_effect' })
      await stage.stop()
      expect(tries).toBe(1)
      expect(await said.effects()).toMatchObject([{ status: 'unknown', outcome: null }])
    },
  )

  it('J4 a silent provider is asked by key when the wait is over', async () => {
    const { contract } = silent()
    const stage = await on(contract, unique())
    const said = await stage.say('go')
    await external(said)
    await pass(said)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual([{ late: true }])
    await stage.stop()
  })

  it('T3 a `resume` that fails hears the same again, and a declared error is the outcome', async () => {
    const key = unique()
    const heard: unknown[] = []
    const resume: Resume = (_, __, arrived) => {
      heard.push(arrived?.body)
      if (heard.length === 1) throw new Error('the network is away')
      throw toolError('business_rejected')
    }
    const { contract } = slow({ resume, errors: ['business_rejected'] })
    const stage = await on(contract, key)
    const said = await stage.say('go')
    await external(said)
    await stage.runtime.signal(service(), key, 'news')
    await said.until(() => heard.length === 1)
    await external(said)
    await pass(said)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(heard).toEqual(['news', 'news'])
    expect(await said.results()).toMatchObject([{ code: 'business_rejected' }])
    await stage.stop()
  })

  it('I7 J13 behind an effect that waits its siblings wait, and a person may decide meanwhile', async () => {
    const key = unique()
    const { contract } = slow()
    const other = tool('notes.add@1', { input, effect: 'write', unknown: 'manual', commit: () => 'noted' })
    const script = once([contract, other].map((c) => ({ name: c.exposedName, key })))
    const stage = await play(store, { tools: [contract, other], script })
    const said = await stage.say('go')
    const [card] = await said.asked(1)
    await said.decide(card!, true)
    await external(said)
    expect(await said.effects()).toMatchObject([{ status: 'waiting' }, { status: 'intended' }])
    await stage.runtime.signal(service(), key, 'come')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual([{ delivered: true }, 'noted'])
    await stage.stop()
  })

  it('K1 no wait outlives the run', async () => {
    const stage = await on(waitFor, unique(), { budget: SHORT })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'deadline' })
    expect(await said.effects()).toMatchObject([{ status: 'settled', code: 'wait_expired' }])
    await stage.stop()
  })

  it('K1 no wait of an effect outlives the run: it is asked for once more, and the truth is told', async () => {
    const { contract, asked } = slow()
    const stage = await on(contract, unique(), { budget: SHORT })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'deadline' })
    expect(asked).toEqual([null])
    expect(await said.results()).toEqual([{ delivered: false }])
    await stage.stop()
  })
})

const SHORT = { steps: 3, toolCalls: 3, tokens: 50_000, costCents: 100, seconds: 2 }
