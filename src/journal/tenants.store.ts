/** The end of a tenant: one statement, after which nothing that was sealed for it can be opened. */
import type { Db } from '../db/port.ts'
import { destroyTenant } from './tenants.sql.ts'

export interface Destroyed {
  readonly outcome: 'destroyed' | 'destroyed_before' | 'held'
  /** Runs that were under way and have ended by it. */
  readonly runs: number
}

export interface TenantStore {
  /** `reason` is kept in the audit as it is: no content. */
  destroy(
    tenant: string,
    by: { readonly actor: string; readonly reason: string; readonly audit: string },
  ): Promise<Destroyed>
}

export function tenantStore(db: Db, environment: string): TenantStore {
  return {
    async destroy(tenant, by) {
      const [done] = await db.call(destroyTenant, { tenant, environment, ...by })
      return { outcome: (done?.outcome ?? 'held') as Destroyed['outcome'], runs: done?.runs ?? 0 }
    },
  }
}
