/** What all cases together say. */
import { FAULT_POINTS } from '../kernel/faultpoint.ts'
import { TIMES } from './crash-case.ts'
import { type Invariant, INVARIANTS } from './crash-invariants.ts'
import type { Takeover, Verdict } from './crash-judge.ts'

export interface Outcome {
  readonly verdict: Verdict
  readonly proves: ReadonlyMap<Invariant, boolean>
  /** Places of kills whose victims held a run. */
  readonly kills: readonly string[]
  /** All places where something was done. */
  readonly strikes: readonly string[]
  readonly takeovers: readonly Takeover[]
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
  /** By number. */
  readonly invariants: Readonly<Record<string, Line>>
  /** From the last renewal of a dead worker to the claim by one that was there all the time. */
  readonly takeover: Spans
  /** From the start of a successor that came after the death to its claim. */
  readonly restart: Spans
  readonly seconds: number
}

interface Line {
  /** Null when nothing was tried. */
  readonly held: boolean | null
  readonly cases: number
  readonly broken: number
  readonly how: string
}

interface Spans {
  readonly count: number
  readonly medianMs: number
  readonly p95Ms: number
  readonly maxMs: number
  readonly leaseMs: number
  /** Longer than two leases. */
  readonly late: number
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
    invariants: Object.fromEntries(Object.keys(INVARIANTS).map((n) => [n, lineOf(outcomes, Number(n) as Invariant)])),
    takeover: spans(outcomes, 'death'),
    restart: spans(outcomes, 'start'),
    seconds,
  }
  return { lines: linesOf(report), report }
}

function byPoint(places: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(FAULT_POINTS.map((point) => [point, 0]))
  for (const place of places) counts[place] = (counts[place] ?? 0) + 1
  return counts
}

function lineOf(outcomes: readonly Outcome[], n: Invariant): Line {
  const found = outcomes.flatMap((o) => o.proves.get(n) ?? [])
  const broken = found.filter((holds) => !holds).length
  return { held: found.length === 0 ? null : broken === 0, cases: found.length, broken, how: INVARIANTS[n].how }
}

function spans(outcomes: readonly Outcome[], from: Takeover['from']): Spans {
  const sorted = outcomes
    .flatMap((o) => o.takeovers)
    .filter((t) => t.from === from)
    .map((t) => t.ms)
    .sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return {
    count: sorted.length,
    medianMs: at(0.5),
    p95Ms: at(0.95),
    maxMs: at(1),
    leaseMs: TIMES.leaseMs,
    late: sorted.filter((ms) => ms > 2 * TIMES.leaseMs).length,
  }
}

function linesOf(r: Report): readonly string[] {
  const kills = Object.values(r.killsByPoint).reduce((sum, n) => sum + n, 0)
  const ok = r.cases - r.duplicates - r.lost - r.stuck - r.broken
  return [
    ...Object.entries(INVARIANTS).map(([n, { says }]) => {
      const { held, cases } = r.invariants[n] ?? { held: null, cases: 0 }
      const word = held === null ? 'not tried' : held ? 'holds' : 'broken'
      return `${n.padStart(3)}  ${word.padEnd(9)}  ${String(cases).padStart(4)} cases  ${says}`
    }),
    `${said(r.takeover)} from the last renewal of the dead to the claim of another`,
    `${said(r.restart)} from the start of a successor to its claim`,
    `${kills} processes killed while they held a run`,
    `${r.cases} cases: ${ok} as promised, ${r.duplicates} duplicates, ${r.lost} lost, ${r.stuck} stuck, ${r.broken} broken, in ${r.seconds} s`,
  ]
}

const said = ({ count, medianMs, p95Ms, maxMs, late, leaseMs }: Spans): string =>
  `${count} times ${medianMs} ms (p95 ${p95Ms}, at most ${maxMs}; ${late} over two leases of ${leaseMs} ms)`
