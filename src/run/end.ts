/**
 * The end of a run: one reason, everything released, every call answered, so that the conversation stays valid.
 */
import type { FaultCode } from '../kernel/fault.ts'
import { settleLost } from './budget.ts'
import { bill, joined } from './ledger.ts'
import { END_REASONS, type EndReason } from './reasons.ts'
import { answerCalls, closing, refused } from './said.ts'
import type { Call, Place, Run } from './state.ts'
import type { LedgerEntry, Moved, NewEvent, SettledCall, Writes } from './writes.ts'

/**
 * `run` counts what `writes` records already: the same transition's message, intents, ledger row and events. Calls that
 * are still open are answered with why they did not start; open confirmations are closed as `expired` when that is why
 * the run ends, else as `superseded` (J2: four different outcomes).
 */
export function endRun(run: Run, reason: EndReason, writes: Writes): Moved {
  const open = run.calls.filter((c) => c.status === 'intended' || c.status === 'waiting')
  const settled = open.map(
    (c) => ({ position: c.position, status: 'settled', outcome: refused(whyNot(c, reason)) }) satisfies SettledCall,
  )
  const outcomes = new Map(settled.map((s) => [s.position, s.outcome]))
  const answered = answerCalls(
    run,
    run.calls.map((c) => ({ ...c, outcome: outcomes.get(c.position) ?? c.outcome })),
  )
  const closed = closing(open, reason === 'confirmation_expired' ? 'expired' : 'superseded')
  const billed = release(answered.run, writes.ledger)
  const { status } = END_REASONS[reason]
  const done = doneOf(run).map((d) => ({ ...d }))
  const told: Omit<NewEvent, 'seq'>[] = [
    ...(closed.length > 0
      ? [
          {
            type: 'confirmation_closed' as const,
            body: { confirmations: closed.map((c) => ({ id: c.id, outcome: c.status })) },
          },
        ]
      : []),
    { type: 'run_ended', body: { status, reason, message: billed.run.messageSeq, done } },
  ]
  return {
    run: {
      ...billed.run,
      status,
      wait: null,
      phase: 'finalizing',
      attempts: 0,
      lost: false,
      eventSeq: run.eventSeq + told.length,
      end: reason,
    },
    writes: {
      ...writes,
      ledger: billed.ledger,
      messages: [...writes.messages, ...answered.messages],
      settled: [...writes.settled, ...settled],
      closed: [...writes.closed, ...closed],
      events: [...writes.events, ...told.map((e, i) => ({ ...e, seq: run.eventSeq + 1 + i }))],
    },
  }
}

function whyNot(call: Call, reason: EndReason): FaultCode {
  if (call.status === 'waiting') return 'wait_expired'
  if (call.confirmation?.status === 'rejected') return 'confirmation_rejected'
  return call.confirmation && reason === 'confirmation_expired' ? 'confirmation_expired' : 'not_started'
}

/** Whoever was lost with the reservation may have used it: that is billed. Everything else goes back. */
function release(run: Run, ledger: LedgerEntry | null): { readonly run: Run; readonly ledger: LedgerEntry | null } {
  if (run.reserved.tokens === 0 && run.reserved.cost === 0) return { run, ledger }
  const lost = run.lost ? { kind: 'recovery' as const, spent: settleLost(run) } : { kind: 'close' as const }
  const closing = bill(run, { ...lost, released: run.reserved })
  return { run: closing.run, ledger: joined(ledger, closing.ledger) }
}

/** B4: what the run has done to the world. The open step's calls are the last of `past`, not yet with their outcome. */
function doneOf(run: Run): readonly Place[] {
  const earlier = run.past.slice(0, run.past.length - run.calls.length)
  return [
    ...earlier.flatMap((p) => (p.effect && p.error === null ? [p.effect] : [])),
    ...run.calls.flatMap((c) =>
      c.level !== 'read' && c.outcome?.ok ? [{ step: run.step, position: c.position, tool: c.tool }] : [],
    ),
  ]
}
