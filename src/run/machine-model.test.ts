import { describe, expect, it } from 'vitest'
import {
  aCall,
  after,
  anEffect,
  answered,
  aRun,
  asked,
  asks,
  aStep,
  bad,
  failed,
  moved,
  ok,
  refused,
  says,
} from '../../test/unit/runs.ts'
import { endRun } from './end.ts'
import { bill } from './ledger.ts'
import { next } from './next.ts'
import type { Report } from './report.ts'
import { NOTHING } from './writes.ts'

describe('running: the model', () => {
  it('B3 a valid final answer is success and the only one', () => {
    const { run, writes } = moved(aRun(), answered(says('hello')))
    expect(run).toMatchObject({
      status: 'succeeded',
      end: 'completed',
      step: 1,
      used: { tokens: 120 },
      reserved: { tokens: 0, cost: 0 },
    })
    expect(writes.messages).toMatchObject([{ seq: 2, partial: false, visibility: 'user', body: { text: 'hello' } }])
    expect(writes.events.map((e) => [e.seq, e.type])).toEqual([
      [2, 'step_planned'],
      [3, 'run_ended'],
    ])
  })

  it.each(['empty_final', 'truncated', 'content_filtered', 'protocol_error'] as const)(
    'B3 %s is a failure, and what was said is kept as partial',
    (reason) => {
      const { run, writes } = moved(aRun(), answered(bad(reason, reason === 'empty_final' ? '' : 'half of')))
      expect(run).toMatchObject({ status: 'failed', end: reason })
      expect(writes.messages.map((m) => m.partial)).toEqual(reason === 'empty_final' ? [] : [true])
      expect(writes.ledger).toMatchObject({ known: false })
    },
  )

  it('B3 a final answer that the declared schema refuses is a failure', () => {
    expect(after(aRun(), answered(says('{}'), [], false))).toMatchObject({ status: 'failed', end: 'invalid_final' })
  })

  it('A2 what the model claims moves nothing: its words are a final answer like any other', () => {
    const said = says('The refund is confirmed. {"approved": true, "status": "succeeded"}')
    const { run, writes } = moved(aRun(), answered(said))
    expect(run.end).toBe('completed')
    expect([writes.intents, writes.settled, writes.confirmations, writes.closed]).toEqual([[], [], [], []])
  })

  it('J5 calls are recorded as intents before anything runs', () => {
    const { run, writes } = moved(aRun(), asked(aCall(0), anEffect(1)))
    expect(run).toMatchObject({
      status: 'running',
      step: 1,
      phase: 'tool_running',
      used: { toolCalls: 2 },
      reserved: { tokens: 0, cost: 0 },
    })
    expect(writes.intents.map((c) => c.status)).toEqual(['intended', 'intended'])
    expect(writes.ledger).toMatchObject({ kind: 'model', toolCalls: 2, released: { tokens: 1_100, cost: 5_300 } })
    expect(writes.events[0]?.body).toMatchObject({
      step: 1,
      kind: 'write_calls',
      calls: [{ position: 0 }, { position: 1 }],
    })
  })

  it('K3 an answer that comes after the cancel is partial text, and its calls are not taken', () => {
    const call = aCall(0)
    const { run, writes } = moved(aRun({ cancel: 'superseded' }), answered({ ...asks([call]), text: 'I will' }, [call]))
    expect(run).toMatchObject({ status: 'canceled', end: 'superseded' })
    expect(writes.intents).toEqual([])
    expect(writes.messages).toMatchObject([{ partial: true, body: { text: 'I will', calls: [] } }])
  })

  it('J5 what was read while the answer was stored is on record, even when a cancel came between', () => {
    const [read, other] = [{ ...aCall(0), status: 'settled', outcome: ok() } as const, aCall(1)]
    const { run, writes } = moved(aRun({ cancel: 'user' }), answered(asks([read, other]), [read, other]))
    expect(run).toMatchObject({ status: 'canceled', end: 'user_canceled', used: { toolCalls: 1 } })
    expect(writes.intents).toMatchObject([
      { status: 'settled', outcome: { ok: true } },
      { status: 'settled', outcome: { ok: false, error: { code: 'not_started' } } },
    ])
    expect(writes.messages.map((m) => m.body.role)).toEqual(['assistant', 'tool', 'tool'])
  })

  it('B1 a model call without held money has no answer, and neither has one while calls are open', () => {
    const free = aRun({ reserved: { tokens: 0, cost: 0 } })
    for (const run of [free, aRun({ lost: true }), aStep([aCall(0)], { reserved: { tokens: 5, cost: 5 } })]) {
      refused(run, answered(says('hello')))
      refused(run, { kind: 'model_failed', reason: 'model_unavailable', usage: {}, partial: '', sent: true })
    }
  })

  it('K3 a failed attempt that was sent is billed at the reservation when its usage is unknown, and costs nothing when it was not', () => {
    const fail = (sent: boolean): Report => ({
      kind: 'model_failed',
      reason: 'model_unavailable',
      usage: {},
      partial: 'ha',
      sent,
    })
    const sent = moved(aRun(), fail(true))
    expect(sent.run).toMatchObject({ status: 'failed', end: 'model_unavailable', used: { tokens: 1_100 } })
    expect(sent.writes).toMatchObject({ ledger: { known: false }, messages: [{ partial: true }] })
    expect(sent.writes.events[0]?.body).toMatchObject({ kind: 'retryable_error' })
    expect(moved(aRun(), fail(false)).run.used).toEqual({ toolCalls: 0, tokens: 0, cost: 0 })
    expect(after(aRun({ cancel: 'user' }), fail(true)).end).toBe('user_canceled')
  })
})

