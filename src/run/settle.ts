/**
 * COMMIT B and its parts: what became of the calls of a step.
 *
 * I7   results merge in call order, whatever order the calls ended in
 * J13  each call has its own confirmation; a settled sibling is never run again
 */
import { errorHash, isStop, pastOf, repeatsError } from './breaker.ts'
import { endRun } from './end.ts'
import { bill, joined } from './ledger.ts'
import { lieDown } from './park.ts'
import type { EndReason } from './reasons.ts'
import type { Report, Settlement, Waiting } from './report.ts'
import { answerCalls, closing } from './said.ts'
import { reserveNext } from './spend.ts'
import type { Call, PastCall, Run } from './state.ts'
import { type Moved, type NewEvent, NOTHING, type SettledCall, type Writes } from './writes.ts'

export function absorbSettlements(
  run: Run,
  { calls: settlements, waiting = [] }: Pick<Extract<Report, { kind: 'calls_settled' }>, 'calls' | 'waiting'>,
  before: Writes = NOTHING,
): Moved | null {
  const by = new Map(settlements.map((s) => [s.position, s.outcome]))
  const later = new Map(waiting.map((w) => [w.position, w]))
  if (new Set([...by.keys(), ...later.keys()]).size !== settlements.length + waiting.length) return null
  if (!isPossible(run, settlements, waiting)) return null
  const settledNow = run.calls.filter((c) => by.has(c.position))
  const calls = run.calls.map((c): Call => {
    const outcome = by.get(c.position)
    if (outcome) return { ...c, status: 'settled', outcome }
    const wait = later.get(c.position)
    return wait ? waitingCall(c, wait) : c
  })
  const writes: Writes = {
    ...before,
    settled: settledNow.map(
      (c): SettledCall => ({ position: c.position, status: 'settled', outcome: by.get(c.position) ?? null }),
    ),
    waiting,
    closed: closing(settledNow, 'superseded'),
  }
  const done: Run = { ...run, calls, attempts: 0 }
  if (calls.every((c) => c.status === 'settled')) return finishStep(done, writes)
  const told =
    settledNow.length > 0
      ? [
          settledEvent(
            done,
            calls.filter((c) => by.has(c.position)),
          ),
        ]
      : []
  const went =
    waiting.length > 0
      ? [
          waitingEvent(
            done,
            told.length,
            calls.filter((c) => later.has(c.position)),
          ),
        ]
      : []
  const events = [...told, ...went]
  const phase = calls.some((c) => c.status === 'waiting') ? 'awaiting_observation' : 'tool_running'
  const moved: Run = { ...done, phase, eventSeq: run.eventSeq + events.length }
  const recorded: Writes = { ...writes, events: [...writes.events, ...events] }
  // whoever waits outside holds no worker; what can still be done is done first
  return waiting.length > 0 ? lieDown(moved, recorded) : { run: moved, writes: recorded }
}

const waitingCall = (c: Call, { signal, ms }: Waiting): Call => ({
  ...c,
  status: 'waiting',
  wait: { signal, leftMs: ms, count: (c.wait?.count ?? 0) + 1, arrived: null },
})

/**
 * Each settlement is of an open call, and an effect that was never started can neither have succeeded nor wait. With
 * none, the step is closed, so no call may be open.
 */
function isPossible(run: Run, settlements: readonly Settlement[], waiting: readonly Waiting[]): boolean {
  if (settlements.length + waiting.length === 0)
    return run.calls.length > 0 && run.calls.every((c) => c.status === 'settled')
  const isOut = (position: number, ifIntended: (call: Call) => boolean): boolean => {
    const call = run.calls.find((c) => c.position === position)
    if (call?.status === 'intended') return ifIntended(call)
    return call?.status === 'started' || call?.status === 'waiting'
  }
  return (
    settlements.every(({ position, outcome }) => isOut(position, (call) => call.level === 'read' || !outcome.ok)) &&
    waiting.every(({ position }) => isOut(position, (call) => call.level === 'read'))
  )
}

/** All calls of the step have an outcome: the model is told, and the money for its next call is reserved. */
export function finishStep(run: Run, writes: Writes): Moved {
  const told = settledEvent(run, run.calls)
  const answered = answerCalls(run, run.calls)
  const earlier = run.past.slice(0, run.past.length - run.calls.length)
  const finished: Run = {
    ...answered.run,
    phase: 'planning',
    past: [...earlier, ...run.calls.map((c) => pastOf(run.step, c))],
    eventSeq: told.seq,
  }
  const recorded: Writes = {
    ...writes,
    messages: [...writes.messages, ...answered.messages],
    events: [...writes.events, told],
  }
  // the cancel mark comes before every end of our own; the next look finds it
  if (run.cancel) return { run: finished, writes: recorded }
  const stop = endOfCalls(earlier, run.calls)
  if (stop) return endRun(finished, stop, recorded)
  const wanted = reserveNext(finished)
  if ('end' in wanted) return endRun(finished, wanted.end, recorded)
  const billed = bill(finished, { kind: 'tools', reserved: wanted.amount })
  return { run: billed.run, writes: { ...recorded, ledger: joined(recorded.ledger, billed.ledger) } }
}

/** What ends the run after these calls: a hand-over, an error that the contract declares to stop, the same error again. */
function endOfCalls(earlier: readonly PastCall[], calls: readonly Call[]): EndReason | null {
  const past = [...earlier]
  for (const call of calls) {
    if (call.outcome?.ok && call.ends) return call.ends
    if (isStop(call)) return 'stopped_by_tool'
    const reason = repeatsError(past, errorHash(call), call.breaker)
    if (reason) return reason
    past.push(pastOf(0, call))
  }
  return null
}

function settledEvent(run: Run, calls: readonly Call[]): NewEvent {
  return {
    seq: run.eventSeq + 1,
    type: 'calls_settled',
    body: {
      step: run.step,
      calls: calls.map((c) => ({
        position: c.position,
        outcome: c.outcome?.ok ? 'ok' : 'error',
        ...(c.outcome && !c.outcome.ok ? { code: c.outcome.error.code } : {}),
      })),
    },
  }
}

function waitingEvent(run: Run, after: number, calls: readonly Call[]): NewEvent {
  return {
    seq: run.eventSeq + after + 1,
    type: 'calls_waiting',
    body: { step: run.step, calls: calls.map((c) => ({ position: c.position, tool: c.tool })) },
  }
}
