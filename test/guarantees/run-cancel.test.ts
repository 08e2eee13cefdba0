import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import type { Db } from '../../src/db/port.ts'
import { claim } from '../../src/journal/lease.sql.ts'
import { step } from '../../src/run/run.sql.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { ToolContext } from '../../src/tool/contract.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { gate, person, play } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })
const call = (name: string, ...ns: readonly number[]): ScriptedAnswer => ({
  calls: ns.map((n) => ({ name, arguments: { n } })),
})
/** Resolves when the call is told to stop. */
const told = ({ signal }: ToolContext): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
const forEver = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

describe.each(ENGINES)('a run that is stopped, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** A read that waits until it is told to stop, and says when. */
  function patient() {
    const began = gate()
    const stopped = gate()
    const contract = tool('world.watch@1', {
      input,
      effect: 'read',
      run: async (_, cx) => {
        began.open()
        await told(cx)
        stopped.open()
      },
    })
    return { began, stopped, contract }
  }

  it('K1 BR-045 a cancel in the same process reaches the tool at once, without any look at the store', async () => {
    const { began, stopped, contract } = patient()
    // nobody looks for marks within this minute
    const stage = await play(store, {
      tools: [contract],
      script: [call(contract.exposedName, 1)],
      worker: { pollMs: 60_000 },
    })
    const said = await stage.say('go')
    await began.opened
    await said.cancel()
    await stopped.opened
    expect(await said.rest()).toEqual({ status: 'canceled', wait: null, end: 'user_canceled' })
    await stage.stop()
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'error' }])
  })

  it('K1 BR-045 a cancel from another process reaches the tool', async () => {
    const { began, stopped, contract } = patient()
    const stage = await play(store, { tools: [contract], script: [call(contract.exposedName, 1)] })
    const elsewhere = await stage.again({ worker: null })
    const said = await stage.say('go')
    await began.opened
    await elsewhere.runtime.cancel(person(), said.run, 'user', null)
    await stopped.opened
    expect(await said.rest()).toMatchObject({ end: 'user_canceled' })
    await stage.stop()
  })

  if (!isFirst(engine)) return

  it('L8 K1 of a run that was taken over its first worker, which lives, lets go of what it waits for', async () => {
    const [began, left] = [gate(), gate()]
    const reasons: unknown[] = []
    let reads = 0
    const watch = tool('world.watch@1', {
      input,
      effect: 'read',
      timeoutMs: 60_000,
      run: async (_, cx) => {
        if ((reads += 1) > 1) return 'seen'
        began.open()
        await told(cx)
        reasons.push(cx.signal.reason)
        return left.open()
      },
    })
    const script = ({ messages }: { messages: readonly { role: string }[] }): ScriptedAnswer =>
      messages.some((m) => m.role === 'tool') ? { text: 'done' } : call(watch.exposedName, 1)
    // without a free place it cannot take up itself what is put back
    const stage = await play(store, { tools: [watch], script, worker: { concurrency: 1 } })
    const said = await stage.say('go')
    await began.opened
    const other = await stage.again({ worker: {} })
    // the read begins beside the commit of its intent, which gets on
    while ((await said.effects()).length === 0) await stage.runtime.clock.sleep(20)
    await store.admin(
      `update plimsoll.run set progress_at = progress_at - progress_ms * interval '1 ms' where id = $1`,
      [said.run],
    )
    await left.opened
    expect(reasons).toMatchObject([{ code: 'lease_lost' }])
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual(['seen'])
    await Promise.all([stage.stop(), other.stop()])
  })

  it('K3 Q1 what a canceled model said is kept as partial, and paid for', async () => {
    const half = gate()
    let parts = 0
    const model = scripted([{ text: 'a text that is long enough for two deltas' }], {
      maxOutputTokens: 300,
      pause: (signal) => {
        parts += 1
        if (parts < 3) return Promise.resolve()
        half.open()
        return forEver(signal)
      },
    })
    const stage = await play(store, { model })
    const said = await stage.say('go')
    await half.opened
    await said.cancel()
    expect(await said.rest()).toMatchObject({ status: 'canceled', end: 'user_canceled' })
    await stage.stop()
    const rows = await store.admin(
      `select partial, visibility from plimsoll.message where run_id = $1 and role = 'assistant'`,
      [said.run],
    )
    expect(rows).toEqual([{ partial: true, visibility: 'user' }])
    const [last] = (await said.ledger()).slice(-1)
    expect(last).toMatchObject({ kind: 'model', known: false, output: 300 })
  })

  it('B1 the deadline ends a model call and a read', async () => {
    const budget = { steps: 4, toolCalls: 4, tokens: 100_000, costCents: 100, seconds: 1 }
    const silent = scripted([{ text: 'never' }], { pause: forEver })
    let began = 0
    let ended = 0
    const contract = tool('world.watch@1', {
      input,
      effect: 'read',
      run: async (_, cx) => {
        began += 1
        await told(cx)
        ended += 1
      },
    })
    const slow = await play(store, { model: silent, budget })
    const idle = await play(store, { tools: [contract], script: [call(contract.exposedName, 1)], budget })
    const both = [await slow.say('go'), await idle.say('go')]
    for (const said of both) expect(await said.rest()).toEqual({ status: 'failed', wait: null, end: 'deadline' })
    await Promise.all([slow.stop(), idle.stop()])
    // a busy machine may not come to it at all
    expect(ended).toBe(began)
  })

  it('J7 BR-022 what has not begun when the run is canceled never begins, and says so', async () => {
    const began = gate()
    let starts = 0
    const write = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'probe',
      timeoutMs: 5_000,
      commit: async (_, cx) => {
        starts += 1
        began.open()
        await told(cx)
        throw new Error('gone')
      },
      probe: () => ({ happened: true, result: 'it happened' }),
    })
    const stage = await play(store, { tools: [write], script: [call(write.exposedName, 1, 2, 3)] })
    const said = await stage.say('go')
    await began.opened
    await said.cancel()
    expect(await said.rest()).toMatchObject({ status: 'canceled', end: 'user_canceled' })
    await stage.stop()
    expect(starts).toBe(1)
    // the first one happened, and is not said to be canceled
    expect((await said.effects()).map((e) => [e.outcome, e.code])).toEqual([
      ['ok', null],
      ['error', 'not_started'],
      ['error', 'not_started'],
    ])
    expect(await said.results()).toHaveLength(3)
  })

  it.each(['probe', 'key'] as const)(
    'K5 BR-049 an effect (%s) that ignores the cancel and happens later is found, never called canceled',
    async (unknown) => {
      const began = gate()
      let happened = false
      const late = tool('world.change@1', {
        input,
        effect: 'write',
        approval: 'auto',
        unknown,
        timeoutMs: 600,
        commit: async () => {
          began.open()
          await new Promise((resolve) => setTimeout(resolve, 250))
          happened = true
          return 'too late to be heard'
        },
        probe: () => (happened ? { happened: true, result: 'it happened' } : { happened: false }),
      })
      const heard: string[] = []
      const stage = await play(store, {
        tools: [late],
        script: ({ messages }, turn) => {
          heard.push(...messages.flatMap((m) => (m.role === 'tool' ? [m.text] : [])))
          return turn === 0 ? call(late.exposedName, 1) : { text: 'done' }
        },
      })
      const said = await stage.say('go')
      await began.opened
      await said.cancel()
      expect(await said.rest()).toMatchObject({ status: 'canceled', end: 'user_canceled' })
      expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
      expect(await said.results()).toEqual(['it happened'])
      // the next turn is told, and undoes nothing by itself
      const next = await stage.say('and now?', said)
      expect(await next.rest()).toMatchObject({ end: 'completed' })
      await stage.stop()
      expect(heard).toEqual(['it happened'])
      expect(await next.effects()).toEqual([])
    },
  )

  it('J4 K5 BR-049 a repeat that is stopped before it leaves does not say of the first try that it never started', async () => {
    const ready = gate()
    const go = gate()
    let tries = 0
    let starts = 0
    const broken = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'key',
      timeoutMs: 5_000,
      // it happens, and the reply is lost
      commit: () => {
        tries += 1
        throw new Error('status 502')
      },
    })
    const stage = await play(store, {
      tools: [broken],
      script: [call(broken.exposedName, 1)],
      fault: async (point) => {
        if (point !== 'ext.before' || (starts += 1) !== 2) return
        ready.open()
        await go.opened
      },
    })
    const said = await stage.say('go')
    await ready.opened
    await said.cancel()
    go.open()
    expect(await said.rest()).toMatchObject({ status: 'waiting_confirmation', wait: 'unknown_effect' })
    await stage.stop()
    expect(tries).toBe(1)
    expect(await said.effects()).toMatchObject([{ status: 'unknown', outcome: null }])
  })

  it('J4 K5 an effect beyond the deadline that nobody can ask about waits for a person', async () => {
    const deaf = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      timeoutMs: 200,
      commit: async (_, cx) => {
        await store.admin('update plimsoll.run set deadline_at = now() where id = $1', [cx.runId])
        await new Promise(() => {})
      },
    })
    const stage = await play(store, { tools: [deaf], script: [call(deaf.exposedName, 1)] })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ status: 'waiting_confirmation', wait: 'unknown_effect' })
    const at = { run: said.run, step: 1, position: 0 }
    await stage.runtime.resolve(person('operator', 'olga'), at, {
      outcome: 'happened',
      result: 'yes',
      reason: 'the provider says so',
    })
    expect(await said.until((s) => s.status === 'failed')).toMatchObject({ end: 'deadline' })
    await stage.stop()
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
  })

  it('A4 a newer message replaces a run at once: nothing of it starts after, and the new one goes on', async () => {
    const { began, contract } = patient()
    let writes = 0
    const write = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: () => (writes += 1),
    })
    const script = (request: { messages: readonly { role: string; text?: string }[] }): ScriptedAnswer =>
      request.messages.some((m) => m.role === 'user' && m.text === 'second')
        ? { text: 'the second' }
        : {
            calls: [
              { name: contract.exposedName, arguments: { n: 1 } },
              { name: write.exposedName, arguments: { n: 1 } },
            ],
          }
    const stage = await play(store, {
      tools: [contract, write],
      script,
      onMessage: 'replace',
      worker: { pollMs: 60_000 },
    })
    const first = await stage.say('first')
    await began.opened
    const second = await stage.say('second', first)
    expect(await first.rest()).toEqual({ status: 'canceled', wait: null, end: 'superseded' })
    expect(await second.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(writes).toBe(0)
  })

  it('A4 a run that ends while its worker looks for others makes it look once more', async () => {
    const { began, contract } = patient()
    const [hasLooked, looksAgain] = [gate(), gate()]
    let isReplaced = false
    let isOver = (): boolean => true
    let isEnding = false
    // the look that the ending run causes comes before its last commit and finds the conversation busy; it returns after it
    const db: Db = {
      ...store.db,
      async call(statement, params) {
        if (isEnding && statement.name === step.name) await looksAgain.opened
        const rows = await store.db.call(statement, params)
        if (statement.name !== claim.name) return rows
        if (isReplaced) hasLooked.open()
        if (isEnding) looksAgain.open()
        while (isEnding && !isOver()) await stage.runtime.clock.sleep(5)
        return rows
      },
    }
    const stage = await play(
      { ...store, db },
      {
        tools: [contract],
        script: ({ messages }) =>
          messages.some((m) => m.role === 'user' && m.text === 'second')
            ? { text: 'the second' }
            : call(contract.exposedName, 1),
        onMessage: 'replace',
        worker: { pollMs: 60_000 },
        fault: async (point) => {
          if (point !== 'final.before' || isEnding) return
          await hasLooked.opened
          isEnding = true
        },
      },
    )
    isOver = () => stage.worker.driven() === 0
    const first = await stage.say('first')
    await began.opened
    isReplaced = true
    const second = await stage.say('second', first)
    expect(await second.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
  })
})