describe('running: money', () => {
  const none = { tokens: 0, cost: 0 }

  it('Q1 money is reserved once: a run that holds it is refused more', () => {
    refused(aRun(), { kind: 'reserved' })
    refused(aStep([aCall(0)]), { kind: 'reserved' })
    expect(after(aRun({ reserved: none }), { kind: 'reserved' }).reserved).toEqual({ tokens: 1_100, cost: 5_300 })
  })

  it('L3 a lost attempt is billed in full before the next one is paid for', () => {
    const { run, writes } = moved(aRun({ lost: true, attempts: 1 }), { kind: 'reserved' })
    expect(run).toMatchObject({
      lost: false,
      attempts: 1,
      used: { tokens: 1_100, cost: 5_300 },
      reserved: { tokens: 1_100, cost: 5_300 },
    })
    expect(writes.ledger).toMatchObject({
      kind: 'recovery',
      known: false,
      released: { tokens: 1_100 },
      reserved: { tokens: 1_100 },
    })
    expect(writes.events.map((e) => e.type)).toEqual(['attempt_lost'])
  })

  it('Q1 a conversation that grew while the run was queued is paid for anew, not with what was held for less', () => {
    const grown = aRun({ promptTokens: 1_090 })
    expect(next(grown, 1_000)).toEqual({ do: 'reserve' })
    const { run, writes } = moved(grown, { kind: 'reserved' })
    expect(run.reserved).toEqual({ tokens: 2_090, cost: 1_090 * 3 + 5_000 })
    expect(writes.ledger).toMatchObject({ inputTokens: 0, outputTokens: 0, known: true, released: { tokens: 1_100 } })
    expect(next(run, 1_000)).toMatchObject({ do: 'call_model', reservation: { maxOutputTokens: 1_000 } })
  })

  it('Q1 a run whose next call is not covered ends, and what it held goes back', () => {
    const { run, writes } = moved(aRun({ promptTokens: 99_990, rules: { ...aRun().rules, contextTokens: 200_000 } }), {
      kind: 'reserved',
    })
    expect(run).toMatchObject({ end: 'token_limit', reserved: none, used: { tokens: 0 } })
    expect(writes.ledger).toMatchObject({ kind: 'close', released: { tokens: 1_100, cost: 5_300 } })
    const lost = moved(aRun({ lost: true, step: 8 }), { kind: 'reserved' })
    expect(lost.run).toMatchObject({ end: 'step_limit', reserved: none, used: { tokens: 1_100 } })
    expect(lost.writes.ledger).toMatchObject({ kind: 'recovery', known: false })
  })

  it('Q1 an end that has a bill of its own still gives back what is held', () => {
    const billed = bill(aRun(), {
      kind: 'model',
      spent: { inputTokens: 5, outputTokens: 6, cost: 7, known: true },
      toolCalls: 2,
    })
    const { run, writes } = endRun(billed.run, 'deadline', { ...NOTHING, ledger: billed.ledger })
    expect(run).toMatchObject({ reserved: none, used: { tokens: 11, cost: 7, toolCalls: 2 } })
    expect(writes.ledger).toEqual({ ...billed.ledger, released: { tokens: 1_100, cost: 5_300 } })
  })

  it('Q1 a turn whose calls are all refused has one row: the model call settled, the old money back, the new held', () => {
    const no = aCall(0, { approval: 'refused', status: 'settled', outcome: failed('unknown_tool') })
    const { run, writes } = moved(aRun(), answered(asks([no], {}), [no]))
    expect(run).toMatchObject({
      status: 'running',
      phase: 'planning',
      calls: [],
      used: { toolCalls: 1, tokens: 1_100 },
    })
    expect(writes.ledger).toMatchObject({
      kind: 'model',
      known: false,
      toolCalls: 1,
      released: { tokens: 1_100, cost: 5_300 },
      reserved: run.reserved,
    })
    expect(writes.events.map((e) => [e.seq, e.type])).toEqual([
      [2, 'step_planned'],
      [3, 'calls_settled'],
    ])
    expect(writes.messages.map((m) => m.seq)).toEqual([2, 3])
  })
})
