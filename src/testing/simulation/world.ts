/** Everything that is there while one seed is played. */
import type { Db } from '../../db/port.ts'
import type { Sink } from '../../journal/sink.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Agent } from '../../run/agent.ts'
import type { Worker } from '../../run/worker.shell.ts'
import type { Runtime } from '../../runtime.ts'
import type { Contract, ProbeOutcome } from '../../tool/contract.ts'
import type { AllGuards, MemoryStore } from '../memory/store.ts'
import type { Tables } from '../memory/tables.ts'
import type { Verbs } from '../memory/verb.ts'
import type { Chance } from './random.ts'
import type { Mode, Scenario } from './scenario.ts'
import type { Process, Scheduler } from './scheduler.ts'
import type { Skew } from './seams.ts'
import type { Trace } from './trace.ts'

export interface Violation {
  readonly invariant: string
  readonly detail: string
  readonly at: number
}

export interface Order {
  readonly mode: Mode
  readonly tool: string
  readonly key: string
  /** The logical call: `run/step/position`. */
  readonly place: string
  readonly item: string
  readonly units: number
  /** The signal under which it is told later what came of it; absent when the reply says it. */
  readonly tells?: string
}

export interface Happened extends Order {
  readonly at: number
}

export interface Provider {
  readonly log: readonly Happened[]
  /** Resolves with the reply, rejects with a failure, or does neither. */
  order(order: Order): Promise<unknown>
  probe(mode: Mode, key: string): Promise<ProbeOutcome>
  /** Effects of one logical call, as the log counts them. */
  count(place: string): number
  /** Whether a request for this call is still on its way. */
  isPending(place: string): boolean
  /** Replies of this tool that could look like nobody being there. */
  failures(tool: string): number
}

export interface Server {
  readonly process: Process
  readonly runtime: Runtime
  readonly skew: Skew
  worker: Worker | null
  isStopping: boolean
}

export interface Judge {
  /** A statement has been applied. */
  after(verb: string, params: unknown, rows: number): void
  leaves(order: Order, by: Process): void
  /** The caller has its answer, or waits for it no longer. */
  returned(order: Order, by: Process): void
  happened(line: Happened): void
  /** A person was shown this card and the store has taken the yes. */
  consented(confirmation: string, params: string): void
  lastMoved(run: string): number
}

export interface Bug {
  readonly name: string
  readonly guards?: AllGuards
  readonly verbs?: (verbs: Verbs) => void
  readonly contract?: (contract: Contract, world: World) => Contract
  readonly clock?: (clock: Clock) => Clock
  readonly db?: (db: Db, world: World) => Db
  /** The constraints of the tables are gone, so that a judge must see it. */
  readonly unchecked?: true
  /** The authoriser says yes to everything. */
  readonly permits?: true
}

/** Who hears of events. */
export interface Listener {
  readonly sinks: readonly Sink[]
  /** Whether `books` has everything that there is to hear. */
  hasAll(): boolean
  /** The last event of a run, `tenant/run`, that `books` has; null when nobody listens. */
  heard(run: string): number | null
}

export interface World {
  readonly chance: Chance
  readonly trace: Trace
  readonly sched: Scheduler
  readonly store: MemoryStore
  readonly tables: Tables
  readonly scenario: Scenario
  /** The fault that is planted, if one is. */
  readonly bug: Bug | null
  readonly provider: Provider
  readonly judge: Judge
  readonly servers: Server[]
  /** Who never fails: providers, supervisors, the network. */
  readonly outside: Process
  readonly listener: Listener
  /** Tells runs what they wait for, until the product has it. */
  readonly tell: (signal: string, done: boolean) => void
  /** The agent of the scenario in its two releases. */
  readonly agents: readonly [Agent, Agent]
  readonly violations: Violation[]
  /** Whether anything may go wrong now. */
  isStormy: boolean
  /** Grows with each restart of the database: whatever was under way fails. */
  era: number
  /** The database answers nobody before this time. */
  downUntil: number
  /** Which of two releases a server starts with. */
  release: 0 | 1
  /** Since when nobody may use a tool; for all tools under `*`, when the authoriser itself is broken. */
  readonly closedSince: Map<string, number>
  /** Runs of which retention has taken something away: `tenant/run`. */
  readonly swept: Set<string>
  /** What each attempt of the model has said in full, by the number in front of it. */
  readonly said: Map<number, string>
  /** Counts ids, attempts and items. */
  readonly next: () => number
  /** A server dies, with everything that it has under way. */
  crash(process: Process): void
  /** Notes a broken promise; the play ends with it. Ids and codes only. */
  broken(invariant: string, detail: string): void
}

/** The process that runs, unless it is one that does not fail: people, providers and the judge. */
export const isServer = (process: Process): boolean => process.name.startsWith('w')
