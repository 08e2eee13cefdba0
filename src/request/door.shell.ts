/**
 * The door: who is there, by an API key or by a token of an end user. Whatever is wrong with a credential, the answer is
 * the same.
 *
 * H1  an actor comes from a verified credential only   R6  end users hold tokens of at most 15 minutes
 */
import { createHmac } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Id, Ids } from '../kernel/ids.ts'
import type { Random } from '../kernel/random.ts'
import type { Actor } from '../kernel/scope.ts'
import { actorFrom } from './actor.ts'
import type { CredentialStore, NewKey } from './credential.store.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { AUDIENCE, claimsOf, LONGEST_TOKEN_S, tokenBody, type TokenRequest } from './token.ts'

/** A proven caller. `id` is the scope of idempotency keys: the credential, or the user of a token. */
export interface Caller {
  readonly actor: Actor
  readonly id: string
  /** The API key behind it, at first or second hand. */
  readonly key: string
}

export interface MintedToken {
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export interface Door {
  /** `header` is the text of `Authorization`. @throws Fault `unauthenticated` */
  authenticate(header: string | undefined): Promise<Caller>
  mint(caller: Caller, want: TokenRequest): Promise<MintedToken>
  readonly cursor: {
    write(bound: readonly string[], after: string): string
    /** @throws Fault `invalid_request` */
    read(bound: readonly string[], cursor: string): string
  }
}

interface Parts {
  readonly credentials: CredentialStore
  readonly clock: Clock
  readonly random: Random
}

const KEY = /^plk_[A-Za-z0-9_-]{43}$/
const LEAST_SECRET = 32
/** A header above this is no credential of ours. */
const LONGEST_HEADER = 8_192

/** @throws Fault `invalid_definition` for a secret that could be guessed. */
export function openDoor(parts: Parts, secret: string): Door {
  if (secret.length < LEAST_SECRET)
    throw new Fault('invalid_definition', `The secret of the server has at least ${LEAST_SECRET} characters.`)
  const tokenKey = createHmac('sha256', secret).update('token.v1').digest()
  const cursorKey = createHmac('sha256', secret).update('cursor.v1').digest('hex')
  return {
    async authenticate(header) {
      const given =
        header !== undefined && header.length <= LONGEST_HEADER ? /^Bearer +(\S+)$/i.exec(header)?.[1] : undefined
      if (given === undefined) throw new Fault('unauthenticated')
      return KEY.test(given) ? byKey(parts, given) : byToken(parts, tokenKey, given)
    },
    async mint(caller, want) {
      const body = tokenBody(caller.actor, caller.key, want)
      const issued = Math.floor(parts.clock.now() / 1000)
      const expires = issued + Math.min(want.seconds ?? LONGEST_TOKEN_S, LONGEST_TOKEN_S)
      const token = await new SignJWT(body)
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setAudience(AUDIENCE)
        .setIssuedAt(issued)
        .setExpirationTime(expires)
        .sign(tokenKey)
      return { token, expiresAt: expires * 1000 }
    },
    cursor: {
      write: (bound, after) => writeCursor(cursorKey, bound, after),
      read(bound, cursor) {
        const after = readCursor(cursorKey, bound, cursor)
        if (after !== null) return after
        throw new Fault('invalid_request', undefined, {
          errors: [{ path: '/cursor', message: 'is not a cursor of this list' }],
        })
      },
    },
  }
}

async function byKey({ credentials }: Parts, secret: string): Promise<Caller> {
  const found = await credentials.bySecret(secret)
  if (!found) throw new Fault('unauthenticated')
  return { actor: actorFrom({ ...found, subject: found.user }), id: `key:${found.id}`, key: found.id }
}

async function byToken({ credentials, clock }: Parts, key: Uint8Array, token: string): Promise<Caller> {
  const payload = await verified(key, token, new Date(clock.now()))
  const claims = payload && claimsOf(payload)
  if (!claims || !(await credentials.isLive(claims.tenant, claims.key))) throw new Fault('unauthenticated')
  const { key: credential, ...named } = claims
  const actor = actorFrom(named)
  return { actor, id: `user:${actor.user}`, key: credential }
}

async function verified(
  key: Uint8Array,
  token: string,
  currentDate: Date,
): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      audience: AUDIENCE,
      maxTokenAge: LONGEST_TOKEN_S,
      requiredClaims: ['exp', 'iat'],
      currentDate,
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null
    throw error
  }
}

export interface MadeKey {
  readonly id: Id<'key'>
  /** Shown once. */
  readonly key: string
}

/** @throws Fault `invalid_request` for names that no store key may hold. */
export async function makeKey(parts: Parts & { readonly ids: Ids }, want: NewKey): Promise<MadeKey> {
  try {
    actorFrom({ ...want, subject: want.user })
  } catch {
    throw new Fault('invalid_request', 'Tenant, environment or user is not a name.')
  }
  const id = parts.ids.next('key')
  const key = `plk_${Buffer.from(parts.random.bytes(32)).toString('base64url')}`
  await parts.credentials.add(id, key, want)
  return { id, key }
}
