/** Everything that is there while one seed is played. */
import type { Agent } from '../../run/agent.ts'
import type { Tables } from '../memory/tables.ts'
import type { MemoryStore } from '../memory/store.ts'
import type { Bug } from './bugs.ts'
import type { Judge } from './judge.ts'
import type { Provider } from './provider.ts'
import type { Chance } from './random.ts'
import type { Scenario } from './scenario.ts'
import type { Process, Scheduler } from './scheduler.ts'
import type { Server } from './servers.ts'
import type { Trace } from './trace.ts'

export interface Violation {
  readonly invariant: string
  readonly detail: string
  readonly at: number
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
  /** What each attempt of the model has said in full, by the number in front of it. */
  readonly said: Map<number, string>
  /** Counts ids, attempts and items. */
  readonly next: () => number
  /** Notes a broken promise; the play ends with it. Ids and codes only. */
  broken(invariant: string, detail: string): void
}

/** The process that runs, unless it is one that does not fail: people, providers and the judge. */
export const isServer = (process: Process): boolean => process.name.startsWith('w')
