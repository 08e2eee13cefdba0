import { describe, expect, it } from 'vitest'
import {
  aConfirmation,
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
  plans,
  refused,
  says,
  settles,
} from '../../test/unit/runs.ts'
import { endRun } from './end.ts'
import { bill } from './ledger.ts'
import { next } from './next.ts'
import type { Report } from './report.ts'
import { sessionState, type Call, type Run } from './state.ts'
import { NOTHING } from './writes.ts'

const waiting = (calls: readonly Call[], wait: Run['wait'] = 'confirmation'): Run =>
  aStep(calls, { status: 'waiting_confirmation', wait })
const approved = anEffect(0, { confirmation: aConfirmation('approved') })
const pending = (position = 0, leftMs?: number): Call =>
  anEffect(position, { confirmation: aConfirmation('pending', leftMs) })
const started = (position = 0): Call =>
  anEffect(position, { status: 'started', attempt: 1, startedMs: 5, confirmation: aConfirmation('consumed') })
const unknown = (position = 0): Call => ({ ...started(position), status: 'unknown' })
const done = (position = 0, outcome = ok()): Call => aCall(position, { status: 'settled', outcome })
const decide = (position: number, yes = true): Report => ({ kind: 'confirmation_decided', position, approved: yes })
const cancel: Report = { kind: 'cancel_requested', cause: 'user' }
const types = (run: Run, report: Report): string[] => moved(run, report).writes.events.map((e) => e.type)

describe('queued', () => {
  const queued = aRun({ status: 'queued' })

  it('A1 a claimed run is running', () => {
    expect(after(queued, { kind: 'claimed' })).toEqual({ ...queued, status: 'running' })
  })

  it('K2 a canceled run ends at once, and its reservation goes back', () => {
    const { run, writes } = moved(queued, cancel)
    expect(run).toMatchObject({
      status: 'canceled',
      end: 'user_canceled',
      reserved: { tokens: 0, cost: 0 },
      used: { tokens: 0 },
    })
    expect(writes.ledger).toMatchObject({ kind: 'close', released: { tokens: 1_100, cost: 5_300 }, known: true })
  })

  it('K2 the first cause of a cancellation is the one that counts', () => {
    expect(after({ ...queued, cancel: 'superseded' }, cancel)).toMatchObject({
      cancel: 'superseded',
      end: 'superseded',
    })
  })

  it('J7 a started effect of a run that lost its worker is not forgotten by a cancel', () => {
    const { run, writes } = moved(aStep([started()], { status: 'queued', attempts: 1 }), cancel)
    expect(run).toMatchObject({ status: 'queued', cancel: 'user', end: null })
    expect(writes.events.map((e) => e.type)).toEqual(['cancel_requested'])
  })

  it('J13 the second of two confirmations is decided while the first has already queued the run', () => {
    const first = after(waiting([pending(0), pending(1)]), decide(1))
    expect(first).toMatchObject({ status: 'queued', wait: null })
    expect(after(first, decide(0, false)).calls.map((c) => c.confirmation?.status)).toEqual(['rejected', 'approved'])
  })
})

