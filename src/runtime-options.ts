/** What a program brings to its runtime. */
import { Fault } from './kernel/fault.ts'
import type { Db } from './db/port.ts'
import type { KeyProvider } from './db/keyprovider.ts'
import type { RestoreLog } from './journal/restorelog.ts'
import type { Sink } from './journal/sink.ts'
import type { Clock } from './kernel/clock.ts'
import type { FaultHook } from './kernel/faultpoint.ts'
import type { Ids } from './kernel/ids.ts'
import type { Random } from './kernel/random.ts'
import type { Authorities } from './memory/authority.shell.ts'
import type { Consolidators } from './memory/consolidate.ts'
import type { Quota } from './memory/memory.store.ts'
import type { Evaluators } from './memory/procedures.shell.ts'
import type { Embedder } from './memory/recall/embedder.ts'
import type { Authorize } from './run/acting.ts'
import type { Agent } from './run/agent.ts'
import type { Run } from './run/state.ts'
import type { Credentials } from './tool/credential/credentials.ts'
import type { ObjectStore } from './tool/result/objects.ts'
import { type OnToolError, thrownLine } from './tool/thrown.ts'

export interface RuntimeOptions {
  readonly db: Db
  readonly agents: readonly Agent[]
  /** Whether an actor may use a tool now, asked at every use; default: what its credential carries. */
  readonly authorize?: Authorize
  /** Where results are kept that nobody reads whole; without one they are cut, and a tool cannot return a stream. */
  readonly objects?: ObjectStore
  /** What tools are given that declare `credentials`. */
  readonly credentials?: Credentials
  /** Where the folders of conversations are made, for tools that say `folder: true`. */
  readonly folders?: string
  /**
   * Who wraps the data keys of tenants: `keyFile(…)`, or a service of keys. Without it content is stored as it is, for tests
   * and for whoever encrypts the disk.
   */
  readonly keys?: KeyProvider
  /** Content that was stored before there were keys is refused. */
  readonly refusePlain?: boolean
  /** Where it is written what an older state of the database must be told: `restoreFolder(…)`. */
  readonly restoreLog?: RestoreLog
  /** How long backups of the database are kept, as receipts of destruction tell it. */
  readonly backupDays?: number
  readonly clock?: Clock
  readonly ids?: Ids
  readonly random?: Random
  readonly fault?: FaultHook
  /**
   * Origins of a developer's machine, such as `http://localhost:8080`, that calls may reach without TLS and on a loopback
   * address, where their contract lists the host. Default: none.
   */
  readonly developmentOrigins?: readonly string[]
  /** Places of the program that hear of every event, at least once and in the order of each run: `redisStream(…)`. */
  readonly sinks?: readonly Sink[]
  /** Vectors for recall; without one memories are found by their words. */
  readonly embedder?: Embedder
  /** Readers of facts that memories repeat, by the name that keys give as `authority`; asked whenever one is used. */
  readonly authorities?: Authorities
  /** What episodes come to that do not say the same, by the key that `consolidates` them; default: what enough of them share. */
  readonly consolidators?: Consolidators
  /** What tries a procedure before an operator may approve it, by the name of the evaluation. */
  readonly evaluators?: Evaluators
  /** IANA name of the zone of a subject, for "yesterday"; default UTC. */
  readonly zoneOf?: (subject: string) => string
  /** Most memories of a subject, and of a tenant in one environment; default 2 000 and 5 000 000. */
  readonly quota?: Quota
  /**
   * Told of what a tool or a vault throws that its contract does not declare, as it is: it may hold values, so it belongs into no
   * log that others read. Default: a warning of the process with class, code and place alone.
   */
  readonly onToolError?: OnToolError
  /** Told of every run that a worker of this process has moved, after the commit. */
  readonly observe?: (run: Run) => void
}

/** A person who is talked to every day for years says less that lasts; a tenant pays for more (E11). */
export const QUOTA: Quota = { subject: 2_000, tenant: 5_000_000 }

/** Of one subject: enough for a person, and too few for who copies. */
export const EXPORTS = { calls: 5, perMs: 3_600_000 }

// a relay that fails in silence looks like one that has nothing to do
export const warn = (error: unknown): void => process.emitWarning(Fault.is(error) ? error : new Fault('internal'))

export const warnOfTool: OnToolError = (thrown, at) => process.emitWarning(thrownLine(thrown, at), 'ToolError')
