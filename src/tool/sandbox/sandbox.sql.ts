// Written by `npm run sql` from sandbox.sql: change that file.
import type { Statement } from '../../db/port.ts'

export interface OverSessionsParams {
  readonly sessions: readonly (string | null)[]
  readonly tenant: string
}
export interface OverSessionsRow {
  readonly id: string
}
/**
 * of these conversations, those whose folders are needed no more: closed without an active run, or not there at all
 */
export const overSessions: Statement<OverSessionsParams, OverSessionsRow> = {
  name: 'sandbox_overSessions_24721eb5',
  text: `select x.id as "id" from unnest($1::text[]) as x (id)
where not exists (
  select from plimsoll.session s where s.tenant_id = $2::text and s.id = x.id
    and (s.closed_at is null or exists (select from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation'))))`,
  params: ['sessions', 'tenant'],
}