describe('waiting', () => {
  it('A1 a claimed run is running and waits for nothing', () => {
    expect(after(waiting([pending()]), { kind: 'claimed' })).toMatchObject({ status: 'running', wait: null })
  })

  it('A1 a decision queues the run and moves nothing else', () => {
    const { run, writes } = moved(waiting([pending(0), pending(1)]), decide(1))
    expect(run).toMatchObject({ status: 'queued', wait: null })
    expect(run.calls.map((c) => c.confirmation?.status)).toEqual(['pending', 'approved'])
    expect(writes.events).toEqual([])
  })

  it.each(['unknown_effect', 'question', 'timer', 'external'] as const)(
    'A1 approving refuses a run that waits for %s',
    (wait) => {
      refused(waiting([pending()], wait), decide(0))
    },
  )

  it.each(['approved', 'rejected', 'expired', 'superseded', 'consumed'] as const)(
    'J2 a confirmation that is %s is not decided again',
    (status) => {
      refused(waiting([anEffect(0, { confirmation: aConfirmation(status) }), pending(1)]), decide(0, false))
    },
  )

  it('J11 a confirmation is not decided after its time', () => {
    refused(waiting([pending(0, 0)]), decide(0))
  })

  it('K3 a canceled run takes no decision', () => {
    refused({ ...waiting([pending()]), cancel: 'superseded' }, decide(0))
  })

  it('J12 a plan that its resource has left behind is closed, and the run goes on to tell the model', () => {
    const { run, writes } = moved(waiting([pending(0), pending(1)]), { kind: 'plan_stale', position: 0 })
    expect(run).toMatchObject({ status: 'queued', wait: null, calls: [{ confirmation: { status: 'superseded' } }, {}] })
    expect(writes).toMatchObject({ closed: [{ status: 'superseded' }], events: [{ type: 'confirmation_closed' }] })
    expect(next(after(run, { kind: 'claimed' }), 1_000)).toMatchObject({ do: 'refuse', code: 'stale_plan' })
    refused(waiting([approved]), { kind: 'plan_stale', position: 0 })
    refused(waiting([pending()], 'unknown_effect'), { kind: 'plan_stale', position: 0 })
  })

  it('J4 an operator resolves an unknown effect, and the run goes on from the outcome', () => {
    const { run, writes } = moved(waiting([unknown()], 'unknown_effect'), {
      kind: 'unknown_resolved',
      position: 0,
      outcome: ok(),
    })
    expect(run).toMatchObject({ status: 'queued', wait: null, calls: [{ status: 'settled', outcome: ok() }] })
    expect(writes.settled).toEqual([{ position: 0, status: 'settled', outcome: ok() }])
    expect(writes.events.map((e) => e.type)).toEqual(['effect_resolved'])
  })

  it('J4 only an unknown effect is resolved: neither a sibling nor a call that does not exist', () => {
    for (const position of [1, 2, 7])
      refused(waiting([unknown(0), pending(1), done(2)], 'unknown_effect'), {
        kind: 'unknown_resolved',
        position,
        outcome: ok(),
      })
    refused(waiting([pending()]), { kind: 'unknown_resolved', position: 0, outcome: ok() })
  })

  it('J2 a canceled run closes its open confirmations and answers its calls', () => {
    const { run, writes } = moved(waiting([done(0), pending(1)]), cancel)
    expect(run).toMatchObject({ status: 'canceled', end: 'user_canceled', calls: [], wait: null })
    expect(writes.closed).toEqual([{ id: 'cnf_pending', status: 'superseded' }])
    expect(writes.settled.map((s) => s.position)).toEqual([1])
    expect(writes.messages.map((m) => m.position)).toEqual([0, 1])
    expect(writes.events.map((e) => e.type)).toEqual(['confirmation_closed', 'run_ended'])
  })

  it('J7 a cancel waits with the run for what nobody can tell, and is taken once', () => {
    const { run, writes } = moved(waiting([unknown()], 'unknown_effect'), cancel)
    expect(run).toMatchObject({ status: 'waiting_confirmation', wait: 'unknown_effect', cancel: 'user' })
    expect(writes).toMatchObject({ dueMs: null, events: [{ type: 'cancel_requested' }] })
    refused(run, cancel)
  })

  it('K2 a cancel wakes a run that waits for a timer', () => {
    expect(after(waiting([started()], 'timer'), cancel)).toMatchObject({ status: 'queued', wait: null, cancel: 'user' })
  })
})

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

