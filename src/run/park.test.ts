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

it('B7 T3 a run that is told to park lies down, and none that has something to do: nobody commits in a circle', () => {
  let parked = 0
  for (const first of CALLS)
    for (const second of CALLS)
      for (const third of CALLS)
        for (const onReject of ['end', 'observe'] as const) {
          const run = aStep([first(0), second(1), third(2)])
          const told = { ...run, rules: { ...run.rules, onReject } }
          const isTold = next(told, 60_000).do === 'park'
          const isAsleep = lieDown(told).run.status === 'waiting_confirmation'
          if (isTold) parked += 1
          // what nobody can tell rests before anything else is looked at
          const isUnknown = told.calls.some((c) => c.status === 'unknown')
          if (isTold !== isAsleep && !isUnknown) expect({ calls: told.calls, isTold }).toEqual({ isTold: isAsleep })
        }
  expect(parked).toBeGreaterThan(1_000)
})
