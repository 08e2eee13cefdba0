import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
  until,
  type Body,
} from '../setup/plane.ts'

/** A model that waits until a test lets it speak. */
function gate() {
  let open: () => void = () => {}
  let opened = new Promise<void>((resolve) => (open = resolve))
  return {
    pass: (signal: AbortSignal) =>
      Promise.race([
        opened,
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      ]),
    open: () => open(),
    shut() {
      opened = new Promise<void>((resolve) => (open = resolve))
    },
  }
}

describe.each(ENGINES)('conversations over HTTP on the %s store', (engine) => {
  const held = gate()
  let store: Store
  let one: Plane
  let two: Plane
  let ann: Person
  /** The requests that the slow model has seen: its user messages. */
  const asked: string[][] = []
  beforeAll(async () => {
    store = await openStore(engine)
    const echo = scripted(() => ({ text: 'I heard you.' }))
    const slow = scripted(
      (request) => {
        const said = request.messages.filter((m) => m.role !== 'system').map((m) => `${m.role}: ${m.text}`)
        asked.push(said)
        return { text: `Answer ${said.length}.` }
      },
      { pause: held.pass },
    )
    const agents = [
      agentOf('echo', { model: echo }),
      agentOf('queue', { model: slow, onMessage: 'queue' }),
      agentOf('replace', { model: slow, onMessage: 'replace' }),
      agentOf('reject', { model: slow, onMessage: 'reject' }),
    ]
    one = await openPlane({ db: store.db, agents })
    two = await openPlane({ db: await store.another(), agents, worker: false })
    ann = await one.user('ann')
  })
  afterAll(async () => {
    held.open()
    await two?.close()
    await one?.close()
    await store?.close()
  })

  const talkWith = async (agent: string): Promise<{ path: string; version: number }> => {
    const made = await ann.post('/v1/conversations', { body: { agent } })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ state: 'idle', version: 1, last_message_id: null, active_runs: [] })
    return { path: `/v1/conversations/${made.body.id}`, version: made.body.version }
  }

  it('A3 two tabs that answer the same message: one is stored, the other is told the new version (BR-054)', async () => {
    const { path } = await talkWith('echo')
    const first = await ann.post(`${path}/messages`, { body: { text: 'hello' } })
    expect(first.status).toBe(201)
    await ended(ann, first.body.id)
    const { items } = (await ann.get(`${path}/messages`)).body
    const parent = items.at(-1).id
    const tabs = [ann, person(two.url, ann.bearer)]
    const answers = await Promise.all(
      tabs.map((tab, i) => tab.post(`${path}/messages`, { body: { text: `tab ${i}`, parent_message_id: parent } })),
    )
    expect(answers.map((a) => a.status).sort()).toEqual([201, 412])
    const lost = answers.find((a) => a.status === 412)
    const won = answers.find((a) => a.status === 201)
    expect(lost?.body).toMatchObject({ code: 'precondition_failed', current_version: won?.body.conversation_version })
    expect(won?.headers.get('etag')).toBe(`"v${won?.body.conversation_version}"`)
    await ended(ann, won?.body.id)
    const texts = (await ann.get(`${path}/messages`)).body.items
      .filter((m: Body) => m.role === 'user')
      .map((m: Body) => m.text)
    expect(texts).toHaveLength(2)
  })

  it('C5 a message without a version or a parent is refused, and a stale version too', async () => {
    const { path, version } = await talkWith('echo')
    const first = await ann.post(`${path}/messages`, { version, body: { text: 'hello' } })
    expect(first.status).toBe(201)
    expect(await ann.post(`${path}/messages`, { body: { text: 'blind' } })).toMatchObject({ status: 428 })
    expect(await ann.post(`${path}/messages`, { version, body: { text: 'stale' } })).toMatchObject({
      status: 412,
      body: { current_version: first.body.conversation_version },
    })
    await ended(ann, first.body.id)
  })

  it('A4 queue: the second message waits and is answered knowing the first answer (BR-052)', async () => {
    held.shut()
    asked.length = 0
    const { path, version } = await talkWith('queue')
    const first = await ann.post(`${path}/messages`, { version, body: { text: 'price?' } })
    await until(
      async () => asked.length,
      (n) => n > 0,
    )
    const second = await ann.post(`${path}/messages`, {
      version: first.body.conversation_version,
      body: { text: 'delivery?' },
    })
    expect(second.status).toBe(201)
    const talk = (await ann.get(path)).body
    expect(talk).toMatchObject({ state: 'planning' })
    expect(talk.active_runs.map((r: Body) => r.id)).toEqual([first.body.id, second.body.id])
    held.open()
    await ended(ann, second.body.id)
    expect(asked).toEqual([['user: price?'], ['user: price?', 'assistant: Answer 1.', 'user: delivery?']])
  })

  it('A4 replace: the first run is superseded and its late text goes nowhere', async () => {
    held.shut()
    asked.length = 0
    const { path, version } = await talkWith('replace')
    const first = await ann.post(`${path}/messages`, { version, body: { text: 'price?' } })
    await until(
      async () => asked.length,
      (n) => n > 0,
    )
    const second = await ann.post(`${path}/messages`, {
      version: first.body.conversation_version,
      body: { text: 'delivery?' },
    })
    expect(await ended(ann, first.body.id)).toMatchObject({ status: 'canceled', end_reason: 'superseded' })
    held.open()
    expect(await ended(ann, second.body.id)).toMatchObject({ status: 'succeeded' })
    const said = (await ann.get(`${path}/messages`)).body.items.map((m: Body) => m.text)
    expect(said.filter((text: string) => text.startsWith('Answer'))).toHaveLength(1)
    expect(said.slice(0, 2)).toEqual(['price?', 'delivery?'])
  })

  it('A4 reject: a second message is refused while a run is active, and its key is free again', async () => {
    held.shut()
    asked.length = 0
    const { path, version } = await talkWith('reject')
    const first = await ann.post(`${path}/messages`, { version, body: { text: 'price?' } })
    const next = { version: first.body.conversation_version, body: { text: 'delivery?' }, key: `reject-${engine}` }
    expect(await ann.post(`${path}/messages`, next)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    held.open()
    await ended(ann, first.body.id)
    const second = await ann.post(`${path}/messages`, next)
    expect(second.status).toBe(201)
    await ended(ann, second.body.id)
  })

  it('K3 a cancel aborts the model call at once and keeps nothing as an answer', async () => {
    held.shut()
    asked.length = 0
    const made = await ann.post('/v1/runs', { body: { agent: 'queue', text: 'tell me everything' } })
    await until(
      async () => asked.length,
      (n) => n > 0,
    )
    const stale = await ann.post(`/v1/runs/${made.body.id}/cancel`, { version: 999 })
    expect(stale).toMatchObject({ status: 412, body: { current_version: expect.any(Number) } })
    // through the other server, whose process drives nothing
    const canceled = await person(two.url, ann.bearer).post(`/v1/runs/${made.body.id}/cancel`, {
      key: `cancel-${engine}`,
    })
    expect(canceled).toMatchObject({ status: 200, body: { id: made.body.id, cancel_cause: 'user', actions: [] } })
    const run = await ended(ann, made.body.id)
    expect(run).toMatchObject({ status: 'canceled', end_reason: 'user_canceled', cancel_cause: 'user' })
    const again = await ann.post(`/v1/runs/${made.body.id}/cancel`, { key: `cancel-${engine}` })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.body).toEqual(canceled.body)
    expect(await ann.post(`/v1/runs/${made.body.id}/cancel`)).toMatchObject({
      status: 409,
      body: { code: 'refused_transition', run_id: made.body.id },
    })
    held.open()
  })

  it('A12 a closed conversation takes nothing more, and what it holds stays readable', async () => {
    const { path, version } = await talkWith('echo')
    expect(await ann.post(`${path}/close`, { version: 9 })).toMatchObject({
      status: 412,
      body: { current_version: version },
    })
    const closed = await ann.post(`${path}/close`, { version })
    expect(closed).toMatchObject({ status: 200, body: { state: 'terminated', closed_at: expect.any(String) } })
    expect(await ann.post(`${path}/messages`, { version: closed.body.version, body: { text: 'more' } })).toMatchObject({
      status: 409,
    })
    expect(await ann.post(`${path}/close`)).toMatchObject({ status: 409 })
    expect((await ann.get(path)).body.state).toBe('terminated')
  })

  it('A3 lists go on by a cursor that works for its caller, list and filters only', async () => {
    const cleo = await one.user(`cleo-${engine}`)
    for (let i = 0; i < 5; i++) await cleo.post('/v1/runs', { body: { agent: 'echo', text: `message ${i}` } })
    const all = (await cleo.get('/v1/runs')).body.items.map((r: Body) => r.id)
    expect(all).toHaveLength(5)
    const pages: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Body = await cleo.get(`/v1/runs?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      expect(page.status).toBe(200)
      pages.push(...page.body.items.map((r: Body) => r.id))
      cursor = page.body.next_cursor
    }
    expect(pages).toEqual(all)
    const next: string = (await cleo.get('/v1/runs?limit=2')).body.next_cursor
    const flipped = next.slice(0, -1) + (next.endsWith('A') ? 'B' : 'A')
    const refused = [
      await cleo.get(`/v1/runs?limit=2&cursor=${flipped}`),
      await cleo.get(`/v1/runs?limit=2&status=queued&cursor=${next}`),
      await cleo.get(`/v1/conversations?limit=2&cursor=${next}`),
      await ann.get(`/v1/runs?limit=2&cursor=${next}`),
      await (await one.user(`cleo-${engine}`, 'globex')).get(`/v1/runs?limit=2&cursor=${next}`),
      await (await one.service()).get(`/v1/runs?limit=2&cursor=${next}`),
    ]
    for (const { status, body } of refused)
      expect({ status, path: body.errors?.[0].path }).toEqual({ status: 400, path: '/cursor' })
    const conversations = await cleo.get('/v1/conversations?limit=3&agent=echo')
    expect(conversations.body.items).toHaveLength(3)
    expect((await cleo.get('/v1/runs?status=failed')).body.items).toEqual([])
  })
})
