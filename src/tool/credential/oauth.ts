/**
 * Accounts that an end user connects himself (T8): OAuth 2.1 with the code flow, a state that is used once and PKCE.
 * What is computed stands here; who asks the provider is in `oauth.shell.ts`.
 */
import { createHash } from 'node:crypto'

/** A provider, as an operator registers with it. */
export interface OAuthProvider {
  /** As tools name it in `credentials`. */
  readonly capability: string
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** Where tokens are given back; without it they are only forgotten. */
  readonly revokeUrl?: string
  readonly clientId: string
  /** Public clients have none. */
  readonly clientSecret?: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
}

/** What is kept of a connection, sealed. Times are milliseconds since the epoch. */
export interface Tokens {
  readonly access: string
  /** Null: when the access token is over, the user connects anew. */
  readonly refresh: string | null
  /** Null: the provider did not say. */
  readonly expiresAt: number | null
}

/** S256, the only method: a plain verifier protects nobody. */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

export function connectUrl(provider: OAuthProvider, state: string, verifier: string): string {
  const url = new URL(provider.authorizeUrl)
  const query = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: provider.redirectUri,
    scope: provider.scopes.join(' '),
    state,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value)
  return url.toString()
}

/** A little before it is over: it must live until the tool's own request has arrived. */
const EARLY_MS = 30_000

export const isOver = (tokens: Tokens, now: number): boolean =>
  tokens.expiresAt !== null && tokens.expiresAt - EARLY_MS <= now

const MOST_SECONDS = 10 * 365 * 24 * 3_600

/** An answer of the token endpoint, or null when it is none. A provider that sends no new refresh token keeps the old one. */
export function tokensOf(answer: unknown, now: number, refresh: string | null): Tokens | null {
  if (typeof answer !== 'object' || answer === null) return null
  const told = answer as Readonly<Record<string, unknown>>
  const { access_token: access, token_type: type, expires_in: seconds, refresh_token: next } = told
  if (typeof access !== 'string' || access === '' || String(type).toLowerCase() !== 'bearer') return null
  const lasts = typeof seconds === 'number' && seconds > 0 && seconds <= MOST_SECONDS ? seconds : null
  return {
    access,
    refresh: typeof next === 'string' && next !== '' ? next : refresh,
    expiresAt: lasts === null ? null : now + lasts * 1_000,
  }
}
