/**
 * The end of a run: one reason, everything released, every call answered, so that the conversation stays valid.
 */
import { END_REASONS, type EndReason } from './reasons.ts'
import { refused, toolMessages } from './said.ts'
import { settleLost } from './budget.ts'
import { bill } from './spend.ts'
import type { Call, Run } from './state.ts'
import type { Moved, NewEvent, SettledCall, Writes } from './writes.ts'

/**
 * `run` counts what `writes` records already: the same transition's message, intents, ledger row and events. Calls that are still open get `not_started`; open confirmations
 * are closed as `expired` when that is why the run ends, else as `superseded` (J2: four different outcomes).
 */
export function endRun(run: Run, reason: EndReason, writes: Writes): Moved {
  const open = run.calls.filter((c) => c.status === 'intended')
  const calls: readonly Call[] = run.calls.map((c) =>
    c.status === 'intended' ? { ...c, status: 'settled', outcome: refused('not_started') } : c,
  )
  const settledNow: SettledCall[] = open.map((c) => ({
    position: c.position,
    status: 'settled',
    outcome: refused('not_started'),
  }))
  const firstSeq = run.messageSeq + 1
  const answers = toolMessages(run, calls, firstSeq)
  const pending = open.filter((c) => c.confirmation && ['pending', 'approved'].includes(c.confirmation.status))
  const closed = pending.map((c) => ({
    id: c.confirmation?.id ?? '',
    status: reason === 'confirmation_expired' ? ('expired' as const) : ('superseded' as const),
  }))

  const held = run.reserved.tokens > 0 || run.reserved.cost > 0
  // whoever was lost with this reservation may have used it: that is billed, everything else goes back
  const lost = run.lost && held
  const billed =
    held && writes.ledger === null
      ? bill(run, {
          kind: lost ? 'recovery' : 'close',
          ...(lost ? { spent: settleLost(run) } : {}),
          released: run.reserved,
        })
      : { run, ledger: writes.ledger }
  const status = END_REASONS[reason].status
  const lastMessage = answers.at(-1)?.seq ?? run.messageSeq
  const told: NewEvent[] = []
  if (closed.length > 0) {
    told.push({
      seq: run.eventSeq + 1,
      type: 'confirmation_closed',
      body: { confirmations: closed.map((c) => ({ id: c.id, outcome: c.status })) },
    })
  }
  told.push({ seq: run.eventSeq + told.length + 1, type: 'run_ended', body: { status, reason, message: lastMessage } })
  return {
    run: {
      ...billed.run,
      status,
      wait: null,
      phase: 'finalizing',
      attempts: 0,
      lost: false,
      calls: [],
      messageSeq: lastMessage,
      eventSeq: run.eventSeq + told.length,
      end: reason,
    },
    writes: {
      ...writes,
      ledger: billed.ledger,
      messages: [...writes.messages, ...answers],
      settled: [...writes.settled, ...settledNow],
      closed: [...writes.closed, ...closed],
      events: [...writes.events, ...told],
    },
  }
}
