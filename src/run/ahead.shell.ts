/**
 * Reads begin while the answer that asked for them is being stored. What ends at once is stored with that answer, in one
 * commit; a read that waits for something has the commit beside it. An effect never begins before its commit (J5).
 */
import type { ActParts, Work } from './acting.ts'
import { runReads } from './calls.shell.ts'
import { next } from './next.ts'
import type { Report } from './report.ts'

export interface Ahead {
  /** The reads of this step. */
  readonly step: number
  /** Rejects when the run is handed back. */
  readonly report: Promise<Report>
  /** The report, when it needed no waiting. */
  readonly atOnce: Report | null
}

/** `work.run` is the run as the answer will leave it. Null when there is nothing to read. */
export async function readAhead(parts: ActParts, work: Work): Promise<Ahead | null> {
  const action = next(work.run, work.leftMs)
  if (action.do !== 'run_reads') return null
  let atOnce: Report | null = null
  const report = runReads(parts, work, action.calls)
  const ended = report.then(
    (r) => void (atOnce = r),
    () => {},
  )
  await Promise.race([ended, parts.clock.turn()])
  return { step: work.run.step, report, atOnce }
}
