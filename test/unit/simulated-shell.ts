/**
 * A worker and its world, synchronous and in memory: does what `next` says, reports back, and lets everything happen in
 * between that can happen in between. `chance` is the only source of surprise, so that a seed tells the whole story.
 */
import { MOST_STARTS, MOST_WAITS } from '../../src/run/loops.ts'
import { type Action, next } from '../../src/run/next.ts'
import { step } from '../../src/run/machine.ts'
import type { PlannedCall, Report, Waiting } from '../../src/run/report.ts'
import { isFinal, type Call, type Run } from '../../src/run/state.ts'
import type { ToolOutcome } from '../../src/tool/contract.ts'
import { aPlan, failed, ok, settles } from './runs.ts'
import { simulatedStore, type Store } from './simulated-store.ts'

export interface Chance {
  /** True with this probability. */
  yes(probability: number): boolean
  /** 0 … n - 1. */
  below(n: number): number
}

/** What the world does; each is a plain function of the moment. */
export interface World {
  readonly chance: Chance
  /** `die`: whoever asks this does not live to hear the answer. */
  readonly model: (run: Run) => Report | 'die'
  readonly read: (call: Call) => ToolOutcome | Later
  /** How a started effect ends: settled, taken for later, or nobody hears of it. */
  readonly commit: (call: Call) => ToolOutcome | 'no_reply' | Later
  /** What is heard when a wait is over. */
  readonly resume: (call: Call) => ToolOutcome | 'silent' | Later
  readonly probe: (call: Call) => ToolOutcome | 'not_there' | 'cannot_tell' | 'later'
  readonly plan: (call: Call, planned: PlannedCall) => PlannedCall | ToolOutcome
  /** A report that nobody asked for; what the machine takes from it, the store judges like everything else. */
  readonly intrude?: (run: Run) => Report | null
  /** Between any two actions: people, other tabs, dying workers, time. `idle`: nobody drives the run. */
  readonly meanwhile: (store: Store, idle: boolean) => 'die' | 'go_on'
}

export type Later = Omit<Waiting, 'position'>
const isLater = (said: ToolOutcome | Later): said is Later => 'ms' in said

export interface Told {
  readonly store: Store
  readonly modelCalls: number
  readonly actions: number
}

/** Drives until the run is final. Throws when it does not end, sleeps for ever, or breaks a promise of the store. */
export function simulate(given: Partial<Run>, seconds: number, world: World, mostActions = 2_000): Told {
  const store = simulatedStore(given, seconds)
  let actions = 0
  let modelCalls = 0
  function drive(): void {
    let mine = store.load()
    while (mine.status === 'running') {
      if (++actions > mostActions) throw new Error(`no end after ${mostActions} actions`)
      const dies = world.meanwhile(store, false) === 'die'
      const action = next(mine, store.deadline - store.now)
      if (action.do === 'rest') break
      if (action.do === 'call_model') modelCalls += 1
      const intruder = world.intrude?.(mine)
      const intruded = intruder && step(mine, intruder)
      if (intruded && 'run' in intruded) {
        if (store.run.version === mine.version) store.commit(mine, intruded)
        if (store.run.status !== 'running') break
        mine = store.load()
        continue
      }
      const acted = act(store, world, mine, action)
      if (dies || acted === 'die') {
        if (store.run.status === 'running') store.reap()
        break
      }
      mine = acted === 'reload' ? store.load() : commit(store, acted.run, acted.report)
    }
  }

  while (!isFinal(store.run.status)) {
    world.meanwhile(store, true)
    if (isFinal(store.run.status)) break
    wakeUp(store, world.chance)
    if (isFinal(store.run.status)) break
    store.claim()
    drive()
  }
  return { store, modelCalls, actions }
}

function wakeUp(store: Store, chance: Chance): void {
  if (store.dueAt !== Number.POSITIVE_INFINITY) {
    store.now = Math.max(store.now, store.dueAt)
    return
  }
  if (store.run.wait !== 'unknown_effect')
    throw new Error(`nobody wakes a run that waits for ${String(store.run.wait)}`)
  const call = store.run.calls.find((c) => c.status === 'unknown')
  if (!call) throw new Error('nobody can resolve what is not unknown')
  const mine = store.load()
  const { position } = call
  const retried = chance.yes(0.3) ? step(mine, { kind: 'unknown_retried', position }) : null
  const left = chance.yes(0.2) ? step(mine, { kind: 'unknown_left', position }) : null
  const said = [retried, left].find((one) => one && !('refused' in one))
  const resolved = said ?? step(mine, { kind: 'unknown_resolved', position, outcome: failed() })
  if ('refused' in resolved) throw new Error('an unknown effect can be resolved')
  store.commit(mine, resolved)
}

/** As the loop does: a conflict reads the run again and judges the report anew. */
function commit(store: Store, mine: Run, report: Report): Run {
  let run = mine
  for (let tries = 0; tries < 3; tries += 1) {
    const result = step(run, report)
    if ('refused' in result) throw new Error(`${report.kind} was refused while ${run.status}`)
    if (store.commit(run, result)) return { ...result.run, version: store.run.version }
    const fresh = store.load()
    run = { ...fresh, lost: run.lost && fresh.lost }
  }
  throw new Error('a conflict that nobody made')
}

