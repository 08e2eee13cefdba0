/** Runs as people read them, under the tenant. An empty `user` is a caller who sees the whole tenant. */
import type { Db } from '../db/port.ts'
import type { Veil } from '../db/seal.ts'
import type { RunId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import {
  type RunDetailRow,
  runDetail,
  type RunEffectsRow,
  runEffects,
  type RunLedgerRow,
  runLedger,
  type RunListRow,
  runList,
} from './view.sql.ts'

export interface RunFilter {
  readonly user: string
  readonly status: string
  readonly wait: string
  readonly session: string
  readonly agent: string
  readonly after: string
  readonly limit: number
}

export interface RunView extends RunDetailRow {
  /** What was done already, or may have been: effects above `read` that have left the house. */
  readonly done: readonly RunEffectsRow[]
}

export interface ViewStore {
  run(scope: Scope, user: string, run: RunId): Promise<RunView | null>
  /** Newest first, before the id `after`. */
  runs(scope: Scope, filter: RunFilter): Promise<readonly RunListRow[]>
  ledger(scope: Scope, run: RunId): Promise<readonly RunLedgerRow[]>
  effects(scope: Scope, run: RunId): Promise<readonly RunEffectsRow[]>
}

const isDone = (e: RunEffectsRow): boolean =>
  e.level !== 'read' && e.startedAt !== null && (e.status !== 'settled' || e.outcome === 'ok')

export function viewStore(db: Db, { unveil }: Veil): ViewStore {
  const effects = async (scope: Scope, run: RunId): Promise<readonly RunEffectsRow[]> => {
    const { tenant } = scope
    return (await db.read(scope, runEffects, { tenant, run })).map((row) => ({
      ...row,
      argumentsHash: unveil(tenant, row.argumentsHash),
      resultHash: row.resultHash === null ? null : unveil(tenant, row.resultHash),
    }))
  }
  return {
    async run(scope, user, run) {
      const [row] = await db.read(scope, runDetail, { tenant: scope.tenant, run, user })
      return row ? { ...row, done: row.step > 0 ? (await effects(scope, run)).filter(isDone) : [] } : null
    },
    runs: (scope, filter) => db.read(scope, runList, { tenant: scope.tenant, ...filter }),
    ledger: (scope, run) => db.read(scope, runLedger, { tenant: scope.tenant, run }),
    effects,
  }
}
