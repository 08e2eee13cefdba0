/** What happens to a run when somebody is away: its reader, its model, its tools. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { actorFrom } from '../../src/request/actor.ts'
import { agent } from '../../src/run/agent.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { gate, person, play, type Play, type Said } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })

describe.each(ENGINES)('somebody is away, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** A run that works until it is told to stop. */
  async function working(onDisconnect?: { cancelAfterMs: number }) {
    const began = gate()
    const watch = tool('world.watch@1', {
      input,
      effect: 'read',
      run: (_, cx) => {
        began.open()
        return new Promise((resolve) => cx.signal.addEventListener('abort', resolve, { once: true }))
      },
    })
    const stage = await play(store, {
      tools: [watch],
      script: [{ calls: [{ name: watch.exposedName, arguments: { n: 1 } }] }, { text: 'done' }],
      ...(onDisconnect && { onDisconnect }),
    })
    const said = await stage.say('go')
    await began.opened
    return { stage, said }
  }
  /** A client with an open stream. */
  function reading({ runtime }: Play, { run }: Said) {
    const client = new AbortController()
    const request = { run, after: 0, operator: false, signal: client.signal }
    const done = (async () => {
      for await (const _ of runtime.follow(person(), request)) void _
    })()
    return {
      leave: async () => {
        client.abort()
        await done
      },
    }
  }
  const followed = async (said: Said) => {
    const [row] = await store.admin(
      `select followed_until is not null as was, extract(epoch from followed_until)::float8 as until from plimsoll.run where id = $1`,
      [said.run],
    )
    return row as { was: boolean; until: number }
  }
  const until = async (holds: () => Promise<boolean>) => {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 30))
  }

  it('K2 a run whose reader has left for good is canceled as disconnected, where its agent says so', async () => {
    const { stage, said } = await working({ cancelAfterMs: 1_000 })
    const client = reading(stage, said)
    await until(async () => (await followed(said)).was)
    await client.leave()
    expect(await said.rest()).toEqual({ status: 'canceled', wait: null, end: 'disconnected' })
    await stage.stop()
  })

  if (!isFirst(engine)) return

  it('K2 a reader on another instance is a reader too', async () => {
    const { stage, said } = await working({ cancelAfterMs: 1_500 })
    const elsewhere = await stage.again({ worker: null })
    const [first, second] = [reading(stage, said), reading(elsewhere, said)]
    await until(async () => (await followed(said)).was)
    await first.leave()
    const { until: left } = await followed(said)
    // two absences later it is still followed, and still runs
    await until(async () => (await followed(said)).until > left + 3)
    expect(await said.seen()).toMatchObject({ status: 'running' })
    await second.leave()
    expect(await said.rest()).toMatchObject({ end: 'disconnected' })
    await stage.stop()
  })

  it('K2 by default nobody needs to look, and a run that nobody ever followed goes on', async () => {
    const detached = await working()
    const client = reading(detached.stage, detached.said)
    await client.leave()
    const alone = await working({ cancelAfterMs: 1_000 })
    expect([(await followed(detached.said)).was, (await followed(alone.said)).was]).toEqual([false, false])
    for (const { stage, said } of [detached, alone]) {
      expect(await said.seen()).toMatchObject({ status: 'running' })
      await said.cancel()
      await said.rest()
      await stage.stop()
    }
  })

  it('N3 an agent whose model is away hands over with the words of its release, and does nothing else', async () => {
    const stage = await play(store, {
      model: scripted([{ fault: 'model_auth' }]),
      degrade: { handOver: 'A colleague will answer you.' },
    })
    const said = await stage.say('hello')
    expect(await said.rest()).toEqual({ status: 'succeeded', wait: null, end: 'handed_over' })
    const { items } = await stage.runtime.reads.messages(person(), said.session, { after: '', limit: 10 })
    expect(items.map((m) => [m.role, m.text, m.partial])).toEqual([
      ['user', 'hello', false],
      ['assistant', 'A colleague will answer you.', false],
    ])
    await stage.stop()
  })

  it('N3 K3 what was said before the model went away is kept as partial, and nothing is put behind it', async () => {
    const stage = await play(store, {
      model: scripted([{ fault: 'model_auth', after: [{ kind: 'text', delta: 'I am about to' }] }]),
      degrade: { handOver: 'A colleague will answer you.' },
    })
    const said = await stage.say('hello')
    expect(await said.rest()).toMatchObject({ end: 'model_unavailable' })
    await stage.stop()
  })

  it('N4 a tool that is down is not asked after five failures in a row, and the model is told', async () => {
    let calls = 0
    const down = tool('orders.look@1', {
      input,
      effect: 'read',
      breaker: { identicalErrors: 50, identicalCalls: 50 },
      run: () => {
        calls += 1
        throw new Error('connection refused')
      },
    })
    const stage = await play(store, {
      tools: [down],
      script: (_, turn) =>
        turn < 7 ? { calls: [{ name: down.exposedName, arguments: { n: turn } }] } : { text: 'it is away' },
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(calls).toBe(5)
    const codes = (await said.results()).map((r) => (r as { code: string }).code)
    expect(codes).toEqual([...Array.from({ length: 5 }, () => 'tool_failed'), 'circuit_open', 'circuit_open'])
    await stage.stop()
  })

  it('N4 the wrong credential of one tenant takes a tool from nobody else, and its slow calls leave a place', async () => {
    const slow = gate()
    let waiting = 0
    let isSlow = false
    const look = tool('orders.look@1', {
      input,
      effect: 'read',
      concurrency: 4,
      breaker: { identicalErrors: 50, identicalCalls: 50 },
      async run(_, cx) {
        if (cx.actor.tenant !== 'acme') return 'here you are'
        if (!isSlow) throw new Error('401')
        waiting += 1
        await slow.opened
        return 'late'
      },
    })
    const calls = (ns: readonly number[]) => ({ calls: ns.map((n) => ({ name: look.exposedName, arguments: { n } })) })
    const model = scripted(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'user') return { text: 'done' }
      return calls(last.text === 'many' ? [1, 2, 3, 4, 5, 6] : [1])
    })
    const stage = await play(store, { tools: [look], model })
    const birch = actorFrom({ ...person(), tenant: 'birch', permissions: ['*'] })
    const asked = async () => {
      const { run } = await stage.runtime.submit(birch, { agent: stage.name, text: 'one' })
      for (;;) {
        const view = await stage.runtime.reads.run(birch, run)
        if (view.endedAt !== null) return (await stage.runtime.reads.effects(birch, run)).map((e) => e.outcome)
        await stage.runtime.clock.sleep(20)
      }
    }
    const codes = async (text: string) => {
      const said = await stage.say(text)
      await said.rest()
      return (await said.results()).map((r) => (r as { code?: string }).code ?? r)
    }
    expect((await codes('many')).filter((code) => code === 'tool_failed').length).toBeGreaterThanOrEqual(5)
    expect(await codes('one')).toEqual(['circuit_open'])
    expect(await asked()).toEqual(['ok'])
    await stage.stop()

    isSlow = true
    const other = await stage.again({})
    const said = await other.say('many')
    while (waiting < 3) await other.runtime.clock.sleep(10)
    const { run } = await other.runtime.submit(birch, { agent: other.name, text: 'one' })
    for (let view = await other.runtime.reads.run(birch, run); view.endedAt === null; ) {
      await other.runtime.clock.sleep(20)
      view = await other.runtime.reads.run(birch, run)
    }
    // it has ended while the others hold every place that they may have
    expect(waiting).toBe(3)
    slow.open()
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await other.stop()
  })

  it('N4 J4 an effect whose provider is down is refused before it starts, so nothing is unknown', async () => {
    let calls = 0
    const change = tool('orders.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      breaker: { identicalErrors: 50, identicalCalls: 50 },
      errors: ['provider_unavailable'],
      unknown: 'manual',
      commit: () => {
        calls += 1
        throw Object.assign(new Error(), { name: 'ToolError', code: 'provider_unavailable' })
      },
    })
    const stage = await play(store, {
      tools: [change],
      script: (_, turn) =>
        turn < 6 ? { calls: [{ name: change.exposedName, arguments: { n: turn } }] } : { text: 'it is away' },
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(calls).toBe(5)
    const effects = await said.effects()
    expect(effects.map((e) => e.code)).toEqual([
      ...Array.from({ length: 5 }, () => 'provider_unavailable'),
      'circuit_open',
    ])
    expect(effects.every((e) => e.status === 'settled')).toBe(true)
    await stage.stop()
  })
})

describe('an agent', () => {
  const budget = { steps: 1, toolCalls: 0, tokens: 1_000, costCents: 1, seconds: 1 }
  const model = scripted([])
  it.each([
    ['fallback_without_gate', { fallback: model }],
    ['degrade_illegal', { degrade: { handOver: '' } }],
    ['degrade_illegal', { degrade: null }],
    ['on_disconnect_illegal', { onDisconnect: 'cancel' }],
    ['on_disconnect_illegal', { onDisconnect: { cancelAfterMs: 10 } }],
    ['on_disconnect_illegal', { onDisconnect: null }],
  ])('N3 K2 with a line that promises too much, or nothing, is refused at load: %s', (code, lines) => {
    expect(() => agent('support', { model, budget, ...(lines as object) })).toThrow(code)
  })
})
