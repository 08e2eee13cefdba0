/** Endpoints as rows: URL and secrets sealed, each change with its audit row in the same statement. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { EventType } from '../kernel/events.ts'
import type { Id } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import {
  type AttemptsRow,
  attempts,
  deleteEndpoint,
  endpoints,
  insertEndpoint,
  replay,
  rotateSecret,
  secretsOf,
  setState,
} from './endpoint.sql.ts'
import type { Target } from './outbox.store.ts'
import { messageId } from './webhook.ts'

export type EndpointId = Id<'whk'>

export interface Endpoint {
  readonly id: EndpointId
  readonly url: string
  /** Null: every type. */
  readonly types: readonly EventType[] | null
  readonly state: 'enabled' | 'disabled'
  /** Why it is disabled: `gone`, `failing`, or an operator's words. */
  readonly reason: string | null
  /** In a row, over all runs. */
  readonly failures: number
  /** Milliseconds since the epoch, as all times here. */
  readonly failingSince: number | null
  /** Until when the secret before the last rotation signs, too. */
  readonly previousUntil: number | null
  readonly createdAt: number
  /** Runs with events that are not sent. */
  readonly waiting: number
}

/** `message`: the id under which the receiver got it. */
export type DeliveryAttempt = AttemptsRow & { readonly message: string }

/** Who did it, for the audit. */
export interface By {
  readonly actor: string
  readonly audit: string
}

/** From an event of one run, or from a time, in milliseconds since the epoch, in all runs. */
export type ReplayFrom = { readonly run: string; readonly seq: number } | { readonly since: number }

export interface EndpointStore {
  /** False when the environment has `most` already. */
  add(
    scope: Scope,
    endpoint: { readonly id: EndpointId; readonly types: readonly EventType[] | null } & NewTarget,
    by: By & { readonly most: number },
  ): Promise<boolean>
  list(scope: Scope, id?: EndpointId): Promise<readonly Endpoint[]>
  target(scope: Scope, id: EndpointId): Promise<Target | null>
  /** Until when the secret before signs, too; null when there is no such endpoint. */
  rotate(scope: Scope, id: EndpointId, secret: string, by: By & { readonly keepMs: number }): Promise<number | null>
  /** False when it is in this state already, or is not there. */
  setState(scope: Scope, id: EndpointId, state: Endpoint['state'], reason: string | null, by: By): Promise<boolean>
  remove(scope: Scope, id: EndpointId, by: By): Promise<boolean>
  /** Newest first. */
  attempts(scope: Scope, id: EndpointId, limit: number): Promise<readonly DeliveryAttempt[]>
  /** The number of runs whose events go out again. */
  replay(scope: Scope, id: EndpointId, from: ReplayFrom, by: By & { readonly reason: string }): Promise<number>
}

interface NewTarget {
  readonly url: string
  readonly secret: string
}

export function endpointStore(db: Db, keys: ContentKeys): EndpointStore {
  const seal = (tenant: string, text: string): Uint8Array => keys.seal(tenant, Buffer.from(text))
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(keys.open(tenant, sealed)).toString()
  const keyOf = ({ tenant, environment }: Scope) => ({ tenant, environment })
  return {
    async add(scope, { id, url, secret, types }, by) {
      const { tenant } = scope
      const sealed = { url: seal(tenant, url), secret: seal(tenant, secret) }
      return (await db.write(scope, insertEndpoint, { ...keyOf(scope), id, ...sealed, types, ...by })).length > 0
    },
    async list(scope, id) {
      const rows = await db.read(scope, endpoints, { tenant: scope.tenant, id: id ?? null })
      return rows.map((row) => ({
        ...row,
        id: row.id as EndpointId,
        url: open(scope.tenant, row.url),
        types: row.types as readonly EventType[] | null,
        state: row.state as Endpoint['state'],
        reason: row.reason === null ? null : keys.unveil(scope.tenant, row.reason),
      }))
    },
    async target(scope, id) {
      const [row] = await db.read(scope, secretsOf, { tenant: scope.tenant, id })
      if (!row) return null
      const secrets = [row.secret, ...(row.previous ? [row.previous] : [])].map((s) => open(scope.tenant, s))
      return { url: open(scope.tenant, row.url), secrets }
    },
    async rotate(scope, id, secret, by) {
      const sealed = seal(scope.tenant, secret)
      const [row] = await db.write(scope, rotateSecret, { ...keyOf(scope), id, secret: sealed, ...by })
      return row?.until ?? null
    },
    async setState(scope, id, state, reason, by) {
      const params = {
        ...keyOf(scope),
        id,
        state,
        reason: reason === null ? null : keys.veil(scope.tenant, reason),
        ...by,
      }
      return (await db.write(scope, setState, params)).length > 0
    },
    remove: async (scope, id, by) => (await db.write(scope, deleteEndpoint, { ...keyOf(scope), id, ...by })).length > 0,
    async attempts(scope, endpoint, limit) {
      const rows = await db.read(scope, attempts, { tenant: scope.tenant, endpoint, limit })
      return rows.map((row) => ({ ...row, message: messageId(row.run, row.seq) }))
    },
    async replay(scope, id, from, by) {
      const place =
        'run' in from ? { run: from.run, seq: from.seq, since: null } : { run: null, seq: 1, since: from.since }
      const [row] = await db.write(scope, replay, {
        ...keyOf(scope),
        id,
        ...place,
        ...by,
        reason: keys.veil(scope.tenant, by.reason),
      })
      return row?.runs ?? 0
    },
  }
}
