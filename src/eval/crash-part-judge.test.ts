import { describe, expect, it } from 'vitest'
import {
  type Became,
  bindingWrongs,
  raceWrongs,
  repeatWrongs,
  type Rival,
  type Said,
  shownWrongs,
  staleWrongs,
} from './crash-consent-judge.ts'
import {
  type Asked,
  type Closed,
  closedWrongs,
  type Delivered,
  endWrongs,
  type Frame,
  outboxWrongs,
  retryWrongs,
  type Spent,
  streamWrongs,
} from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import { summary } from './crash-summary.ts'
import { canonicalText, hashArguments } from '../kernel/canonical.ts'

const won: Said = { status: 200, code: '', outcome: '' }
const lost: Said = { status: 409, code: 'already_decided', outcome: 'approved' }
const paid: Became = { end: 'completed', effects: 1, told: 1 }
const nothing = (end: string): Became => ({ end, effects: 0, told: 0 })

describe('the judge of consent', () => {
  it.each<[Rival, readonly Said[], Became]>([
    ['none', [won, lost], paid],
    ['cancel', [won, lost], nothing('user_canceled')],
    ['cancel', [{ status: 412, code: 'stale_plan', outcome: '' }], nothing('user_canceled')],
    ['expiry', [{ status: 410, code: 'confirmation_expired', outcome: '' }], nothing('confirmation_expired')],
    ['message', [won, lost], paid],
  ])('J1 finds nothing wrong with approvals against %s that are as promised: %o', (rival, presses, after) =>
    expect(raceWrongs(rival, presses, after)).toEqual([]),
  )

  it.each<[string, Rival, readonly Said[], Became]>([
    ['two approvals win', 'none', [won, won], paid],
    ['it happens twice', 'none', [won, lost], { end: 'completed', effects: 2, told: 2 }],
    ['the journal says nothing of it', 'none', [won, lost], { ...paid, told: 0 }],
    ['a loser hears something else', 'none', [won, { ...lost, code: 'internal' }], paid],
    ['a loser hears of another outcome', 'none', [won, { ...lost, outcome: 'rejected' }], paid],
    ['nobody wins and it happens', 'cancel', [lost], { ...paid, end: 'user_canceled' }],
    ['nobody wins and it is completed', 'expiry', [], nothing('completed')],
    ['the winner is not what happens', 'expiry', [won], nothing('confirmation_expired')],
    ['it is agreed to and does not happen', 'message', [won, lost], nothing('completed')],
    ['it never ends', 'none', [won, lost], { ...paid, end: null }],
  ])('J1 10 sees that %s', (_, rival, presses, after) => expect(raceWrongs(rival, presses, after)).not.toEqual([]))

  it('J1 11 sees a request that was taken, a fault of ours, and an effect', () => {
    expect(bindingWrongs({ status: 403, code: 'permission_denied', outcome: '' }, 0)).toEqual([])
    expect(bindingWrongs(won, 0)).not.toEqual([])
    expect(bindingWrongs({ status: 500, code: 'internal', outcome: '' }, 0)).not.toEqual([])
    expect(bindingWrongs(null, 1)).not.toEqual([])
  })

  const repeated = {
    first: { status: 200, text: 'a' },
    again: { status: 200, text: 'a', isReplay: true },
    anew: lost,
    effects: [1, 1] as const,
  }
  it.each([
    [true, {}],
    [false, { again: { ...repeated.again, text: 'b' } }],
    [false, { again: { ...repeated.again, isReplay: false } }],
    [false, { anew: won }],
    [false, { effects: [1, 2] as const }],
  ])('J1 12 a spent confirmation is as promised: %s for %o', (isFine, more) =>
    expect(repeatWrongs({ ...repeated, ...more }).length === 0).toBe(isFine),
  )

  it('J8 13 sees that something else is shown, bound or done', () => {
    const params = { resource: 'x', units: 1 }
    const bound = { tool: 'stock.change', version: 1, tenant: 'acme' }
    const card = { ...bound, params, paramsHash: hashArguments({ ...bound, text: canonicalText(params) }) }
    expect(shownWrongs(card, params)).toEqual([])
    expect(shownWrongs({ ...card, params: { ...params, units: 2 } }, params)).not.toEqual([])
    expect(shownWrongs(card, { ...params, units: 2 })).not.toEqual([])
    expect(shownWrongs(card, null)).not.toEqual([])
    const stale = { status: 412, code: 'stale_plan', outcome: '' }
    expect(staleWrongs(stale, nothing('completed'))).toEqual([])
    expect(staleWrongs(won, nothing('completed'))).not.toEqual([])
    expect(staleWrongs(stale, paid)).not.toEqual([])
  })
})

