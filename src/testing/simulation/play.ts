/** One seed, from the first message to the last check. */
import { GUARDS, memoryStore, memoryVerbs } from '../memory/store.ts'
import { withBug } from './bugs.ts'
import { type Agents, agentsOn, type Stage } from './agents.ts'
import { courierOf } from './courier.ts'
import { judgeEnd } from './end.ts'
import { judgeOf } from './judge.ts'
import { listenerOf, NOBODY } from './listener.ts'
import { actorsOf, type Known } from './people.ts'
import { providerOf, TOOL_MS } from './provider.ts'
import { chanceOf } from './random.ts'
import { readerOf } from './reader.ts'
import { scenarioOf, TIMES } from './scenario.ts'
import { type Process, scheduler } from './scheduler.ts'
import { boot, crash } from './servers.ts'
import { traceOf } from './trace.ts'
import type { Bug, Violation, World } from './world.ts'

export interface Played {
  readonly seed: number
  readonly violation: Violation | null
  /** Hash of everything that happened, in order. */
  readonly hash: string
  readonly steps: number
  readonly last: readonly string[]
  readonly world: World
}

/** A stage with its actors' costumes: agents and tools are made once. */
export interface Theatre {
  play(seed: number, bug?: Bug | null): Promise<Played>
}

/** Once it is calm a run rests or moves within two leases and the longest that a step may take without a commit. */
const STEP_MS = 2 * TOOL_MS + 12_000
const PATIENCE_MS = 2 * TIMES.leaseMs + STEP_MS
/** So long the archivist takes, at most. */
const SWEEP_MS = 12_000
/** Waits for people and deadlines included; whatever is not at rest by then never will be. */
const LONGEST_MS = 400_000

export function theatre(): Theatre {
  const stage: Stage = { world: null }
  const agents = agentsOn(stage)
  return {
    async play(seed, bug = null) {
      const world = worldOf(seed, bug, agents)
      stage.world = world
      await perform(world)
      const { trace, sched, violations } = world
      return {
        seed,
        violation: violations[0] ?? null,
        hash: trace.hash(),
        steps: sched.steps(),
        last: trace.last(),
        world,
      }
    },
  }
}

function worldOf(seed: number, bug: Bug | null, agents: Agents): World {
  const chance = chanceOf(seed)
  const trace = traceOf()
  const sched = scheduler(chance, trace)
  const scenario = scenarioOf(chance)
  const verbs = memoryVerbs(bug?.guards ?? GUARDS)
  bug?.verbs?.(verbs)
  const store = memoryStore({ now: sched.now, verbs, isChecked: bug?.unchecked !== true })
  let made = 0
  const outside: Process = sched.process('outside')
  const violations: Violation[] = []
  const world: World = {
    chance,
    trace,
    sched,
    store,
    tables: store.tables,
    scenario,
    servers: [],
    crash: (process) => crash(world, process),
    outside,
    bug,
    get agents() {
      return cast
    },
    violations,
    isStormy: true,
    era: 0,
    downUntil: 0,
    release: 0,
    closedSince: new Map(),
    swept: new Set(),
    said: new Map(),
    next: () => (made += 1),
    broken(invariant, detail) {
      trace.add(sched.now(), 'JUDGE', `${invariant}: ${detail}`)
      violations.push({ invariant, detail, at: sched.now() })
    },
    get provider() {
      return provider
    },
    get judge() {
      return judge
    },
    get listener() {
      return listener
    },
    get tell() {
      return tell
    },
  }
  const provider = providerOf(world, outside)
  const judge = judgeOf(world)
  const listener = scenario.listened ? listenerOf(world) : NOBODY
  const tell = courierOf(world)
  const [first, second] = agents[scenario.agent]
  const cast = [withBug(first, bug, world), withBug(second, bug, world)] as const
  return world
}

async function perform(world: World): Promise<void> {
  const { sched, scenario, violations } = world
  for (let i = 0; i < scenario.workers; i++) boot(world)
  restarts(world)
  const known = actorsOf(world)
  const reader = scenario.reader ? readerOf(world, known) : null
  const isBroken = (): boolean => violations.length > 0
  await sched.run(
    () => isBroken() || (known.talking === 0 && (sched.now() >= scenario.calmAt || haveEnded(world))),
    () => {},
  )
  world.isStormy = false
  const calmAt = sched.now()
  // a sweep that did not come through is not asked for again
  const isSwept = (): boolean => !scenario.sweeps || known.isSwept || sched.now() > calmAt + SWEEP_MS
  const isOver = (): boolean =>
    (haveEnded(world) && (reader?.seen().isOver ?? true) && world.listener.hasAll() && isSwept()) ||
    sched.now() > calmAt + LONGEST_MS
  await sched.run(
    () => isBroken() || isOver(),
    () => judgeProgress(world, known, calmAt),
  )
  if (!isBroken()) judgeEnd(world, reader)
}

const haveEnded = (world: World): boolean => {
  for (const run of world.tables.run.all()) if (run.end_reason === null) return false
  return true
}

/** What the database does by itself: it goes away, and what was unlogged is gone with it. */
function restarts(world: World): void {
  const { sched, chance, outside, scenario, tables } = world
  for (const at of scenario.weather.restarts)
    sched.after(
      outside,
      at,
      () => {
        world.era += 1
        world.downUntil = sched.now() + chance.between(50, 2_500)
        for (const piece of [...tables.delta.all()]) tables.delta.remove(piece)
      },
      'DATABASE RESTARTS',
    )
}

/** Liveness: a run that somebody could move does not stand still. */
function judgeProgress(world: World, _known: Known, calmAt: number): void {
  const { sched, tables } = world
  const now = sched.now()
  for (const run of tables.run.all()) {
    if (run.end_reason !== null || isAtRest(world, run)) continue
    const since = Math.max(
      calmAt + TIMES.leaseMs * 2.5,
      world.judge.lastMoved(`${run.tenant_id}/${run.id}`),
      run.due_at,
    )
    if (now > since + PATIENCE_MS) world.broken('3 every run gets on', `${run.id} ${run.status}`)
  }
}

function isAtRest(
  world: World,
  run: World['tables']['run'] extends { get(key: string): infer R } ? NonNullable<R> : never,
): boolean {
  if (run.status === 'waiting_confirmation') return run.due_at > world.sched.now()
  if (run.status !== 'queued') return false
  for (const older of world.tables.run.all())
    if (older.session_id === run.session_id && older.generation < run.generation && older.end_reason === null)
      return true
  return false
}
