import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openAICompatible } from '../../src/model/openai.shell.ts'
import type { ModelPart } from '../../src/model/port.ts'
import { type Behaviour, MISBEHAVIOUR } from '../../src/testing/misbehaviour.ts'
import { type FakeProvider, fakeProvider } from '../../src/testing/provider.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { play, type Scene } from '../setup/stage.ts'

const price = { inputCentsPerMillion: 1, outputCentsPerMillion: 2 }

/** Too much, and well 20 ms later. */
const limitedOnce: Behaviour = (exchange) => {
  if (exchange.turn > 1) return MISBEHAVIOUR.well(exchange)
  exchange.response
    .writeHead(429, { 'retry-after-ms': '20', 'content-type': 'application/json' })
    .end('{"error":{"message":"slow down"}}')
}

describe.each(ENGINES)('what a model answers, on the %s store', (engine) => {
  let store: TestStore
  let provider: FakeProvider
  beforeAll(async () => {
    store = await openStore(engine)
    provider = await fakeProvider({ behaviours: { limited_once: limitedOnce } })
  })
  afterAll(async () => {
    await provider.close()
    await store.close()
  })

  async function tell(scene: Scene) {
    const stage = await play(store, scene)
    const said = await stage.say('hello')
    const end = await said.rest()
    await stage.stop()
    return { end, ledger: await said.ledger(), effects: await said.effects(), results: await said.results() }
  }
  const text = (delta: string): ModelPart => ({ kind: 'text', delta })

  it.each<[string, ScriptedAnswer]>([
    ['empty_final', { text: '  ' }],
    ['truncated', { parts: [text('half'), { kind: 'finish', reason: 'length' }] }],
    ['content_filtered', { parts: [text('half'), { kind: 'finish', reason: 'content_filter' }] }],
    ['protocol_error', { parts: [text('half')] }],
    ['protocol_error', { parts: [{ kind: 'damaged', detail: 'x' }] }],
    ['protocol_error', { fault: 'model_protocol', after: [text('half')] }],
  ])('B3 %s is never success', async (reason, answer) => {
    expect((await tell({ script: [answer] })).end).toEqual({ status: 'failed', wait: null, end: reason })
  })

  const asking = (name: string) =>
    openAICompatible({ baseUrl: provider.baseUrl, model: name, price, maxOutputTokens: 500 })
  const requests = (name: string) => provider.requests.filter((r) => r.body.model === name).length

  it('N1 B5 a rate limit is waited out over real HTTP, and costs nothing', async () => {
    const { end, ledger } = await tell({ model: asking('limited_once') })
    expect(end).toMatchObject({ end: 'completed' })
    expect(requests('limited_once')).toBe(2)
    expect(ledger.at(-1)).toMatchObject({ kind: 'model', known: true, input: 20, output: 4 })
  })

  it('Q1 N1 an attempt that failed on the way is billed as it was reserved', async () => {
    const { end, ledger } = await tell({ model: asking('fails_once') })
    expect(end).toMatchObject({ end: 'completed' })
    const row = ledger.at(-1) as { known: boolean; output: number }
    // its output is the 500 that were reserved, and the 4 of the answer
    expect(row).toMatchObject({ known: false, output: 504 })
  })

  it('N1 Q1 no attempt is repeated that the budget does not cover', async () => {
    const { end } = await tell({
      model: asking('reset_before_output'),
      budget: { steps: 2, toolCalls: 0, tokens: 600, costCents: 10, seconds: 60 },
    })
    expect(end).toMatchObject({ end: 'model_unavailable' })
    expect(requests('reset_before_output')).toBe(1)
  })

  it.each(['error_event', 'reset_after_text'])('B5 after the first delta nothing is repeated: %s', async (name) => {
    const { end } = await tell({ model: asking(name) })
    expect(end.status).toBe('failed')
    expect(requests(name)).toBe(1)
  })

  it('Q1 known usage settles as reported, unknown usage as reserved, and both count', async () => {
    const known = await tell({ script: [{ text: 'a long enough answer', usage: { input: 900, output: 90 } }] })
    expect(known.ledger.at(-1)).toMatchObject({ known: true, input: 900, output: 90 })
    const model = scripted([{ parts: [text('hi'), { kind: 'finish', reason: 'stop' }] }], {
      maxOutputTokens: 700,
      price,
    })
    const unknown = await tell({ model })
    const row = unknown.ledger.at(-1) as { known: boolean; input: number; output: number; cost: number }
    expect(row).toMatchObject({ known: false, output: 700 })
    expect(row.cost).toBe(row.input * 1 + row.output * 2)
  })

  it('B4 a tool that hands over ends the run as a success, and says so', async () => {
    const handOver = tool('desk.handover@1', {
      input: z.strictObject({}),
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      ends: 'handed_over',
      commit: () => ({ ticket: 7 }),
    })
    const { end, results } = await tell({
      tools: [handOver],
      script: [{ calls: [{ name: handOver.exposedName, arguments: {} }] }],
    })
    expect(end).toEqual({ status: 'succeeded', wait: null, end: 'handed_over' })
    expect(results).toEqual([{ ticket: 7 }])
  })

  it('I6 BR-075 what is passed on is what was stored, with and without a loss between', async () => {
    const input = z.strictObject({ n: z.int() })
    const odd = tool('world.odd@1', {
      input,
      effect: 'read',
      run: ({ n }) =>
        [
          { at: '2026-01-02', big: 9007199254740991, text: 'a\u0000b \ud83d\ude80' },
          { at: new Date(0) },
          { m: new Map([[1, 2]]) },
        ][n],
    })
    const heard: string[][] = []
    const script = (
      request: { messages: readonly { role: string; text?: string }[] },
      turn: number,
    ): ScriptedAnswer => {
      if (turn === 0) return { calls: [0, 1, 2].map((n) => ({ name: odd.exposedName, arguments: { n } })) }
      heard.push(request.messages.flatMap((m) => (m.role === 'tool' ? [m.text ?? ''] : [])))
      return { text: 'done' }
    }
    await tell({ tools: [odd], script })
    let thrown = false
    const fault = (point: string) => {
      if (point !== 'step.afterIntent' || thrown) return
      thrown = true
      throw new Error('planted')
    }
    await tell({ tools: [odd], script, fault })
    expect(thrown).toBe(true)
    expect(heard).toHaveLength(2)
    expect(heard[1]).toEqual(heard[0])
    expect(heard[0]?.map((h) => (JSON.parse(h) as { code?: string }).code)).toEqual([
      undefined,
      'result_not_serialisable',
      'result_not_serialisable',
    ])
  })
})
