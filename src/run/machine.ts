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
import { absorbDecision, absorbPlans } from './confirm.ts'
import { endRun } from './end.ts'
import { lieDown, park, parkAlone } from './park.ts'
import type { Report } from './report.ts'
import { absorbSettlements } from './settle.ts'
import { absorbUnknown, leaveUnknown, resolveUnknown, retryUnknown } from './unknown.ts'
import { absorbHandBack, absorbReservation } from './spend.ts'
import { END_OF_CANCEL, END_REASONS, type EndReason } from './reasons.ts'
import { isFinal, isOpenEffect, type Run } from './state.ts'
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
  switch (report.kind) {
    case 'claimed':
      return { run: { ...run, status: 'running' }, writes: NOTHING }
    case 'confirmation_decided':
      return absorbDecision(run, report)
    case 'cancel_requested':
      return cancelIdle(run, report.cause)
    default:
      return null
  }
}

function moveWaiting(run: Run, report: Report): Moved | null {
  switch (report.kind) {
    case 'claimed':
      return { run: { ...run, status: 'running', wait: null }, writes: NOTHING }
    case 'confirmation_decided':
      return absorbDecision(run, report)
    case 'plan_stale':
      return run.wait === 'confirmation' ? supersede(run, report.position) : null
    case 'unknown_resolved':
      return resolveUnknown(run, report)
    case 'unknown_retried':
      return retryUnknown(run, report.position)
    case 'unknown_left':
      return leaveUnknown(run, report.position)
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
      return isPaid(run) ? absorbAnswer(run, report) : null
    case 'model_failed':
      return isPaid(run) ? absorbFailure(run, report) : null
    case 'calls_planned':
      return absorbPlans(run, report)
    case 'calls_settled':
      return absorbSettlements(run, report)
    case 'effect_started':
      return absorbStart(run, report.position)
    case 'effect_unknown':
      return absorbUnknown(run, report.position)
    case 'probe_later':
      return run.calls.some((c) => c.status === 'started') ? park(run, 'timer', report.ms) : null
    case 'parked':
      return hasOpenCalls(run) ? lieDown(run) : null
    case 'confirmation_decided':
      return absorbDecision(run, report)
    case 'cancel_requested':
      return run.cancel ? null : { run: { ...run, cancel: report.cause, eventSeq: run.eventSeq + 1 }, writes: NOTHING }
    case 'lease_lost':
      // who was lost while no call was open may have been asking the model
      return {
        run: { ...run, status: 'queued', attempts: run.attempts + 1, lost: run.calls.length === 0 },
        writes: NOTHING,
      }
    case 'handed_back':
      return absorbHandBack(run, report.asked)
    case 'left_alone':
      return parkAlone(run, absorbHandBack(run, report.asked), report.leftMs)
    case 'ended':
      // decided before the cancel mark was there, told after it
      return mayEnd(run, report.reason)
        ? endRun(run, run.cancel ? END_OF_CANCEL[run.cancel] : report.reason, NOTHING)
        : null
    case 'claimed':
    case 'plan_stale':
    case 'unknown_resolved':
    case 'unknown_retried':
    case 'unknown_left':
      return null
    default:
      return report satisfies never
  }
}

/** Only for a model call whose money is held can there be an answer. */
const isPaid = (run: Run): boolean => run.calls.length === 0 && run.reserved.tokens > 0 && !run.lost

const hasOpenCalls = (run: Run): boolean => run.calls.some((c) => c.status !== 'settled' && c.status !== 'started')

const isUnsettled = (run: Run): boolean => run.calls.some(isOpenEffect)

/** Success is found in what the model or a tool did, never claimed; and no run ends beside an effect whose outcome is open. */
const mayEnd = (run: Run, reason: EndReason): boolean => END_REASONS[reason].status !== 'succeeded' && !isUnsettled(run)

/** COMMIT S has committed it, with the same conditions: one effect at a time, approved, not canceled, beside none that is open. */
function absorbStart(run: Run, position: number): Moved | null {
  const call = run.calls.find((c) => c.position === position)
  const others = run.calls.filter((c) => c !== call)
  if (!call || call.level === 'read' || run.cancel) return null
  if (others.some(isOpenEffect)) return null
  const approved = call.approval === 'auto' || call.confirmation?.status === 'approved'
  if (call.status !== 'started' && !(call.status === 'intended' && approved)) return null
  const confirmation: typeof call.confirmation = call.confirmation && { ...call.confirmation, status: 'consumed' }
  const started: typeof call = {
    ...call,
    status: 'started',
    attempt: call.attempt + 1,
    again: false,
    startedMs: 0,
    confirmation,
  }
  const calls = run.calls.map((c) => (c === call ? started : c))
  return { run: { ...run, phase: 'tool_running', eventSeq: run.eventSeq + 1, calls }, writes: NOTHING }
}

/** An idle run with an effect of unknown outcome keeps waiting for it: canceling cannot make it unhappen (J7). */
function cancelIdle(run: Run, cause: NonNullable<Run['cancel']>): Moved | null {
  const first = run.cancel ?? cause
  if (!isUnsettled(run)) return endRun({ ...run, cancel: first }, END_OF_CANCEL[first], NOTHING)
  if (run.cancel) return null
  const told: NewEvent = { seq: run.eventSeq + 1, type: 'cancel_requested', body: { cause } }
  const canceled: Run = { ...run, cancel: cause, eventSeq: told.seq }
  // only an operator ends the wait for what nobody can tell; every other wait is over
  const awake: Run = run.wait === 'unknown_effect' ? canceled : { ...canceled, status: 'queued', wait: null }
  return { run: awake, writes: { ...NOTHING, events: [told] } }
}

/** J12: nobody can agree to this plan any more; the model is told and may plan again. */
function supersede(run: Run, position: number): Moved | null {
  const asked = run.calls.find((c) => c.position === position)?.confirmation
  if (asked?.status !== 'pending') return null
  const { id } = asked
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'confirmation_closed',
    body: { confirmations: [{ id, outcome: 'superseded' }] },
  }
  const calls = run.calls.map((c) =>
    c.confirmation?.id === id ? { ...c, confirmation: { ...c.confirmation, status: 'superseded' as const } } : c,
  )
  return {
    run: { ...run, status: 'queued', wait: null, calls, eventSeq: told.seq },
    writes: { ...NOTHING, closed: [{ id, status: 'superseded' }], events: [told] },
  }
}
