/**
 * Confirmations as the machine sees them: asked for when the plans are made, decided by people.
 *
 * J2   approved, rejected, expired and superseded are four different outcomes; only a pending one can be decided
 * J13  each call has its own, answerable in any order
 */
import { endRun } from './end.ts'
import { lieDown } from './park.ts'
import { END_OF_CANCEL } from './reasons.ts'
import type { PlannedCall, Report } from './report.ts'
import { absorbSettlements } from './settle.ts'
import { type Call, isOpenEffect, type Run } from './state.ts'
import { type Moved, type NewConfirmation, NOTHING, type Writes } from './writes.ts'

/** Plans are made: their confirmations are asked for, and the run waits unless something else can be done. */
export function absorbPlans(run: Run, report: Extract<Report, { kind: 'calls_planned' }>): Moved | null {
  const { plans, failed, confirmers } = report
  const judged = [...plans, ...failed]
  if (judged.length === 0 || !judged.every((p) => run.calls.some((c) => c.position === p.position && isUnplanned(c))))
    return null
  // nobody is asked about a run that was canceled meanwhile
  if (run.cancel && run.calls.some(isOpenEffect)) return { run, writes: NOTHING }
  if (run.cancel) return endRun(run, END_OF_CANCEL[run.cancel], NOTHING)
  const by = new Map(plans.map((p) => [p.position, p]))
  const asked = run.calls.flatMap((call) => {
    const plan = by.get(call.position)
    return plan ? [asking(call, plan, confirmers)] : []
  })
  const calls = run.calls.map((c): Call => {
    const plan = by.get(c.position)
    return plan
      ? {
          ...c,
          confirmation: {
            id: plan.confirmation,
            status: 'pending',
            leftMs: plan.openMs,
            resourceVersion: plan.resourceVersion,
          },
        }
      : c
  })
  const planned: Run = { ...run, calls, attempts: 0, eventSeq: run.eventSeq + (asked.length > 0 ? 1 : 0) }
  const confirmations = asked.map((a) => ({ id: a.id, position: a.position, tool: a.call.tool }))
  const writes: Writes = {
    ...NOTHING,
    confirmations: asked,
    events:
      asked.length > 0
        ? [{ seq: planned.eventSeq, type: 'confirmation_requested', body: { step: run.step, confirmations } }]
        : [],
  }
  return failed.length > 0 ? absorbSettlements(planned, { calls: failed }, writes) : lieDown(planned, writes)
}

const isUnplanned = (c: Call): boolean =>
  c.status === 'intended' && c.confirmation === null && (c.approval === 'confirm' || c.approval === 'strong_confirm')

const asking = (call: Call, plan: PlannedCall, confirmers: readonly string[]): NewConfirmation => ({
  id: plan.confirmation,
  position: call.position,
  call,
  plan: plan.plan,
  resourceVersion: plan.resourceVersion,
  repeats: plan.repeats,
  answers: plan.answers,
  level: call.approval === 'strong_confirm' ? 'strong_confirm' : 'confirm',
  confirmers,
  nonce: plan.nonce,
  openMs: plan.openMs,
})

/** Somebody has decided, and the rows say so already. A run that waited for it is due; a canceled one is not asked any more. */
export function absorbDecision(run: Run, report: Extract<Report, { kind: 'confirmation_decided' }>): Moved | null {
  const call = run.calls.find((c) => c.position === report.position)
  const asked = call?.status === 'intended' ? call.confirmation : null
  if (asked?.status !== 'pending' || asked.leftMs <= 0 || run.cancel) return null
  if (run.status === 'waiting_confirmation' && run.wait !== 'confirmation') return null
  const decided: Call['confirmation'] = { ...asked, status: report.approved ? 'approved' : 'rejected' }
  return {
    run: {
      ...run,
      status: run.status === 'waiting_confirmation' ? 'queued' : run.status,
      wait: null,
      calls: run.calls.map((c) => (c === call ? { ...c, confirmation: decided } : c)),
      eventSeq: run.eventSeq + 1,
    },
    writes: NOTHING,
  }
}
