/**
 * COMMIT B and its parts: what became of the calls of a step.
 *
 * I7   results merge in call order, whatever order the calls ended in
 * J4   what nobody can tell is `unknown`, parks the run and is never repeated with a new key
 * J13  each call has its own confirmation; a settled sibling is never run again
 */
import { errorHash, repeatsError } from './breaker.ts'
import { endRun } from './end.ts'
import { park, parkForPeople } from './park.ts'
import type { EndReason } from './reasons.ts'
import type { Report, Settlement } from './report.ts'
import { toolMessages } from './said.ts'
import { bill, reserveNext } from './spend.ts'
import type { Call, PastCall, Run } from './state.ts'
import { type Moved, type NewConfirmation, type NewEvent, NOTHING, type SettledCall, type Writes } from './writes.ts'

export function absorbSettlements(run: Run, settlements: readonly Settlement[]): Moved {
  const by = new Map(settlements.map((s) => [s.position, s.outcome]))
  const settledNow = run.calls.filter((c) => by.has(c.position) && c.status !== 'settled')
  const calls = run.calls.map((c): Call => {
    const outcome = by.get(c.position)
    return outcome && c.status !== 'settled' ? { ...c, status: 'settled', outcome } : c
  })
  const writes: Writes = {
    ...NOTHING,
    settled: settledNow.map(
      (c): SettledCall => ({ position: c.position, status: 'settled', outcome: by.get(c.position) ?? null }),
    ),
    closed: settledNow.flatMap((c) =>
      c.confirmation && ['pending', 'approved'].includes(c.confirmation.status) && c.status === 'intended'
        ? [{ id: c.confirmation.id, status: 'superseded' as const }]
        : [],
    ),
  }
  const done: Run = { ...run, calls, attempts: 0, phase: 'awaiting_observation' }
  if (calls.every((c) => c.status === 'settled')) return finishStep(done, writes)
  const told = settledEvent(
    run,
    calls.filter((c) => by.has(c.position)),
  )
  return { run: { ...done, phase: 'tool_running', eventSeq: told.seq }, writes: { ...writes, events: [told] } }
}

/** All calls of the step have an outcome: the model is told, and the money for its next call is reserved. */
export function finishStep(run: Run, writes: Writes): Moved {
  const messages = toolMessages(run, run.calls, run.messageSeq + 1)
  const told = settledEvent(run, run.calls)
  const finished: Run = {
    ...run,
    phase: 'planning',
    integrity: run.calls.length > 0 ? 'untrusted' : run.integrity,
    watermarkFrom: run.watermarkFrom ?? `${run.step}/${run.calls[0]?.position ?? 0}`,
    calls: [],
    past: withErrors(run.past, run.calls),
    messageSeq: messages.at(-1)?.seq ?? run.messageSeq,
    promptTokens: run.promptTokens + messages.reduce((sum, m) => sum + m.tokens, 0),
    eventSeq: told.seq,
  }
  const recorded: Writes = { ...writes, messages: [...writes.messages, ...messages], events: [...writes.events, told] }
  const stop = endOfCalls(run)
  if (stop) return endRun(finished, stop, recorded)
  if (run.cancel) return { run: finished, writes: recorded }
  const wanted = reserveNext(finished)
  if ('end' in wanted) return endRun(finished, wanted.end, recorded)
  const billed = bill(finished, { kind: 'tools', reserved: wanted.amount })
  return { run: billed.run, writes: { ...recorded, ledger: merged(recorded, billed.ledger) } }
}

/** A step whose calls were all refused settles its model call and reserves the next one in one row. */
const merged = (writes: Writes, next: NonNullable<Writes['ledger']>): Writes['ledger'] =>
  writes.ledger ? { ...writes.ledger, reserved: next.reserved } : next

