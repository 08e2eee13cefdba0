/**
 * COMMIT B and its parts: what became of the calls of a step.
 *
 * I7   results merge in call order, whatever order the calls ended in
 * J4   what nobody can tell is `unknown`, parks the run and is never repeated with a new key
 * J13  each call has its own confirmation; a settled sibling is never run again
 */
import { errorHash, isStop, pastOf, repeatsError } from './breaker.ts'
import { endRun } from './end.ts'
import { bill, joined } from './ledger.ts'
import { park } from './park.ts'
import type { EndReason } from './reasons.ts'
import type { Report, Settlement } from './report.ts'
import { answerCalls, closing } from './said.ts'
import { reserveNext } from './spend.ts'
import type { Call, PastCall, Run } from './state.ts'
import { type Moved, type NewEvent, NOTHING, type SettledCall, type Writes } from './writes.ts'

export function absorbSettlements(
  run: Run,
  settlements: readonly Settlement[],
  before: Writes = NOTHING,
): Moved | null {
  const by = new Map(settlements.map((s) => [s.position, s.outcome]))
  if (by.size !== settlements.length || !isPossible(run, settlements)) return null
  const settledNow = run.calls.filter((c) => by.has(c.position))
  const calls = run.calls.map((c): Call => {
    const outcome = by.get(c.position)
    return outcome ? { ...c, status: 'settled', outcome } : c
  })
  const writes: Writes = {
    ...before,
    settled: settledNow.map(
      (c): SettledCall => ({ position: c.position, status: 'settled', outcome: by.get(c.position) ?? null }),
    ),
    closed: closing(settledNow, 'superseded'),
  }
  const done: Run = { ...run, calls, attempts: 0 }
  if (calls.every((c) => c.status === 'settled')) return finishStep(done, writes)
  const told = settledEvent(
    done,
    calls.filter((c) => by.has(c.position)),
  )
  return {
    run: { ...done, phase: 'tool_running', eventSeq: told.seq },
    writes: { ...writes, events: [...writes.events, told] },
  }
}

/**
 * Each settlement is of an open call, and an effect that was never started cannot have succeeded. With none, the step
 * is closed, so no call may be open.
 */
function isPossible(run: Run, settlements: readonly Settlement[]): boolean {
  if (settlements.length === 0) return run.calls.length > 0 && run.calls.every((c) => c.status === 'settled')
  return settlements.every(({ position, outcome }) => {
    const call = run.calls.find((c) => c.position === position)
    if (call?.status === 'intended') return call.level === 'read' || !outcome.ok
    return call?.status === 'started'
  })
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

export function absorbUnknown(run: Run, position: number): Moved | null {
  const call = run.calls.find((c) => c.position === position)
  if (call?.status !== 'started') return null
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'effect_unknown',
    body: { step: run.step, position, tool: call.tool },
  }
  const calls = run.calls.map((c): Call => (c === call ? { ...c, status: 'unknown' } : c))
  const writes: Writes = { ...NOTHING, settled: [{ position, status: 'unknown', outcome: null }], events: [told] }
  return park({ ...run, calls, eventSeq: told.seq }, 'unknown_effect', null, writes)
}

/** An operator knows what happened: the outcome is stored, and the run goes on from it. */
export function resolveUnknown(run: Run, report: Extract<Report, { kind: 'unknown_resolved' }>): Moved | null {
  const { outcome, position } = report
  const call = run.calls.find((c) => c.position === position)
  if (run.wait !== 'unknown_effect' || call?.status !== 'unknown') return null
  const happened = outcome.ok ? 'happened' : 'did_not_happen'
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'effect_resolved',
    body: { step: run.step, position, outcome: happened },
  }
  const calls = run.calls.map((c): Call => (c === call ? { ...c, status: 'settled', outcome } : c))
  return {
    run: { ...run, status: 'queued', wait: null, calls, eventSeq: told.seq },
    writes: { ...NOTHING, settled: [{ position, status: 'settled', outcome }], events: [told] },
  }
}
