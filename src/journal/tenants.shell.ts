/**
 * Whole tenants: their keys, their end, and what a backup that is put back is told of both.
 *
 * G7  destroying a tenant's key leaves nothing of it readable   G4  a restore tells it again; the receipt says until when backups live
 */
import type { Keyring } from '../db/keyring.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import { restoreFrom, type RestoreWriter } from './restorelog.shell.ts'
import type { RestoreLog } from './restorelog.ts'
import type { RestoreStore } from './restorelog.store.ts'
import type { Destroyed, TenantStore } from './tenants.store.ts'

export interface Receipt extends Destroyed {
  /** Milliseconds since the epoch: until then backups hold the wrapped keys. Null when nobody has said how long they are kept. */
  readonly backupsExpireAt: number | null
}

export interface Tenants {
  /**
   * Ends a tenant: its keys are destroyed, and with them everything that was sealed for it; its runs end. `reason` stands in
   * the audit as it is. Other processes find out at their first statement for it that is 15 seconds after their last look.
   * @throws Fault `tenant_held` under a legal hold · `invalid_definition` without `keys`
   */
  destroy(tenant: string, by: { readonly actor: string; readonly reason: string }): Promise<Receipt>
  /** The next data key of a tenant, which seals from a minute on, everywhere. Its number. */
  rotateKey(tenant: string): Promise<number>
  /** Wraps the data keys of all tenants by the current key of `keys`. How many were wrapped by another. */
  rewrapKeys(): Promise<number>
  /**
   * Tells the database what the restore log knows and it does not, which is something only when a backup was put back. Before
   * anything is served, and done by `work`, too. How much it was; a dry run changes nothing.
   */
  restore(how?: { readonly dry?: boolean }): Promise<number>
}

export interface TenantParts {
  readonly tenants: TenantStore
  /** Null where content is not sealed. */
  readonly ring: Keyring | null
  readonly rewrap: (ring: Keyring) => Promise<number>
  readonly restoring: { readonly restores: RestoreStore; readonly log: RestoreLog } | null
  readonly writer: RestoreWriter | null
  readonly clock: Clock
  readonly ids: Ids
  readonly backupDays: number | null
}

const DAY_MS = 86_400_000

export function tenantsOf(parts: TenantParts): Tenants {
  const { tenants, restoring, writer, clock, ids, backupDays } = parts
  const sealing = (): Keyring => {
    if (parts.ring) return parts.ring
    throw new Fault('invalid_definition', 'Content is not sealed: the runtime was made without `keys`.')
  }
  return {
    async destroy(tenant, by) {
      const ring = sealing()
      const done = await tenants.destroy(tenant, { ...by, audit: ids.next('aud') })
      if (done.outcome === 'held') throw new Fault('tenant_held')
      ring.forget(tenant)
      // at once, and not when a worker comes by: a backup may be put back before
      await writer?.write()
      return { ...done, backupsExpireAt: backupDays === null ? null : clock.now() + backupDays * DAY_MS }
    },
    rotateKey: async (tenant) => sealing().rotate(tenant),
    rewrapKeys: async () => parts.rewrap(sealing()),
    restore: async ({ dry = false } = {}) => (restoring ? restoreFrom(restoring, dry) : 0),
  }
}
