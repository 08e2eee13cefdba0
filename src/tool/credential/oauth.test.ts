import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { plainSealer } from '../../db/seal.ts'
import { systemClock, systemRandom } from '../../kernel/system.shell.ts'
import { virtualClock, type VirtualClock } from '../../testing/virtual-clock.ts'
import { challengeOf, type OAuthProvider, tokensOf } from './oauth.ts'
import { memoryTokens, type OAuthAccounts, oauthAccounts, type TokenStore } from './oauth.shell.ts'

/** A provider: gives codes at /authorize, tokens at /token that rotate, takes them back at /revoke. */
function provider() {
  const codes = new Map<string, { challenge: string; redirect: string }>()
  const seen = { refreshes: 0, isDown: false, revoked: [] as string[] }
  let refresh = ''
  let made = 0
  const tokens = () => {
    made += 1
    refresh = `refresh-${made}`
    return { access_token: `access-token-${made}`, token_type: 'Bearer', expires_in: 3600, refresh_token: refresh }
  }
  const form = async (request: IncomingMessage): Promise<URLSearchParams> => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    return new URLSearchParams(text)
  }
  async function token(request: IncomingMessage): Promise<object | null> {
    const sent = await form(request)
    if (sent.get('client_id') !== 'plimsoll' || sent.get('client_secret') !== 'shared') return null
    if (sent.get('grant_type') === 'refresh_token') {
      seen.refreshes += 1
      return sent.get('refresh_token') === refresh ? tokens() : null
    }
    const code = sent.get('code') ?? ''
    const asked = codes.get(code)
    codes.delete(code)
    const fits =
      asked?.challenge === challengeOf(sent.get('code_verifier') ?? '') && asked.redirect === sent.get('redirect_uri')
    return fits ? tokens() : null
  }
  const server: Server = createServer((request, answer) => {
    const url = new URL(request.url ?? '', 'http://provider')
    const json = (value: object | null) =>
      answer
        .writeHead(value ? 200 : 400, { 'content-type': 'application/json' })
        .end(JSON.stringify(value ?? { error: 'invalid_grant' }))
    if (seen.isDown) return void answer.writeHead(503).end('secret words')
    if (url.pathname === '/authorize') {
      const code = `code-${codes.size + 1}-${Math.random()}`
      codes.set(code, {
        challenge: url.searchParams.get('code_challenge') ?? '',
        redirect: url.searchParams.get('redirect_uri') ?? '',
      })
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', url.searchParams.get('state') ?? '')
      return void answer.writeHead(302, { location: back.toString() }).end()
    }
    if (url.pathname === '/revoke')
      return void form(request).then((sent) => (seen.revoked.push(sent.get('token') ?? ''), json({})))
    void token(request).then(json)
  })
  return { server, seen }
}

/** What the browser of the user does: follows the address and comes back with a code. */
async function browse(address: string): Promise<{ state: string; code: string }> {
  const answer = await fetch(address, { redirect: 'manual' })
  const back = new URL(answer.headers.get('location') ?? '')
  return { state: back.searchParams.get('state') ?? '', code: back.searchParams.get('code') ?? '' }
}

const ann = { tenant: 'acme', environment: 'test', user: 'ann' }
const others = [
  { ...ann, user: 'bob' },
  { ...ann, tenant: 'globex' },
  { ...ann, environment: 'production' },
]
const signal = new AbortController().signal

