// Written by `npm run sql` from idempotency.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface ClaimKeyParams {
  readonly tenant: string
  readonly caller: string
  readonly key: string
  readonly environment: string
  readonly operation: string
  readonly bodyHash: string
  readonly run: string
  readonly token: Uint8Array
  readonly keepMs: number
  readonly staleMs: number
}
export interface ClaimKeyRow {
  readonly operation: string
  readonly bodyHash: string
  readonly status: number | null
  readonly response: Uint8Array | null
  readonly expired: boolean
  readonly fresh: boolean
}
/**
 * One statement inserts the claim, takes over one whose request died, or reads what is there. Until it is completed
 * `response` holds the token of whoever holds the claim.
 */
export const claimKey: Statement<ClaimKeyParams, ClaimKeyRow> = {
  name: 'idempotency_claimKey_dbc6fec5',
  text: `insert into plimsoll.idempotency as i (tenant_id, caller, key, environment, operation, body_hash, run_id, response, expires_at)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::bytea,
  now() + $9::int8 * interval '1 millisecond')
on conflict (tenant_id, environment, caller, key) do update set
  run_id = case when i.status is null and i.created_at < now() - $10::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then excluded.run_id else i.run_id end,
  response = case when i.status is null and i.created_at < now() - $10::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then excluded.response else i.response end,
  created_at = case when i.status is null and i.created_at < now() - $10::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then now() else i.created_at end
returning i.operation, i.body_hash as "bodyHash", i.status, i.response, i.expires_at <= now() as "expired", xmax = 0 as "fresh"`,
  params: ['tenant', 'caller', 'key', 'environment', 'operation', 'bodyHash', 'run', 'token', 'keepMs', 'staleMs'],
}

export interface CompleteKeyParams {
  readonly status: number
  readonly response: Uint8Array
  readonly tenant: string
  readonly environment: string
  readonly caller: string
  readonly key: string
  readonly token: Uint8Array
}
export const completeKey: Statement<CompleteKeyParams, never> = {
  name: 'idempotency_completeKey_3cd82692',
  text: `update plimsoll.idempotency set status = $1::int, response = $2::bytea
where tenant_id = $3::text and environment = $4::text and caller = $5::text and key = $6::text
  and status is null and response = $7::bytea`,
  params: ['status', 'response', 'tenant', 'environment', 'caller', 'key', 'token'],
}

export interface ReleaseKeyParams {
  readonly tenant: string
  readonly environment: string
  readonly caller: string
  readonly key: string
  readonly token: Uint8Array
}
export const releaseKey: Statement<ReleaseKeyParams, never> = {
  name: 'idempotency_releaseKey_7e7a894b',
  text: `delete from plimsoll.idempotency
where tenant_id = $1::text and environment = $2::text and caller = $3::text and key = $4::text
  and status is null and response = $5::bytea`,
  params: ['tenant', 'environment', 'caller', 'key', 'token'],
}

export interface ForgetKeysParams {
  readonly tenant: string
}
export const forgetKeys: Statement<ForgetKeysParams, never> = {
  name: 'idempotency_forgetKeys_688d02e0',
  text: `delete from plimsoll.idempotency where tenant_id = $1::text and expires_at <= now()`,
  params: ['tenant'],
}
