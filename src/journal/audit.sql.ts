// Written by `npm run sql` from audit.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface InsertAuditParams {
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly run: string
  readonly actorKind: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly reason: string
}
export interface InsertAuditRow {
  readonly id: string
}
export const insertAudit: Statement<InsertAuditParams, InsertAuditRow> = {
  name: 'audit_insertAudit_ef6d3eaf',
  text: `insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text)
returning id`,
  params: ['tenant', 'id', 'environment', 'run', 'actorKind', 'actor', 'action', 'target', 'outcome', 'reason'],
}
