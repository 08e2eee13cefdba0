// Written by `npm run sql` from confirmation.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface DecideParams {
  readonly decisions: string
  readonly keys: readonly (string | null)[]
}
export interface DecideRow {
  readonly n: number
  readonly outcome: string
  readonly status: string | null
  readonly version: number | null
}
export const decide: Statement<DecideParams, DecideRow> = {
  name: 'confirmation_decide_4c0afb3e',
  text: `select n as "n", outcome as "outcome", status as "status", version as "version"
from plimsoll.decide($1::jsonb, $2::text[])`,
  params: ['decisions', 'keys'],
}

export interface ConfirmationParams {
  readonly tenant: string
  readonly confirmation: string
}
export interface ConfirmationRow {
  readonly id: string
  readonly run: string
  readonly session: string
  readonly user: string
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly toolVersion: number
  readonly level: string
  readonly version: number
  readonly status: string
  readonly paramsHash: string
  readonly resource: string | null
  readonly resourceVersion: string | null
  readonly plan: Uint8Array
  readonly confirmers: string[]
  readonly decidedBy: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly others: number
}
export const confirmation: Statement<ConfirmationParams, ConfirmationRow> = {
  name: 'confirmation_confirmation_e9966519',
  text: `select c.id, c.run_id as run, c.session_id as session, c.user_id as "user", c.step, c.position, c.tool, c.tool_version as "toolVersion", c.level, c.version,
  case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status",
  c.params_hash as "paramsHash", c.resource, c.resource_version as "resourceVersion", c.plan, c.confirmers,
  c.decided_by as "decidedBy", (extract(epoch from c.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt",
  (select count(*)::int from plimsoll.confirmation o where o.tenant_id = c.tenant_id and o.environment = c.environment
    and o.resource = c.resource and o.status = 'pending' and o.expires_at > now() and o.id <> c.id) as "others"
from plimsoll.confirmation c where c.tenant_id = $1::text and c.id = $2::text`,
  params: ['tenant', 'confirmation'],
}

export interface InboxParams {
  readonly tenant: string
  readonly user: string
  readonly run: string
  readonly after: string
  readonly limit: number
}
export interface InboxRow {
  readonly id: string
  readonly run: string
  readonly session: string
  readonly user: string
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly toolVersion: number
  readonly level: string
  readonly version: number
  readonly status: string
  readonly paramsHash: string
  readonly resource: string | null
  readonly resourceVersion: string | null
  readonly plan: Uint8Array
  readonly confirmers: string[]
  readonly decidedBy: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly others: number
}
/**
 * open confirmations that this user may decide, oldest first; `after` is the id of the last one seen, '' filters nothing
 */
export const inbox: Statement<InboxParams, InboxRow> = {
  name: 'confirmation_inbox_4103b189',
  text: `select c.id, c.run_id as run, c.session_id as session, c.user_id as "user", c.step, c.position, c.tool, c.tool_version as "toolVersion", c.level, c.version,
  case when c.status = 'pending' and c.expires_at <= now() then 'expired' else c.status end as "status",
  c.params_hash as "paramsHash", c.resource, c.resource_version as "resourceVersion", c.plan, c.confirmers,
  c.decided_by as "decidedBy", (extract(epoch from c.created_at) * 1000)::int8 as "createdAt",
  (extract(epoch from c.expires_at) * 1000)::int8 as "expiresAt",
  (select count(*)::int from plimsoll.confirmation o where o.tenant_id = c.tenant_id and o.environment = c.environment
    and o.resource = c.resource and o.status = 'pending' and o.expires_at > now() and o.id <> c.id) as "others"
from plimsoll.confirmation c
where c.tenant_id = $1::text and c.status = 'pending' and c.expires_at > now()
  and ($2::text = '' or $2::text = any (c.confirmers))
  and ($3::text = '' or c.run_id = $3::text)
  and c.id > $4::text
order by c.id limit $5::int`,
  params: ['tenant', 'user', 'run', 'after', 'limit'],
}
