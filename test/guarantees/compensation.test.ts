/** A tool that undoes what another has done: which effect it answers, who is asked, and what is never said too early. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/tool/define.ts'
import { toolError } from '../../src/tool/toolerror.ts'
import { scopeOf } from '../../src/request/actor.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { person, play, type Said, type Scene } from '../setup/stage.ts'
import type { Script } from '../../src/testing/script.ts'

/** A provider that remembers. */
function bank() {
  const charges: { id: string; cents: number; key: string }[] = []
  const refunds: { charge: string; key: string; ofKey: string }[] = []
  return { charges, refunds }
}

type Bank = ReturnType<typeof bank>

const chargeOf = (world: Bank, broken: () => boolean = () => false) =>
  tool('orders.charge@1', {
    input: z.strictObject({ cents: z.int() }),
    effect: 'write',
    approval: 'auto',
    unknown: 'manual',
    errors: { declined: { kind: 'business_rejected', reaction: 'replan' } },
    commit: ({ cents }, cx) => {
      if (broken()) throw new Error('the connection broke')
      if (cents > 1_000) throw toolError('declined')
      const charge = { id: `ch_${world.charges.length + 1}`, cents }
      world.charges.push({ ...charge, key: cx.effectKey })
      return charge
    },
  })

interface Refunds {
  readonly approval?: 'auto' | 'confirm'
  readonly fails?: () => 'declined' | 'breaks' | null
  readonly seen?: (what: unknown) => void
}

const refundOf = (world: Bank, { approval = 'auto', fails = () => null, seen = () => {} }: Refunds = {}) =>
  tool('orders.refund@1', {
    input: z.strictObject({ charge: z.string() }),
    effect: 'write',
    approval,
    acknowledge: 'a refund can be charged again',
    unknown: 'manual',
    errors: { declined: { kind: 'business_rejected', reaction: 'replan' } },
    compensates: 'orders.charge',
    which: ({ charge }, done) => (done.result as { id: string }).id === charge,
    plan: ({ charge }, cx) => ({ summary: `Refund ${charge} of ${JSON.stringify(cx.answers?.input.cents)} cents` }),
    commit: ({ charge }, cx) => {
      seen(cx.answers)
      const failure = fails()
      if (failure === 'declined') throw toolError('declined')
      if (failure === 'breaks') throw new Error('the connection broke')
      world.refunds.push({ charge, key: cx.effectKey, ofKey: cx.answers?.key ?? '' })
      return { refunded: charge }
    },
  })

const charge = (cents: number) => ({ name: 'orders__charge', arguments: { cents } })
const refund = (id: string) => ({ name: 'orders__refund', arguments: { charge: id } })

type Calls = readonly (readonly ReturnType<typeof charge | typeof refund>[])[]

/** For each message the calls of each turn, and then an end. */
const says =
  (of: Readonly<Record<string, Calls>>): Script =>
  ({ messages }) => {
    const last = messages.findLastIndex((m) => m.role === 'user')
    const said = messages[last]
    const turn = messages.slice(last).filter((m) => m.role === 'assistant').length
    const calls = said?.role === 'user' ? of[said.text]?.[turn] : undefined
    return calls ? { calls: [...calls] } : { text: 'done' }
  }
const turns = (...calls: Calls): Script => says({ go: calls })

const codes = async (said: Said) => (await said.results()).map((r) => (r as { code?: string }).code ?? r)

