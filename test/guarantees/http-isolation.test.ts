import { SignJWT } from 'jose'
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scripted } from '../../src/testing/scripted.ts'
import {
  agentOf,
  confirmationOf,
  ended,
  ENGINES,
  openPlane,
  openStore,
  type Payments,
  person,
  type Person,
  type Plane,
  refundTool,
  SECRET,
  type Store,
  type Body,
} from '../setup/plane.ts'

const NEVER = {
  run: 'run_00000000000000000000000000',
  ses: 'ses_00000000000000000000000000',
  cnf: 'cnf_00000000000000000000000000',
}

describe.each(ENGINES)('who sees what on the %s store', (engine) => {
  const payments: Payments = { refunds: [], order: 1 }
  let store: Store
  let plane: Plane
  let ann: Person
  let bob: Person
  let ids: { run: string; ses: string; cnf: string; hash: string; message: string }
  beforeAll(async () => {
    store = await openStore(engine)
    plane = await openPlane({
      db: store.db,
      agents: [agentOf('support', { model: scripted('refund-demo'), tools: [refundTool(payments)] })],
    })
    ann = await plane.user('ann')
    bob = await plane.user('bob')
    const made = await ann.post('/v1/runs', { body: { agent: 'support', text: 'Please refund order 1042, $12.00' } })
    const card = await confirmationOf(ann, made.body.id)
    ids = {
      run: made.body.id,
      ses: made.body.conversation_id,
      cnf: card.id,
      hash: card.params_hash,
      message: made.body.message_id,
    }
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  /** Every request that takes an id, with an id that exists or one that does not. */
  const requests = (id: typeof NEVER) => [
    (who: Person) => who.get(`/v1/conversations/${id.ses}`),
    (who: Person) => who.get(`/v1/conversations/${id.ses}/messages`),
    (who: Person) => who.post(`/v1/conversations/${id.ses}/messages`, { version: 2, body: { text: 'hi' } }),
    (who: Person) =>
      who.post(`/v1/conversations/${id.ses}/messages`, { body: { text: 'hi', parent_message_id: `${id.run}.1` } }),
    (who: Person) => who.post(`/v1/conversations/${id.ses}/close`),
    (who: Person) =>
      who.post('/v1/runs', { version: 2, body: { agent: 'support', text: 'hi', conversation_id: id.ses } }),
    (who: Person) => who.post('/v1/runs', { version: 2, body: { text: 'hi', conversation_id: id.ses } }),
    (who: Person) => who.get(`/v1/runs/${id.run}`),
    (who: Person) => who.get(`/v1/runs/${id.run}/events`),
    (who: Person) => who.get(`/v1/runs/${id.run}/events?after=999`),
    (who: Person) => who.get(`/v1/runs/${id.run}/events`, { accept: 'text/event-stream' }),
    (who: Person) => who.get(`/v1/runs/${id.run}/ledger`),
    (who: Person) => who.get(`/v1/runs/${id.run}/effects`),
    (who: Person) => who.get(`/v1/runs/${id.run}/context`),
    (who: Person) => who.get(`/v1/runs/${id.run}/context?step=1`),
    (who: Person) => who.post(`/v1/runs/${id.run}/cancel`),
    (who: Person) => who.post(`/v1/runs/${id.run}/cancel`, { version: 1 }),
    (who: Person) => who.get(`/v1/confirmations/${id.cnf}`),
    (who: Person) => who.post(`/v1/confirmations/${id.cnf}/approve`, { version: 1, body: { params_hash: ids.hash } }),
    (who: Person) => who.post(`/v1/confirmations/${id.cnf}/reject`, { version: 1, body: { params_hash: ids.hash } }),
    (who: Person) => who.post(`/v1/confirmations/${id.cnf}/approve`, { body: { params_hash: ids.hash } }),
  ]

  it('R6 what is not the caller’s does not exist, in the very same words, at every door (BR-090)', async () => {
    const strangers = [
      bob,
      await plane.user('ann', 'globex'),
      await plane.service('globex'),
      await plane.operator('globex'),
    ]
    for (const who of strangers) {
      const real = requests(ids)
      const never = requests(NEVER)
      for (const [i, ask] of real.entries()) {
        const [there, nowhere] = [await ask(who), await (never[i] as typeof ask)(who)]
        expect({ i, status: there.status }).toEqual({ i, status: 404 })
        expect({ ...there.body, instance: '' }).toEqual({ ...nowhere.body, instance: '' })
        const header = (answer: typeof there) =>
          [...answer.headers].filter(([name]) => !/^(date|content-length|keep-alive)$/.test(name))
        expect(header(there)).toEqual(header(nowhere))
      }
      for (const path of [
        '/v1/runs',
        '/v1/conversations',
        '/v1/confirmations',
        `/v1/runs?conversation_id=${ids.ses}`,
        `/v1/confirmations?run_id=${ids.run}`,
      ])
        expect((await who.get(path)).body).toEqual({ items: [], next_cursor: null })
    }
    expect((await ann.get(`/v1/confirmations/${ids.cnf}`)).body.status).toBe('pending')
    expect(payments.refunds).toEqual([])
  })

  it('H1 a service sees its tenant, and each user what is his own', async () => {
    const service = await plane.service()
    for (const path of [
      `/v1/runs/${ids.run}`,
      `/v1/conversations/${ids.ses}`,
      `/v1/confirmations/${ids.cnf}`,
      `/v1/runs/${ids.run}/ledger`,
    ])
      for (const who of [service, ann]) expect((await who.get(path)).status).toBe(200)
    expect((await service.get('/v1/runs')).body.items.map((r: Body) => r.id)).toContain(ids.run)
  })

  it('R6 a token is made with a service key only, and never holds more than the key', async () => {
    const narrow = await plane.service('acme', ['orders.*'])
    const minted = await narrow.post('/v1/tokens', {
      body: { user: 'carl', permissions: ['orders.refund'], ttl_seconds: 60 },
    })
    expect(minted.status).toBe(201)
    expect(Date.parse(minted.body.expires_at) - Date.now()).toBeLessThanOrEqual(60_000)
    for (const permissions of [['*'], ['billing.pay'], ['orders.refund', 'billing.*']])
      expect(await narrow.post('/v1/tokens', { body: { user: 'carl', permissions } })).toMatchObject({
        status: 400,
        body: { errors: [{ message: 'is not held by the key' }] },
      })
    for (const body of [
      { user: 'carl', ttl_seconds: 901 },
      { user: 'a b' },
      { user: '' },
      { user: 'carl', tenant: 'globex' },
      { user: 'carl', subject: '../x' },
    ])
      expect((await narrow.post('/v1/tokens', { body })).status).toBe(400)
    const carl = person(plane.url, minted.body.token)
    expect(await carl.post('/v1/tokens', { body: { user: 'dora' } })).toMatchObject({ status: 403 })
    expect(await (await plane.operator()).post('/v1/tokens', { body: { user: 'dora' } })).toMatchObject({ status: 403 })
    expect((await carl.get('/v1/runs')).status).toBe(200)
  })

  it('H1 a run of a token without the permission of a tool is not offered it', async () => {
    const minted = await (await plane.service()).post('/v1/tokens', { body: { user: 'eve', permissions: [] } })
    const eve = person(plane.url, minted.body.token)
    const made = await eve.post('/v1/runs', { body: { agent: 'support', text: 'Please refund order 1042, $12.00' } })
    expect(made.status).toBe(201)
    expect(await ended(eve, made.body.id)).toMatchObject({ actions: [] })
    expect((await eve.get('/v1/confirmations')).body.items).toEqual([])
    expect(payments.refunds).toEqual([])
  })

  it('R5 every wrong credential gets the same answer', async () => {
    const service = await plane.service()
    const good = ann.bearer
    const [head = '', claims = '', signature = ''] = good.split('.')
    const key = createHmac('sha256', SECRET).update('token.v1').digest()
    const payload = JSON.parse(Buffer.from(claims, 'base64url').toString())
    const now = Math.floor(Date.now() / 1000)
    const sign = (change: object, secret: Uint8Array = key, alg = 'HS256') =>
      new SignJWT({ ...payload, ...change }).setProtectedHeader({ alg }).sign(secret)
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
    const wrong = [
      '',
      'x',
      service.bearer.slice(0, -1) + (service.bearer.endsWith('A') ? 'B' : 'A'),
      `${head}.${Buffer.from(JSON.stringify({ ...payload, tenant: 'globex' })).toString('base64url')}.${signature}`,
      none,
      await sign({}, createHmac('sha256', 'another secret').digest()),
      await sign({ exp: now - 1 }),
      await sign({ exp: now + 86_400, iat: now - 1_000 }),
      await sign({ aud: 'else' }),
      await sign({ iat: undefined }),
      await sign({ permissions: '*' }),
      await sign({ tenant: 'a/b' }),
      await sign({ key: 'key_00000000000000000000000000' }),
      await sign({}, createHmac('sha512', 'x').digest(), 'HS512'),
    ]
    const answers = await Promise.all(wrong.map((bearer) => person(plane.url, bearer).get('/v1/runs')))
    for (const [i, { status, body, headers }] of answers.entries()) {
      expect({ i, status }).toEqual({ i, status: 401 })
      expect(body).toEqual(answers[0]?.body)
      expect(headers.get('www-authenticate')).toBe('Bearer')
    }
    const bare = await fetch(`${plane.url}/v1/runs`, { headers: { authorization: 'Basic abc' } })
    expect(bare.status).toBe(401)
  })

  it('R5 a revoked key is refused at once, and every token that it made', async () => {
    const operator = await plane.operator()
    const made = await operator.post('/v1/credentials', {
      body: { kind: 'service', user: 'backend', permissions: ['*'] },
    })
    expect(made).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^key_/), key: expect.stringMatching(/^plk_[A-Za-z0-9_-]{43}$/) },
    })
    const backend = person(plane.url, made.body.key)
    const token = (await backend.post('/v1/tokens', { body: { user: 'finn' } })).body.token
    expect((await person(plane.url, token).get('/v1/runs')).status).toBe(200)
    for (const who of [backend, person(plane.url, token)])
      expect(
        await who.post('/v1/credentials', { body: { kind: 'operator', user: 'me', permissions: ['*'] } }),
      ).toMatchObject({ status: 403 })
    const revoke = (bearer: string) =>
      fetch(`${plane.url}/v1/credentials/${made.body.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bearer}` },
      })
    expect((await revoke((await plane.operator('globex')).bearer)).status).toBe(404)
    expect((await revoke(operator.bearer)).status).toBe(204)
    expect((await backend.get('/v1/runs')).status).toBe(401)
    expect((await person(plane.url, token).get('/v1/runs')).status).toBe(401)
    expect((await revoke(operator.bearer)).status).toBe(404)
  })
})
