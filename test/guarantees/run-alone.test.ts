/** `onDisconnect: 'cancel_tools'`: what becomes of a run at each of its places when nobody follows it any more. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../src/kernel/fault.ts'
import type { Model, ModelPart } from '../../src/model/port.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import { later } from '../../src/tool/later.ts'
import { tool } from '../../src/tool/define.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { gate, person, play, type Said } from '../setup/stage.ts'
import type { Runtime } from '../../src/runtime.ts'

const input = z.strictObject({ n: z.int() })
const onDisconnect = 'cancel_tools'
const codeOf = (reason: unknown): unknown => (Fault.is(reason) ? reason.code : reason)

const until = async (holds: () => Promise<boolean> | boolean) => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** A client with an open stream, which is counted as followed before this returns. */
async function reading(store: TestStore, runtime: Runtime, run: string) {
  const client = new AbortController()
  const done = (async () => {
    const request = { run, after: 0, operator: false, signal: client.signal }
    for await (const _ of runtime.follow(person(), request)) void _
  })()
  const where = `from plimsoll.run where id = $1`
  const isFollowed = async () =>
    (await store.admin(`select coalesce(followed_until > now(), false) as yes ${where}`, [run]))[0]?.yes === true
  await until(isFollowed)
  return {
    /** Gone for longer than an absence: the clock of the lease is moved, nobody waits for it. */
    async leave() {
      client.abort()
      await done
      await store.admin(`update plimsoll.run set followed_until = now() - interval '1 second' where id = $1`, [run])
    },
    async stop() {
      client.abort()
      await done
    },
  }
}

const parked = (said: Said) => said.until((now) => now.wait === 'follower' || now.status !== 'running')
const PARKED = { status: 'waiting_confirmation', wait: 'follower', end: null }