describe('running: the end', () => {
  it('J2 a rejected call says so, an expired one too, and the others were not started', () => {
    const codes = (calls: readonly Call[], reason: 'confirmation_rejected' | 'confirmation_expired') =>
      moved(aStep(calls), { kind: 'ended', reason }).writes.settled.map(
        (s) => s.outcome && !s.outcome.ok && s.outcome.error.code,
      )
    expect(
      codes([anEffect(0, { confirmation: aConfirmation('rejected') }), pending(1), aCall(2)], 'confirmation_rejected'),
    ).toEqual(['confirmation_rejected', 'not_started', 'not_started'])
    expect(codes([pending(0), aCall(1)], 'confirmation_expired')).toEqual(['confirmation_expired', 'not_started'])
    expect(moved(aStep([pending(0)]), { kind: 'ended', reason: 'confirmation_expired' }).writes.closed).toEqual([
      { id: 'cnf_pending', status: 'expired' },
    ])
  })

  it('B3 success is never claimed', () => {
    for (const reason of ['completed', 'handed_over', 'insufficient_context'] as const)
      refused(aRun(), { kind: 'ended', reason })
  })

  it('B4 a hand-over succeeds, a declared error ends the run, and a cancel comes before both', () => {
    const over = aStep([aCall(0, { ends: 'handed_over' })])
    expect(after(over, settles([0, ok()]))).toMatchObject({ status: 'succeeded', end: 'handed_over' })
    expect(after(over, settles([0, failed()]))).toMatchObject({ status: 'running' })
    expect(after(aStep([aCall(0, { stops: ['tool_failed'] })]), settles([0, failed()]))).toMatchObject({
      end: 'stopped_by_tool',
    })
    expect(after({ ...over, cancel: 'user' }, settles([0, ok()]))).toMatchObject({ status: 'running', calls: [] })
  })

  it('B4 a final run accepts nothing', () => {
    for (const status of ['succeeded', 'failed', 'canceled'] as const)
      for (const report of [
        { kind: 'claimed' },
        cancel,
        { kind: 'ended', reason: 'deadline' },
        answered(says('x')),
      ] as const)
        refused(aRun({ status, end: 'completed' }), report)
  })

  it('K2 a running run is marked once', () => {
    expect(after(aRun(), cancel)).toEqual({ ...aRun(), cancel: 'user', eventSeq: 2 })
    refused(aRun({ cancel: 'user' }), cancel)
  })

  it('L4 a lost worker is counted, and its model call is taken for made', () => {
    expect(after(aRun(), { kind: 'lease_lost' })).toMatchObject({ status: 'queued', attempts: 1, lost: true })
    expect(after(aStep([aCall(0)]), { kind: 'lease_lost' })).toMatchObject({ attempts: 1, lost: false })
  })

  it.each<[Report, Run]>([
    [{ kind: 'claimed' }, aRun()],
    [{ kind: 'unknown_resolved', position: 0, outcome: ok() }, aStep([unknown()])],
    [decide(0), aStep([approved])],
  ])('A1 a running run refuses %o', (report, run) => refused(run, report))

  it('A1 an idle run refuses what only a worker can report', () => {
    const reports: Report[] = [
      { kind: 'reserved' },
      answered(says('x')),
      { kind: 'model_failed', reason: 'deadline', usage: {}, partial: '', sent: true },
      plans(0),
      settles([0, ok()]),
      { kind: 'effect_started', position: 0 },
      { kind: 'effect_unknown', position: 0 },
      { kind: 'probe_later', ms: 1 },
      { kind: 'parked' },
      { kind: 'lease_lost' },
      { kind: 'ended', reason: 'deadline' },
    ]
    for (const report of reports)
      for (const run of [aRun({ status: 'queued' }), waiting([pending()])]) refused(run, report)
    refused(aRun({ status: 'queued' }), { kind: 'unknown_resolved', position: 0, outcome: ok() })
  })
})

describe('a step and a conversation', () => {
  it('A11 a step is one of four kinds, and each leads to one state', () => {
    const kind = (report: Report) => moved(aRun(), report).writes.events[0]?.body.kind
    expect(kind(answered(says('hi')))).toBe('final')
    expect(kind(asked(aCall(0)))).toBe('read_calls')
    expect(kind(asked(aCall(0), anEffect(1)))).toBe('write_calls')
    expect(kind({ kind: 'model_failed', reason: 'model_unavailable', usage: {}, partial: '', sent: true })).toBe(
      'retryable_error',
    )
    expect(types(aRun(), asked(aCall(0)))).toEqual(['step_planned'])
  })

  it('A12 a conversation is what its runs are', () => {
    const of = (...runs: readonly Partial<Run>[]) =>
      sessionState(
        false,
        runs.map((r) => aRun(r)),
      )
    expect(of()).toBe('idle')
    expect(of({ status: 'succeeded' }, { status: 'failed' }, { status: 'canceled' })).toBe('idle')
    expect(of({ status: 'queued' })).toBe('planning')
    expect(of({ status: 'running' })).toBe('planning')
    expect(of({ status: 'running', phase: 'tool_running' }, { status: 'queued' })).toBe('tool_running')
    expect(of({ status: 'waiting_confirmation' })).toBe('waiting_user')
    expect(of({ status: 'waiting_confirmation' }, { status: 'queued' })).toBe('planning')
    expect(sessionState(true, [aRun()])).toBe('terminated')
  })
})
