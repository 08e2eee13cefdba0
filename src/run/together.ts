/** Two moves of a run in a row as one, so that one commit records both (decision of 2026-11-30). */
import { joined } from './ledger.ts'
import type { Call } from './state.ts'
import type { Moved, SettledCall } from './writes.ts'

export function together(first: Moved, second: Moved): Moved {
  const [a, b] = [first.writes, second.writes]
  const planned = new Set(a.intents.map((c) => c.position))
  return {
    run: second.run,
    writes: {
      ledger: b.ledger ? joined(a.ledger, b.ledger) : a.ledger,
      messages: [...a.messages, ...b.messages],
      intents: [...a.intents.map((c) => settledBy(b.settled, c)), ...b.intents],
      settled: [...a.settled, ...b.settled.filter((s) => !planned.has(s.position))],
      confirmations: [...a.confirmations, ...b.confirmations],
      closed: [...a.closed, ...b.closed],
      events: [...a.events, ...b.events],
      dueMs: b.dueMs ?? a.dueMs,
    },
  }
}

/** A call that is recorded for the first time is recorded as it ended. */
function settledBy(settled: readonly SettledCall[], call: Call): Call {
  const end = settled.find((s) => s.position === call.position)
  return end ? { ...call, status: end.status, outcome: end.outcome } : call
}
