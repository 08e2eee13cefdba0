/** The verbs of a run. Each is one statement and one round trip; transitions of many runs travel together. */
import { batch } from '../db/batch.ts'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { hashJson } from '../kernel/canonical.ts'
import type { Id } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { ActorKind, Scope } from '../kernel/scope.ts'
import type { Lease } from '../journal/lease.store.ts'
import type { Rule } from '../memory/procedure.ts'
import { procedureStore } from '../memory/procedure.store.ts'
import { answeredKey, coverOf, encodeStep, hashBody, keyOf, signalKey, veiled } from './encode.ts'
import { attend, audited, before, cancel, load, openSession, step, submit, tell } from './run.sql.ts'
import type { SnapshotRows } from './snapshot.ts'
import type { CancelCause } from './reasons.ts'
import type { Absence } from './agent.ts'
import type { Phase, Run, RunKey, Status, WaitReason } from './state.ts'
import type { Moved } from './writes.ts'

/** Zero rows mean that somebody else moved the run: read it again, then decide. */
export type Applied = { readonly applied: true; readonly version: number } | { readonly applied: false }

export interface Submission {
  readonly key: RunKey
  readonly session: string
  /** The version that the caller has seen; null creates the session. */
  readonly sessionVersion: number | null
  readonly fields: Readonly<Record<string, unknown>>
  /** Active runs that this message replaces. */
  readonly replaced: readonly string[]
  /** Active runs that rest because nobody follows them: this message is somebody. */
  readonly resting: readonly string[]
  readonly body: unknown
  readonly event: unknown
  /** The answer that is stored under the caller's idempotency key, with the run or not at all. */
  readonly response: { readonly status: number; readonly body: unknown } | null
}

export interface Submitted {
  readonly outcome: 'created' | 'version' | 'closed' | 'not_found'
  readonly sessionVersion: number | null
  readonly generation: number | null
}

