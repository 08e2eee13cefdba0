/**
 * Delegated credentials (T8): connect, exchange, refresh, revoke. What it gives is a `Credentials`, so that a tool asks for
 * `cx.credential('calendar')` and never knows whether a vault or a user stands behind it.
 */
import type { Sealer } from '../../db/seal.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Random } from '../../kernel/random.ts'
import type { CredentialOwner, Credentials } from './credentials.ts'
import { connectUrl, isOver, type OAuthProvider, type Tokens, tokensOf } from './oauth.ts'

/** Keeps sealed bytes by a key of tenant, environment, user and capability, or of a state. */
export interface TokenStore {
  put(key: string, sealed: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array | null>
  /** The value, which is gone with this call: of two callers one has it. */
  take(key: string): Promise<Uint8Array | null>
}

/** Of one process: for tests, and for a server that may forget its connections. */
export function memoryTokens(): TokenStore {
  const kept = new Map<string, Uint8Array>()
  return {
    put: async (key, sealed) => void kept.set(key, sealed),
    get: async (key) => kept.get(key) ?? null,
    async take(key) {
      const sealed = kept.get(key) ?? null
      kept.delete(key)
      return sealed
    },
  }
}

export interface OAuthParts {
  readonly providers: readonly OAuthProvider[]
  readonly tokens: TokenStore
  readonly sealer: Sealer
  readonly clock: Clock
  readonly random: Random
}

export interface OAuthAccounts extends Credentials {
  /** Where to send the user; it works once, for ten minutes, for this user alone. @throws Fault `not_found` */
  connect(owner: CredentialOwner, capability: string): Promise<string>
  /**
   * The user is back with a code. @throws Fault `permission_denied` when the state is not one of this user's, or used;
   * `unavailable` when the provider does not take the code
   */
  exchange(owner: CredentialOwner, back: { readonly state: string; readonly code: string }): Promise<void>
  /** Forgets a connection, and tells the provider. What the provider does not take is forgotten all the same. */
  revoke(owner: CredentialOwner, capability: string): Promise<void>
}

const CONNECT_MS = 600_000
const ANSWER_MS = 10_000
/** Tokens take a few kilobytes; more is no answer. */
const MOST_ANSWER = 64 * 1024

interface Pending {
  readonly owner: string
  readonly capability: string
  readonly verifier: string
  readonly until: number
}

export function oauthAccounts({ providers, tokens, sealer, clock, random }: OAuthParts): OAuthAccounts {
  const seal = (owner: CredentialOwner, value: unknown) => sealer.seal(owner.tenant, Buffer.from(JSON.stringify(value)))
  const open = <T>(owner: CredentialOwner, sealed: Uint8Array): T =>
    JSON.parse(Buffer.from(sealer.open(owner.tenant, sealed)).toString()) as T
  const word = (bytes: number): string => Buffer.from(random.bytes(bytes)).toString('base64url')
  const providerOf = (capability: string): OAuthProvider => {
    const found = providers.find((p) => p.capability === capability)
    if (!found) throw new Fault('not_found')
    return found
  }
  /** Refreshes that are under way: a refresh token that is used twice is revoked by many providers. */
  const refreshing = new Map<string, Promise<Tokens | null>>()
  /** What is changing a connection: a refresh beside it would bring back what was given back, or replaced. */
  const changing = new Map<string, Promise<unknown>>()

  async function alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    for (let other = changing.get(key); other; other = changing.get(key)) await other.catch(() => {})
    const mine = work().finally(() => changing.delete(key))
    changing.set(key, mine)
    return mine
  }

  async function kept(owner: CredentialOwner, key: string): Promise<Tokens | null> {
    const sealed = await tokens.get(key)
    return sealed && open<Tokens>(owner, sealed)
  }

  async function refreshed(owner: CredentialOwner, provider: OAuthProvider, key: string): Promise<Tokens | null> {
    // another may have been quicker since it was found to be over
    const old = await kept(owner, key)
    if (!old || !isOver(old, clock.now())) return old
    if (old.refresh === null) return null
    const answer = await ask(provider, { grant_type: 'refresh_token', refresh_token: old.refresh })
    const next = tokensOf(answer, clock.now(), old.refresh)
    // refused: the user took it back at the provider, and connects anew
    if (next) await tokens.put(key, seal(owner, next))
    return next
  }

  return {
    async connect(owner, capability) {
      const provider = providerOf(capability)
      const [state, verifier] = [word(24), word(48)]
      const pending: Pending = {
        owner: keyOf(owner, capability),
        capability,
        verifier,
        until: clock.now() + CONNECT_MS,
      }
      await tokens.put(stateKey(owner, state), seal(owner, pending))
      return connectUrl(provider, state, verifier)
    },
    async exchange(owner, { state, code }) {
      const sealed = await tokens.take(stateKey(owner, state))
      const pending = sealed && open<Pending>(owner, sealed)
      if (!pending || pending.until <= clock.now() || pending.owner !== keyOf(owner, pending.capability))
        throw new Fault('permission_denied', 'This connection was not begun by this user, or is over.')
      const provider = providerOf(pending.capability)
      const { redirectUri: redirect_uri } = provider
      const answer = await ask(provider, {
        grant_type: 'authorization_code',
        code,
        redirect_uri,
        code_verifier: pending.verifier,
      })
      const got = tokensOf(answer, clock.now(), null)
      if (!got) throw new Fault('unavailable', 'The provider did not take the code.')
      await alone(pending.owner, () => tokens.put(pending.owner, seal(owner, got)))
    },
    async get(owner, capability) {
      const provider = providers.find((p) => p.capability === capability)
      const key = keyOf(owner, capability)
      const now = provider ? await kept(owner, key) : null
      if (!provider || !now) return null
      if (!isOver(now, clock.now())) return now.access
      const under =
        refreshing.get(key) ?? alone(key, () => refreshed(owner, provider, key)).finally(() => refreshing.delete(key))
      refreshing.set(key, under)
      return (await under)?.access ?? null
    },
    async revoke(owner, capability) {
      const provider = providerOf(capability)
      const key = keyOf(owner, capability)
      const sealed = await alone(key, () => tokens.take(key))
      if (!sealed || provider.revokeUrl === undefined) return
      const { access, refresh } = open<Tokens>(owner, sealed)
      await ask({ ...provider, tokenUrl: provider.revokeUrl }, { token: refresh ?? access })
    },
  }
}

const keyOf = ({ tenant, environment, user }: CredentialOwner, capability: string): string =>
  JSON.stringify([tenant, environment, user, capability])
const stateKey = ({ tenant, environment, user }: CredentialOwner, state: string): string =>
  JSON.stringify([tenant, environment, user, 'state', state])

/** The answer of an endpoint of the provider; null for whatever is none. Its words, which may hold a token, stay here. */
async function ask(provider: OAuthProvider, form: Readonly<Record<string, string>>): Promise<unknown> {
  const { clientId, clientSecret } = provider
  const body = new URLSearchParams({
    ...form,
    client_id: clientId,
    ...(clientSecret && { client_secret: clientSecret }),
  })
  try {
    const answer = await fetch(provider.tokenUrl, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const bytes of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length > MOST_ANSWER) return null
    }
    return answer.ok ? (JSON.parse(text) as unknown) : null
  } catch {
    return null
  }
}
