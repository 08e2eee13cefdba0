/**
 * Where identity is minted, and nowhere else: from a verified credential, or from a run that was stored under one.
 *
 * H1  tenant, environment, user and subject travel as one value   I2  a run's actor comes from the stored run and the credential only
 */
import { Fault } from '../kernel/fault.ts'
import { type Actor, type ActorKind, NAME, PRINCIPAL, type Scope } from '../kernel/scope.ts'

export interface Claims {
  readonly kind: ActorKind
  readonly tenant: string
  readonly environment: string
  readonly user: string
  readonly subject: string
  readonly permissions: readonly string[]
}

/** @throws Fault `unauthenticated` when a verified credential carries names that no store key may hold. */
export function actorFrom(claims: Claims): Actor {
  const named = NAME.test(claims.tenant) && NAME.test(claims.environment)
  if (!named || !PRINCIPAL.test(claims.user) || !PRINCIPAL.test(claims.subject)) throw new Fault('unauthenticated')
  return Object.freeze({ ...claims, permissions: Object.freeze([...claims.permissions]) }) as Actor
}

export const scopeOf = (actor: Actor): Scope =>
  Object.freeze({
    tenant: actor.tenant,
    environment: actor.environment,
    user: actor.user,
    subject: actor.subject,
  }) as Scope

/** The actor of a run: who asked for it, with the rights that the credential had then. */
export function actorOfRun(run: {
  readonly key: { readonly tenant: string; readonly environment: string }
  readonly user: string
  readonly subject: string
  readonly permissions: readonly string[]
}): Actor {
  return actorFrom({
    kind: 'end_user',
    tenant: run.key.tenant,
    environment: run.key.environment,
    user: run.user,
    subject: run.subject,
    permissions: run.permissions,
  })
}

/** The program itself, where it does what nobody has asked for at this moment. */
export const systemOf = ({ tenant, environment }: Pick<Actor, 'tenant' | 'environment'>): Actor =>
  actorFrom({ kind: 'operator', tenant, environment, user: 'plimsoll', subject: 'plimsoll', permissions: ['*'] })
