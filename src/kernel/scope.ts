/**
 * Who acts, and inside which walls.
 *
 * `Actor` and `Scope` are evidence: each is minted in one file (`request/actor.ts`) from a credential or from a stored
 * run, and demanded by every function that reads or writes. A hand-made object does not compile (H1).
 */
declare const actorBrand: unique symbol
declare const scopeBrand: unique symbol

export type ActorKind = 'end_user' | 'service' | 'operator'

/** A proven identity. `permissions` are the tool permissions and rights that the credential carries. */
export interface Actor {
  readonly [actorBrand]: true
  readonly kind: ActorKind
  readonly tenant: string
  readonly environment: string
  /** Who acts. */
  readonly user: string
  /** Whom it is about. */
  readonly subject: string
  readonly permissions: readonly string[]
}

/** The isolation keys. The first parameter of every function of a store. */
export interface Scope {
  readonly [scopeBrand]: true
  readonly tenant: string
  readonly environment: string
  readonly user: string
  readonly subject: string
}

/** Tenant and environment names: no character that could end a key, a path or an array literal. */
export const NAME = /^[a-z0-9_]{1,40}$/
/** User and subject names, as the product knows them. */
export const PRINCIPAL = /^[A-Za-z0-9_.:@-]{1,128}$/
