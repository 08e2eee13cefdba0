import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { scripted } from '../../src/testing/scripted.ts'
import {
  agentOf,
  ended,
  ENGINES,
  openPlane,
  openStore,
  person,
  type Person,
  type Plane,
  type Store,
} from '../setup/plane.ts'

describe.each(ENGINES)('idempotency keys on the %s store', (engine) => {
  let store: Store
  let one: Plane
  let two: Plane
  let ann: Person
  beforeAll(async () => {
    store = await openStore(engine)
    const agents = [agentOf('echo', { model: scripted(() => ({ text: 'I heard you.' })) })]
    one = await openPlane({ db: store.db, agents })
    two = await openPlane({ db: await store.another(), agents, worker: false })
    ann = await one.user('ann')
  })
  afterAll(async () => {
    await two?.close()
    await one?.close()
    await store?.close()
  })
  const body = { agent: 'echo', text: 'hello' }
  const runsOf = async (who: Person): Promise<number> => (await who.get('/v1/runs?limit=100')).body.items.length

  it('A13 the same key and body give the stored answer and make nothing new, on every server', async () => {
    const before = await runsOf(ann)
    const first = await ann.post('/v1/runs', { body, key: 'k1' })
    const again = await ann.post('/v1/runs', { body, key: 'k1' })
    const there = await person(two.url, ann.bearer).post('/v1/runs', {
      body: '{"text": "hello",\n "agent":"echo"}',
      key: 'k1',
    })
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    for (const answer of [again, there]) {
      expect(answer.status).toBe(201)
      expect(answer.body).toEqual(first.body)
      expect(answer.headers.get('idempotency-replayed')).toBe('true')
      expect(answer.headers.get('location')).toBe(first.headers.get('location'))
      expect(answer.headers.get('etag')).toBe(first.headers.get('etag'))
    }
    expect(await runsOf(ann)).toBe(before + 1)
    await ended(ann, first.body.id)
    expect((await ann.post('/v1/runs', { body, key: 'k1' })).body).toEqual(first.body)
  })

  it('A13 another body under the same key is refused, and so is another path', async () => {
    const first = await ann.post('/v1/runs', { body, key: 'k2' })
    expect(await ann.post('/v1/runs', { body: { ...body, text: 'other' }, key: 'k2' })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
    expect(await ann.post(`/v1/runs/${first.body.id}/cancel`, { key: 'k2' })).toMatchObject({ status: 422 })
  })

  it('A13 keys belong to their caller: another user, tenant or key has its own', async () => {
    const first = await ann.post('/v1/runs', { body, key: 'k3' })
    const others = [await one.user('bob'), await one.user('ann', 'globex'), await one.service()]
    for (const other of others) {
      const answer = await other.post('/v1/runs', { body, key: 'k3' })
      expect(answer.status).toBe(201)
      expect(answer.body.id).not.toBe(first.body.id)
    }
  })

  it('A13 without a key nothing is made; with an odd one neither', async () => {
    const before = await runsOf(ann)
    expect(await ann.post('/v1/runs', { body, key: null })).toMatchObject({
      status: 400,
      body: { code: 'idempotency_key_missing' },
    })
    expect(await ann.post('/v1/runs', { body, key: 'a'.repeat(256) })).toMatchObject({ status: 400 })
    expect(await ann.post('/v1/runs', { body, key: 'two words' })).toMatchObject({ status: 400 })
    expect(await runsOf(ann)).toBe(before)
  })

  it('A13 thirty at once with one key over two servers make one run; the rest wait or get its answer', async () => {
    const before = await runsOf(ann)
    const other = person(two.url, ann.bearer)
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 2 ? ann : other).post('/v1/runs', { body, key: 'k4' })),
    )
    const made = answers.filter((a) => a.status === 201)
    expect(new Set(made.map((a) => a.body.id)).size).toBe(1)
    expect(made.filter((a) => a.headers.get('idempotency-replayed') === null)).toHaveLength(1)
    for (const { status, body: problem, headers } of answers.filter((a) => a.status !== 201)) {
      expect({ status, code: problem.code, retryable: problem.retryable }).toEqual({
        status: 409,
        code: 'idempotency_in_flight',
        retryable: true,
      })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await runsOf(ann)).toBe(before + 1)
  })

  it('A13 a request that was refused leaves its key free', async () => {
    const refused = await ann.post('/v1/runs', { body: { agent: 'nobody', text: 'hello' }, key: 'k5' })
    expect(refused.status).toBe(404)
    const made = await ann.post('/v1/runs', { body: { agent: 'echo', text: 'hello' }, key: 'k5' })
    expect(made.status).toBe(201)
  })

  it('A13 the claim of a request that died is taken over once it is old, and makes one run', async () => {
    const first = await ann.post('/v1/runs', { body, key: 'k6' })
    // as if the process had died between its claim and its transition
    const dead = `update plimsoll.idempotency set status = null, response = '\\x00', run_id = 'run_dead', created_at = now() - $1::interval where key = 'k6'`
    await store.admin(dead, ['10 seconds'])
    expect(await ann.post('/v1/runs', { body, key: 'k6' })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_in_flight' },
    })
    await store.admin(dead, ['31 seconds'])
    const before = await runsOf(ann)
    const takers = await Promise.all(
      [ann, person(two.url, ann.bearer)].map((who) => who.post('/v1/runs', { body, key: 'k6' })),
    )
    const won = takers.filter((t) => t.status === 201)
    expect(new Set(won.map((t) => t.body.id)).size).toBe(1)
    expect(won[0]?.body.id).not.toBe(first.body.id)
    expect(await runsOf(ann)).toBe(before + 1)
    // an answer that is a day old is forgotten
    await store.admin(`update plimsoll.idempotency set expires_at = now() - interval '1 second' where key = 'k6'`)
    const fresh = await ann.post('/v1/runs', { body: { ...body, text: 'another day' }, key: 'k6' })
    expect(fresh.status).toBe(201)
    expect(fresh.headers.get('idempotency-replayed')).toBeNull()
  })

  it('P5 a port that is taken is a clear fault', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    await expect(openPlane({ db: store.db, agents: [], worker: false, http: { port } })).rejects.toMatchObject({
      code: 'port_in_use',
    })
    other.close()
  })
})
