// Written by `npm run sql` from tenantkey.sql: change that file.
import type { Statement } from './port.ts'

export interface TenantKeysParams {
  readonly tenant: string
}
export interface TenantKeysRow {
  readonly epoch: number
  readonly kek: string
  readonly wrapped: Uint8Array
  readonly ageMs: number
  readonly destroyed: boolean
}
export const tenantKeys: Statement<TenantKeysParams, TenantKeysRow> = {
  name: 'tenantkey_tenantKeys_57d6657b',
  text: `select k.epoch, k.kek, k.wrapped, extract(epoch from now() - k.created_at)::float8 * 1000 as "ageMs",
  k.destroyed_at is not null as "destroyed"
from plimsoll.tenant_key k where k.tenant_id = $1::text order by k.epoch`,
  params: ['tenant'],
}

export interface InsertTenantKeyParams {
  readonly tenant: string
  readonly epoch: number
  readonly environment: string
  readonly kek: string
  readonly wrapped: Uint8Array
}
export interface InsertTenantKeyRow {
  readonly epoch: number
}
/**
 * A tenant that was destroyed keeps the rows of its keys, so that it never gets another one. Of two that make the same epoch
 * one wins.
 */
export const insertTenantKey: Statement<InsertTenantKeyParams, InsertTenantKeyRow> = {
  name: 'tenantkey_insertTenantKey_18e72c00',
  text: `insert into plimsoll.tenant_key (tenant_id, epoch, environment, kek, wrapped)
select $1::text, $2::int4, $3::text, $4::text, $5::bytea
where not exists (select from plimsoll.tenant_key k where k.tenant_id = $1::text and k.destroyed_at is not null)
on conflict do nothing
returning epoch`,
  params: ['tenant', 'epoch', 'environment', 'kek', 'wrapped'],
}

export interface RewrapTenantKeyParams {
  readonly kek: string
  readonly wrapped: Uint8Array
  readonly tenant: string
  readonly epoch: number
  readonly from: string
}
export interface RewrapTenantKeyRow {
  readonly epoch: number
}
export const rewrapTenantKey: Statement<RewrapTenantKeyParams, RewrapTenantKeyRow> = {
  name: 'tenantkey_rewrapTenantKey_4a2d95e1',
  text: `update plimsoll.tenant_key set kek = $1::text, wrapped = $2::bytea
where tenant_id = $3::text and epoch = $4::int4 and kek = $5::text and destroyed_at is null
returning epoch`,
  params: ['kek', 'wrapped', 'tenant', 'epoch', 'from'],
}

export interface KeysUnderOthersParams {
  readonly keks: readonly (string | null)[]
  readonly limit: number
}
export interface KeysUnderOthersRow {
  readonly tenant: string
  readonly kek: string
}
export const keysUnderOthers: Statement<KeysUnderOthersParams, KeysUnderOthersRow> = {
  name: 'tenantkey_keysUnderOthers_2e14867e',
  text: `select k.tenant as "tenant", k.kek as "kek" from plimsoll.keys_under_others($1::text[], $2::int4) k`,
  params: ['keks', 'limit'],
}
