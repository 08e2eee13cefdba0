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
import type { Report } from './report.ts'
import type { Call, Run } from './state.ts'

const approved = anEffect(0, { confirmation: aConfirmation('approved') })
const pending = (position = 0, leftMs?: number): Call =>
  anEffect(position, { confirmation: aConfirmation('pending', leftMs) })
const started = (position = 0): Call =>
  anEffect(position, { status: 'started', attempt: 1, startedMs: 5, confirmation: aConfirmation('consumed') })
const unknown = (position = 0): Call => ({ ...started(position), status: 'unknown' })
const done = (position = 0, outcome = ok()): Call => aCall(position, { status: 'settled', outcome })

describe('running: calls', () => {
  it('I7 results are told in call order, whatever order they came in', () => {
    const run = after(aStep([aCall(0), aCall(1), aCall(2)]), settles([2, ok('c')], [0, ok('a')]))
    expect(run).toMatchObject({ status: 'running', phase: 'tool_running' })
    const { writes } = moved(run, settles([1, failed()]))
    expect(writes.messages.map((m) => [m.seq, m.position])).toEqual([
      [3, 0],
      [4, 1],
      [5, 2],
    ])
    expect(writes.ledger).toMatchObject({ kind: 'tools', toolCalls: 0 })
  })

  it('I9 what tools said makes the run untrusted from there on, also when the run ends with it', () => {
    const read = aStep([done(0)])
    for (const run of [after(read, settles()), after(read, { kind: 'ended', reason: 'deadline' })])
      expect(run).toMatchObject({ integrity: 'untrusted', watermarkFrom: '1/0' })
    expect(after({ ...read, watermarkFrom: '0/3' }, settles()).watermarkFrom).toBe('0/3')
    expect(after(aRun(), answered(says('hi')))).toMatchObject({ integrity: 'user', watermarkFrom: null })
  })

  it('J13 a settled call is never settled again, and one that does not exist never', () => {
    for (const report of [settles([0, ok()]), settles([9, ok()]), settles([1, ok()], [1, failed()])])
      refused(aStep([done(0), aCall(1)]), report)
    refused(aStep([unknown(0), aCall(1)]), settles([0, ok()]))
    refused(aStep([unknown(0), aCall(1)]), settles())
    refused(aRun(), settles())
  })

  it('J5 an effect that was not started cannot have succeeded', () => {
    refused(aStep([approved]), settles([0, ok()]))
    expect(moved(aStep([approved]), settles([0, failed('stale_plan')])).writes.closed).toEqual([
      { id: 'cnf_approved', status: 'superseded' },
    ])
  })

  it('J1 a plan is asked for with its exact call, and the run waits for people', () => {
    const { run, writes } = moved(aStep([anEffect(0)]), plans(0))
    expect(run).toMatchObject({
      status: 'waiting_confirmation',
      wait: 'confirmation',
      calls: [{ confirmation: { id: 'cnf_0', status: 'pending', resourceVersion: 'v1' } }],
    })
    expect(writes).toMatchObject({
      dueMs: 300_000,
      confirmations: [{ id: 'cnf_0', resourceVersion: 'v1', call: { canonical: '{}' } }],
    })
    expect(writes.events.map((e) => [e.seq, e.type])).toEqual([
      [3, 'confirmation_requested'],
      [4, 'run_parked'],
    ])
  })

  it('J1 no call has two plans, and none is made for what is read, automatic, settled or refused', () => {
    const auto = anEffect(1, { level: 'write', approval: 'auto' })
    for (const call of [pending(0), aCall(0), done(0), started(0)]) refused(aStep([call, auto]), plans(0))
    refused(aStep([anEffect(0), auto]), plans(0, 1))
    refused(aStep([anEffect(0)]), plans())
  })

  it('J13 a plan that fails answers its own call, and the siblings are asked for', () => {
    const report: Report = { ...plans(0), failed: [{ position: 1, outcome: failed() }] } as Report
    const { run, writes } = moved(aStep([anEffect(0), anEffect(1)]), report)
    expect(run).toMatchObject({
      status: 'running',
      calls: [{ confirmation: { status: 'pending' } }, { status: 'settled' }],
    })
    expect(writes.events.map((e) => [e.seq, e.type])).toEqual([
      [3, 'confirmation_requested'],
      [4, 'calls_settled'],
    ])
    expect(after(run, { kind: 'parked' })).toMatchObject({ status: 'waiting_confirmation', wait: 'confirmation' })
  })

  it('K3 nobody is asked about a run that was canceled while it was planned', () => {
    const { run, writes } = moved(aStep([anEffect(0)], { cancel: 'user' }), plans(0))
    expect(run).toMatchObject({ status: 'canceled', end: 'user_canceled' })
    expect(writes.confirmations).toEqual([])
  })

  it('J11 a decision that comes between the last look and the parking is not slept over', () => {
    expect(after(aStep([approved, pending(1)]), { kind: 'parked' })).toMatchObject({ status: 'running', wait: null })
    expect(after(aStep([pending(0)], { cancel: 'user' }), { kind: 'parked' })).toMatchObject({ status: 'running' })
    expect(after(aStep([pending(0, 9), pending(1, 5)]), { kind: 'parked' })).toMatchObject({ wait: 'confirmation' })
    expect(moved(aStep([pending(0, 9), pending(1, 5)]), { kind: 'parked' }).writes.dueMs).toBe(5)
  })

  it('A1 a run without an open call has nothing to wait for', () => {
    for (const run of [aRun(), aStep([done(0)])]) refused(run, { kind: 'parked' })
    refused(aStep([pending()]), { kind: 'probe_later', ms: 5 })
    expect(moved(aStep([started()]), { kind: 'probe_later', ms: 5 })).toMatchObject({
      run: { wait: 'timer' },
      writes: { dueMs: 5 },
    })
  })
})

