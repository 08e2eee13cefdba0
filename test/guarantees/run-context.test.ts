/** Conversations that are longer than the window of their model. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { estimateTokens } from '../../src/context/tokens.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { tool } from '../../src/tool/define.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { play } from '../setup/stage.ts'

describe.each(ENGINES)('a long conversation, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  const chatter = 'and then we talked about something else for a while '.repeat(12)
  /** A model whose requests are seen, and which answers with chatter. */
  function watched(
    window: number,
    answer: (request: ModelRequest, n: number) => ScriptedAnswer = () => ({ text: chatter }),
  ) {
    const requests: ModelRequest[] = []
    const model = scripted((request) => answer(request, requests.push(request)), {
      id: 'watched',
      contextTokens: window,
      maxOutputTokens: 400,
    })
    return { model, requests }
  }

  it('C1 C8 BR-023 goes on with a cut context, sends its beginning again, and pays for what is sent', async () => {
    const { model, requests } = watched(2_000)
    const stage = await play(store, { model, instructions: 'Be kind.', budget: BUDGET })
    let last = await stage.say('question number 0')
    await last.rest()
    for (let n = 1; n < 16; n += 1) {
      last = await stage.say(`question number ${n}`, { session: last.session, sessionVersion: last.sessionVersion })
      expect(await last.rest()).toMatchObject({ status: 'succeeded', end: 'completed' })
    }
    expect(requests).toHaveLength(16)
    for (const [n, { messages }] of requests.entries()) {
      expect(messages[0]).toEqual({ role: 'system', text: 'Be kind.' })
      expect(messages.at(-1)).toEqual({ role: 'user', text: `question number ${n}` })
    }
    const moved = requests.slice(1).filter(({ messages }, n) => {
      const before = requests[n]?.messages ?? []
      return JSON.stringify(messages.slice(0, before.length)) !== JSON.stringify(before)
    })
    expect(moved.length).toBeGreaterThan(0)
    expect(moved.length).toBeLessThan(8)
    const [row] = await store.admin(
      'select max(reserved_tokens)::int8 as most from plimsoll.ledger where run_id = $1',
      [last.run],
    )
    expect((row as { most: number }).most).toBeLessThanOrEqual(2_000)
    expect((row as { most: number }).most).toBeGreaterThan(400)
    await stage.stop()
  })

  it('C6 BR-108 a request that the provider calls too long is sent once more, smaller', async () => {
    const { model, requests } = watched(20_000, (request) =>
      JSON.stringify(request.messages).length > 3_000 ? { fault: 'model_context_overflow' } : { text: chatter },
    )
    const stage = await play(store, { model, budget: BUDGET })
    let last = await stage.say('question number 0')
    await last.rest()
    for (let n = 1; n < 8; n += 1) {
      last = await stage.say(`question number ${n}`, { session: last.session, sessionVersion: last.sessionVersion })
      expect(await last.rest()).toMatchObject({ status: 'succeeded' })
    }
    expect(requests.length).toBeGreaterThan(8)
    await stage.stop()
  })

  it('C6 a model that counts more than we do is soon asked for no more than it takes, and its answer has what room is left', async () => {
    const WINDOW = 3_000
    const counts = ({ messages }: ModelRequest) =>
      Math.round(1.6 * estimateTokens(messages.map((m) => m.text).join('\n')))
    let refused = 0
    const { model, requests } = watched(WINDOW, (request) => {
      if (counts(request) + request.maxOutputTokens <= WINDOW)
        return { text: chatter, usage: { input: counts(request), output: 200 } }
      refused += 1
      return { fault: 'model_context_overflow' }
    })
    const stage = await play(store, { model, budget: BUDGET })
    let last = await stage.say('question number 0')
    await last.rest()
    for (let n = 1; n < 20; n += 1) {
      last = await stage.say(`question number ${n}`, { session: last.session, sessionVersion: last.sessionVersion })
      expect(await last.rest()).toMatchObject({ status: 'succeeded' })
    }
    expect(Math.max(...requests.map(counts))).toBeGreaterThan(WINDOW / 2)
    expect(refused).toBe(0)
    await stage.stop()
  })

  it('C1 BR-110 a question that does not fit ends as context_overflow before any request', async () => {
    const { model, requests } = watched(600)
    const stage = await play(store, { model, budget: BUDGET })
    const said = await stage.say('word '.repeat(2_000))
    expect(await said.rest()).toEqual({ status: 'failed', wait: null, end: 'context_overflow' })
    expect(requests).toHaveLength(0)
    await stage.stop()
  })

  it('C2 C3 many large results in one question leave room for the next call, each with its call', async () => {
    const read = tool('world.read@1', {
      input: z.strictObject({ n: z.int() }),
      effect: 'read',
      run: ({ n }) => ({ n, rows: Array.from({ length: 60 }, (_, i) => `row ${i} of ${n}`) }),
    })
    const { model, requests } = watched(2_500, (_, n) =>
      n <= 7 ? { calls: [{ id: `c${n}`, name: read.exposedName, arguments: { n } }] } : { text: 'read' },
    )
    const stage = await play(store, { model, tools: [read], budget: BUDGET })
    const said = await stage.say('Read seven.')
    expect(await said.rest()).toMatchObject({ status: 'succeeded', end: 'completed' })
    for (const { messages } of requests) {
      const asked = messages.flatMap((m) => (m.role === 'assistant' ? m.calls.map((c) => c.id) : []))
      const told = messages.flatMap((m) => (m.role === 'tool' ? [m.callId] : []))
      expect(told).toEqual(asked)
      for (const m of messages) if (m.role === 'tool') expect(() => JSON.parse(m.text) as unknown).not.toThrow()
    }
    expect(requests.at(-1)?.messages.filter((m) => m.role === 'tool').length).toBeGreaterThan(0)
    await stage.stop()
  })
})

const BUDGET = { steps: 10, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
