/**
 * `npm run simulate -- [--seeds N] [--seed S] [--bugs all|none] [--json]`: the modules that are shipped, on a store, a
 * clock, a network and a world that are all simulated. Each seed is another story, and the same one every time.
 *
 * With `--seed` one story is told to its last lines. Otherwise N stories from 1 on are judged, and then each planted fault
 * is looked for, in 500 stories at most. Exit 1 when a promise was broken or a planted fault was not found.
 */
import { parseArgs } from 'node:util'
import { EXIT } from '../kernel/fault.ts'
import { BUGS } from '../testing/simulation/bugs.ts'
import type { Bug } from '../testing/simulation/world.ts'
import { type Played, type Theatre, theatre } from '../testing/simulation/play.ts'

/** A planted fault must be found within so many stories. */
export const MOST_SEEDS_OF_A_BUG = 500

export interface Found {
  readonly bug: string
  /** The first seed that found it; null when none did. */
  readonly seed: number | null
  readonly invariant: string | null
}

/** Plays so many stories, one after another. */
export async function simulateSeeds(
  stage: Theatre,
  { from, seeds }: { readonly from: number; readonly seeds: number },
  each: (played: Played) => void,
): Promise<void> {
  for (let seed = from; seed < from + seeds; seed++) {
    each(await stage.play(seed))
    // whoever waits for this process gets a turn, and what was left behind can be collected
    if (seed % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

export async function findBug(stage: Theatre, bug: Bug, seeds = MOST_SEEDS_OF_A_BUG): Promise<Found> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { violation } = await stage.play(seed, bug)
    if (violation) return { bug: bug.name, seed, invariant: violation.invariant }
  }
  return { bug: bug.name, seed: null, invariant: null }
}

/** What a person needs to follow a story: how it ended, and how to see it again. Ids, codes and times only. */
export function tell({ seed, violation, last, hash }: Played): readonly string[] {
  return [
    ...last,
    violation ? `seed ${seed} broke: ${violation.invariant} (${violation.detail})` : `seed ${seed} kept every promise`,
    `trace ${hash}, again with: npm run simulate -- --seed ${seed}`,
  ]
}

interface Sums {
  violations: number
  steps: number
  runs: number
  effects: number
  virtualSeconds: number
  readonly ends: Map<string, number>
}

function add(sums: Sums, { world, steps, violation }: Played): void {
  if (violation) sums.violations += 1
  sums.steps += steps
  sums.effects += world.provider.log.length
  sums.virtualSeconds += world.sched.now() / 1_000
  for (const { end_reason } of world.tables.run.all()) {
    sums.runs += 1
    if (end_reason) sums.ends.set(end_reason, (sums.ends.get(end_reason) ?? 0) + 1)
  }
}

export async function simulate(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: 'string', default: '2000' },
      seed: { type: 'string' },
      bugs: { type: 'string', default: 'all' },
      json: { type: 'boolean', default: false },
    },
  })
  const one = values.seed === undefined ? null : Number(values.seed)
  const seeds = Number(values.seeds)
  if (![one ?? 0, seeds].every((n) => Number.isSafeInteger(n) && n >= 0)) {
    print('usage: npm run simulate -- [--seeds N] [--seed S] [--bugs all|none] [--json]')
    return EXIT.usage
  }
  const stage = theatre()
  if (one !== null) {
    const played = await stage.play(one)
    for (const line of tell(played)) print(line)
    return played.violation ? EXIT.failure : EXIT.ok
  }
  return judgeAll(stage, { seeds, bugs: values.bugs === 'none' ? [] : BUGS, json: values.json, print })
}

interface Asked {
  readonly seeds: number
  readonly bugs: readonly Bug[]
  readonly json: boolean
  readonly print: (line: string) => void
}

async function judgeAll(stage: Theatre, { seeds, bugs, json, print }: Asked): Promise<number> {
  const started = performance.now()
  const cpu = process.cpuUsage()
  const sums: Sums = { violations: 0, steps: 0, runs: 0, effects: 0, virtualSeconds: 0, ends: new Map() }
  await simulateSeeds(stage, { from: 1, seeds }, (played) => {
    add(sums, played)
    if (played.violation && sums.violations <= 3) for (const line of tell(played)) print(line)
  })
  const seconds = tenths((performance.now() - started) / 1_000)
  const { user, system } = process.cpuUsage(cpu)
  const cpuSeconds = tenths((user + system) / 1_000_000)
  const { violations, steps, runs, effects } = sums
  print(`${seeds} seeds, ${runs} runs, ${effects} effects, ${steps} steps: ${violations} violations, in ${seconds} s`)
  const found: Found[] = []
  for (const bug of bugs) {
    const one = await findBug(stage, bug)
    found.push(one)
    print(`${one.seed === null ? 'NOT FOUND' : `seed ${one.seed}`}: ${one.bug}, by "${one.invariant ?? ''}"`)
  }
  const killed = found.filter((f) => f.seed !== null).length
  if (bugs.length > 0) print(`${killed} of ${bugs.length} planted faults found`)
  const ends = Object.fromEntries([...sums.ends].sort(([a], [b]) => (a < b ? -1 : 1)))
  const virtualSeconds = Math.round(sums.virtualSeconds)
  const result = { seeds, violations, plantedBugs: bugs.length, killed, seconds, cpuSeconds, steps, runs, effects }
  if (json) print(JSON.stringify({ ...result, virtualSeconds, ends, bugs: found }))
  return violations === 0 && killed === bugs.length ? EXIT.ok : EXIT.failure
}

const tenths = (value: number): number => Math.round(value * 10) / 10

/** The place of a fault is one line; the rest of each stack would be a tenth of the time. */
const STACK_LINES = 2

if (process.argv[1] !== undefined && import.meta.url === new URL(process.argv[1], 'file://').href) {
  Error.stackTraceLimit = STACK_LINES
  // thousands of worlds lie there unfinished, and nobody waits until they are cleared away
  process.exit(await simulate(process.argv.slice(2), console.log))
}