export interface RunStore {
  /** A commit of the run's own worker. */
  commit(lease: Lease, run: Run, moved: Moved): Promise<Applied>
  /** A commit on a run that nobody drives: a decision of a person, or a cancellation. */
  commitIdle(scope: Scope, run: Run, moved: Moved, audit?: AuditEntry): Promise<Applied>
  /** Whether this person has said the same before, and it is recorded. */
  isAudited(scope: Scope, run: string, entry: AuditEntry): Promise<boolean>
  load(key: RunKey): Promise<SnapshotRows | null>
  markCanceled(scope: Scope, run: Run, cause: CancelCause): Promise<Applied>
  /** Tells the runs that wait for a signal. `told_otherwise`: something else was told under this name before. */
  tell(scope: Scope, signal: string, body: Json): Promise<'told' | 'told_otherwise'>
  /** Says that somebody follows the run for so long, and what becomes of it then. False when it has ended. */
  attend(scope: Scope, run: string, absence: Absence): Promise<boolean>
  submit(scope: Scope, submission: Submission): Promise<Submitted>
  before(scope: Scope, session: string): Promise<SessionBefore | null>
  /** The approved procedures of these names, for a run that is about to be made. */
  rulesNow(scope: Scope, names: readonly string[]): Promise<readonly Rule[]>
  /** Which of the procedures that a run keeps have not been forgotten since. */
  rulesLeft(key: RunKey, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** False when the id is taken. */
  openSession(scope: Scope, session: string, agent: string): Promise<boolean>
}

/** Who did what to a run, recorded in the same statement that did it. Names and kinds, no values. */
export interface AuditEntry {
  readonly id: Id<'aud'>
  readonly actor_kind: ActorKind
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly reason: string | null
}

export interface SessionBefore {
  readonly version: number
  readonly generation: number
  readonly agent: string
  readonly user: string
  readonly subject: string
  readonly closed: boolean
  readonly active: readonly {
    readonly run: string
    readonly status: Status
    readonly phase: Phase
    readonly wait: WaitReason | null
  }[]
  readonly tokens: number
  readonly head: string | null
}

/** The keys of the signals that a run listens for, in the form of the wall. */
const signalsOf = (
  keys: ContentKeys,
  scope: Pick<Scope, 'tenant' | 'environment'>,
  { run }: Moved,
): readonly string[] =>
  run.calls.flatMap((c) =>
    c.status === 'waiting' && c.wait?.signal ? [signalKey(scope, keys.veil(scope.tenant, c.wait.signal))] : [],
  )

/** The keys of the effects that new intents answer. */
const answeredOf = (scope: Pick<Scope, 'tenant' | 'environment'>, { writes }: Moved): readonly string[] =>
  writes.intents.flatMap((c) => (c.compensates ? [answeredKey(scope, c.compensates.key)] : []))

export function runStore(db: Db, keys: ContentKeys): RunStore {
  type Queued = { readonly row: unknown; readonly keys: readonly string[] }
  const sender = (worker: string) =>
    batch<Queued, Applied>(async (items) => {
      const rows = await db.call(step, {
        transitions: JSON.stringify(items.map((i) => i.row)),
        keys: items.flatMap((i) => i.keys),
        worker,
      })
      const versions = new Map(rows.map((r) => [r.n, r.version]))
      return items.map((_, i): Applied => {
        const version = versions.get(i + 1)
        return version === undefined ? { applied: false } : { applied: true, version }
      })
    })
  // one queue per worker, since a batch is sent in the name of one
  const senders = new Map<string, ReturnType<typeof sender>>()
  const senderOf = (worker: string) => {
    const known = senders.get(worker)
    if (known) return known
    const made = sender(worker)
    senders.set(worker, made)
    return made
  }

  const procedures = procedureStore(db, keys)
  return {
    rulesNow: (scope, names) => procedures.standing(scope, names),
    rulesLeft: (key, ids) => procedures.stillKept(key, ids),
    // the row comes from the transition, the key from the evidence: a confused tenant is outside the wall
    commit: (lease, run, moved) =>
      senderOf(lease.worker)({
        row: encodeStep(run, moved, coverOf(keys, run.key.tenant)),
        keys: [keyOf(lease), ...signalsOf(keys, lease, moved), ...answeredOf(lease, moved)],
      }),
    commitIdle(scope, run, moved, audit) {
      const encoded = encodeStep(run, moved, coverOf(keys, run.key.tenant))
      const cover = coverOf(keys, scope.tenant)
      const row = audit ? { ...encoded, audit: [{ ...audit, reason: veiled(cover, audit.reason) }] } : encoded
      return senderOf('')({ row, keys: [keyOf({ ...scope, run: run.key.run }), ...signalsOf(keys, scope, moved)] })
    },
    async load(key) {
      const [row] = await db.call(load, { tenant: key.tenant, environment: key.environment, run: key.run })
      const rows = (row?.snapshot as SnapshotRows | null | undefined) ?? null
      if (!rows || rows.run.procedures.length === 0) return rows
      return { ...rows, rules: await procedures.kept(key, rows.run.procedures) }
    },
    async isAudited(scope, run, { action, target, actor, outcome, reason }) {
      const { tenant } = scope
      const said = { action, target, actor, outcome, reason: veiled(coverOf(keys, tenant), reason) }
      const [row] = await db.read(scope, audited, { tenant, run, ...said })
      return row?.found ?? false
    },
    async markCanceled(scope, run, cause) {
      const { seal } = coverOf(keys, run.key.tenant)
      const row = {
        tenant: scope.tenant,
        environment: scope.environment,
        run: run.key.run,
        version: run.version,
        cause,
        event: seal({ cause }),
      }
      const [done] = await db.call(cancel, {
        cancels: JSON.stringify([row]),
        keys: [keyOf({ ...scope, run: run.key.run })],
      })
      return done ? { applied: true, version: done.version } : { applied: false }
    },
    async tell(scope, signal, body) {
      const { seal, veil } = coverOf(keys, scope.tenant)
      const named = veil(signal)
      const row = {
        tenant: scope.tenant,
        environment: scope.environment,
        signal: named,
        body: seal(body),
        hash: veil(hashJson(body)),
      }
      const [done] = await db.call(tell, { told: JSON.stringify([row]), keys: [signalKey(scope, named)] })
      return done?.outcome === 'told' ? 'told' : 'told_otherwise'
    },
    async attend(scope, run, { ms, parks }) {
      const { tenant, environment } = scope
      const [row] = await db.call(attend, { tenant, environment, run, ms, parks })
      return (row?.followed ?? 0) > 0
    },
    async submit(scope, s) {
      const { seal, veil } = coverOf(keys, scope.tenant)
      const row = {
        ...s.fields,
        tenant: scope.tenant,
        environment: scope.environment,
        user_id: scope.user,
        subject: scope.subject,
        session: s.session,
        session_version: s.sessionVersion,
        run: s.key.run,
        replaced: s.replaced,
        resting: s.resting,
        body: seal(s.body),
        hash: veil(hashBody(s.body)),
        event: seal(s.event),
        status: s.response?.status ?? null,
        response: s.response ? seal(s.response.body) : null,
      }
      const list = [s.key.run, s.session, ...s.replaced, ...s.resting].map(
        (id) => `${scope.tenant}/${scope.environment}/${id}`,
      )
      const [done] = await db.call(submit, { submissions: JSON.stringify([row]), keys: list })
      if (!done) return { outcome: 'not_found', sessionVersion: null, generation: null }
      return {
        outcome: done.outcome as Submitted['outcome'],
        sessionVersion: done.sessionVersion,
        generation: done.generation,
      }
    },
    async openSession(scope, session, agent) {
      const row = {
        tenant: scope.tenant,
        environment: scope.environment,
        session,
        user_id: scope.user,
        subject: scope.subject,
        agent,
      }
      const made = await db.call(openSession, {
        sessions: JSON.stringify([row]),
        keys: [`${scope.tenant}/${scope.environment}/${session}`],
      })
      return made.length > 0
    },
    async before(scope, session) {
      const [row] = await db.read(scope, before, { tenant: scope.tenant, session })
      return row ? ({ ...row, active: row.active } as SessionBefore) : null
    },
  }
}
