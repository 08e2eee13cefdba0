import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aCall, after, answered, aRun, asked, asks, moved, ok, says, settles } from '../../test/unit/runs.ts'
import { costMicrocents } from '../model/price.ts'
import { heldReservation, reserve, settleLost, settleUsage } from './budget.ts'
import type { Run } from './state.ts'

const rules = (with_: Partial<Run['rules']> = {}): Run['rules'] => ({ ...aRun().rules, ...with_ })
const limits = (with_: Partial<Run['limits']> = {}): Run['limits'] => ({ ...aRun().limits, ...with_ })
const none = { tokens: 0, cost: 0 }
const reserves = (l: Partial<Run['limits']>, prompt: number, r: Partial<Run['rules']> = {}, spent = none) =>
  reserve({ limits: limits(l), rules: rules(r) }, spent, prompt)

describe('reserving', () => {
  it.each([
    ['the cap of the model', {}, 100, {}, 1_000],
    ['what is left of the tokens', { tokens: 300 }, 100, {}, 200],
    ['the least that is worth a call', { tokens: 116 }, 100, {}, 16],
    ['what is left of the window', {}, 400, { contextTokens: 450 }, 50],
    ['what is left of the money', { cost: 300 + 500 }, 100, {}, 100],
    ['a model that says little', {}, 100, { maxOutputTokens: 4 }, 4],
    ['a model that says little, in the last tokens', { tokens: 104 }, 100, { maxOutputTokens: 4 }, 4],
    [
      'a model that costs nothing',
      { cost: 0 },
      100,
      { price: { inputCentsPerMillion: 0, outputCentsPerMillion: 0 } },
      1_000,
    ],
    [
      'a model whose output costs nothing',
      { cost: 300 },
      100,
      { price: { inputCentsPerMillion: 3, outputCentsPerMillion: 0 } },
      1_000,
    ],
  ] as const)('Q1 the output is bounded by %s', (_, l, prompt, r, output) => {
    expect(reserves(l, prompt, r)).toMatchObject({
      ok: true,
      reservation: { maxOutputTokens: output, tokens: prompt + output },
    })
  })

  it.each([
    ['tokens', { tokens: 115 }, 100, {}, 'token_limit'],
    ['money for the output', { cost: 300 + 79 }, 100, {}, 'cost_limit'],
    ['money for the prompt', { cost: 299 }, 100, {}, 'cost_limit'],
    [
      'money for the prompt of a model whose output costs nothing',
      { cost: 299 },
      100,
      { price: { inputCentsPerMillion: 3, outputCentsPerMillion: 0 } },
      'cost_limit',
    ],
    ['room in the window', {}, 49_985, {}, 'context_overflow'],
    ['room in the window for a prompt that is larger', {}, 60_000, {}, 'context_overflow'],
  ] as const)('B1 too few %s end the run', (_, l, prompt, r, reason) => {
    expect(reserves(l, prompt, r)).toEqual({ ok: false, reason })
  })

  const price = fc.oneof(
    fc.double({ min: 0, max: 10_000, noNaN: true }),
    fc.nat(10_000).map((n) => n / 1_000),
  )
  const scene = fc.record({
    limits: fc.record({ tokens: fc.integer({ min: 1, max: 1e6 }), cost: fc.nat(1e9) }),
    spent: fc.record({ tokens: fc.nat(1e5), cost: fc.nat(1e9) }),
    prompt: fc.nat(1e5),
    rules: fc.record({
      maxOutputTokens: fc.integer({ min: 1, max: 1e5 }),
      contextTokens: fc.integer({ min: 1, max: 2e5 }),
      price: fc.record({ inputCentsPerMillion: price, outputCentsPerMillion: price }),
    }),
  })

  it('Q1 nothing is reserved beyond a limit, at any price, and what is reserved is what is held', () => {
    fc.assert(
      fc.property(scene, (s) => {
        const run = aRun({ limits: limits(s.limits), rules: rules(s.rules), promptTokens: s.prompt })
        const wanted = reserve(run, s.spent, s.prompt)
        if (!wanted.ok) return
        const { tokens, cost, maxOutputTokens } = wanted.reservation
        expect(s.spent.tokens + tokens).toBeLessThanOrEqual(s.limits.tokens)
        expect(s.spent.cost + cost).toBeLessThanOrEqual(s.limits.cost)
        expect(tokens).toBe(s.prompt + maxOutputTokens)
        expect(maxOutputTokens).toBeGreaterThanOrEqual(Math.min(16, s.rules.maxOutputTokens))
        expect(heldReservation({ ...run, reserved: { tokens, cost } })).toEqual(wanted.reservation)
      }),
      { numRuns: 2_000 },
    )
  })

  it('Q1 a price with decimals does not round past the money', () => {
    const price = { inputCentsPerMillion: 0.1, outputCentsPerMillion: 1.1 }
    expect(reserves({ cost: 510 }, 7, { price })).toMatchObject({ reservation: { maxOutputTokens: 462, cost: 509 } })
  })

  it('Q1 a refusal is not early: one output token less than is worth a call would not have fitted either', () => {
    fc.assert(
      fc.property(scene, (s) => {
        const wanted = reserve({ limits: limits(s.limits), rules: rules(s.rules) }, s.spent, s.prompt)
        if (wanted.ok) return
        const least = Math.min(16, s.rules.maxOutputTokens)
        const fits = s.spent.tokens + s.prompt + least <= s.limits.tokens && s.prompt + least <= s.rules.contextTokens
        const paid =
          s.spent.cost + costMicrocents({ input: s.prompt, output: least + 1 }, s.rules.price) <= s.limits.cost
        expect(fits && paid).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })

  it('Q1 money that does not cover the request any more is not held for it', () => {
    expect(heldReservation(aRun({ reserved: none }))).toBe(null)
    expect(heldReservation(aRun({ promptTokens: 1_085 }))).toBe(null)
    expect(heldReservation(aRun({ promptTokens: 1_084 }))).toMatchObject({ maxOutputTokens: 16 })
  })
})

describe('settling', () => {
  it.each([
    ['what was reported', { input: 90, output: 40 }, 30, { inputTokens: 90, outputTokens: 40, cost: 470, known: true }],
    [
      'the reservation, when nothing was reported',
      {},
      30,
      { inputTokens: 100, outputTokens: 1_000, cost: 5_300, known: false },
    ],
    [
      'the reserved output, when only the input was',
      { input: 90 },
      30,
      { inputTokens: 90, outputTokens: 1_000, cost: 5_270, known: false },
    ],
    [
      'the counted prompt, when only the output was',
      { output: 40 },
      30,
      { inputTokens: 100, outputTokens: 40, cost: 500, known: false },
    ],
    [
      'our own count, when the report is far too small',
      { input: 3, output: 2 },
      30,
      { inputTokens: 100, outputTokens: 30, cost: 450, known: false, suspect: true },
    ],
    [
      'more than was reserved, when that is what it cost',
      { input: 100, output: 5_000 },
      30,
      { inputTokens: 100, outputTokens: 5_000, cost: 25_300, known: true },
    ],
  ] as const)('Q1 a call settles at %s', (_, usage, received, spent) => {
    expect(settleUsage(aRun(), usage, received)).toEqual(spent)
  })

  it('Q1 an attempt that nobody heard the end of costs all of its reservation', () => {
    expect(settleLost(aRun())).toEqual({ inputTokens: 100, outputTokens: 1_000, cost: 5_300, known: false })
    expect(settleLost(aRun({ promptTokens: 5_000 }))).toMatchObject({ inputTokens: 1_100, outputTokens: 0 })
  })

  it('Q1 BR-039 a report that cannot be true is on the ledger as suspect, also beside one that can', () => {
    const tale = answered(says('a'.repeat(400), { input: 95, output: 1 }))
    expect(moved(aRun(), tale).writes.ledger).toMatchObject({ known: false, suspect: true })
    const dropped = { inputTokens: 1, outputTokens: 1, cost: 1, known: false, suspect: true } as const
    const beside = { ...answered(says('Yes.', { input: 95, output: 2 })), dropped }
    expect(moved(aRun(), beside).writes.ledger).toMatchObject({ outputTokens: 3, suspect: true })
    expect(moved(aRun(), answered(says('Yes.', { input: 95, output: 2 }))).writes.ledger).toMatchObject({
      suspect: false,
    })
  })

  it('Q1 a short answer with its true usage is believed', () => {
    expect(moved(aRun(), answered(says('Yes.', { input: 95, output: 2 }))).writes.ledger).toMatchObject({
      outputTokens: 2,
      known: true,
    })
  })
})

describe('limits of a run', () => {
  const alwaysCalls = (run: Run, n: number): Run => after(run, asked(aCall(0, {}, `call ${n}`)), settles([0, ok()]))

  it.each([1, 3])('B1 BR-125 a limit of %i model calls gives exactly that many, and a reason', (steps) => {
    let run = aRun({ limits: limits({ steps }) })
    let calls = 0
    while (run.status === 'running') run = alwaysCalls(run, calls++)
    expect(calls).toBe(steps)
    expect(run).toMatchObject({ status: 'failed', end: 'step_limit', reserved: none })
  })

  it('B1 a turn with 200 calls and a limit of 4 executes none, and answers each', () => {
    const calls = Array.from({ length: 200 }, (_, i) => aCall(i))
    const { run, writes } = moved(aRun({ limits: limits({ toolCalls: 4 }) }), asked(...calls))
    expect(run).toMatchObject({ end: 'tool_call_limit', used: { toolCalls: 0 } })
    expect(writes.intents.every((c) => c.status === 'settled' && c.outcome?.ok === false)).toBe(true)
    expect(writes.messages.slice(1).map((m) => m.position)).toEqual(calls.map((c) => c.position))
  })

  it('B1 the limit of tool calls is met exactly and never passed', () => {
    const four = aRun({ limits: limits({ toolCalls: 4 }) })
    expect(after(four, asked(aCall(0), aCall(1), aCall(2), aCall(3)))).toMatchObject({
      status: 'running',
      used: { toolCalls: 4 },
    })
    expect(after(alwaysCalls(four, 9), asked(aCall(0), aCall(1), aCall(2), aCall(3))).end).toBe('tool_call_limit')
    expect(after(aRun({ limits: limits({ toolCalls: 0 }) }), asked(aCall(0))).end).toBe('tool_call_limit')
  })

  it('B1 refused calls count as calls', () => {
    const no = aCall(0, {
      approval: 'refused',
      status: 'settled',
      outcome: { ok: false, error: { code: 'unknown_tool', message: '', retryable: false, hint: '' } },
    })
    expect(after(aRun(), answered(asks([no]), [no])).used.toolCalls).toBe(1)
  })
})