describe('an account that a user connects', () => {
  const { server, seen } = provider()
  let registered: OAuthProvider
  let tokens: TokenStore
  let clock: VirtualClock
  let accounts: OAuthAccounts
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    registered = {
      capability: 'calendar',
      authorizeUrl: `${base}/authorize?prompt=consent`,
      tokenUrl: `${base}/token`,
      revokeUrl: `${base}/revoke`,
      clientId: 'plimsoll',
      clientSecret: 'shared',
      redirectUri: 'https://product.example/back',
      scopes: ['events.read', 'events.write'],
    }
  })
  beforeEach(() => {
    tokens = memoryTokens()
    clock = virtualClock()
    seen.isDown = false
    accounts = oauthAccounts({ providers: [registered], tokens, sealer: plainSealer, clock, random: systemRandom })
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))

  const connected = async () => accounts.exchange(ann, await browse(await accounts.connect(ann, 'calendar')))

  it('T8 is his alone: connected by him, with state and PKCE, and read for nobody else', async () => {
    const address = new URL(await accounts.connect(ann, 'calendar'))
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      prompt: 'consent',
      response_type: 'code',
      scope: 'events.read events.write',
      code_challenge_method: 'S256',
    })
    await accounts.exchange(ann, await browse(address.toString()))
    expect(await accounts.get(ann, 'calendar', signal)).toMatch(/^access-token-/)
    for (const who of others) expect(await accounts.get(who, 'calendar', signal)).toBeNull()
    expect(await accounts.get(ann, 'mail', signal)).toBeNull()
  })

  it('T8 a state is used once, by the user who began, in its time', async () => {
    const back = await browse(await accounts.connect(ann, 'calendar'))
    const denied = { code: 'permission_denied' }
    for (const who of others) await expect(accounts.exchange(who, back)).rejects.toMatchObject(denied)
    await expect(accounts.exchange(ann, { ...back, state: 'guessed' })).rejects.toMatchObject(denied)
    await accounts.exchange(ann, back)
    await expect(accounts.exchange(ann, back)).rejects.toMatchObject(denied)
    const late = await browse(await accounts.connect(ann, 'calendar'))
    await clock.advance(600_001)
    await expect(accounts.exchange(ann, late)).rejects.toMatchObject(denied)
  })

  it('T8 a stolen code without its verifier is worth nothing', async () => {
    const stolen = await browse(await accounts.connect(ann, 'calendar'))
    const mallory = { ...ann, user: 'mallory' }
    const own = await browse(await accounts.connect(mallory, 'calendar'))
    await expect(accounts.exchange(mallory, { state: own.state, code: stolen.code })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await accounts.get(mallory, 'calendar', signal)).toBeNull()
  })

  it('T8 an access token that is nearly over is refreshed, once for all who ask', async () => {
    await connected()
    const first = await accounts.get(ann, 'calendar', signal)
    await clock.advance(3_580_000)
    const before = seen.refreshes
    const all = await Promise.all(Array.from({ length: 5 }, async () => accounts.get(ann, 'calendar', signal)))
    expect(new Set(all).size).toBe(1)
    expect(all[0]).not.toBe(first)
    expect(seen.refreshes - before).toBe(1)
    await clock.advance(3_600_000)
    expect(await accounts.get(ann, 'calendar', signal)).not.toBe(all[0])
  })

  it('T8 a provider that refuses or is away means no credential, not an old one, and no words of it', async () => {
    await connected()
    await clock.advance(3_600_000)
    seen.isDown = true
    expect(await accounts.get(ann, 'calendar', signal)).toBeNull()
    const back = { state: new URL(await accounts.connect(ann, 'calendar')).searchParams.get('state') ?? '', code: 'x' }
    await expect(accounts.exchange(ann, back)).rejects.toThrow('The provider did not take the code.')
    seen.isDown = false
    expect(await accounts.get(ann, 'calendar', signal)).toMatch(/^access-token-/)
  })

  it('T8 what is revoked is gone here at once, and the provider is told', async () => {
    await connected()
    await accounts.revoke(ann, 'calendar')
    expect(await accounts.get(ann, 'calendar', signal)).toBeNull()
    expect(seen.revoked.at(-1)).toMatch(/^refresh-/)
    await connected()
    seen.isDown = true
    await accounts.revoke(ann, 'calendar')
    expect(await accounts.get(ann, 'calendar', signal)).toBeNull()
  })

  /** A call that has read the old tokens, and goes on when it is let. */
  function slowReader() {
    let goOn = (): void => {}
    let isFirst = true
    const opened = new Promise<void>((resolve) => (goOn = resolve))
    const slow: TokenStore = {
      ...tokens,
      async get(key) {
        const found = await tokens.get(key)
        if (isFirst) {
          isFirst = false
          await opened
        }
        return found
      },
    }
    accounts = oauthAccounts({
      providers: [registered],
      tokens: slow,
      sealer: plainSealer,
      clock,
      random: systemRandom,
    })
    return { read: Promise.resolve(accounts.get(ann, 'calendar', signal)), goOn }
  }

  it('T8 a call that was about to refresh does not bring back what is revoked meanwhile', async () => {
    await connected()
    await clock.advance(3_600_000)
    const { read, goOn } = slowReader()
    await accounts.revoke(ann, 'calendar')
    goOn()
    expect(await read).toBeNull()
    expect(await accounts.get(ann, 'calendar', signal)).toBeNull()
  })

  it('T8 a call that was about to refresh spends no refresh token that another has spent meanwhile', async () => {
    await connected()
    await clock.advance(3_600_000)
    const { read, goOn } = slowReader()
    const before = seen.refreshes
    const other = await accounts.get(ann, 'calendar', signal)
    goOn()
    expect(await read).toBe(other)
    expect(seen.refreshes - before).toBe(1)
  })

  it.each([
    null,
    'text',
    {},
    { access_token: '', token_type: 'bearer' },
    { access_token: 'x', token_type: 'mac' },
    { access_token: 1, token_type: 'bearer' },
  ])('T8 %j is no answer of a token endpoint', (answer) => expect(tokensOf(answer, systemClock.now(), null)).toBeNull())
})
