import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Fault } from '../../src/kernel/fault.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { Contract } from '../../src/tool/contract.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { person, type Play, play, type Scene } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })
const calls = (contract: Contract, ...ns: readonly number[]): ScriptedAnswer => ({
  calls: ns.map((n) => ({ name: contract.exposedName, arguments: { n } })),
})

describe.each(ENGINES)('a confirmation, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** An irreversible tool that counts what it did. */
  function payments(
    more: {
      readonly confirmationMs?: number
      readonly resourceVersion?: () => string
      readonly level?: 'write' | 'irreversible'
    } = {},
  ) {
    const done: number[] = []
    const { level = 'irreversible', ...rest } = more
    const contract = tool('order.book@1', {
      input,
      effect: level,
      unknown: 'manual',
      ...rest,
      commit: ({ n }) => {
        done.push(n)
        return { paid: n }
      },
    })
    return { contract, done }
  }

  async function stopped<T>(stage: Play, result: T): Promise<T> {
    await stage.stop()
    return result
  }

  it('J2 BR-018 approved, rejected, expired and superseded are four outcomes, and the expired run holds nothing', async () => {
    const { contract, done } = payments()
    const script = (_: unknown, turn: number): ScriptedAnswer =>
      turn % 2 === 0 ? calls(contract, turn) : { text: 'done' }
    const one = await play(store, { tools: [contract], script })
    const approved = await one.say('approve')
    await approved.decide((await approved.asked(1))[0]!, true)
    expect(await approved.rest()).toMatchObject({ end: 'completed' })
    expect(await approved.results()).toEqual([{ paid: 0 }])
    const rejected = await one.say('reject')
    await rejected.decide((await rejected.asked(1))[0]!, false)
    expect(await rejected.rest()).toMatchObject({ end: 'completed' })
    expect(await rejected.results()).toMatchObject([{ code: 'confirmation_rejected' }])
    const superseded = await one.say('cancel')
    const [card] = await superseded.asked(1)
    await superseded.cancel()
    expect(await superseded.rest()).toMatchObject({ end: 'user_canceled' })
    await expect(superseded.decide(card!, true)).rejects.toMatchObject({ code: 'stale_plan' })
    await one.stop()
    const short = payments({ confirmationMs: 1_000 })
    const two = await play(store, { tools: [short.contract], script: [calls(short.contract, 1)] })
    const expired = await two.say('wait')
    const [late] = await expired.asked(1)
    expect(await expired.rest()).toEqual({ status: 'failed', wait: null, end: 'confirmation_expired' })
    // who comes too late hears so
    await expect(expired.decide(late!, true)).rejects.toMatchObject({ code: 'confirmation_expired' })
    const held = await store.admin(
      'select worker_id, reserved_tokens::int as tokens, reserved_cost::int as cost from plimsoll.run where id = $1',
      [expired.run],
    )
    expect(held).toEqual([{ worker_id: null, tokens: 0, cost: 0 }])
    expect(await expired.effects()).toMatchObject([{ status: 'settled', outcome: 'error' }])
    await two.stop()
    expect([...done, ...short.done]).toEqual([0])
    const rows = await store.admin(
      'select status from plimsoll.confirmation where run_id = any ($1) order by created_at',
      [[approved, rejected, superseded, expired].map((s) => s.run)],
    )
    expect(rows.map((r) => r.status)).toEqual(['consumed', 'rejected', 'superseded', 'expired'])
  })

  it('J2 an agent may end with a rejection', async () => {
    const { contract, done } = payments()
    const stage = await play(store, { tools: [contract], script: [calls(contract, 1, 2)], onReject: 'end' })
    const said = await stage.say('go')
    const cards = await said.asked(2)
    await said.decide(cards[1]!, false)
    expect(await stopped(stage, await said.rest())).toEqual({
      status: 'failed',
      wait: null,
      end: 'confirmation_rejected',
    })
    expect(done).toEqual([])
    // the other one is not run either, and both calls are answered
    expect(await said.results()).toHaveLength(2)
  })

  it('J13 BR-019 BR-001 parallel ones are answered in any order, and a settled sibling is not run again', async () => {
    const { contract, done } = payments({ level: 'write' })
    const stage = await play(store, { tools: [contract], script: [calls(contract, 1, 2, 3), { text: 'done' }] })
    const said = await stage.say('go')
    const [a, b, c] = await said.asked(3)
    expect(new Set([a!.id, b!.id, c!.id]).size).toBe(3)
    await said.decide(c!, true)
    // the third is settled before anybody has said a word about the others
    await said.until((now) => now.wait === 'confirmation' && done.length === 1)
    await said.decide(b!, false)
    await said.decide(a!, true)
    expect(await stopped(stage, await said.rest())).toMatchObject({ end: 'completed' })
    expect(done).toEqual([3, 1])
    expect(await said.results()).toMatchObject([{ paid: 1 }, { code: 'confirmation_rejected' }, { paid: 3 }])
  })

  it('J13 BR-019 answers that come together reach each its own call, and who was not answered stays open', async () => {
    const { contract, done } = payments({ level: 'write' })
    const stage = await play(store, { tools: [contract], script: [calls(contract, 1, 2, 3), { text: 'done' }] })
    const said = await stage.say('go')
    const [a, b, c] = await said.asked(3)
    await Promise.all([said.decide(b!, false), said.decide(a!, true)])
    await said.until((now) => now.wait === 'confirmation' && done.length === 1)
    expect((await said.asked(1)).map((card) => card.id)).toEqual([c!.id])
    expect((await said.effects()).map((e) => [e.status, e.outcome])).toEqual([
      ['settled', 'ok'],
      ['settled', 'error'],
      ['intended', null],
    ])
    await said.decide(c!, true)
    expect(await stopped(stage, await said.rest())).toMatchObject({ end: 'completed' })
    expect(done).toEqual([1, 3])
    expect(await said.results()).toMatchObject([{ paid: 1 }, { code: 'confirmation_rejected' }, { paid: 3 }])
  })

  it('J1 BR-002 of fifty approvals one wins, and the effect happens once', async () => {
    const { contract, done } = payments()
    let asked = 0
    const model = scripted(() => (asked++ === 0 ? calls(contract, 1) : { text: 'done' }))
    const stage = await play(store, { tools: [contract], model })
    const said = await stage.say('go')
    const [card] = await said.asked(1)
    // another program, with connections of its own
    const elsewhere = { ...store, db: await store.another() }
    const other = await play(elsewhere, { tools: [contract], model, name: stage.name, worker: null })
    const presses = Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? stage : other).runtime
        .decide(person(), {
          confirmation: card!.id,
          approve: true,
          version: card!.version,
          paramsHash: card!.paramsHash,
          reason: null,
        })
        .then(
          () => 'decided',
          (error: unknown) => error as Fault,
        ),
    )
    const outcomes = await Promise.all(presses)
    expect(outcomes.filter((o) => o === 'decided')).toHaveLength(1)
    // each of the others hears what was decided, and the version that it has now
    const lost = outcomes.filter((o) => o !== 'decided')
    for (const fault of lost) {
      expect(fault).toMatchObject({ code: 'already_decided', facts: { outcome: 'approved' } })
      expect((fault as Fault).facts.currentVersion).toBeGreaterThan(card!.version)
    }
    expect(await stopped(stage, await said.rest())).toMatchObject({ end: 'completed' })
    expect(done).toEqual([1])
    expect(asked).toBe(2)
    const decided = await store.admin('select status, decided_by from plimsoll.confirmation where run_id = $1', [
      said.run,
    ])
    expect(decided).toEqual([{ status: 'consumed', decided_by: 'ann' }])
  })

  if (!isFirst(engine)) return

  it('J10 a second irreversible call with equal arguments names the one before, also beside it', async () => {
    const { contract } = payments()
    const script = (_: unknown, turn: number): ScriptedAnswer =>
      turn === 0 ? calls(contract, 7) : turn === 1 ? calls(contract, 7, 8, 8) : { text: 'done' }
    const stage = await play(store, { tools: [contract], script })
    const said = await stage.say('go')
    const [first] = await said.asked(1)
    expect(first!.repeats).toBeNull()
    await said.decide(first!, true)
    await said.until((now) => now.wait === 'confirmation')
    const again = await said.asked(3)
    const key = (step: number, position: number) => `${said.run}/${step}/${position}/order.book@1`
    expect(again.map((c) => c.repeats)).toEqual([key(1, 0), null, key(2, 1)])
    await said.cancel()
    await stage.stop()
  })

  it.each([
    ['no longer permitted', () => false],
    ['the authoriser is down', () => Promise.reject(new Error('down'))],
    ['the authoriser answers nonsense', () => 'yes' as unknown as boolean],
  ])('J1 BR-016 is not enough when it comes to the effect: %s', async (_, answer) => {
    const { contract, done } = payments()
    let asked = 0
    // once for the plan, and then never more
    const authorize = () => ((asked += 1) === 1 ? true : answer())
    const stage = await play(store, { tools: [contract], script: [calls(contract, 1), { text: 'done' }], authorize })
    const said = await stage.say('go')
    await said.decide((await said.asked(1))[0]!, true)
    expect(await stopped(stage, await said.rest())).toMatchObject({ end: 'completed' })
    expect(done).toEqual([])
    expect(await said.results()).toMatchObject([{ code: 'permission_denied' }])
  })

  /** Approved by a person, while the program that shall act is another one, or the rows are not what they were. */
  async function approvedThen(
    change: (stage: Play, run: string) => Promise<Partial<Scene>>,
    more: Parameters<typeof payments>[0] = {},
  ) {
    const { contract, done } = payments(more)
    const script = (_: unknown, turn: number): ScriptedAnswer => (turn === 0 ? calls(contract, 1) : { text: 'done' })
    const scene: Scene = { tools: [contract], script }
    const first = await play(store, scene)
    const said = await first.say('go')
    const [card] = await said.asked(1)
    await first.stop()
    await said.decide(card!, true)
    const second = await first.again(await change(first, said.run))
    const end = await said.rest()
    await second.stop()
    return { end, done, results: await said.results(), card: card!, said }
  }

  it('J8 BR-013 binds its bytes: other arguments in the row are not sent', async () => {
    const { done, results } = await approvedThen(async (stage, run) => {
      const [row] = await store.admin('select arguments from plimsoll.effect where run_id = $1', [run])
      const plain = Buffer.from(stage.runtime.sealer.open('acme', row!.arguments as Uint8Array))
        .toString()
        .replaceAll('1', '1000')
      await store.admin('update plimsoll.effect set arguments = $2 where run_id = $1', [
        run,
        Buffer.from(stage.runtime.sealer.seal('acme', Buffer.from(plain))),
      ])
      return {}
    })
    expect(done).toEqual([])
    expect(results).toMatchObject([{ code: 'not_started' }])
  })

  it('J1 BR-013 binds its hash: another hash in the row is a stale plan, and no endless loop', async () => {
    const { done, results } = await approvedThen(async (_, run) => {
      await store.admin(`update plimsoll.effect set arguments_hash = 'other' where run_id = $1`, [run])
      return {}
    })
    expect(done).toEqual([])
    expect(results).toMatchObject([{ code: 'stale_plan' }])
  })

  it('J1 BR-013 does not bring back a tool that is gone', async () => {
    const { done, results } = await approvedThen(() => Promise.resolve({ tools: [] }))
    expect(done).toEqual([])
    expect(results).toMatchObject([{ code: 'unknown_tool' }])
  })

  it('J1 BR-013 is not for other rules: after a change of the release it is asked again', async () => {
    const { done, results } = await approvedThen(() => Promise.resolve({ instructions: 'New rules.' }))
    expect(done).toEqual([])
    expect(results).toMatchObject([{ code: 'stale_plan' }])
  })

  it('J11 BR-013 does not keep for ever: an approval that was not used in time is none', async () => {
    const { done, end } = await approvedThen(async (_, run) => {
      await store.admin(`update plimsoll.confirmation set execute_by = now() - interval '1 second' where run_id = $1`, [
        run,
      ])
      return {}
    })
    expect(done).toEqual([])
    expect(end).toMatchObject({ end: 'confirmation_expired' })
  })

  it.each<[string, () => string, string]>([
    ['has moved on', () => 'v2', 'stale_plan'],
    [
      'cannot be read',
      () => {
        throw new Error('down')
      },
      'tool_failed',
    ],
  ])(
    'J12 J1 nothing starts on a resource that, after the approval and before the start, %s',
    async (_, later, code) => {
      let version = () => 'v1'
      const { done, end, results } = await approvedThen(
        () => {
          version = later
          return Promise.resolve({})
        },
        { resourceVersion: () => version() },
      )
      expect(done).toEqual([])
      expect(end).toMatchObject({ end: 'completed' })
      expect(results).toMatchObject([{ code }])
    },
  )

  it('J12 of two runs on one resource one commits, and the other has to plan again', async () => {
    let version = 1
    const done: number[] = []
    const contract = tool('order.book@1', {
      input,
      effect: 'irreversible',
      unknown: 'manual',
      resourceVersion: () => `v${version}`,
      plan: ({ n }) => ({ summary: `pay ${n}`, resource: 'order 7' }),
      commit: ({ n }) => {
        done.push(n)
        version += 1
        return { paid: n }
      },
    })
    const script = (
      request: { messages: readonly { role: string; text?: string }[] },
      turn: number,
    ): ScriptedAnswer => {
      const stale = request.messages.some((m) => m.role === 'tool' && m.text?.includes('stale_plan'))
      return turn === 0 || (stale && turn === 1) ? calls(contract, 1) : { text: 'done' }
    }
    const stage = await play(store, { tools: [contract], script })
    const [one, two] = [await stage.say('one'), await stage.say('two')]
    const [first] = await one.asked(1)
    const [second] = await two.asked(1)
    // whoever decides sees that somebody else is about to do something here
    const seen = await stage.runtime.reads.confirmation(person(), first!.id)
    expect([seen.others, second!.others]).toEqual([1, 1])
    await one.decide(first!, true)
    expect(await one.rest()).toMatchObject({ end: 'completed' })
    await expect(two.decide(second!, true)).rejects.toMatchObject({ code: 'stale_plan' })
    const [planned] = await two.until((now) => now.wait === 'confirmation').then(() => two.asked(1))
    expect(planned!.resourceVersion).toBe('v2')
    await two.decide(planned!, true)
    expect(await two.rest()).toMatchObject({ end: 'completed' })
    expect(await two.results()).toMatchObject([{ code: 'stale_plan' }, { paid: 1 }])
    await stage.stop()
    expect(done).toEqual([1, 1])
  })
})
