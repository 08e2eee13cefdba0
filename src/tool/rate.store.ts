/** The rate of a tool (I1): how often a tenant may start it, counted where all workers see it. */
import type { Db } from '../db/port.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Rate } from './contract.ts'
import { takeCall, waitForCall } from './rate.sql.ts'

export type Taken = { readonly taken: true } | { readonly taken: false; readonly waitMs: number }

export interface RateStore {
  /**
   * Counts one start if the rate allows it: at most `calls` in any span of `perMs`, per tenant and environment, on the
   * clock of the database. What was counted stays counted, whatever becomes of the call.
   */
  take(scope: Pick<Scope, 'tenant' | 'environment'>, tool: string, rate: Rate): Promise<Taken>
}

export function rateStore(db: Db): RateStore {
  return {
    async take({ tenant, environment }, tool, { calls, perMs }) {
      const params = { tenant, environment, tool, calls, perMs }
      if ((await db.write(params, takeCall, params)).length > 0) return { taken: true }
      const [row] = await db.read(params, waitForCall, params)
      return { taken: false, waitMs: row?.waitMs ?? 0 }
    },
  }
}
