/** What conversations leave behind for models, put together: errands, and their kinds. A kind more is a line more. */
import {
  considerSummary,
  type Forgotten,
  RECHECK,
  recheckKind,
  SUMMARY,
  summariesHit,
  summaryKind,
  type Summarising,
} from '../context/summary.shell.ts'
import type { SummaryCount, SummaryStore } from '../context/summary.store.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import type { Random } from '../kernel/random.ts'
import type { Actor } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import type { Agent } from './agent.ts'
import { isErrandAgent } from './errand.ts'
import { type Errands, forgetErrands, startErrands } from './errand.shell.ts'
import type { ErrandCount, Walls } from './errand.store.ts'
import { considerExtraction, EXTRACT, type Extracting, extractKind } from './extract.shell.ts'
import { isFinal, type Run } from './state.ts'

export interface Background {
  /** A run of this process has moved; nothing is done before the next look. */
  moved(run: Run): void
  /** Looks for what is due so often, until it is stopped. */
  start(everyMs: number): { stop(): Promise<void> }
  /** Takes away what summaries and errands hold of what is forgotten; null looks for what is left of earlier ones. */
  forget(scope: Walls, forgotten: Forgotten | null): Promise<number>
  /** What became of summaries, by model and prompt. @throws Fault `permission_denied` for all but operators */
  report(actor: Actor): Promise<readonly SummaryCount[]>
  /** What became of errands, by agent, kind and outcome. @throws Fault `permission_denied` for all but operators */
  errands(actor: Actor): Promise<readonly ErrandCount[]>
}

interface Parts extends Omit<Errands, 'kinds'> {
  readonly summaries: SummaryStore
  readonly extracting: Pick<Extracting, 'store' | 'remembering' | 'candidates' | 'zoneOf'>
  /** Of the product. */
  readonly served: ReadonlyMap<string, Agent>
  readonly random: Random
  readonly scan: (text: string) => readonly string[]
}

/** The agents that do errands for these, by name. */
export const errandAgentsOf = (agents: readonly Agent[]): ReadonlyMap<string, Agent> =>
  new Map(agents.flatMap((a) => [a.summary, a.extract].flatMap((one) => (one ? [[one.agent.name, one.agent]] : []))))

/** Ends that were not seen to yet, in a process whose database is away: the next end of a conversation counts as well. */
const MOST_NOTED = 10_000
/** In one look: more are tried at the next, since it may be the store that is away. */
const MOST_AWAY = 20

export function backgroundOf(parts: Parts): Background {
  const { store, summaries, served, ids, random, scan } = parts
  const summarising: Summarising = {
    store: summaries,
    ids,
    random,
    scan,
    open: (scope, source, delay) => store.open(scope, source, delay),
    isUnderWay: (scope, session, kind) => store.isUnderWay(scope, session, kind),
    of(name) {
      const agent = served.get(name)
      if (!agent?.summary) return null
      const { count } = agent.context
      return { limits: agent.summary.limits, model: agent.summary.agent.model.id, ...(count && { count }) }
    },
  }
  const extracting: Extracting = {
    ...parts.extracting,
    ids,
    open: summarising.open,
    of(name) {
      const agent = served.get(name)
      return agent?.extract && agent.memory ? { keys: agent.memory.keys, most: agent.extract.most } : null
    },
  }
  const errands: Errands = {
    ...parts,
    kinds: {
      [SUMMARY]: summaryKind(summarising),
      [RECHECK]: recheckKind(summarising),
      [EXTRACT]: extractKind(extracting),
    },
  }
  const noted: Run[] = []
  async function seeTo(run: Run): Promise<false> {
    if (isErrandAgent(run.agent)) await store.wake(run.key, run.key.run)
    else {
      await considerSummary(summarising, run.key, run.session)
      await considerExtraction(extracting, run.key, run.session)
    }
    return false
  }
  /** One that always fails holds up nobody: it is left, and what is only out of reach for now goes behind the others. */
  function leftUndone(run: Run, error: unknown): boolean {
    parts.onError(error)
    if (isUnreachable(error)) noted.push(run)
    return isUnreachable(error)
  }
  return {
    moved(run) {
      const agent = served.get(run.agent)
      const minds = isErrandAgent(run.agent) || agent?.summary || agent?.extract
      if (minds && isFinal(run.status) && noted.length < MOST_NOTED) noted.push(run)
    },
    start: (everyMs) =>
      startErrands(errands, everyMs, async () => {
        const end = noted.length
        for (let seen = 0, away = 0; seen < end && away < MOST_AWAY; seen++) {
          const run = noted.shift()
          const isBack = run && (await seeTo(run).catch((error: unknown) => leftUndone(run, error)))
          if (isBack) away += 1
        }
      }),
    async forget(scope, forgotten) {
      const hit = await summariesHit(summarising, scope, forgotten)
      if (hit.runs.length + hit.sessions.length === 0) return 0
      // first who writes, then what is written
      const removed = await forgetErrands(errands, scope, hit)
      const sessions = await summaries.markStale(scope, hit)
      for (const session of new Set(sessions)) await considerSummary(summarising, scope, session as Run['session'])
      return removed + sessions.length
    },
    async report(actor) {
      if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
      return summaries.report(scopeOf(actor))
    },
    async errands(actor) {
      if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
      return store.report(scopeOf(actor))
    },
  }
}