describe.each(ENGINES)('a run that nobody follows any more, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it('K2 leaves a model call, pays for what may have been used, and asks again for the next follower', async () => {
    const reasons: unknown[] = []
    const began = gate()
    let asked = 0
    const model: Model = {
      id: 'slow',
      contextTokens: 32_000,
      maxOutputTokens: 100,
      price: null,
      async *stream(_, signal): AsyncGenerator<ModelPart> {
        asked += 1
        if (asked === 1) {
          yield { kind: 'text', delta: 'half' }
          began.open()
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          reasons.push(codeOf(signal.reason))
          throw signal.reason as Error
        }
        yield { kind: 'text', delta: 'whole' }
        yield { kind: 'finish', reason: 'stop' }
        yield { kind: 'usage', usage: { input: 10, output: 1 } }
      },
    }
    const stage = await play(store, { model, onDisconnect })
    const said = await stage.say('go')
    await began.opened
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    expect(await parked(said)).toEqual(PARKED)
    expect(reasons).toEqual(['client_gone'])
    // the reservation was billed and nothing is held
    const [row] = await store.admin(
      'select reserved_tokens::int as held, used_tokens::int as used, step, attempts from plimsoll.run where id = $1',
      [said.run],
    )
    expect(row).toMatchObject({ held: 0, step: 0, attempts: 0 })
    expect(Number(row?.used)).toBeGreaterThan(0)
    const next = await reading(store, stage.runtime, said.run)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(asked).toBe(2)
    const { items } = await stage.runtime.reads.messages(person(), said.session, { after: '', limit: 10 })
    expect(items.map((m) => m.text)).toEqual(['go', 'whole'])
    await next.stop()
    await stage.stop()
  })

  if (!isFirst(engine)) return

  it('K2 leaves a read, records nothing of it, and reads again for the next follower', async () => {
    const reasons: unknown[] = []
    const began = gate()
    let reads = 0
    const watch = tool('world.watch@1', {
      input,
      effect: 'read',
      run: (_, cx) => {
        reads += 1
        if (reads > 1) return 'seen'
        began.open()
        return new Promise((_, reject) =>
          cx.signal.addEventListener(
            'abort',
            () => {
              reasons.push(codeOf(cx.signal.reason))
              reject(cx.signal.reason as Error)
            },
            { once: true },
          ),
        )
      },
    })
    const stage = await play(store, {
      tools: [watch],
      script: [{ calls: [{ name: watch.exposedName, arguments: { n: 1 } }] }, { text: 'done' }],
      onDisconnect,
    })
    const said = await stage.say('go')
    await began.opened
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    expect(await parked(said)).toEqual(PARKED)
    expect(reasons).toEqual(['client_gone'])
    expect(await said.effects()).toMatchObject([{ status: 'intended', outcome: null }])
    const next = await reading(store, stage.runtime, said.run)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual(['seen'])
    expect(reads).toBe(2)
    await next.stop()
    await stage.stop()
  })

  it('K2 J7 lets a write that has started come to its end, records it, and starts nothing after it', async () => {
    const [began, goOn] = [gate(), gate()]
    const aborted: boolean[] = []
    const change = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: async ({ n }, cx) => {
        began.open()
        await goOn.opened
        aborted.push(cx.signal.aborted)
        return `changed ${n}`
      },
    })
    const calls = [1, 2].map((n) => ({ name: change.exposedName, arguments: { n } }))
    const stage = await play(store, { tools: [change], script: [{ calls }, { text: 'done' }], onDisconnect })
    const said = await stage.say('go')
    await began.opened
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    // the worker has heard of it when it has looked twice
    const looked = await stage.runtime.clock.sleep(400)
    expect(looked).toBeUndefined()
    expect(await said.seen()).toMatchObject({ status: 'running' })
    goOn.open()
    expect(await parked(said)).toEqual(PARKED)
    expect(aborted).toEqual([false])
    expect(await said.effects()).toMatchObject([
      { status: 'settled', outcome: 'ok' },
      { status: 'intended', outcome: null },
    ])
    const next = await reading(store, stage.runtime, said.run)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual(['changed 1', 'changed 2'])
    await next.stop()
    await stage.stop()
  })

  it('K2 keeps a confirmation open, does what a person approves, and parks behind it', async () => {
    const change = tool('world.change@1', { input, effect: 'write', unknown: 'manual', commit: () => 'changed' })
    const stage = await play(store, {
      tools: [change],
      script: [{ calls: [{ name: change.exposedName, arguments: { n: 1 } }] }, { text: 'done' }],
      onDisconnect,
    })
    const said = await stage.say('go')
    const [card] = await said.asked(1)
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    expect(await said.seen()).toMatchObject({ wait: 'confirmation' })
    await said.decide(card!, true)
    expect(await said.until((now) => now.wait === 'follower' || now.end !== null)).toEqual(PARKED)
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
    const next = await reading(store, stage.runtime, said.run)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await next.stop()
    await stage.stop()
  })

  it('K2 hears what an effect waits for outside, whoever follows, and nothing of it is lost', async () => {
    const order = tool('parcels.order@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: ({ n }) => later({ signal: `${engine}:${n}`, withinMs: 60_000 }),
    })
    const stage = await play(store, {
      tools: [order],
      script: [{ calls: [{ name: order.exposedName, arguments: { n: 1 } }] }, { text: 'done' }],
      onDisconnect,
    })
    const said = await stage.say('go')
    await said.until((now) => now.wait === 'external')
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    expect(await said.seen()).toMatchObject({ wait: 'external' })
    const service = { ...person('service'), permissions: ['*'] } as ReturnType<typeof person>
    await stage.runtime.signal(service, `${engine}:1`, 'delivered')
    expect(await said.until((now) => now.wait === 'follower' || now.end !== null)).toEqual(PARKED)
    expect(await said.results()).toEqual(['delivered'])
    const next = await reading(store, stage.runtime, said.run)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await next.stop()
    await stage.stop()
  })

  it('K2 a further message is somebody too: the parked run goes on before it', async () => {
    const began = gate()
    let reads = 0
    const watch = tool('world.watch@1', {
      input,
      effect: 'read',
      run: (_, cx) => {
        reads += 1
        if (reads > 1) return 'seen'
        began.open()
        return new Promise((_, reject) =>
          cx.signal.addEventListener('abort', () => reject(cx.signal.reason as Error), { once: true }),
        )
      },
    })
    const script = [{ calls: [{ name: watch.exposedName, arguments: { n: 1 } }] }, { text: 'one' }, { text: 'two' }]
    const stage = await play(store, { tools: [watch], script, onDisconnect })
    const said = await stage.say('go')
    await began.opened
    const client = await reading(store, stage.runtime, said.run)
    await client.leave()
    await parked(said)
    const next = await stage.say('and?', said)
    expect(await next.rest()).toMatchObject({ end: 'completed' })
    expect(await said.seen()).toMatchObject({ end: 'completed' })
    const { items } = await stage.runtime.reads.messages(person(), said.session, { after: '', limit: 10 })
    expect(items.map((m) => m.text)).toEqual(['go', 'one', 'and?', 'two'])
    await stage.stop()
  })

  it('K2 a run that parks ends at its own time, and can be stopped before', async () => {
    const runs: Said[] = []
    const stages = []
    for (const seconds of [4, 60]) {
      const began = gate()
      const watch = tool('world.watch@1', {
        input,
        effect: 'read',
        run: (_, cx) => {
          began.open()
          return new Promise((_, reject) =>
            cx.signal.addEventListener('abort', () => reject(cx.signal.reason as Error), { once: true }),
          )
        },
      })
      const stage = await play(store, {
        tools: [watch],
        script: () => ({ calls: [{ name: watch.exposedName, arguments: { n: 1 } }] }),
        budget: { steps: 8, toolCalls: 8, tokens: 100_000, costCents: 100, seconds },
        onDisconnect,
      })
      const said = await stage.say('go')
      await began.opened
      await (await reading(store, stage.runtime, said.run)).leave()
      await parked(said)
      runs.push(said)
      stages.push(stage)
    }
    await runs[1]!.cancel()
    expect(await runs[1]!.rest()).toMatchObject({ end: 'user_canceled' })
    expect(await runs[0]!.rest()).toMatchObject({ end: 'deadline' })
    await Promise.all(stages.map((s) => s.stop()))
  })

  it('K2 by default a run goes on, and one that was never followed does not park', async () => {
    const stage = await play(store, { onDisconnect })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
  })
})