describe.each(ENGINES)('a compensation, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  async function ran(scene: Scene, text = 'go') {
    const stage = await play(store, scene)
    const said = await stage.say(text)
    return { stage, said }
  }
  const links = (run: string) =>
    store.admin(
      `select tool, status, outcome, compensates, idempotency_key as key from plimsoll.effect where run_id = $1 order by step, position`,
      [run],
    )

  it('J7 a refund answers the one charge that its arguments fit, under a key of its own, and is told which', async () => {
    const world = bank()
    const seen: unknown[] = []
    const tools = [chargeOf(world), refundOf(world, { seen: (what) => seen.push(what) })]
    const { stage, said } = await ran({ tools, script: turns([charge(100), charge(200)], [refund('ch_2')]) })
    await said.rest()
    const [first, second] = world.charges
    expect(world.refunds).toEqual([{ charge: 'ch_2', key: expect.any(String), ofKey: second?.key }])
    expect(world.refunds[0]?.key).not.toBe(second?.key)
    expect(seen).toEqual([
      {
        key: second?.key,
        tool: 'orders.charge',
        version: 1,
        input: { cents: 200 },
        result: { id: 'ch_2', cents: 200 },
      },
    ])
    const rows = await links(said.run)
    expect(rows.map((r) => r.compensates)).toEqual([null, null, second?.key])
    const view = await stage.runtime.reads.effects(person(), said.run)
    expect(view.map((e) => [e.key === first?.key, e.compensates, e.compensation])).toEqual([
      [true, null, null],
      [false, null, { run_id: said.run, idempotency_key: world.refunds[0]?.key, status: 'settled', outcome: 'ok' }],
      [false, second?.key, null],
    ])
    await stage.stop()
  })

  it('J7 a charge is answered once: a second refund, in the same step or later, is refused and says why', async () => {
    const world = bank()
    const tools = [chargeOf(world), refundOf(world)]
    const script = turns([charge(100)], [refund('ch_1'), refund('ch_1')], [refund('ch_1')])
    const { stage, said } = await ran({ tools, script })
    await said.rest()
    expect(world.refunds).toHaveLength(1)
    expect(await codes(said)).toEqual([
      { id: 'ch_1', cents: 100 },
      { refunded: 'ch_1' },
      'already_compensated',
      'already_compensated',
    ])
    await stage.stop()
  })

  it('J7 what is not there, or has failed, has nothing to undo; of several none is guessed', async () => {
    const world = bank()
    const all = tool('orders.undo@1', {
      input: z.strictObject({}),
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      compensates: 'orders.charge',
      commit: () => 'undone',
    })
    const tools = [chargeOf(world), refundOf(world), all]
    const undo = { name: 'orders__undo', arguments: {} } as unknown as ReturnType<typeof refund>
    const script = turns([undo], [charge(5_000)], [refund('ch_1')], [charge(1), charge(2)], [undo])
    const { stage, said } = await ran({ tools, script })
    await said.rest()
    expect(await codes(said)).toEqual([
      'nothing_to_compensate',
      'declined',
      'nothing_to_compensate',
      { id: 'ch_1', cents: 1 },
      { id: 'ch_2', cents: 2 },
      'compensation_ambiguous',
    ])
    await stage.stop()
  })

  it('J7 an effect of which nobody knows is not undone before its outcome is known', async () => {
    const world = bank()
    let breaks = true
    const tools = [chargeOf(world, () => breaks), refundOf(world)]
    const script = says({ go: [[charge(100)]], undo: [[refund('ch_1')]] })
    const { stage, said } = await ran({ tools, script })
    expect(await said.rest()).toMatchObject({ wait: 'unknown_effect' })
    const operator = person('operator', 'olga')
    await stage.runtime.resolve(operator, { run: said.run, step: 1, position: 0 }, { outcome: 'leave', reason: 'gone' })
    expect(await said.rest()).toMatchObject({ end: 'unknown_effect' })
    breaks = false
    const next = await stage.say('undo', said)
    await next.rest()
    expect((await codes(next)).at(-1)).toBe('effect_unsettled')
    expect(world.refunds).toEqual([])
    await stage.stop()
  })

  it('J7 a refund that surely had no effect is tried again; one that nobody knows of is not', async () => {
    const world = bank()
    const fails: ('declined' | 'breaks' | null)[] = ['declined', 'breaks']
    const tools = [chargeOf(world), refundOf(world, { fails: () => fails.shift() ?? null })]
    const undo = [[refund('ch_1')]]
    const { stage, said } = await ran({
      tools,
      script: says({ go: [[charge(100)], ...undo], again: undo, more: undo }),
    })
    await said.rest()
    expect(await codes(said)).toEqual([{ id: 'ch_1', cents: 100 }, 'declined'])
    const again = await stage.say('again', said)
    expect(await again.rest()).toMatchObject({ wait: 'unknown_effect' })
    const operator = person('operator', 'olga')
    const at = { run: again.run, step: 1, position: 0 }
    await stage.runtime.resolve(operator, at, { outcome: 'leave', reason: 'gone' })
    await again.rest()
    const more = await stage.say('more', again)
    await more.rest()
    expect(await codes(more)).toEqual(['already_compensated'])
    // nothing says that it is undone: what answers it is unknown
    const [first] = await stage.runtime.reads.effects(person(), said.run)
    expect(first?.compensation).toMatchObject({ status: 'unknown', outcome: null })
    await stage.stop()
  })

  it('J7 a refund in a later message finds the charge of an earlier one, and no other conversation does', async () => {
    const world = bank()
    const script = says({ go: [[charge(100)]], undo: [[refund('ch_1')]] })
    const { stage, said } = await ran({ tools: [chargeOf(world), refundOf(world)], script })
    await said.rest()
    const strange = await stage.say('undo')
    await strange.rest()
    expect(await codes(strange)).toEqual(['nothing_to_compensate'])
    await (await stage.say('undo', said)).rest()
    expect(world.refunds).toHaveLength(1)
    await stage.stop()
  })

  it('J7 a refund is confirmed anew, on a card that shows what it undoes; until it is done nothing is undone', async () => {
    const world = bank()
    const tools = [chargeOf(world), refundOf(world, { approval: 'confirm' })]
    const undo = [[refund('ch_1')]]
    const { stage, said } = await ran({ tools, script: says({ go: [[charge(100)], ...undo], again: undo }) })
    const [card] = await said.asked(1)
    expect(card?.summary).toBe('Refund ch_1 of 100 cents')
    expect(card?.compensates).toEqual({
      key: world.charges[0]?.key,
      tool: 'orders.charge',
      version: 1,
      input: { cents: 100 },
    })
    const undone = async () => (await stage.runtime.reads.effects(person(), said.run))[0]?.compensation
    expect(await undone()).toMatchObject({ status: 'intended', outcome: null })
    await said.decide(card!, false)
    await said.rest()
    expect(world.refunds).toEqual([])
    expect(await undone()).toBeNull()
    // what was rejected may be asked for again
    const next = await stage.say('again', said)
    const [again] = await next.asked(1)
    await next.decide(again!, true)
    await next.rest()
    expect(world.refunds).toHaveLength(1)
    expect(await undone()).toMatchObject({ run_id: next.run, status: 'settled', outcome: 'ok' })
    const events = await stage.runtime.eventsAfter(person(), next.run, { after: 0, limit: 100 })
    expect(JSON.stringify(events)).toContain(`"compensates":"${world.charges[0]?.key}"`)
    await stage.stop()
  })

  it('J7 cancel starts no refund, and lets go of one that has not started', async () => {
    const world = bank()
    const tools = [chargeOf(world), refundOf(world, { approval: 'confirm' })]
    const { stage, said } = await ran({ tools, script: turns([charge(100)], [refund('ch_1')]) })
    await said.asked(1)
    await said.cancel()
    expect(await said.rest()).toMatchObject({ end: 'user_canceled' })
    expect(world.refunds).toEqual([])
    expect(world.charges).toHaveLength(1)
    expect(await links(said.run)).toMatchObject([
      { tool: 'orders.charge', outcome: 'ok' },
      { tool: 'orders.refund', status: 'settled', outcome: 'error' },
    ])
    const [first] = await stage.runtime.effects.candidates(scopeOf(person()), {
      session: said.session,
      user: 'ann',
      tool: 'orders.charge',
    })
    expect(first).toMatchObject({ state: 'done', isAnswered: false })
    await stage.stop()
  })

  it('J7 whoever may charge may not therefore refund', async () => {
    const world = bank()
    const { stage, said } = await ran({
      tools: [chargeOf(world), refundOf(world)],
      script: turns([charge(100)], [refund('ch_1')]),
      authorize: (_, { tool }) => tool !== 'orders.refund',
    })
    await said.rest()
    expect(world.refunds).toEqual([])
    expect(await codes(said)).toEqual([{ id: 'ch_1', cents: 100 }, 'permission_denied'])
    await stage.stop()
  })
})
