/** The journal of effects: COMMIT S, and what recovery and the approval card ask of it. */
import { batch } from '../db/batch.ts'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Scope } from '../kernel/scope.ts'
import type { AnsweredEffect, JsonObject, ToolOutcome } from '../tool/contract.ts'
import type { Candidate } from '../tool/compensates.ts'
import type { Lease } from './lease.store.ts'
import { answered, type AnsweredRow, candidates, effectsOfRun, repeats, start, unknownEffects } from './effect.sql.ts'

export interface Start {
  readonly version: number
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly argumentsHash: string
  readonly confirmation: string | null
  readonly resourceVersion: string | null
  /** The key of the effect that it undoes. */
  readonly compensates: string | null
  /** A repeat of an effect that has started before, under the same key. */
  readonly again: boolean
}

export type Started =
  | { readonly outcome: 'started'; readonly version: number }
  | { readonly outcome: 'lease_lost' | 'canceled' | 'deadline' | 'conflict' | 'expired' | 'not_approved' }

export interface EffectStore {
  /** J6: lease, epoch, status, cancel mark, deadline, hash and confirmation are checked in the statement that marks the start. */
  start(lease: Lease, wanted: Start): Promise<Started>
  repeats(
    scope: Scope,
    session: string,
    call: { readonly argumentsHash: string; readonly key: string },
  ): Promise<string | null>
  /** J7: the effects of a tool in a conversation of this user, newest first, as far as their content is still there. */
  candidates(
    scope: Scope,
    of: { readonly session: string; readonly user: string; readonly tool: string },
  ): Promise<readonly Candidate[]>
  /** One effect by its key; null when it is not there, or its content is not. */
  answered(scope: Scope, key: string): Promise<AnsweredEffect | null>
  unknown(scope: Scope, limit: number): ReturnType<typeof readUnknown>
  ofRun(scope: Scope, run: string): ReturnType<typeof readRun>
}

/** The hash as the API tells it. */
const shown = <R extends { readonly argumentsHash: string }>(
  keys: ContentKeys,
  { tenant }: Scope,
  rows: readonly R[],
) => rows.map((row) => ({ ...row, argumentsHash: keys.unveil(tenant, row.argumentsHash) }))

const readUnknown = async (db: Db, keys: ContentKeys, scope: Scope, limit: number) =>
  shown(keys, scope, await db.read(scope, unknownEffects, { tenant: scope.tenant, limit }))
const readRun = async (db: Db, keys: ContentKeys, scope: Scope, run: string) =>
  shown(keys, scope, await db.read(scope, effectsOfRun, { tenant: scope.tenant, run }))

export function effectStore(db: Db, content: ContentKeys): EffectStore {
  type Queued = { readonly lease: Lease; readonly wanted: Start }
  const senders = new Map<string, (item: Queued) => Promise<Started>>()
  const sender = (worker: string) =>
    batch<Queued, Started>(async (items) => {
      const rows = await db.call(start, {
        starts: JSON.stringify(items.map((i) => encode(i.lease, i.wanted, content))),
        keys: items.map((i) => `${i.lease.tenant}/${i.lease.environment}/${i.lease.run}`),
        worker,
      })
      const by = new Map(rows.map((r) => [r.n, r]))
      return items.map((_, i): Started => {
        const row = by.get(i + 1)
        if (row?.outcome === 'started' && row.version !== null) return { outcome: 'started', version: row.version }
        return { outcome: (row?.outcome as Exclude<Started['outcome'], 'started'> | undefined) ?? 'lease_lost' }
      })
    })
  return {
    start(lease, wanted) {
      const send = senders.get(lease.worker) ?? sender(lease.worker)
      senders.set(lease.worker, send)
      return send({ lease, wanted })
    },
    async repeats(scope, session, call) {
      const [row] = await db.read(scope, repeats, {
        tenant: scope.tenant,
        session,
        argumentsHash: content.veil(scope.tenant, call.argumentsHash),
        key: call.key,
      })
      return row?.key ?? null
    },
    async candidates(scope, of) {
      const rows = await db.read(scope, candidates, { tenant: scope.tenant, ...of, limit: MOST_CANDIDATES })
      return rows.flatMap(({ status, outcome, isAnswered, ...row }): Candidate[] => {
        const effect = opened(content, scope, row)
        const state = status !== 'settled' ? 'open' : outcome === 'ok' ? 'done' : 'failed'
        return effect ? [{ key: row.key, state, isAnswered, effect }] : []
      })
    },
    async answered(scope, key) {
      const [row] = await db.read(scope, answered, { tenant: scope.tenant, key })
      return row ? opened(content, scope, row) : null
    },
    unknown: (scope, limit) => readUnknown(db, content, scope, limit),
    ofRun: (scope, run) => readRun(db, content, scope, run),
  }
}

/** Who has done more with one tool in one conversation undoes the latest of it. */
const MOST_CANDIDATES = 200

/** Null when retention has taken what was sent. */
function opened(sealer: ContentKeys, { tenant }: Scope, row: AnsweredRow): AnsweredEffect | null {
  const open = (sealed: Uint8Array): unknown => JSON.parse(Buffer.from(sealer.open(tenant, sealed)).toString())
  const { canonical } = open(row.arguments) as { readonly canonical?: string }
  if (canonical === undefined) return null
  const outcome = row.result === null ? null : (open(row.result) as ToolOutcome)
  const input = JSON.parse(canonical) as JsonObject
  return { key: row.key, tool: row.tool, version: row.version, input, result: outcome?.ok ? outcome.result : null }
}

function encode(lease: Lease, wanted: Start, keys: ContentKeys) {
  const { step, position, tool, compensates } = wanted
  const told = { step, position, tool, ...(compensates !== null && { compensates }) }
  return {
    tenant: lease.tenant,
    environment: lease.environment,
    run: lease.run,
    epoch: lease.epoch,
    version: wanted.version,
    step: wanted.step,
    position: wanted.position,
    arguments_hash: keys.veil(lease.tenant, wanted.argumentsHash),
    confirmation: wanted.confirmation,
    resource_version: wanted.resourceVersion === null ? null : keys.veil(lease.tenant, wanted.resourceVersion),
    again: wanted.again,
    event: Buffer.from(keys.seal(lease.tenant, Buffer.from(JSON.stringify(told)))).toString('base64'),
  }
}