describe.skipIf(!inject('postgres'))('a reader on another server than the worker', () => {
  it('K2 leaves it, and the model call in the other process is left; another reader lets it go on', {
    timeout: 60_000,
  }, async () => {
    const store = await openStore('postgres')
    const file = fileURLToPath(new URL('../setup/speaking.worker.ts', import.meta.url))
    const env = { ...process.env, WORKER_DB: store.url, WORKER_ON_DISCONNECT: onDisconnect }
    const child = fork(file, { execArgv: ['--import', 'tsx'], env })
    const heard: unknown[] = []
    child.on('message', (message) => heard.push(message))
    try {
      await until(() => heard.includes('ready'))
      const budget = { steps: 8, toolCalls: 8, tokens: 50_000, costCents: 500, seconds: 120 }
      const told = agent('told', { model: { ...scripted([]), id: 'told' }, budget, onDisconnect })
      const server = createRuntime({ db: store.db, agents: [told] })
      const { run } = await server.submit(person(), { agent: 'told', text: 'go' })
      await until(() => heard.includes('asked'))
      child.send({ turn: 1, say: 'half' })
      const client = await reading(store, server, run)
      await client.leave()
      const state = async () =>
        (await store.admin('select status, wait_reason as wait from plimsoll.run where id = $1', [run]))[0]
      await until(async () => (await state())?.status !== 'running')
      expect(await state()).toEqual({ status: 'waiting_confirmation', wait: 'follower' })
      expect(heard).toContain('left: client_gone')
      const next = await reading(store, server, run)
      await until(() => heard.filter((m) => m === 'asked').length === 2)
      for (const order of [{ say: 'whole' }, { end: true }]) child.send({ turn: 2, ...order })
      await until(async () => (await state())?.status === 'succeeded')
      await next.stop()
    } finally {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await gone
      await store.close()
    }
  })
})