/** What ends the run after these calls: a hand-over, an error that the contract declares to stop, the same error again. */
function endOfCalls(run: Run): EndReason | null {
  const past = run.past.slice(0, run.past.length - run.calls.length)
  for (const call of run.calls) {
    if (call.outcome?.ok && call.ends) return call.ends
    if (call.outcome && !call.outcome.ok && call.stops.includes(call.outcome.error.code)) return 'stopped_by_tool'
    const error = errorHash(call)
    const reason = repeatsError(past, error, call.breaker)
    if (reason) return reason
    past.push({ fingerprint: call.fingerprint, error, outcome: call.outcome })
  }
  return null
}

function withErrors(past: readonly PastCall[], calls: readonly Call[]): readonly PastCall[] {
  const earlier = past.slice(0, past.length - calls.length)
  return [
    ...earlier,
    ...calls.map((c): PastCall => ({ fingerprint: c.fingerprint, error: errorHash(c), outcome: c.outcome })),
  ]
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

/** Plans are made: their confirmations are asked for, and the run waits unless something else can be done. */
export function absorbPlans(run: Run, report: Extract<Report, { kind: 'calls_planned' }>): Moved {
  const plans = new Map(report.plans.map((p) => [p.position, p]))
  const calls = run.calls.map((c): Call => {
    const plan = plans.get(c.position)
    if (!plan) return c
    return {
      ...c,
      confirmation: {
        id: plan.confirmation,
        status: 'pending',
        leftMs: plan.openMs,
        resourceVersion: plan.plan.resourceVersion ?? null,
      },
    }
  })
  const asked = calls.flatMap((call): NewConfirmation[] => {
    const plan = plans.get(call.position)
    if (!plan) return []
    return [
      {
        id: plan.confirmation,
        position: call.position,
        call,
        plan: plan.plan,
      resourceVersion: plan.resourceVersion,
        repeats: plan.repeats,
        level: call.approval === 'strong_confirm' ? 'strong_confirm' : 'confirm',
        confirmers: report.confirmers,
        nonce: plan.nonce,
        openMs: plan.openMs,
      },
    ]
  })
  const told: NewEvent[] =
    asked.length === 0
      ? []
      : [
          {
            seq: run.eventSeq + 1,
            type: 'confirmation_requested',
            body: {
              step: run.step,
              confirmations: asked.map((a) => ({ id: a.id, position: a.position, tool: a.call.tool })),
            },
          },
        ]
  const planned: Run = { ...run, calls, attempts: 0, eventSeq: run.eventSeq + told.length }
  const writes: Writes = { ...NOTHING, confirmations: asked, events: told }
  if (report.failed.length > 0) {
    const settled = absorbSettlements(planned, report.failed)
    return {
      run: settled.run,
      writes: { ...settled.writes, confirmations: asked, events: [...told, ...settled.writes.events] },
    }
  }
  const waits = calls.every((c) => c.status === 'settled' || c.confirmation?.status === 'pending')
  return waits && !run.cancel ? parkForPeople(planned, writes) : { run: planned, writes }
}

export function absorbUnknown(run: Run, position: number): Moved {
  const call = run.calls.find((c) => c.position === position)
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'effect_unknown',
    body: { step: run.step, position, tool: call?.tool ?? '' },
  }
  const calls = run.calls.map((c): Call => (c.position === position ? { ...c, status: 'unknown' } : c))
  const writes: Writes = { ...NOTHING, settled: [{ position, status: 'unknown', outcome: null }], events: [told] }
  return park({ ...run, calls, eventSeq: told.seq }, 'unknown_effect', null, writes)
}

/** An operator knows what happened: the outcome is stored, and the run goes on from it. */
export function resolveUnknown(run: Run, report: Extract<Report, { kind: 'unknown_resolved' }>): Moved {
  const { outcome, position } = report
  const happened = outcome.ok ? 'happened' : 'did_not_happen'
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'effect_resolved',
    body: { step: run.step, position, outcome: happened },
  }
  const calls = run.calls.map((c): Call => (c.position === position && c.status === 'unknown' ? { ...c, status: 'settled', outcome } : c))
  return {
    run: { ...run, status: 'queued', wait: null, calls, eventSeq: told.seq },
    writes: { ...NOTHING, settled: [{ position, status: 'settled', outcome }], events: [told] },
  }
}
