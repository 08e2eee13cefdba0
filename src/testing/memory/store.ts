/**
 * The store in memory: every statement that a run needs, with the guards of `migrations/0002_transitions.sql`, on plain
 * tables. It is held to the same probes as the real engines (test/guarantees/store-memory.test.ts).
 *
 * It keeps nothing, and there is one session: each statement runs alone and at once. It proves what a program does with the
 * store's answers, not SQL, locks or row-level security.
 */
import type { Db, Statement } from '../../db/port.ts'
import { addAnswers, ANSWER } from './answers.ts'
import { addConversations, CLOSE, REPLACE, SUBMIT } from './conversations.ts'
import { addEffects, START } from './effects.ts'
import { addPeople, CANCEL, DECIDE } from './people.ts'
import { addMemories } from './memories.ts'
import { addOutbox, DELIVER, MARK } from './outbox.ts'
import { ABANDON, addQueue, CLAIM, REAP } from './queue.ts'
import { addRates, TAKE } from './rates.ts'
import { addRetention, SWEEP } from './retention.ts'
import { addRuns } from './runs.ts'
import { addStep, STEP } from './step.ts'
import { addSignals, WAKE } from './signals.ts'
import { addStream, SAID, SHOWN } from './stream.ts'
import { memoryTables, type Tables } from './tables.ts'
import type { Verbs, Walls } from './verb.ts'

/** Every guard of every statement, by name. */
export const GUARDS = {
  step: STEP,
  answer: ANSWER,
  start: START,
  decide: DECIDE,
  cancel: CANCEL,
  submit: SUBMIT,
  replace: REPLACE,
  close: CLOSE,
  claim: CLAIM,
  reap: REAP,
  abandon: ABANDON,
  deliver: DELIVER,
  mark: MARK,
  take: TAKE,
  sweep: SWEEP,
  wake: WAKE,
  shown: SHOWN,
  said: SAID,
} as const
export type AllGuards = typeof GUARDS

/** The statements with their guards. */
export function memoryVerbs(guards: AllGuards = GUARDS): Verbs {
  const verbs: Verbs = new Map()
  addStep(verbs, guards)
  addAnswers(verbs)
  addEffects(verbs, guards.start)
  addPeople(verbs, guards)
  addConversations(verbs, guards)
  addSignals(verbs, guards)
  addQueue(verbs, guards)
  addOutbox(verbs, guards)
  addRates(verbs, guards)
  addRetention(verbs, guards)
  addMemories(verbs)
  addRuns(verbs)
  addStream(verbs, guards)
  return verbs
}

export interface MemoryStore {
  readonly db: Db
  readonly tables: Tables
  /** One statement at once, in a transaction. */
  apply<P, R>(statement: Statement<P, R>, params: P, walls: Walls): R[]
}

export interface MemoryOptions {
  /** The clock of the store in milliseconds; default: the system's. */
  readonly now?: () => number
  readonly verbs?: Verbs
  /** False: the constraints of the tables are not looked at; default true. */
  readonly isChecked?: boolean
}

/** @throws Error for a statement that the memory store does not know, and where a constraint of the tables is hurt. */
export function memoryStore({ now = Date.now, verbs = memoryVerbs(), isChecked }: MemoryOptions = {}): MemoryStore {
  const tables = memoryTables(now, isChecked)
  function apply<P, R>(statement: Statement<P, R>, params: P, walls: Walls): R[] {
    const verb = verbs.get(statement as Statement<unknown, unknown>)
    if (!verb) throw new Error(`the memory store does not know the statement ${statement.name}`)
    return tables.transaction(() => verb(tables, params, walls)) as R[]
  }
  const db: Db = {
    engine: 'memory',
    call: async (statement, params) => apply(statement, params, null),
    read: async (scope, statement, params) => apply(statement, params, scope),
    write: async (scope, statement, params) => apply(statement, params, scope),
    close: async () => {},
  }
  return { db, tables, apply }
}
