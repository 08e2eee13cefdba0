/** What people with power did, and why. Rows are added and never changed. */
import type { Db } from '../db/port.ts'
import type { Id, RunId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { insertAudit } from './audit.sql.ts'

export interface AuditEntry {
  readonly id: Id<'aud'>
  readonly run: RunId
  /** `noun.verb` */
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly reason: string
}

export interface AuditStore {
  add(actor: Actor, entry: AuditEntry): Promise<void>
}

export const auditStore = (db: Db): AuditStore => ({
  async add(actor, entry) {
    const { tenant, environment } = actor
    await db.write(actor, insertAudit, { ...entry, tenant, environment, actorKind: actor.kind, actor: actor.user })
  },
})
