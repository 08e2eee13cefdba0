/** Forgetting as statements: each may run again, and counts what it removed. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import { hashBytes } from '../kernel/canonical.ts'
import type { FaultCode } from '../kernel/fault.ts'
import type { Id, RunId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { By } from './candidate.store.ts'
import type { MemoryId, Place } from './entry.ts'
import {
  activeRunsOf,
  artifactOwner,
  callsOf,
  deletions,
  type DeletionsRow,
  deletionTried,
  drawnFrom,
  dropNeighbours,
  dueDeletions,
  entomb,
  entombMemory,
  failDeletion,
  forgetCalls,
  forgetCandidates,
  forgetMessageBodies,
  forgetQuotes,
  forgetSession,
  forgetUses,
  forgetVersions,
  heldBy,
  marksOf,
  memoriesAbout,
  messagesAt,
  messagesOfSession,
  messagesOfStep,
  openDeletion,
  partDone,
  partsOf,
  removeArtifacts,
  removeShown,
  sessionsOf,
  widenDeletion,
} from './forget.sql.ts'
import { valueHash, valueMark } from './memory.store.ts'

export type DeletionId = Id<'del'>
export type DeletionKind = 'memory' | 'message' | 'conversation' | 'artifact' | 'subject' | 'purpose'

export interface Deletion {
  readonly id: DeletionId
  readonly subject: string
  readonly kind: DeletionKind
  readonly target: string
  readonly memories: readonly MemoryId[]
  /** `run.seq` */
  readonly messages: readonly string[]
  readonly sessions: readonly string[]
  readonly attempts: number
  readonly createdAt: number
  readonly doneAt: number | null
}

export interface DeletionPart {
  readonly derivative: string
  readonly removed: number
  readonly error: string | null
  readonly doneAt: number | null
}

export interface CallPlace {
  readonly run: string
  readonly step: number
  readonly position: number
}

export interface MessageRow {
  readonly run: string
  readonly seq: number
  readonly role: string
  readonly position: number | null
  readonly body: Json
}

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface ForgetStore {
  open(scope: Scope, deletion: NewDeletion, derivatives: readonly string[], by: By): Promise<void>
  widen(scope: Walls, id: DeletionId, memories: readonly string[]): Promise<void>
  part(
    scope: Walls,
    id: DeletionId,
    derivative: string,
    done: { removed: number; error: FaultCode | null },
  ): Promise<void>
  /** When every part is done, since when; null while something is left. */
  tried(scope: Walls, id: DeletionId): Promise<number | null>
  list(
    scope: Walls,
    filter: { readonly subject: string; readonly after: string; readonly limit: number; readonly id?: string },
  ): Promise<readonly Deletion[]>
  parts(scope: Walls, id: DeletionId): Promise<readonly DeletionPart[]>
  /** The legal hold that covers a subject; null when nothing does. */
  held(scope: Walls, subject: string): Promise<string | null>
  /** Nobody could even look at it: it is due again later. Needs no key of its tenant. */
  failed(scope: Walls, id: DeletionId): Promise<void>
  due(limit: number): Promise<readonly (Walls & { readonly id: DeletionId })[]>

  /** Entombs one memory with all that it ever held. False when it is gone already. `marks` false: its value may be said again. */
  entombMemory(scope: Walls, id: string, by: By, marks: boolean): Promise<boolean>
  entomb(scope: Walls, kind: 'message' | 'call' | 'artifact', ids: readonly string[]): Promise<void>
  drawnFrom(
    scope: Walls,
    withSource: readonly string[],
  ): Promise<readonly { readonly id: string; readonly alone: boolean }[]>
  versions(scope: Walls, only: readonly string[] | null): Promise<number>
  quotes(scope: Walls, only: readonly string[] | null): Promise<number>
  uses(scope: Walls, only: readonly string[] | null): Promise<number>
  questions(scope: Walls, of: { readonly sessions: readonly string[]; readonly subject: string }): Promise<number>
  /** Takes messages that are gone out of the neighbours of memories; the memories that had one. */
  dropNeighbours(scope: Walls): Promise<readonly string[]>
  /** The calls that wrote forgotten memories. */
  calls(scope: Walls, only: readonly string[] | null): Promise<readonly CallPlace[]>
  forgetCalls(scope: Walls, calls: readonly CallPlace[], blank: { arguments: string; plan: string }): Promise<number>
  messagesOfStep(scope: Walls, run: string, step: number): Promise<readonly MessageRow[]>
  messagesAt(scope: Walls, ids: readonly string[]): Promise<readonly (MessageRow & MessageOwner)[]>
  rewrite(
    scope: Walls,
    messages: readonly (Pick<MessageRow, 'run' | 'seq' | 'body'> & { tokens: number })[],
  ): Promise<number>
  forgetSession(
    scope: Walls,
    session: string,
    blank: { arguments: string; plan: string },
  ): Promise<{ readonly removed: number; readonly active: number }>
  sessionsOf(scope: Walls, subject: string): Promise<readonly string[]>
  /** `working`: only those that a worker has at hand, with all that was said to them. */
  activeRuns(scope: Walls, session: string, working?: boolean): Promise<readonly RunId[]>
  messagesOfSession(scope: Walls, session: string): Promise<readonly string[]>
  /** Keys of objects that nobody may read from now on. */
  removeArtifacts(
    scope: Walls,
    of: {
      readonly sessions: readonly string[]
      readonly subject: string
      readonly artifact: string
      /** Those besides that were removed of late. */
      readonly recent: boolean
    },
  ): Promise<readonly string[]>
  /** The same of what came with messages, or was shown by them. */
  removeShown(scope: Walls, messages: readonly string[]): Promise<readonly string[]>
  artifactOwner(scope: Walls, id: string): Promise<{ readonly user: string; readonly subject: string } | null>
  memoriesAbout(scope: Walls, of: { readonly subject: string; readonly session: string }): Promise<readonly MemoryId[]>
}

