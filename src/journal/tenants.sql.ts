// Written by `npm run sql` from tenants.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface DestroyTenantParams {
  readonly tenant: string
  readonly environment: string
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export interface DestroyTenantRow {
  readonly outcome: string
  readonly runs: number
}
export const destroyTenant: Statement<DestroyTenantParams, DestroyTenantRow> = {
  name: 'tenants_destroyTenant_966aa1e1',
  text: `select outcome as "outcome", runs as "runs" from plimsoll.destroy_tenant($1::text, $2::text, $3::text,
  'operator', $4::text, $5::text)`,
  params: ['tenant', 'environment', 'audit', 'actor', 'reason'],
}
