import { describe, expect, it } from 'vitest'
import { aConfirmation, aCall, anEffect, aRun, aStep, failed, ok } from '../../test/unit/runs.ts'
import { next } from './next.ts'
import type { Call, Run } from './state.ts'

const LEFT = 60_000
const none = { tokens: 0, cost: 0 }
const started = anEffect(0, { status: 'started', attempt: 1 })
const unknown = anEffect(0, { status: 'unknown', attempt: 1 })
const approved = (position: number): Call => anEffect(position, { confirmation: aConfirmation('approved') })
const withStatus = (
  position: number,
  status: 'pending' | 'rejected' | 'expired' | 'superseded',
  leftMs?: number,
): Call => anEffect(position, { confirmation: aConfirmation(status, leftMs) })

describe('what to do now', () => {
  it.each<[string, Run, number, unknown]>([
    [
      'B1 a run with held money asks the model',
      aRun(),
      LEFT,
      { do: 'call_model', reservation: { tokens: 1_100, cost: 5_300, maxOutputTokens: 1_000 } },
    ],
    ['B1 a run without money reserves first', aRun({ reserved: none }), LEFT, { do: 'reserve' }],
    ['B1 money of a lost attempt is not spent again', aRun({ lost: true, attempts: 1 }), LEFT, { do: 'reserve' }],
    ['B1 a canceled run asks nobody', aRun({ cancel: 'disconnect' }), LEFT, { do: 'end', reason: 'disconnected' }],
    ['B1 a run whose time is over asks nobody', aRun(), 0, { do: 'end', reason: 'deadline' }],
    ['B1 the last step was the last', aRun({ step: 8 }), LEFT, { do: 'end', reason: 'step_limit' }],
    [
      'B1 tokens of a lost attempt count as spent',
      aRun({ lost: true, reserved: { tokens: 99_900, cost: 1 } }),
      LEFT,
      { do: 'end', reason: 'token_limit' },
    ],
    [
      'B1 money of a lost attempt counts as spent',
      aRun({ lost: true, reserved: { tokens: 10, cost: 999_999_700 } }),
      LEFT,
      { do: 'end', reason: 'cost_limit' },
    ],
    [
      'L4 as many lost workers as the limit are enough',
      aRun({ attempts: 3 }),
      LEFT,
      { do: 'end', reason: 'attempts_exhausted' },
    ],
    ['L4 one less is not', aRun({ attempts: 2 }), LEFT, { do: 'call_model' }],
    [
      'K2 a cancel comes before every end of our own',
      aRun({ cancel: 'operator', attempts: 9 }),
      0,
      { do: 'end', reason: 'operator_canceled' },
    ],
    ['A1 a run that nobody drives rests', aRun({ status: 'queued' }), LEFT, { do: 'rest' }],
    [
      'J4 a started effect is looked after before anything else',
      aStep([started, aCall(1)], { cancel: 'user' }),
      0,
      { do: 'recover', call: started },
    ],
    [
      'L4 a started effect that costs every worker its life is left to people',
      aStep([started], { attempts: 3 }),
      LEFT,
      { do: 'give_up', call: started },
    ],
    [
      'J4 beside an unknown effect nothing starts',
      aStep([unknown, approved(1), aCall(2)], { cancel: 'user' }),
      0,
      { do: 'park' },
    ],
    [
      'J7 what has not started when the run is canceled never starts',
      aStep([approved(0)], { cancel: 'user' }),
      LEFT,
      { do: 'end', reason: 'user_canceled' },
    ],
    ['J11 an approval does not outlive the run', aStep([approved(0)]), 0, { do: 'end', reason: 'deadline' }],
    [
      'I7 reads run together, before anybody is asked',
      aStep([anEffect(0), aCall(1), aCall(2)]),
      LEFT,
      { do: 'run_reads', calls: [aCall(1), aCall(2)] },
    ],
    ['I7 effects start one at a time', aStep([approved(0), approved(1)]), LEFT, { do: 'start', call: approved(0) }],
    [
      'J13 an approved call does not wait for its sibling',
      aStep([withStatus(0, 'pending'), approved(1)]),
      LEFT,
      { do: 'start', call: approved(1) },
    ],
    [
      'J1 all open effects are planned together',
      aStep([anEffect(0), anEffect(1)]),
      LEFT,
      { do: 'plan', calls: [anEffect(0), anEffect(1)] },
    ],
    [
      'J13 a run with questions to people waits',
      aStep([withStatus(0, 'pending'), withStatus(1, 'pending')]),
      LEFT,
      { do: 'park' },
    ],
    [
      'J11 a question whose time is over ends the run',
      aStep([withStatus(0, 'pending'), withStatus(1, 'pending', 0)]),
      LEFT,
      { do: 'end', reason: 'confirmation_expired' },
    ],
    [
      'J11 an approval that was not used in time ends the run',
      aStep([withStatus(0, 'expired')]),
      LEFT,
      { do: 'end', reason: 'confirmation_expired' },
    ],
    [
      'J2 a rejection is told to the model',
      aStep([withStatus(0, 'rejected'), aCall(1)]),
      LEFT,
      { do: 'refuse', code: 'confirmation_rejected' },
    ],
    [
      'J12 a superseded plan is told to the model',
      aStep([withStatus(0, 'superseded')]),
      LEFT,
      { do: 'refuse', code: 'stale_plan' },
    ],
    [
      'J13 the last settled call closes the step',
      aStep([aCall(0, { status: 'settled', outcome: ok() })]),
      LEFT,
      { do: 'finish_step' },
    ],
  ])('%s', (_, run, leftMs, action) => {
    expect(next(run, leftMs)).toMatchObject(action as object)
  })

  it('J2 where the agent says so, a rejection ends the run before a sibling starts', () => {
    const run = aStep([withStatus(0, 'rejected'), approved(1)])
    expect(next({ ...run, rules: { ...run.rules, onReject: 'end' } }, LEFT)).toEqual({
      do: 'end',
      reason: 'confirmation_rejected',
    })
  })

  it('I1 after an error that is declared to end the run no sibling starts', () => {
    const stopped = anEffect(0, { status: 'settled', outcome: failed('conflict'), stops: ['conflict'] })
    expect(next(aStep([stopped, approved(1)]), LEFT)).toEqual({ do: 'end', reason: 'stopped_by_tool' })
    expect(next(aStep([{ ...stopped, stops: [] }, approved(1)]), LEFT)).toMatchObject({ do: 'start' })
  })

  it('Q1 what is held covers the call that it pays, whatever the release says now', () => {
    const run = aRun()
    const rules = (with_: Partial<Run['rules']>): Run => ({ ...run, rules: { ...run.rules, ...with_ } })
    expect(next(rules({ maxOutputTokens: 200 }), LEFT)).toMatchObject({
      reservation: { maxOutputTokens: 200, tokens: 1_100 },
    })
    expect(next(rules({ contextTokens: 600 }), LEFT)).toMatchObject({ reservation: { maxOutputTokens: 500 } })
    expect(next(rules({ price: { inputCentsPerMillion: 30, outputCentsPerMillion: 50 } }), LEFT)).toEqual({
      do: 'reserve',
    })
  })
})