export interface NewDeletion
  extends Pick<Deletion, 'id' | 'subject' | 'kind' | 'target' | 'memories' | 'messages' | 'sessions'> {
  /** Of an operator, for the audit. */
  readonly reason?: string | undefined
}
export interface MessageOwner {
  readonly user: string
  readonly subject: string
  readonly session: string
}

/** Somebody may write a memory while it is being forgotten: then what it holds now is marked as well. */
const MOST_VERSIONS_MEANWHILE = 20

/** The runs of messages that are named `run.seq`. */
const runsOf = (messages: readonly string[]): readonly string[] => [
  ...new Set(messages.map((id) => id.split('.')[0] ?? '')),
]

export function forgetStore(db: Db, keys: ContentKeys): ForgetStore {
  const walls = ({ tenant, environment }: Walls) => ({ tenant, environment })
  const seal = (tenant: string, text: string): Uint8Array => keys.seal(tenant, Buffer.from(text))
  const open = (tenant: string, sealed: Uint8Array): Json => openJson(keys, tenant, sealed)
  const view = (row: DeletionsRow): Deletion => row as unknown as Deletion
  const refOf = (ref: string): CallPlace | null => {
    const [run, step, position] = ref.split('/')
    return run === undefined || position === undefined ? null : { run, step: Number(step), position: Number(position) }
  }
  return {
    async open(scope, { reason, ...deletion }, derivatives, by) {
      const said = reason === undefined ? null : keys.veil(scope.tenant, reason)
      await db.write(scope, openDeletion, { ...walls(scope), ...deletion, derivatives, ...by, reason: said })
    },
    async widen(scope, id, memories) {
      if (memories.length > 0) await db.write(scope, widenDeletion, { tenant: scope.tenant, id, memories })
    },
    async part(scope, id, derivative, done) {
      await db.write(scope, partDone, { tenant: scope.tenant, id, derivative, ...done })
    },
    tried: async (scope, id) => (await db.write(scope, deletionTried, { tenant: scope.tenant, id }))[0]?.doneAt ?? null,
    list: async (scope, filter) => (await db.read(scope, deletions, { ...walls(scope), id: '', ...filter })).map(view),
    parts: (scope, id) => db.read(scope, partsOf, { tenant: scope.tenant, id }),
    dropNeighbours: async (scope) => (await db.write(scope, dropNeighbours, walls(scope))).map((row) => row.id),
    held: async (scope, subject) => (await db.read(scope, heldBy, { ...walls(scope), subject }))[0]?.id ?? null,
    failed: async ({ tenant, environment }, id) =>
      void (await db.call(failDeletion, { ofTenant: tenant, ofEnvironment: environment, id })),
    due: async (limit) => (await db.call(dueDeletions, { limit })).map((row) => ({ ...row, id: row.id as DeletionId })),

    async entombMemory(scope, id, { audit, actor, actorKind }, marks) {
      for (let tries = 0; tries < MOST_VERSIONS_MEANWHILE; tries++) {
        const rows = await db.read(scope, marksOf, { ...walls(scope), id })
        const [first] = rows
        if (!first) return false
        const values = rows.flatMap((row) => (row.value === null ? [] : [open(scope.tenant, row.value)]))
        const [kind = '', ...rest] = first.place.split(':')
        const of = { place: { scope: kind, id: rest.join(':') } as Place, subject: first.subject, key: first.key }
        // a value that was said again is there once for each time, and is marked once
        const marked = new Set(values.map((value) => valueMark(keys, scope.tenant, { ...of, value })))
        const known = {
          marks: marks ? [...marked] : [],
          hashes: values.map((value) => valueHash(keys, scope.tenant, value)),
        }
        const at = { ...walls(scope), id, version: first.now, ...known, audit, actor, actorKind }
        if ((await db.write(scope, entombMemory, at)).length > 0) return true
      }
      throw new Error('a memory changes faster than it can be forgotten')
    },
    async entomb(scope, kind, ids) {
      if (ids.length > 0) await db.write(scope, entomb, { ...walls(scope), kind, ids })
    },
    drawnFrom: (scope, withSource) => db.read(scope, drawnFrom, { ...walls(scope), withSource }),
    versions: async (scope, only) => (await db.write(scope, forgetVersions, { ...walls(scope), only })).length,
    quotes: async (scope, only) => (await db.write(scope, forgetQuotes, { ...walls(scope), only })).length,
    uses: async (scope, only) => (await db.write(scope, forgetUses, { ...walls(scope), only })).length,
    questions: async (scope, of) => (await db.write(scope, forgetCandidates, { ...walls(scope), ...of })).length,
    calls: async (scope, only) =>
      (await db.read(scope, callsOf, { ...walls(scope), only })).flatMap((row) => refOf(row.ref) ?? []),
    async forgetCalls(scope, calls, blank) {
      if (calls.length === 0) return 0
      const blanks = { blank: seal(scope.tenant, blank.arguments), blankPlan: seal(scope.tenant, blank.plan) }
      const [done] = await db.call(forgetCalls, { ...walls(scope), calls: JSON.stringify(calls), ...blanks })
      return done?.n ?? 0
    },
    async messagesOfStep(scope, run, step) {
      const rows = await db.read(scope, messagesOfStep, { tenant: scope.tenant, run, step })
      return rows.map((row) => ({ ...row, run, body: open(scope.tenant, row.body) }))
    },
    async messagesAt(scope, ids) {
      const rows = await db.read(scope, messagesAt, { ...walls(scope), messages: ids, runs: runsOf(ids) })
      return rows.map((row) => ({ ...row, position: null, body: open(scope.tenant, row.body) }))
    },
    async rewrite(scope, messages) {
      if (messages.length === 0) return 0
      const rows = messages.map(({ run, seq, body, tokens }) => {
        const text = JSON.stringify(body)
        return {
          run,
          seq,
          tokens,
          body: Buffer.from(seal(scope.tenant, text)).toString('base64'),
          hash: keys.veil(scope.tenant, hashBytes(text)),
        }
      })
      return (await db.call(forgetMessageBodies, { ...walls(scope), messages: JSON.stringify(rows) }))[0]?.n ?? 0
    },
    async forgetSession(scope, session, blank) {
      const blanks = { blank: seal(scope.tenant, blank.arguments), blankPlan: seal(scope.tenant, blank.plan) }
      const [done] = await db.call(forgetSession, { ...walls(scope), session, ...blanks })
      return done ?? { removed: 0, active: 0 }
    },
    sessionsOf: async (scope, subject) =>
      (await db.read(scope, sessionsOf, { ...walls(scope), subject })).map((row) => row.id),
    activeRuns: async (scope, session, working = false) =>
      (await db.read(scope, activeRunsOf, { tenant: scope.tenant, session, working })).map((row) => row.id as RunId),
    messagesOfSession: async (scope, session) =>
      (await db.read(scope, messagesOfSession, { ...walls(scope), session })).map((row) => row.id),
    removeArtifacts: async (scope, of) =>
      (await db.write(scope, removeArtifacts, { ...walls(scope), ...of })).map((row) => row.key),
    removeShown: async (scope, messages) =>
      (await db.write(scope, removeShown, { ...walls(scope), messages: [...messages], runs: runsOf(messages) })).map(
        (row) => row.key,
      ),
    artifactOwner: async (scope, id) => (await db.read(scope, artifactOwner, { ...walls(scope), id }))[0] ?? null,
    memoriesAbout: async (scope, of) =>
      (await db.read(scope, memoriesAbout, { ...walls(scope), ...of })).map((row) => row.id as MemoryId),
  }
}
