/** Confirmations: read under the tenant, decided in one statement that only one caller can win. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import type { ConfirmationId, Id, RunId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { confirmation, type ConfirmationRow, decide, inbox } from './confirmation.sql.ts'
import type { ConfirmationView, DecideOutcome } from './confirmation.ts'

export interface Decision {
  readonly run: RunId
  readonly confirmation: ConfirmationId
  /** The version that the caller has seen. */
  readonly version: number
  readonly paramsHash: string
  readonly approve: boolean
  /** How long an approval may wait for its worker. */
  readonly executeMs: number
  readonly audit: Id<'aud'>
  readonly reason: string | null
}

export interface Decided {
  readonly outcome: DecideOutcome
  readonly status: ConfirmationView['status'] | null
  readonly version: number | null
}

export interface ConfirmationStore {
  decide(scope: Scope, actor: Actor, decision: Decision): Promise<Decided>
  get(scope: Scope, id: ConfirmationId): Promise<ConfirmationView | null>
  /** Open ones, oldest first. An empty `user` or `run` filters nothing. */
  inbox(
    scope: Scope,
    filter: { readonly user: string; readonly run: string; readonly after: string; readonly limit: number },
  ): Promise<ConfirmationView[]>
}

export function confirmationStore(db: Db, keys: ContentKeys): ConfirmationStore {
  const view = (scope: Scope, row: ConfirmationRow): ConfirmationView => {
    const { plan, ...rest } = row
    const shown = openJson(keys, scope.tenant, plan) as {
      canonical: string
      summary: string
      before: Json
      after: Json
      repeats: string | null
      compensates?: ConfirmationView['compensates']
    }
    const { canonical: params, compensates = null, ...card } = shown
    const unveil = (text: string | null): string | null => (text === null ? null : keys.unveil(scope.tenant, text))
    const known = {
      params,
      compensates,
      ...card,
      paramsHash: keys.unveil(scope.tenant, row.paramsHash),
      resource: unveil(row.resource),
      resourceVersion: unveil(row.resourceVersion),
    }
    return { ...(rest as unknown as Omit<ConfirmationView, keyof typeof known>), ...known }
  }
  return {
    async decide(scope, actor, d) {
      const body = Buffer.from(
        JSON.stringify({ confirmation: d.confirmation, outcome: d.approve ? 'approved' : 'rejected' }),
      )
      const row = {
        tenant: scope.tenant,
        environment: scope.environment,
        run: d.run,
        confirmation: d.confirmation,
        version: d.version,
        params_hash: keys.veil(scope.tenant, d.paramsHash),
        actor: actor.user,
        actor_kind: actor.kind,
        approve: d.approve,
        execute_ms: d.executeMs,
        audit: d.audit,
        reason: d.reason === null ? null : keys.veil(scope.tenant, d.reason),
        event: Buffer.from(keys.seal(scope.tenant, body)).toString('base64'),
      }
      const [done] = await db.call(decide, {
        decisions: JSON.stringify([row]),
        keys: [`${scope.tenant}/${scope.environment}/${d.run}`],
      })
      if (!done) return { outcome: 'not_found', status: null, version: null }
      return { outcome: done.outcome as DecideOutcome, status: done.status as Decided['status'], version: done.version }
    },
    async get(scope, id) {
      const [row] = await db.read(scope, confirmation, { tenant: scope.tenant, confirmation: id })
      return row ? view(scope, row) : null
    },
    async inbox(scope, filter) {
      const rows = await db.read(scope, inbox, { tenant: scope.tenant, ...filter })
      return rows.map((row) => view(scope, row))
    },
  }
}
