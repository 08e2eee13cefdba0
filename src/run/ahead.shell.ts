/**
 * Reads begin while the answer that asked for them is being stored. What ends at once is stored with that answer, in one
 * commit; a read that waits for something has the commit beside it. An effect never begins before its commit (J5).
 */
import type { ActParts, Work } from './acting.ts'
import { runReads } from './calls.shell.ts'
import { next } from './next.ts'
import type { Report, Settlement } from './report.ts'
import type { Call } from './state.ts'

type Settled = Extract<Report, { kind: 'calls_settled' }>

export interface Ahead {
  /** The step that asked for these reads. */
  readonly step: number
  /** Rejects when the run is handed back. */
  readonly report: Promise<Settled>
  /** The report, when it needed no waiting. */
  readonly atOnce: Settled | null
}

/** `work.run` is the run as the answer will leave it. Null when there is nothing to read. */
export async function readAhead(parts: ActParts, work: Work): Promise<Ahead | null> {
  const action = next(work.run, work.leftMs)
  if (action.do !== 'run_reads') return null
  let atOnce: Settled | null = null
  const report = runReads(parts, work, action.calls)
  const ended = report.then(
    // what goes to wait has a commit of its own
    (r) => void (atOnce = r.waiting?.length ? null : r),
    () => {},
  )
  await Promise.race([ended, parts.clock.turn()])
  return { step: work.run.step, report, atOnce }
}

/** The answer, with what its reads have found; any other report has none. */
export function withReads(answered: Report, { calls }: Settled): Report {
  if (answered.kind !== 'model_answered') return answered
  const found = new Map<number, Settlement>(calls.map((s) => [s.position, s]))
  return {
    ...answered,
    calls: answered.calls.map((call): Call => {
      const outcome = found.get(call.position)?.outcome
      return outcome && call.status === 'intended' ? { ...call, status: 'settled', outcome } : call
    }),
  }
}
