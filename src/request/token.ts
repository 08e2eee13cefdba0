/**
 * What a short-lived token of an end user says (R6), and what it may say.
 *
 * R6  minted with a service key, at most 15 minutes, never with more rights than the key
 */
import { Fault, type FieldError } from '../kernel/fault.ts'
import { holds } from '../kernel/permission.ts'
import { type Actor, PRINCIPAL } from '../kernel/scope.ts'
import type { Claims } from './actor.ts'

export const LONGEST_TOKEN_S = 900
export const AUDIENCE = 'plimsoll'

export interface TokenRequest {
  /** Who will act. */
  readonly user: string
  /** Whom it is about; default: the user. */
  readonly subject?: string
  /** Default: those of the key. */
  readonly permissions?: readonly string[]
  /** Default and at most 900. */
  readonly seconds?: number
}

/** The body of the token besides the registered claims. `key` is the id of the credential: the token dies with it. */
export interface TokenBody {
  readonly [claim: string]: unknown
  readonly tenant: string
  readonly environment: string
  readonly user: string
  readonly subject: string
  readonly permissions: readonly string[]
  readonly key: string
}

/** @throws Fault `permission_denied` for another caller than a service key, `invalid_request` for rights that the key does not hold. */
export function tokenBody(actor: Actor, key: string, want: TokenRequest): TokenBody {
  if (actor.kind !== 'service') throw new Fault('permission_denied', 'Tokens of end users are made with a service key.')
  const subject = want.subject ?? want.user
  const permissions = want.permissions ?? actor.permissions
  const errors: FieldError[] = []
  if (!PRINCIPAL.test(want.user)) errors.push({ path: '/user', message: NOT_A_PRINCIPAL })
  if (want.subject !== undefined && !PRINCIPAL.test(subject))
    errors.push({ path: '/subject', message: NOT_A_PRINCIPAL })
  permissions.forEach((wanted, i) => {
    if (!holds(actor.permissions, wanted)) errors.push({ path: `/permissions/${i}`, message: 'is not held by the key' })
  })
  if (errors.length > 0) throw new Fault('invalid_request', undefined, { errors })
  return { tenant: actor.tenant, environment: actor.environment, user: want.user, subject, permissions, key }
}

const NOT_A_PRINCIPAL = 'has 1 to 128 letters, digits and _ . : @ -'

/** Null unless every claim is there and has its type: a signature says who wrote it, not that it is well-formed. */
export function claimsOf(body: Readonly<Record<string, unknown>>): (Claims & { readonly key: string }) | null {
  const { tenant, environment, user, subject, permissions, key } = body
  const texts = [tenant, environment, user, subject, key]
  if (!texts.every((text) => typeof text === 'string')) return null
  if (!Array.isArray(permissions) || !permissions.every((one) => typeof one === 'string')) return null
  return { kind: 'end_user', tenant, environment, user, subject, permissions, key } as Claims & { readonly key: string }
}
