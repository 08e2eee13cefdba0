/** Who sees what is remembered, and how it is taken along and forgotten, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodings, everyRow, foundIn } from '../setup/canary.ts'
import {
  type Body,
  ENGINES,
  isFirst,
  openPlane,
  openStore,
  type Person,
  type Plane,
  type Store,
} from '../setup/plane.ts'
import { attentiveAgent, holds, problem, remember, tell, word } from '../setup/remembering.ts'
import { unique } from '../setup/seed.ts'

describe.each(ENGINES)('what is forgotten, exported and withheld on the %s store', (engine) => {
  let store: Store
  let plane: Plane
  const errors: unknown[] = []
  beforeAll(async () => {
    store = await openStore(engine)
    plane = await openPlane({
      db: store.db,
      agents: [attentiveAgent],
      more: { backupDays: 30 },
      http: { onError: (error) => errors.push(error) },
    })
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  const someone = (): Promise<Person> => plane.user(unique('ann'))

  it('R6 a service key sees nothing that is remembered of anybody, and an operator no value without a reason', async () => {
    const name = unique('ann')
    const ann = await plane.user(name)
    const value = word()
    const { id } = (await remember(ann, 'food', value)).body
    for (const who of [await plane.service(), await plane.operator()])
      for (const list of ['/v1/memories', '/v1/memory-candidates', '/v1/consents'])
        expect(problem(await who.get(list))).toEqual({ status: 403, code: 'permission_denied' })
    const operator = await plane.operator()
    const facts = await operator.get(`/ops/v1/memories?subject=${name}`)
    expect(facts.body.items).toMatchObject([{ id, key: 'food', subject: name }])
    expect(JSON.stringify(facts.body)).not.toContain(value)
    const reveal = (who: Person, body: unknown) => who.post(`/ops/v1/memories/${id}/reveal`, { body })
    expect((await reveal(operator, {})).status).toBe(400)
    expect((await reveal(await plane.operator('globex'), { reason: 'case 7' })).status).toBe(404)
    expect((await reveal(operator, { reason: 'case 7' })).body).toEqual({ id, value })
    for (const who of [ann, await plane.service()]) {
      expect((await reveal(who, { reason: 'mine' })).status).toBe(403)
      expect((await who.get(`/ops/v1/memories?subject=${name}`)).status).toBe(403)
      expect((await who.post('/ops/v1/deletions', { body: { subject: name, reason: 'x' } })).status).toBe(403)
    }
    const audit = await store.admin(
      `select action, outcome, reason from plimsoll.audit where target = $1 order by created_at, action`,
      [id],
    )
    expect(audit).toContainEqual({ action: 'memory.reveal', outcome: 'revealed', reason: 'case 7' })

    expect((await operator.post('/ops/v1/deletions', { body: { subject: name } })).status).toBe(400)
    const done = await operator.post('/ops/v1/deletions', { body: { subject: name, reason: 'asked by mail' } })
    holds('deletion', done)
    expect(done).toMatchObject({ status: 202, body: { kind: 'subject', target: name } })
    const { parts: _, ...head } = done.body
    expect((await operator.get(`/ops/v1/deletions/${done.body.id}`)).body).toMatchObject(head)
    expect((await operator.get('/ops/v1/deletions?limit=100')).body.items.map((d: Body) => d.id)).toContain(
      done.body.id,
    )
    expect(await store.admin(`select reason from plimsoll.audit where target = $1`, [done.body.id])).toEqual([
      { reason: 'asked by mail' },
    ])
    expect((await ann.get('/v1/memories')).body.items).toEqual([])
    const residue = await operator.post('/ops/v1/memories/reconcile')
    expect(residue.body.items.map((r: Body) => r.error)).toEqual(residue.body.items.map(() => null))
    expect(residue.body.items.map((r: Body) => r.removed)).toEqual(residue.body.items.map(() => 0))
  })

  it('R6 facts of an authority and shared knowledge are written by who may, and by nobody else', async () => {
    const [ann, service, operator] = [await someone(), await plane.service(), await plane.operator()]
    const fact = { subject: 'ann', key: 'food', ref: 'food/ann' }
    const changed = { authority: 'kitchen', ref: 'food/ann' }
    for (const who of [ann, await plane.service('acme', ['orders.*'])]) {
      expect(problem(await who.post('/v1/memory-facts', { body: fact }))).toMatchObject({ status: 403 })
      expect(problem(await who.post('/v1/memory-facts/changed', { body: changed }))).toMatchObject({ status: 403 })
    }
    // `food` has no authority
    expect(await service.post('/v1/memory-facts', { body: fact })).toMatchObject({
      status: 422,
      body: { code: 'memory_refused', reasons: ['source_not_allowed'] },
    })
    const told = await service.post('/v1/memory-facts/changed', { body: changed })
    holds('facts_changed', told)
    expect(told.body).toEqual({ changed: 0 })
    const share = { key: 'food', value: 'fish', scope: 'tenant', reason: 'policy 7' }
    expect((await service.post('/ops/v1/memories', { body: share })).status).toBe(403)
    expect(await operator.post('/ops/v1/memories', { body: share })).toMatchObject({
      status: 422,
      body: { code: 'memory_refused' },
    })
    expect((await operator.post('/ops/v1/memories', { body: { ...share, scope: 'user' } })).status).toBe(400)
  })

  if (!isFirst(engine)) return

  it('G8 a withdrawn consent takes what it covers, and nothing is remembered for it until it is granted', async () => {
    const ann = await someone()
    const purpose = 'To suggest dishes.'
    await remember(ann, 'food', 'fish')
    await remember(ann, 'answer_language', 'en')
    const said = await ann.send('PUT', '/v1/consents', { body: { purpose, state: 'withdrawn' } })
    holds('consent_set', said)
    expect(said).toMatchObject({ status: 200, body: { purpose, state: 'withdrawn', deletion: { kind: 'purpose' } } })
    expect((await ann.get('/v1/memories')).body.items.map((m: Body) => m.key)).toEqual(['answer_language'])
    expect(await remember(ann, 'food', 'eggs')).toMatchObject({ status: 422, body: { reasons: ['no_consent'] } })
    const consents = await ann.get('/v1/consents')
    holds('consents', consents)
    expect(consents.body.items).toMatchObject([{ purpose, state: 'withdrawn' }])
    const granted = await ann.send('PUT', '/v1/consents', { body: { purpose, state: 'granted' } })
    expect(granted.body).toEqual({ purpose, state: 'granted', deletion: null })
    expect((await remember(ann, 'food', 'eggs')).status).toBe(201)
  })

  it('G8 a purpose that covers nothing is refused with those that there are: a slip of the pen withdraws nothing in silence', async () => {
    const name = unique('ann')
    const [ann, bob] = [await plane.user(name), await someone()]
    const say = (who: Person, purpose: string) =>
      who.send('PUT', '/v1/consents', { body: { purpose, state: 'withdrawn' } })
    const { purposes } = (await ann.get('/v1/consents')).body
    expect(purposes).toContain('To suggest dishes.')
    const refused = await say(ann, 'to suggest dishes')
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ path: '/purpose' }] } })
    expect(refused.body.errors[0].message).toContain('"To suggest dishes."')
    expect(JSON.stringify(refused.body)).not.toContain('to suggest dishes')
    expect((await ann.get('/v1/consents')).body.items).toEqual([])
    // of a key that this program has no more: what is left of it can be withdrawn, by whom it is about
    await remember(ann, 'food', 'fish')
    await store.admin(`update plimsoll.memory set purpose = 'Of before.' where subject_id = $1`, [name])
    expect((await say(bob, 'Of before.')).status).toBe(400)
    expect(await say(ann, 'Of before.')).toMatchObject({ status: 200, body: { deletion: { kind: 'purpose' } } })
    expect((await ann.get('/v1/memories')).body.items).toEqual([])
    expect((await say(ann, 'Of before.')).status).toBe(200)
  })

  it('G6 an export holds what is the caller’s own, with its sources, and there are few in an hour', async () => {
    const [ann, bob] = [await someone(), await someone()]
    const [mine, his] = [word(), word()]
    await tell(ann, `food: ${mine}`)
    await remember(bob, 'food', his)
    const first = await ann.post('/v1/exports')
    holds('export', first)
    expect(first.body.items).toMatchObject([
      { memory: { key: 'food', value: mine, scope: 'user' }, sources: [{ kind: 'message', quote: mine }, {}] },
    ])
    expect(JSON.stringify(first.body)).not.toContain(his)
    const more = []
    for (let i = 0; i < 5; i++) more.push(await ann.post('/v1/exports'))
    expect(more.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429])
    expect(more[4]?.body).toMatchObject({ code: 'rate_limited', retryable: true })
    // when the oldest of the five has been an hour ago
    expect(more[4]?.body.retry_after_ms).toBeGreaterThan(3_000_000)
    expect((await bob.post('/v1/exports')).status).toBe(200)
  })

  it('G9 a message, a conversation and everything are forgotten by their names, one at a time', async () => {
    const ann = await someone()
    const value = word()
    const [first, second] = [await tell(ann, `food: ${value}`), await tell(ann, 'hello again')]
    for (const body of [
      {},
      { everything: false },
      { everything: true, conversation_id: second.conversation_id },
      { message_id: second.conversation_id },
      { subject: 'ann' },
    ])
      expect({ body, status: (await ann.post('/v1/deletions', { body })).status }).toEqual({ body, status: 400 })
    const talk = await ann.post('/v1/deletions', { body: { conversation_id: second.conversation_id } })
    expect(talk).toMatchObject({ status: 202, body: { kind: 'conversation', target: second.conversation_id } })
    const message = await ann.post('/v1/deletions', { body: { message_id: first.message_id } })
    expect(message).toMatchObject({ status: 202, body: { kind: 'message' } })
    await remember(ann, 'answer_language', 'en')
    const all = await ann.post('/v1/deletions', { body: { everything: true } })
    holds('deletion', all)
    expect(all).toMatchObject({ status: 202, body: { kind: 'subject' } })
    expect((await ann.get('/v1/memories')).body.items).toEqual([])
    const pages = await ann.get('/v1/deletions?limit=2')
    expect(pages.body.items.map((d: Body) => d.id)).toEqual([all.body.id, message.body.id])
    const rest = await ann.get(`/v1/deletions?limit=2&cursor=${pages.body.next_cursor}`)
    expect(rest.body.items.map((d: Body) => d.id)).toEqual([talk.body.id])
    expect((await ann.get(`/v1/memories?cursor=${pages.body.next_cursor}`)).status).toBe(400)
    expect(foundIn(await everyRow(store), encodings(value))).toEqual([])
  })

  it('G7 no value stands in a stored answer, a log or a problem', async () => {
    const ann = await someone()
    const value = word()
    const key = unique('key')
    const made = await ann.post('/v1/memories', { key, body: { key: 'food', value } })
    const path = `/v1/memories/${made.body.id}`
    const next = word()
    const bodies = [made, await ann.send('PATCH', path, { version: 1, body: { value: next }, key: `${key}.2` })]
    bodies.push(await ann.send('PATCH', path, { version: 1, body: { value }, key: `${key}.3` }))
    bodies.push(await ann.post('/v1/memories', { body: { key: 'answer_language', value } }))
    bodies.push(await ann.post('/v1/memories', { body: { key: 'food', value, [value]: true } }))
    expect(bodies.map(({ status }) => status)).toEqual([201, 200, 412, 422, 400])
    const stored = await store.admin(
      `select encode(response, 'escape') as response, body_hash from plimsoll.idempotency where key like $1`,
      [`${key}%`],
    )
    expect(stored).toHaveLength(3)
    const said = JSON.stringify([stored, bodies.slice(0, 4).map(({ body }) => body), errors.map(String)])
    expect(foundIn(said, [...encodings(value), ...encodings(next)])).toEqual([])
    // and after it is forgotten nothing of it stands anywhere
    await ann.send('DELETE', path)
    expect(foundIn(await everyRow(store), [...encodings(value), ...encodings(next)])).toEqual([])
    expect(errors).toEqual([])
  })
})
