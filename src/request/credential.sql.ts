// Written by `npm run sql` from credential.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface InsertCredentialParams {
  readonly tenant: string
  readonly hash: Uint8Array
  readonly environment: string
  readonly id: string
  readonly kind: string
  readonly user: string
  readonly permissions: readonly (string | null)[]
}
export interface InsertCredentialRow {
  readonly id: string
}
export const insertCredential: Statement<InsertCredentialParams, InsertCredentialRow> = {
  name: 'credential_insertCredential_e7a12a3c',
  text: `with known as (insert into plimsoll.tenant (id) values ($1::text) on conflict do nothing)
insert into plimsoll.credential (hash, tenant_id, environment, id, kind, user_id, permissions)
values ($2::bytea, $1::text, $3::text, $4::text, $5::text, $6::text, $7::text[])
returning id`,
  params: ['tenant', 'hash', 'environment', 'id', 'kind', 'user', 'permissions'],
}

export interface CredentialByHashParams {
  readonly hash: Uint8Array
}
export interface CredentialByHashRow {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly kind: string
  readonly user: string
  readonly permissions: string[]
  readonly revoked: boolean
}
/**
 * a revoked one is found and refused, so that both cost the same
 */
export const credentialByHash: Statement<CredentialByHashParams, CredentialByHashRow> = {
  name: 'credential_credentialByHash_474b5251',
  text: `select c.tenant_id as tenant, c.environment, c.id, c.kind, c.user_id as "user", c.permissions, c.revoked_at is not null as "revoked"
from plimsoll.credential c where c.hash = $1::bytea`,
  params: ['hash'],
}

export interface LiveCredentialParams {
  readonly tenant: string
  readonly id: string
}
export interface LiveCredentialRow {
  readonly id: string
}
export const liveCredential: Statement<LiveCredentialParams, LiveCredentialRow> = {
  name: 'credential_liveCredential_d5444485',
  text: `select c.id from plimsoll.credential c where c.tenant_id = $1::text and c.id = $2::text and c.revoked_at is null`,
  params: ['tenant', 'id'],
}

export interface RevokeCredentialParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
}
export interface RevokeCredentialRow {
  readonly id: string
}
export const revokeCredential: Statement<RevokeCredentialParams, RevokeCredentialRow> = {
  name: 'credential_revokeCredential_9459c4e6',
  text: `update plimsoll.credential set revoked_at = now() where tenant_id = $1::text and environment = $2::text
  and id = $3::text and revoked_at is null returning id`,
  params: ['tenant', 'environment', 'id'],
}
