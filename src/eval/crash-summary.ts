/** What all cases together say. */
import { FAULT_POINTS } from '../kernel/faultpoint.ts'
import { TIMES } from './crash-case.ts'
import { type Invariant, INVARIANTS, type Verdict } from './crash-judge.ts'

export interface Outcome {
  readonly verdict: Verdict
  readonly proves: ReadonlyMap<Invariant, boolean>
  /** Places of kills whose victims held a run. */
  readonly kills: readonly string[]
  /** All places where something was done. */
  readonly strikes: readonly string[]
  /** Milliseconds, see `takeovers`. */
  readonly takeovers: readonly number[]
  /** What is not as promised, as one line; null when all is. */
  readonly trouble: string | null
}

export interface Report {
  readonly cases: number
  readonly duplicates: number
  readonly lost: number
  readonly stuck: number
  /** Cases in which an invariant does not hold, or in which nothing was struck. */
  readonly broken: number
  readonly killsByPoint: Readonly<Record<string, number>>
  readonly strikesByPoint: Readonly<Record<string, number>>
  readonly invariants: Readonly<
    Record<string, { readonly cases: number; readonly broken: number; readonly verdict: string }>
  >
  readonly takeover: {
    readonly count: number
    readonly medianMs: number
    readonly maxMs: number
    readonly leaseMs: number
    readonly late: number
  }
  readonly seconds: number
}

export function summary(
  outcomes: readonly Outcome[],
  seconds: number,
): { readonly lines: readonly string[]; readonly report: Report } {
  const count = (verdict: Verdict): number => outcomes.filter((o) => o.verdict === verdict).length
  const report: Report = {
    cases: outcomes.length,
    duplicates: count('duplicate'),
    lost: count('lost'),
    stuck: count('stuck'),
    broken: outcomes.filter((o) => o.trouble !== null && o.verdict === 'ok').length,
    killsByPoint: byPoint(outcomes.flatMap((o) => o.kills)),
    strikesByPoint: byPoint(outcomes.flatMap((o) => o.strikes)),
    invariants: Object.fromEntries(
      Object.keys(INVARIANTS).map((n) => [n, invariant(outcomes, Number(n) as Invariant)]),
    ),
    takeover: takeover(outcomes.flatMap((o) => o.takeovers)),
    seconds,
  }
  return { lines: linesOf(report), report }
}

function byPoint(places: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(FAULT_POINTS.map((point) => [point, 0]))
  for (const place of places) counts[place] = (counts[place] ?? 0) + 1
  return counts
}

function invariant(outcomes: readonly Outcome[], n: Invariant): Report['invariants'][string] {
  const found = outcomes.flatMap((o) => (o.proves.has(n) ? [o.proves.get(n)] : []))
  const broken = found.filter((holds) => !holds).length
  return { cases: found.length, broken, verdict: broken > 0 ? 'broken' : found.length > 0 ? 'holds' : 'not tried' }
}

function takeover(times: readonly number[]): Report['takeover'] {
  const sorted = [...times].sort((a, b) => a - b)
  return {
    count: sorted.length,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    maxMs: sorted.at(-1) ?? 0,
    leaseMs: TIMES.leaseMs,
    late: sorted.filter((ms) => ms > 2 * TIMES.leaseMs).length,
  }
}

function linesOf(r: Report): readonly string[] {
  const kills = Object.values(r.killsByPoint).reduce((sum, n) => sum + n, 0)
  const ok = r.cases - r.duplicates - r.lost - r.stuck - r.broken
  return [
    ...Object.entries(INVARIANTS).map(([n, says]) => {
      const found = r.invariants[n]
      return `${n.padStart(3)}  ${(found?.verdict ?? '').padEnd(9)}  ${String(found?.cases ?? 0).padStart(4)} cases  ${says}`
    }),
    `${r.takeover.count} takeovers: ${r.takeover.medianMs} ms in the middle, ${r.takeover.maxMs} ms at most, ${r.takeover.late} later than two leases of ${r.takeover.leaseMs} ms`,
    `${kills} processes killed while they held a run`,
    `${r.cases} cases: ${ok} as promised, ${r.duplicates} duplicates, ${r.lost} lost, ${r.stuck} stuck, ${r.broken} broken, in ${r.seconds} s`,
  ]
}
