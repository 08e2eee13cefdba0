/**
 * The whole life of a run: `step(run, report) → { run, writes } | { refused }`. No I/O, no clock, no randomness.
 *
 * A1   what is not in the table is a typed refusal and changes nothing; every wait carries its reason
 * A2   only reports of the runtime move a run; nothing that a model wrote does
 * A11  a step ends as exactly one of final, read_calls, write_calls, retryable_error
 * B4   every end has one reason, and the reason gives the status
 *
 * The full table of statuses and reports is printed into docs/design/run-table.md by its test.
 */
import { absorbAnswer, absorbFailure } from './answer.ts'
import { endRun } from './end.ts'
import { park, parkForPeople } from './park.ts'
import type { Report } from './report.ts'
import { absorbPlans, absorbSettlements, absorbUnknown, resolveUnknown } from './settle.ts'
import { absorbReservation } from './spend.ts'
import { END_OF_CANCEL } from './reasons.ts'
import { isFinal, type Run } from './state.ts'
import { type Moved, NOTHING, type NewEvent } from './writes.ts'

export interface Refusal {
  readonly refused: { readonly status: Run['status']; readonly report: Report['kind'] }
}

export function step(run: Run, report: Report): Moved | Refusal {
  const moved = isFinal(run.status) ? null : move(run, report)
  return moved ?? { refused: { status: run.status, report: report.kind } }
}

function move(run: Run, report: Report): Moved | null {
  switch (run.status) {
    case 'queued':
      return moveQueued(run, report)
    case 'waiting_confirmation':
      return moveWaiting(run, report)
    case 'running':
      return moveRunning(run, report)
    default:
      return null
  }
}

function moveQueued(run: Run, report: Report): Moved | null {
  if (report.kind === 'claimed') return { run: { ...run, status: 'running' }, writes: NOTHING }
  if (report.kind === 'cancel_requested') return cancelIdle(run, report.cause)
  return null
}

function moveWaiting(run: Run, report: Report): Moved | null {
  switch (report.kind) {
    case 'claimed':
      return { run: { ...run, status: 'running', wait: null }, writes: NOTHING }
    case 'confirmation_decided':
      if (run.wait !== 'confirmation') return null
      return { run: { ...run, status: 'queued', wait: null, calls: decideCall(run, report) }, writes: NOTHING }
    case 'plan_stale':
      return run.wait === 'confirmation' ? supersede(run, report.position) : null
    case 'unknown_resolved':
      return run.wait === 'unknown_effect' ? resolveUnknown(run, report) : null
    case 'cancel_requested':
      return cancelIdle(run, report.cause)
    default:
      return null
  }
}

function moveRunning(run: Run, report: Report): Moved | null {
  switch (report.kind) {
    case 'reserved':
      return absorbReservation(run)
    case 'model_answered':
      return absorbAnswer(run, report)
    case 'model_failed':
      return absorbFailure(run, report)
    case 'calls_planned':
      return absorbPlans(run, report)
    case 'calls_settled':
      return absorbSettlements(run, report.calls)
    case 'effect_started':
      return { run: { ...run, phase: 'tool_running', eventSeq: run.eventSeq + 1, calls: startCall(run, report.position) }, writes: NOTHING }
    case 'effect_unknown':
      return absorbUnknown(run, report.position)
    case 'probe_later':
      return park(run, 'timer', report.ms)
    case 'parked':
      return parkForPeople(run)
    case 'confirmation_decided':
      return { run: { ...run, calls: decideCall(run, report) }, writes: NOTHING }
    case 'cancel_requested':
      return { run: { ...run, cancel: run.cancel ?? report.cause }, writes: NOTHING }
    case 'lease_lost':
      return { run: { ...run, status: 'queued', attempts: run.attempts + 1 }, writes: NOTHING }
    case 'ended':
      return endRun(run, report.reason, NOTHING)
    case 'claimed':
    case 'plan_stale':
    case 'unknown_resolved':
      return null
    default:
      return report satisfies never
  }
}

/** An idle run with an effect of unknown outcome keeps waiting for it: canceling cannot make it unhappen (J7). */
function cancelIdle(run: Run, cause: NonNullable<Run['cancel']>): Moved {
  const marked: Run = { ...run, cancel: run.cancel ?? cause }
  const unsettled = run.calls.some((c) => c.status === 'unknown' || c.status === 'started')
  if (!unsettled) return endRun(marked, END_OF_CANCEL[cause], NOTHING)
  const told: NewEvent = { seq: run.eventSeq + 1, type: 'cancel_requested', body: { cause } }
  return { run: { ...marked, eventSeq: told.seq }, writes: { ...NOTHING, events: [told] } }
}

function decideCall(run: Run, report: { readonly position: number; readonly approved: boolean }): Run['calls'] {
  return run.calls.map((c) =>
    c.position === report.position && c.confirmation
      ? { ...c, confirmation: { ...c.confirmation, status: report.approved ? 'approved' : 'rejected' } }
      : c,
  )
}

function supersede(run: Run, position: number): Moved | null {
  const id = run.calls.find((c) => c.position === position)?.confirmation?.id
  if (id === undefined) return null
  const told: NewEvent = { seq: run.eventSeq + 1, type: 'confirmation_closed', body: { confirmations: [{ id, outcome: 'superseded' }] } }
  const calls = run.calls.map((c) => (c.confirmation?.id === id ? { ...c, confirmation: { ...c.confirmation, status: 'superseded' as const } } : c))
  return {
    run: { ...run, status: 'queued', wait: null, calls, eventSeq: told.seq },
    writes: { ...NOTHING, closed: [{ id, status: 'superseded' }], events: [told] },
  }
}

const startCall = (run: Run, position: number): Run['calls'] =>
  run.calls.map((c) =>
    c.position === position ? { ...c, status: 'started', attempt: c.attempt + 1, startedMs: 0 } : c,
  )