type Acted = { readonly run: Run; readonly report: Report } | 'reload' | 'die'

function act(store: Store, world: World, run: Run, action: Exclude<Action, { do: 'rest' }>): Acted {
  switch (action.do) {
    case 'end':
      return { run, report: { kind: 'ended', reason: action.reason } }
    case 'reserve':
      return { run, report: { kind: 'reserved' } }
    case 'call_model': {
      const report = world.model(run)
      return report === 'die' ? report : { run, report }
    }
    case 'run_reads':
      return { run, report: readsOf(store, world, action.calls) }
    case 'plan':
      return { run, report: planned(store, world, run, action.calls) }
    case 'refuse':
      return { run, report: settles(...action.calls.map((c) => [c.position, failed(action.code)] as const)) }
    case 'give_up':
      return { run, report: { kind: 'effect_unknown', position: action.call.position } }
    case 'park':
      return { run, report: { kind: 'parked' } }
    case 'finish_step':
      return { run, report: settles() }
    case 'start':
      return startEffect(store, world, run, action.call)
    case 'recover':
      return recover(store, world, run, action.call)
    case 'resume':
      return resume(store, world, run, action)
    default:
      return action satisfies never
  }
}

function planned(store: Store, world: World, run: Run, calls: readonly Call[]): Report {
  const made = calls.map((c) => {
    const openMs = Math.max(0, Math.min(300_000, store.deadline - store.now))
    return [
      c.position,
      world.plan(c, { ...aPlan(c.position, openMs), confirmation: `cnf_${run.step}_${c.position}` }),
    ] as const
  })
  return {
    kind: 'calls_planned',
    plans: made.flatMap(([, p]) => ('plan' in p ? [p] : [])),
    failed: made.flatMap(([position, p]) => ('plan' in p ? [] : [{ position, outcome: p }])),
    confirmers: ['u1'],
  }
}

function startEffect(store: Store, world: World, run: Run, call: Call): Acted {
  if (world.chance.yes(0.05)) return { run, report: settles([call.position, failed('stale_plan')]) }
  if (store.start(run, call) === 'refused') return 'reload'
  const outcome = world.commit(call)
  // the run as COMMIT S left it
  if (outcome === 'no_reply') return 'reload'
  const begun = { ...store.load(), lost: false }
  return { run: begun, report: reportOf(store, call, outcome) }
}

const reportOf = (store: Store, { position }: Call, said: ToolOutcome | Later): Report =>
  isLater(said)
    ? { kind: 'calls_settled', calls: [], waiting: [within(store, position, said)] }
    : settles([position, said])

/** Nobody waits longer than the run. */
const within = (store: Store, position: number, later: Later): Waiting => ({
  ...later,
  position,
  ms: Math.max(0, Math.min(later.ms, store.deadline - store.now)),
})

function readsOf(store: Store, world: World, calls: readonly Call[]): Report {
  const said = calls.map((c) => [c.position, world.read(c)] as const)
  const outcomes = said.flatMap(([position, outcome]) => (isLater(outcome) ? [] : [{ position, outcome }]))
  const waiting = said.flatMap(([position, s]) => (isLater(s) ? [within(store, position, s)] : []))
  return { kind: 'calls_settled', calls: outcomes, ...(waiting.length > 0 && { waiting }) }
}

type Resume = Extract<Action, { do: 'resume' }>

function resume(store: Store, world: World, run: Run, { call, isLast }: Resume): Acted {
  const said = world.resume(call)
  const isOver = said === 'silent' || (isLater(said) && (isLast || (call.wait?.count ?? 0) >= MOST_WAITS))
  if (!isOver) return { run, report: reportOf(store, call, said) }
  if (call.level === 'read') return { run, report: settles([call.position, failed('wait_expired')]) }
  return { run, report: { kind: 'effect_unknown', position: call.position } }
}

function recover(store: Store, world: World, run: Run, call: Call): Acted {
  if (call.again && (run.cancel || store.deadline <= store.now))
    return { run, report: { kind: 'effect_unknown', position: call.position } }
  if (call.again) return startEffect(store, world, run, call)
  const answer = world.probe(call)
  if (typeof answer === 'object') return { run, report: settles([call.position, answer]) }
  if (answer === 'cannot_tell') return { run, report: { kind: 'effect_unknown', position: call.position } }
  const wait = 10_000 - (call.startedMs ?? 0)
  if (answer === 'later' && wait > 0) return { run, report: { kind: 'probe_later', ms: wait } }
  if (run.cancel || store.deadline <= store.now) return { run, report: settles([call.position, failed('not_started')]) }
  if (call.attempt >= MOST_STARTS) return { run, report: { kind: 'effect_unknown', position: call.position } }
  return startEffect(store, world, run, call)
}

/** A world in which everything goes well. */
export const KIND: Omit<World, 'model' | 'chance'> = {
  read: () => ok(),
  commit: () => ok(),
  resume: () => ok(),
  probe: () => ok(),
  plan: (_, p) => p,
  meanwhile: () => 'go_on',
}
export const NO_CHANCE: Chance = { yes: () => false, below: () => 0 }
