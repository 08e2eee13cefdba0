/** API keys. The secret is shown once and stored nowhere: the store holds its hash, and looks a key up by it. */
import { createHash } from 'node:crypto'
import type { Db } from '../db/port.ts'
import type { Id } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import {
  type CredentialByHashRow,
  credentialByHash,
  insertCredential,
  liveCredential,
  revokeCredential,
} from './credential.sql.ts'

export type KeyKind = 'service' | 'operator'

export interface NewKey {
  readonly tenant: string
  readonly environment: string
  readonly kind: KeyKind
  /** As whom the key acts. */
  readonly user: string
  readonly permissions: readonly string[]
}

export interface StoredKey extends Omit<CredentialByHashRow, 'kind' | 'revoked'> {
  readonly kind: KeyKind
}

/** The one store without a scope: it is asked before anybody knows who is there. */
export interface CredentialStore {
  add(id: Id<'key'>, secret: string, key: NewKey): Promise<void>
  /** Null for a key that was never made, and for one that was revoked, at the same cost. */
  bySecret(secret: string): Promise<StoredKey | null>
  isLive(tenant: string, id: string): Promise<boolean>
  /** False when there is no such key or it was revoked before. */
  revoke(actor: Pick<Actor, 'tenant' | 'environment'>, id: string): Promise<boolean>
}

const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()

export function credentialStore(db: Db): CredentialStore {
  return {
    async add(id, secret, key) {
      await db.call(insertCredential, { ...key, id, hash: hashOf(secret) })
    },
    async bySecret(secret) {
      const [row] = await db.call(credentialByHash, { hash: hashOf(secret) })
      if (!row || row.revoked) return null
      return { ...row, kind: row.kind as KeyKind }
    },
    isLive: async (tenant, id) => (await db.call(liveCredential, { tenant, id })).length > 0,
    revoke: async ({ tenant, environment }, id) =>
      (await db.call(revokeCredential, { tenant, environment, id })).length > 0,
  }
}
