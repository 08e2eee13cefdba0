import { expect, it } from 'vitest'
import { aCall, aConfirmation, aStep, anEffect, failed, ok } from '../../test/unit/runs.ts'
import { next } from './next.ts'
import { lieDown } from './park.ts'
import type { Call, CallWait } from './state.ts'

const wait = (leftMs: number, arrived = false): CallWait => ({
  ...{ signal: 's', leftMs, count: 1 },
  arrived: arrived ? { body: {} } : null,
})
/** Every state in which a call of a step may be. */
const CALLS: readonly ((position: number) => Call)[] = [
  (at) => aCall(at),
  (at) => aCall(at, { status: 'waiting', wait: wait(1_000) }),
  (at) => aCall(at, { status: 'waiting', wait: wait(1_000, true) }),
  (at) => aCall(at, { status: 'settled', outcome: ok() }),
  (at) => aCall(at, { status: 'settled', outcome: failed(), stops: ['tool_failed'] }),
  (at) => anEffect(at),
  (at) => anEffect(at, { approval: 'auto' }),
  (at) => anEffect(at, { status: 'waiting', wait: wait(1_000) }),
  (at) => anEffect(at, { status: 'waiting', wait: wait(1_000, true) }),
  (at) => anEffect(at, { status: 'started', attempt: 1 }),
  (at) => anEffect(at, { status: 'unknown', attempt: 1 }),
  (at) => anEffect(at, { status: 'settled', outcome: ok() }),
  ...(['pending', 'approved', 'rejected', 'expired', 'superseded'] as const).map(
    (status) => (at: number) => anEffect(at, { confirmation: aConfirmation(status) }),
  ),
]

const STEPS = CALLS.flatMap((a) => CALLS.flatMap((b) => CALLS.map((c) => aStep([a(0), b(1), c(2)]))))

it('B7 T3 a run that is told to park lies down, and none that has something to do: nobody commits in a circle', () => {
  let parked = 0
  for (const onReject of ['end', 'observe'] as const)
    for (const step of STEPS) {
      const run = { ...step, rules: { ...step.rules, onReject } }
      const isTold = next(run, 60_000).do === 'park'
      const isAsleep = lieDown(run).run.status === 'waiting_confirmation'
      parked += Number(isTold)
      // what nobody can tell rests before anything else is looked at
      const isUnknown = run.calls.some((c) => c.status === 'unknown')
      expect(isTold === isAsleep || isUnknown ? null : { calls: run.calls, isTold }).toBeNull()
    }
  expect(parked).toBeGreaterThan(1_000)
})