describe('running: effects', () => {
  const start = (position = 0): Report => ({ kind: 'effect_started', position })

  it('J1 an approved effect is started, and its confirmation is used up', () => {
    expect(after(aStep([approved]), start())).toMatchObject({
      eventSeq: 3,
      calls: [{ status: 'started', attempt: 1, startedMs: 0, confirmation: { status: 'consumed' } }],
    })
    expect(after(aStep([started()]), start()).calls[0]?.attempt).toBe(2)
    expect(after(aStep([anEffect(0, { level: 'write', approval: 'auto' })]), start()).calls[0]?.status).toBe('started')
  })

  it.each<[string, Run]>([
    ['nobody approved', aStep([anEffect(0)])],
    ['people are still asked about', aStep([pending(0)])],
    ['was rejected', aStep([anEffect(0, { confirmation: aConfirmation('rejected') })])],
    ['expired', aStep([anEffect(0, { confirmation: aConfirmation('expired') })])],
    ['was used up', aStep([anEffect(0, { confirmation: aConfirmation('consumed') })])],
    ['is settled', aStep([anEffect(0, { status: 'settled', outcome: ok() })])],
    ['the gate refused', aStep([anEffect(0, { approval: 'refused', status: 'settled', outcome: failed() })])],
    ['reads only', aStep([aCall(0)])],
    ['does not exist', aStep([])],
    ['is canceled', aStep([approved], { cancel: 'user' })],
    ['has an unknown sibling', aStep([approved, unknown(1)])],
    ['has a started sibling', aStep([approved, started(1)])],
    ['is unknown itself', aStep([unknown(0)])],
  ])('J6 a call that %s is never started', (_, run) => refused(run, start()))

  it('J4 an effect whose outcome nobody can tell parks the run', () => {
    const { run, writes } = moved(aStep([started(0), pending(1)]), { kind: 'effect_unknown', position: 0 })
    expect(run).toMatchObject({
      status: 'waiting_confirmation',
      wait: 'unknown_effect',
      calls: [{ status: 'unknown' }, { status: 'intended' }],
    })
    expect(writes).toMatchObject({ dueMs: null, settled: [{ position: 0, status: 'unknown', outcome: null }] })
    for (const position of [1, 5]) refused(aStep([started(0), pending(1)]), { kind: 'effect_unknown', position })
  })

  it('J4 no run ends beside an effect whose outcome is open', () => {
    for (const call of [started(), unknown()]) refused(aStep([call]), { kind: 'ended', reason: 'deadline' })
  })

  it('B4 the end lists what the run has done, in this step and in those before', () => {
    const effect = (position: number, outcome = ok()): Call =>
      anEffect(position, { status: 'started' }, `e${position}${outcome.ok}`)
    const first = after(aStep([effect(0), effect(1)]), settles([0, ok()]), settles([1, failed()]))
    const second = after(
      first,
      asked(aCall(0, {}, 'r'), anEffect(1, { approval: 'auto', level: 'write' }, 'w')),
      settles([0, ok()]),
      start(1),
      settles([1, ok()]),
    )
    const ended = moved(second, answered(says('done'))).writes.events.at(-1)
    expect(ended?.body.done).toEqual([
      { step: 1, position: 0, tool: 'orders.refund' },
      { step: 2, position: 1, tool: 'orders.refund' },
    ])
    const open = aStep([anEffect(0, { status: 'settled', outcome: ok() }), aCall(1)])
    expect(moved(open, { kind: 'ended', reason: 'deadline' }).writes.events.at(-1)?.body.done).toEqual([
      { step: 1, position: 0, tool: 'orders.refund' },
    ])
  })
})