const message = (seq: number, run = 'r', id = `${run}${seq}`) => ({ run, seq, id })
const delivered: Delivered = {
  runs: new Map([['r', [1, 2, 4]]]),
  got: [message(1), message(2), message(2), message(4)],
  repeats: true,
}
const frame = (more: Partial<Frame>): Frame => ({
  type: 'delta',
  seq: null,
  step: 1,
  attempt: 1,
  offset: 0,
  text: 'ab',
  ...more,
})
const ended = frame({ type: 'run_ended', seq: 9, text: '' })
const spent: Spent = { steps: 2, toolCalls: 2, tokens: 10, cost: 10 }
const closed: Closed = { effects: 0, end: 'completed', code: 'permission_denied', last: 0 }
const asked: Asked = { at: [0, 1_000], least: 2, most: 3, retryAfterMs: 900, ends: ['completed'], end: 'completed' }

describe('the judges of the parts', () => {
  it('J9 J5 find nothing wrong with what is as promised', () => {
    expect(outboxWrongs(delivered)).toEqual([])
    const story = [
      frame({}),
      frame({ offset: 2 }),
      frame({ attempt: 2 }),
      frame({ type: 'step_planned', seq: 3 }),
      ended,
    ]
    expect(streamWrongs(story, ['completed'], 'completed')).toEqual([])
    expect(endWrongs({ end: 'step_limit', spent, tried: 2 }, spent, ['step_limit'])).toEqual([])
    expect(closedWrongs(closed)).toEqual([])
    expect(retryWrongs(asked)).toEqual([])
  })

  it.each<[string, Partial<Delivered>]>([
    ['an event does not arrive', { got: [message(1), message(2), message(2)] }],
    ['an event overtakes', { got: [message(1), message(4), message(2), message(2)] }],
    ['a repetition has another id', { got: [message(1), message(2), message(2, 'r', 'x'), message(4)] }],
    ['two events have one id', { got: [message(1, 'r', 'x'), message(2, 'r', 'x'), message(2, 'r', 'x'), message(4)] }],
    ['nothing was repeated, so nothing was struck', { got: [message(1), message(2), message(4)] }],
    ['a run goes on behind its poison', { poison: { run: 'r', seq: 2 } }],
  ])('J9 22 sees that %s', (_, more) => expect(outboxWrongs({ ...delivered, ...more })).not.toEqual([]))

  it.each<[string, readonly Frame[], string]>([
    ['text of an older attempt', [frame({ attempt: 2 }), frame({}), ended], 'completed'],
    ['text of a step that is stored', [frame({ type: 'step_planned', seq: 1 }), frame({}), ended], 'completed'],
    ['text of an older step', [frame({ step: 2 }), frame({}), ended], 'completed'],
    ['text after the end', [ended, frame({ step: 2 })], 'completed'],
    ['a hole in the text', [frame({}), frame({ offset: 4 }), ended], 'completed'],
    [
      'an event twice',
      [frame({ type: 'run_queued', seq: 1 }), frame({ type: 'run_queued', seq: 1 }), ended],
      'completed',
    ],
    ['no end', [frame({})], 'completed'],
    ['another end', [ended], 'deadline'],
  ])('K3 15 sees %s', (_, frames, end) => expect(streamWrongs(frames, ['completed'], end)).not.toEqual([]))

  it.each<[string, Parameters<typeof endWrongs>[0]]>([
    ['a run without end', { end: null, spent, tried: 0 }],
    ['the wrong reason', { end: 'completed', spent, tried: 0 }],
    ['a step too many', { end: 'step_limit', spent: { ...spent, steps: 3 }, tried: 0 }],
    ['a token too many', { end: 'step_limit', spent: { ...spent, tokens: 11 }, tried: 0 }],
    ['a call too many that reached a tool', { end: 'step_limit', spent, tried: 3 }],
  ])('B1 17 sees %s', (_, found) => expect(endWrongs(found, spent, ['step_limit'])).not.toEqual([]))

  it.each<[string, Partial<Closed>]>([
    ['an effect without a yes', { effects: 1, last: 1 }],
    ['an effect twice when it is over', { last: 2 }],
    ['a run that hangs', { end: null }],
    ['nothing done and nobody told', { code: null }],
  ])('J1 24 sees %s', (_, more) => expect(closedWrongs({ ...closed, ...more })).not.toEqual([]))

  it.each<[string, Partial<Asked>]>([
    ['a second layer', { at: [0, 1_000, 2_000, 3_000] }],
    ['no retry at all', { at: [0] }],
    ['a wait that was cut short', { at: [0, 800] }],
    ['another end', { end: 'deadline' }],
  ])('N1 26 sees %s', (_, more) => expect(retryWrongs({ ...asked, ...more })).not.toEqual([]))

  it('J5 a part that is wrong turns its line red, and a second effect counts as one', () => {
    const of = (wrongs: readonly string[]) => summary([partOutcome(11, 'a part', wrongs)], 1).report
    expect(of([]).invariants['11']).toMatchObject({ held: true, cases: 1, broken: 0 })
    expect(of(['it happened'])).toMatchObject({ broken: 1, invariants: { 11: { held: false, cases: 1, broken: 1 } } })
    expect(of(['done twice: 2 effects'])).toMatchObject({ duplicates: 1, invariants: { 11: { held: false } } })
    expect(of([]).invariants['12']).toMatchObject({ held: null, cases: 0 })
  })
})
