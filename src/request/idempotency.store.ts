/** Keys of callers and the answers that belong to them (A13). */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import { claimKey, completeKey, forgetKeys, releaseKey } from './idempotency.sql.ts'

export interface KeyClaim {
  readonly caller: string
  readonly key: string
  readonly operation: string
  readonly bodyHash: string
  /** The run that the request makes or moves. */
  readonly run: string
  /** Who holds the claim: of two takers one wins. */
  readonly token: Uint8Array
}

export type Claimed =
  | { readonly state: 'mine'; readonly taken: boolean }
  | { readonly state: 'in_flight' }
  | { readonly state: 'other_body' }
  | { readonly state: 'answered'; readonly status: number; readonly body: Json }

export interface IdempotencyStore {
  claim(scope: Scope, claim: KeyClaim): Promise<Claimed>
  /** Stores the answer unless another has taken the claim over. */
  complete(scope: Scope, claim: KeyClaim, status: number, body: Json): Promise<void>
  /** Nothing happened: the key can be used again. */
  release(scope: Scope, claim: KeyClaim): Promise<void>
}

/** How long an answer is kept; told in docs/http.md. */
const KEEP_MS = 24 * 3_600_000
/** A request that has not answered for this long has died: no statement of ours may take longer than 10 s. */
const STALE_MS = 30_000

export function idempotencyStore(db: Db, keys: ContentKeys): IdempotencyStore {
  const keyOf = (scope: Scope, { caller, key, token }: KeyClaim) => ({
    tenant: scope.tenant,
    environment: scope.environment,
    caller,
    key: keys.veil(scope.tenant, key),
    token,
  })
  return {
    async claim(scope, claim) {
      const times = { keepMs: KEEP_MS, staleMs: STALE_MS }
      const bodyHash = keys.veil(scope.tenant, claim.bodyHash)
      const take = () => db.write(scope, claimKey, { ...claim, ...keyOf(scope, claim), ...times, bodyHash })
      let [row] = await take()
      if (row?.expired) {
        await db.write(scope, forgetKeys, { tenant: scope.tenant })
        row = (await take())[0]
      }
      if (!row) return { state: 'in_flight' }
      if (row.bodyHash !== bodyHash || row.operation !== claim.operation) return { state: 'other_body' }
      if (row.status !== null && row.response) {
        const body = openJson(keys, scope.tenant, row.response)
        return { state: 'answered', status: row.status, body }
      }
      const mine = row.response !== null && Buffer.from(claim.token).equals(row.response)
      return mine ? { state: 'mine', taken: !row.fresh } : { state: 'in_flight' }
    },
    async complete(scope, claim, status, body) {
      const response = keys.seal(scope.tenant, Buffer.from(JSON.stringify(body)))
      await db.write(scope, completeKey, { ...keyOf(scope, claim), status, response })
    },
    async release(scope, claim) {
      await db.write(scope, releaseKey, keyOf(scope, claim))
    },
  }
}
