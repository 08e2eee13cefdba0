/** Rules, holds and sweeps as statements. A sweep is one short transaction of some runs. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Scope } from '../kernel/scope.ts'
import { BLANK, BLANK_PLAN, type RetentionClass, type Swept } from './retention.ts'
import {
  addHold,
  due,
  failed,
  type HoldsRow,
  holds,
  noteSweep,
  releaseHold,
  rules,
  setRule,
  sweep,
} from './retention.sql.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface RetentionRule {
  readonly class: RetentionClass
  /** Null keeps for ever. */
  readonly days: number | null
  /** Milliseconds since the epoch of the last sweep that came to its end. */
  readonly sweptAt: number | null
}

export type Hold = HoldsRow

/** Who did it and why, for the audit. */
export interface Because {
  readonly actor: string
  readonly audit: string
  readonly reason: string
}

/** Where a dry run goes on; a sweep remembers it itself. */
export interface Place {
  readonly afterAt: string | null
  readonly afterRun: string | null
}

export interface RetentionStore {
  rules(scope: Walls): Promise<readonly RetentionRule[]>
  setRule(
    scope: Walls,
    rule: { readonly class: RetentionClass; readonly days: number | null },
    by: Because,
  ): Promise<void>
  holds(scope: Walls): Promise<readonly Hold[]>
  /** `subject` null holds the whole environment. */
  addHold(scope: Walls, hold: { readonly id: string; readonly subject: string | null }, by: Because): Promise<void>
  /** False when there is no such hold, or it was released before. */
  releaseHold(scope: Walls, id: string, by: Because): Promise<boolean>
  /** One batch. */
  sweep(
    scope: Walls,
    want: { readonly class: RetentionClass; readonly limit: number; readonly dry: boolean } & Place,
  ): Promise<Swept & Place>
  note(
    scope: Walls,
    entry: {
      readonly class: RetentionClass
      readonly outcome: string
      readonly kind: 'operator' | 'system'
      readonly actor: string
      readonly audit: string
    },
  ): Promise<void>
  /** The sweep of it failed: it comes last the next time. Needs no key of its tenant. */
  failed(scope: Walls, name: RetentionClass): Promise<void>
  /** Classes that were not swept for a day, the longest waiting first. Crosses tenants; reads no content. */
  due(limit: number): Promise<readonly (Walls & { readonly class: RetentionClass })[]>
}

const NOTHING: Swept & Place = { runs: 0, kept: 0, changed: 0, done: true, afterAt: null, afterRun: null }

export function retentionStore(db: Db, keys: ContentKeys): RetentionStore {
  const keyOf = ({ tenant, environment }: Walls) => ({ tenant, environment })
  /** A statement of the tenant comes first: this may be the first act of the process for it, whose keys are not at hand yet. */
  const said = async (scope: Walls, by: Because) => {
    await db.read(scope, rules, { tenant: scope.tenant })
    return { ...by, reason: keys.veil(scope.tenant, by.reason) }
  }
  return {
    async rules(scope) {
      const rows = await db.read(scope, rules, { tenant: scope.tenant })
      return rows.map((row) => ({ ...row, class: row.class as RetentionClass }))
    },
    async setRule(scope, rule, by) {
      await db.write(scope, setRule, { ...keyOf(scope), ...rule, ...(await said(scope, by)) })
    },
    holds: (scope) => db.read(scope, holds, { tenant: scope.tenant }),
    async addHold(scope, hold, by) {
      await db.write(scope, addHold, { ...keyOf(scope), ...hold, ...(await said(scope, by)) })
    },
    releaseHold: async (scope, id, by) =>
      (await db.write(scope, releaseHold, { ...keyOf(scope), id, ...(await said(scope, by)) })).length > 0,
    async sweep(scope, want) {
      const blank = keys.seal(scope.tenant, Buffer.from(BLANK))
      const blankPlan = keys.seal(scope.tenant, Buffer.from(BLANK_PLAN))
      const [swept] = await db.call(sweep, { ...keyOf(scope), ...want, blank, blankPlan })
      return swept ?? NOTHING
    },
    async note(scope, entry) {
      await db.write(scope, noteSweep, { ...keyOf(scope), ...entry })
    },
    async failed({ tenant, environment }, name) {
      await db.call(failed, { ofTenant: tenant, ofEnvironment: environment, class: name })
    },
    async due(limit) {
      const rows = await db.call(due, { limit })
      return rows.map((row) => ({ ...row, class: row.class as RetentionClass }))
    },
  }
}
