import { describe, expect, it } from 'vitest'
import {
  aConfirmation,
  aCall,
  after,
  anEffect,
  answered,
  aRun,
  asked,
  aStep,
  failed,
  moved,
  ok,
  plans,
  refused,
  says,
  settles,
} from '../../test/unit/runs.ts'
import { next } from './next.ts'
import type { Report } from './report.ts'
import { sessionState, type Call, type Run } from './state.ts'

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

  it('K2 an end that was decided before the stop was heard is the end of the stop', () => {
    for (const reason of ['confirmation_rejected', 'deadline', 'attempts_exhausted'] as const)
      expect(after({ ...aStep([pending(0)]), cancel: 'user' }, { kind: 'ended', reason })).toMatchObject({
        status: 'canceled',
        end: 'user_canceled',
      })
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

  it('P6 a polite hand-back counts no attempt; what was surely not asked is not billed, and what may have been is', () => {
    const fresh = aRun()
    const unasked = moved(fresh, { kind: 'handed_back', asked: false })
    expect(unasked.run).toMatchObject({
      status: 'queued',
      attempts: 0,
      used: fresh.used,
      reserved: { tokens: 0, cost: 0 },
    })
    expect(unasked.writes.ledger).toMatchObject({ inputTokens: 0, outputTokens: 0, cost: 0, released: fresh.reserved })
    expect(unasked.writes.events).toEqual([])
    const asked = moved(fresh, { kind: 'handed_back', asked: true })
    expect(asked.run).toMatchObject({
      attempts: 0,
      used: { tokens: 1_100, cost: 5_300 },
      reserved: { tokens: 0, cost: 0 },
    })
    expect(asked.writes.ledger).toMatchObject({ known: false, released: fresh.reserved })
    expect(asked.writes.events.map((e) => e.type)).toEqual(['attempt_lost'])
    // an earlier worker was lost, and nobody has billed its call yet
    expect(moved(aRun({ attempts: 1, lost: true }), { kind: 'handed_back', asked: false }).run.used.tokens).toBe(1_100)
    // in the middle of a step no money is held, and its calls stay what they are
    const open = aStep([aCall(0), anEffect(1, { status: 'started', attempt: 1 })])
    expect(moved(open, { kind: 'handed_back', asked: false })).toMatchObject({
      run: { status: 'queued', calls: open.calls },
      writes: { ledger: null },
    })
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
      { kind: 'handed_back', asked: false },
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
