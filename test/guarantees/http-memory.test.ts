/** What people do with what is remembered of them, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Body,
  ENGINES,
  isFirst,
  openPlane,
  openStore,
  person,
  type Person,
  type Plane,
  type Store,
} from '../setup/plane.ts'
import { asked, attentiveAgent, holds, problem, remember, tell, word } from '../setup/remembering.ts'
import { unique } from '../setup/seed.ts'

const DAY = 86_400_000
const NEVER = '00000000000000000000000000'

describe.each(ENGINES)('memory over HTTP on the %s store', (engine) => {
  let store: Store
  let plane: Plane
  beforeAll(async () => {
    store = await openStore(engine)
    plane = await openPlane({
      db: store.db,
      agents: [attentiveAgent],
      more: { backupDays: 30 },
    })
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  const someone = (): Promise<Person> => plane.user(unique('ann'))

  it('G1 a person sees what is remembered, asks why, corrects what was seen, and has it forgotten with a receipt', async () => {
    const ann = await someone()
    const [first, second] = [word(), word()]
    const said = await tell(ann, `food: ${first}`)
    const list = await ann.get('/v1/memories?kind=preference&key=food&scope=user')
    holds('memories', list)
    expect(list.body.items).toMatchObject([{ key: 'food', value: first, scope: 'user', version: 1, status: 'active' }])
    const path = `/v1/memories/${list.body.items[0].id}`
    const one = await ann.get(path)
    holds('memory', one)
    expect(one.headers.get('etag')).toBe('"v1"')
    expect(Date.parse(one.body.expires_at)).toBeGreaterThan(Date.now() + 300 * DAY)
    expect(one.body.purpose).toBe('To suggest dishes.')
    const why = await ann.get(`${path}/why`)
    holds('memory_why', why)
    expect(why.body.sources).toMatchObject([
      { kind: 'message', ref: said.message_id, run_id: said.id, quote: first, conversation_id: said.conversation_id },
    ])
    // the next run is given it, and both say so
    const later = await tell(ann, `Which food do I like: ${first}`)
    const given = await ann.get(`/v1/runs/${later.id}/memories`)
    holds('run_memories', given)
    expect(given.body.items).toMatchObject([{ memory_id: one.body.id, version: 1, reason: 'placed' }])
    expect((await ann.get(`${path}/why`)).body.uses[0]).toMatchObject({ run_id: later.id, reason: 'placed' })

    const correct = (version: number, value: unknown) => ann.send('PATCH', path, { version, body: { value } })
    expect(problem(await ann.send('PATCH', path, { body: { value: second } }))).toEqual({
      status: 428,
      code: 'precondition_required',
    })
    const corrected = await correct(1, second)
    holds('memory_written', corrected)
    expect(corrected).toMatchObject({ status: 200, body: { outcome: 'saved', version: 2, change: 'corrected' } })
    expect(corrected.headers.get('etag')).toBe('"v2"')
    expect(await correct(1, 'soup')).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed', current_version: 2 },
    })
    const versions = await ann.get(`${path}/versions`)
    holds('memory_versions', versions)
    expect(versions.body.items.map((v: Body) => [v.version, v.change, v.value])).toEqual([
      [1, 'created', first],
      [2, 'corrected', second],
    ])

    const gone = await ann.send('DELETE', path)
    holds('deletion', gone)
    expect(gone).toMatchObject({ status: 202, body: { kind: 'memory', target: one.body.id } })
    expect(new Set(gone.body.parts.map((p: Body) => p.state))).toEqual(new Set(['done']))
    expect(Date.parse(gone.body.backups_expire_at) - Date.parse(gone.body.done_at)).toBe(30 * DAY)
    expect(gone.headers.get('location')).toBe(`/v1/deletions/${gone.body.id}`)
    const { parts: _, ...head } = gone.body
    expect((await ann.get(`/v1/deletions/${gone.body.id}`)).body).toMatchObject(head)
    const deletions = await ann.get('/v1/deletions')
    holds('deletions', deletions)
    expect(deletions.body.items).toEqual([head])
    for (const again of [ann.get(path), ann.get(`${path}/why`), ann.send('DELETE', path), correct(2, 'x')])
      expect(problem(await again)).toEqual({ status: 404, code: 'not_found' })
    expect((await ann.get('/v1/memories')).body).toEqual({ items: [], next_cursor: null })
    expect((await ann.get(`/v1/runs/${later.id}/memories`)).body.items).toEqual([])
  })

  if (!isFirst(engine)) return

  it('G1 what is said directly is judged like anything else, and a refusal names its reasons and not the value', async () => {
    const ann = await someone()
    const key = unique('key')
    const made = await ann.post('/v1/memories', { key, body: { key: 'answer_language', value: 'zh-CN' } })
    holds('memory_written', made)
    expect(made).toMatchObject({ status: 201, body: { outcome: 'saved', version: 1, change: 'created' } })
    expect(made.headers.get('location')).toBe(`/v1/memories/${made.body.id}`)
    const again = await ann.post('/v1/memories', { key, body: { key: 'answer_language', value: 'zh-CN' } })
    expect(again.body).toEqual(made.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(problem(await ann.post('/v1/memories', { key, body: { key: 'answer_language', value: 'en' } }))).toEqual({
      status: 422,
      code: 'idempotency_key_reused',
    })
    const bodies: [object, string][] = [
      [{ key: 'answer_language', value: 'fr' }, 'value_invalid'],
      [{ key: 'food', value: 'my password is hunter2-Xq9' }, 'password'],
      [{ key: 'food', value: 'fish', scope: 'tenant' }, 'personal_in_shared_scope'],
      [{ key: 'habit', value: 'We meet at nine.', place_id: 'nobody' }, 'no_member'],
      [{ key: 'food', value: 'fish', expires_at: 'soon' }, 'expiry_unreadable'],
    ]
    for (const [body, why] of bodies) {
      const refused = await ann.post('/v1/memories', { key: `${key}.${why}`, body })
      expect({ ...problem(refused), why: refused.body.reasons }).toEqual({
        status: 422,
        code: 'memory_refused',
        why: expect.arrayContaining([why]),
      })
      holds('problem', refused)
    }
    // what the schema wants is said, and what was sent is not
    const french = await ann.post('/v1/memories', { body: { key: 'answer_language', value: 'fr-CH' } })
    expect(french.body.errors).toMatchObject([{ path: '/value' }])
    expect(JSON.stringify(french.body)).not.toContain('fr-CH')
    const unknown = await ann.post('/v1/memories', { body: { key: 'languages', value: 'en' } })
    expect(unknown).toMatchObject({ status: 400, body: { errors: [{ path: '/key' }] } })
    expect(unknown.body.errors[0].message).toContain('answer_language')
    // nothing happened, so the key serves once more
    expect(
      (await ann.post('/v1/memories', { key: `${key}.password`, body: { key: 'food', value: 'fish' } })).status,
    ).toBe(201)
    expect(problem(await ann.post('/v1/memories', { key: null, body: { key: 'food', value: 'x' } }))).toEqual({
      status: 400,
      code: 'idempotency_key_missing',
    })
  })

  it('G1 fifty words on one question at once count once, and the rest are told', async () => {
    const ann = await someone()
    const { path, seen, yes, value } = await asked(ann)
    holds('memory_candidate', { ...(await ann.get(path)) })
    expect(seen).toMatchObject({ key: 'nickname', value, quotes: [value], status: 'pending', reasons: ['key_asks'] })
    expect((await ann.get(path)).headers.get('etag')).toBe(`"v${seen.version}"`)
    expect((await ann.get('/v1/memories')).body.items).toEqual([])
    const wrong = { version: seen.version, body: { hash: 'f'.repeat(64) } }
    expect(problem(await ann.post(`${path}/accept`, wrong))).toEqual({ status: 422, code: 'params_hash_differs' })
    expect(problem(await ann.post(`${path}/accept`, { body: yes.body }))).toMatchObject({ status: 428 })
    expect(await ann.post(`${path}/accept`, { ...yes, version: 7 })).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed', current_version: seen.version },
    })
    const said = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        i % 2 ? ann.post(`${path}/accept`, yes) : ann.post(`${path}/decline`, { version: seen.version }),
      ),
    )
    const won = said.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    const isKept = won[0]?.body.outcome === 'saved'
    const outcome = isKept ? 'accepted' : 'declined'
    for (const { status, body } of said.filter((a) => a.status !== 200))
      expect({ status, code: body.code, outcome: body.outcome }).toEqual({
        status: 409,
        code: 'already_decided',
        outcome,
      })
    const kept = (await ann.get('/v1/memories')).body.items
    expect(kept.map((m: Body) => m.value)).toEqual(isKept ? [value] : [])
    expect((await ann.get(path)).body).toMatchObject({ status: outcome, value: null, hash: null, quotes: [] })
  })

  it('G1 a word that is repeated with its key gets its first answer', async () => {
    const ann = await someone()
    const { path, yes, value } = await asked(ann)
    const key = unique('yes')
    const first = await ann.post(`${path}/accept`, { ...yes, key })
    holds('memory_written', first)
    expect(first).toMatchObject({ status: 200, body: { outcome: 'saved', change: 'created' } })
    const again = await ann.post(`${path}/accept`, { ...yes, key })
    expect({ ...again.body, replayed: again.headers.get('idempotency-replayed') }).toEqual({
      ...first.body,
      replayed: 'true',
    })
    const memory = (await ann.get(`/v1/memories/${first.body.id}`)).body
    expect(memory).toMatchObject({ value, consent_basis: 'confirmed' })
    expect(JSON.stringify(first.body)).not.toContain(value)

    const other = await asked(ann)
    const declined = await ann.post(`${other.path}/decline`, { version: other.seen.version })
    holds('memory_declined', declined)
    expect((await ann.get('/v1/memory-candidates')).body.items).toEqual([])
  })

  it('G1 a word or a correction whose request died after it was written is told that it was, and counts once', async () => {
    const ann = await someone()
    const dead = async (key: string) =>
      store.admin(
        `update plimsoll.idempotency set status = null, response = '\\x00', created_at = now() - interval '31 seconds' where key = $1`,
        [key],
      )
    const { path, yes, value } = await asked(ann)
    const [yesKey, correctKey, noKey] = [unique('k'), unique('k'), unique('k')]
    const first = await ann.post(`${path}/accept`, { ...yes, key: yesKey })
    await dead(yesKey)
    const again = await ann.post(`${path}/accept`, { ...yes, key: yesKey })
    expect(again).toMatchObject({ status: 200, body: { outcome: 'saved', id: first.body.id, version: 1 } })

    const at = `/v1/memories/${first.body.id}`
    const correct = (to: string) => ann.send('PATCH', at, { version: 1, body: { value: to }, key: correctKey })
    expect((await correct('Kat')).status).toBe(200)
    await dead(correctKey)
    expect(await correct('Kat')).toMatchObject({ status: 200, body: { outcome: 'saved', version: 2 } })
    expect((await ann.get(at)).body).toMatchObject({ value: 'Kat', version: 2 })
    // what somebody else has written meanwhile is not taken for one's own
    await ann.send('PATCH', at, { version: 2, body: { value } })
    await dead(correctKey)
    expect(problem(await correct('Kat'))).toEqual({ status: 412, code: 'precondition_failed' })

    const other = await asked(ann)
    const decline = () => ann.post(`${other.path}/decline`, { version: other.seen.version, key: noKey })
    const declined = await decline()
    await dead(noKey)
    expect(await decline()).toMatchObject({ status: 200, body: declined.body })
  })

  it('H4 a group shares what it knows, and who has left it sees and writes nothing with the next request', async () => {
    const place = `group:${unique('team')}`
    const [name, other] = [unique('ann'), unique('bob')]
    const [ann, bob, service] = [await plane.user(name), await plane.user(other), await plane.service()]
    const members = `/v1/places/${place}/members`
    for (const user of [name, other]) expect((await service.send('PUT', `${members}/${user}`)).status).toBe(204)
    const listed = await service.get(members)
    holds('members', listed)
    expect(listed.body.items.map((m: Body) => m.user).sort()).toEqual([name, other].sort())
    const [, id] = place.split(':')
    const made = await remember(ann, 'habit', 'We meet at nine.', { scope: 'group', place_id: id })
    expect(made.status).toBe(201)
    const path = `/v1/memories/${made.body.id}`
    expect((await bob.get(path)).body).toMatchObject({ scope: 'group', place_id: id, subject: null, writer: name })
    expect(problem(await bob.send('DELETE', path))).toEqual({ status: 403, code: 'permission_denied' })
    // a run of one member is nothing to another, though the memory is shared
    const { id: run } = await tell(ann, 'hello')
    await store.admin(
      `insert into plimsoll.memory_use (tenant_id, run_id, memory_id, environment, version, rank, score, reason)
       values ('acme', $1, $2, 'test', 1, 1, 1, 'placed') on conflict do nothing`,
      [run, made.body.id],
    )
    const usesOf = async (who: Person) => (await who.get(`${path}/why`)).body.uses.map((u: Body) => u.run_id)
    expect([await usesOf(ann), await usesOf(bob)]).toEqual([[run], []])
    expect((await service.send('DELETE', `${members}/${other}`)).status).toBe(204)
    expect(problem(await bob.get(path))).toEqual({ status: 404, code: 'not_found' })
    expect((await bob.get('/v1/memories')).body.items).toEqual([])
    expect(await remember(bob, 'habit', 'We meet at ten.', { scope: 'group', place_id: id })).toMatchObject({
      status: 422,
      body: { reasons: ['no_member'] },
    })
    expect((await ann.get(path)).status).toBe(200)
    expect((await service.send('DELETE', `${members}/${other}`)).status).toBe(404)
    for (const who of [ann, await plane.service('acme', ['orders.*'])])
      for (const call of [
        who.get(members),
        who.send('PUT', `${members}/${other}`),
        who.send('DELETE', `${members}/${name}`),
      ])
        expect(problem(await call)).toEqual({ status: 403, code: 'permission_denied' })
    for (const odd of ['user:ann', 'tenant:', 'group', 'group:a%20b'])
      expect({ odd, status: (await service.get(`/v1/places/${odd}/members`)).status }).toEqual({ odd, status: 400 })
    expect((await service.send('PUT', `${members}/a%20b`)).status).toBe(400)
  })

  it('G6 BR-090 what is of another does not exist, in the very same words, at every door that takes an id', async () => {
    const ann = await someone()
    const { path, seen } = await asked(ann)
    const mem = (await remember(ann, 'food', 'fish')).body.id
    const said = await tell(ann, 'hello')
    const del = (await ann.post('/v1/deletions', { body: { message_id: said.message_id } })).body.id
    const real = { mem, mcd: seen.id, del, run: said.id, ses: said.conversation_id, message: said.message_id }
    const none = {
      mem: `mem_${NEVER}`,
      mcd: `mcd_${NEVER}`,
      del: `del_${NEVER}`,
      run: `run_${NEVER}`,
      ses: `ses_${NEVER}`,
      message: `run_${NEVER}.1`,
    }
    const requests = (id: typeof none) => [
      (who: Person) => who.get(`/v1/memories/${id.mem}`),
      (who: Person) => who.get(`/v1/memories/${id.mem}/why`),
      (who: Person) => who.get(`/v1/memories/${id.mem}/versions`),
      (who: Person) => who.send('PATCH', `/v1/memories/${id.mem}`, { version: 1, body: { value: 'x' } }),
      (who: Person) => who.send('PATCH', `/v1/memories/${id.mem}`, { body: { value: 'x' } }),
      (who: Person) => who.send('DELETE', `/v1/memories/${id.mem}`),
      (who: Person) => who.get(`/v1/runs/${id.run}/memories`),
      (who: Person) => who.get(`/v1/memory-candidates/${id.mcd}`),
      (who: Person) => who.post(`/v1/memory-candidates/${id.mcd}/accept`, { version: 1, body: { hash: seen.hash } }),
      (who: Person) => who.post(`/v1/memory-candidates/${id.mcd}/accept`, { body: { hash: seen.hash } }),
      (who: Person) => who.post(`/v1/memory-candidates/${id.mcd}/decline`, { version: 1 }),
      (who: Person) => who.get(`/v1/deletions/${id.del}`),
      (who: Person) => who.post('/v1/deletions', { body: { memory_id: id.mem } }),
      (who: Person) => who.post('/v1/deletions', { body: { message_id: id.message } }),
      (who: Person) => who.post('/v1/deletions', { body: { conversation_id: id.ses } }),
      (who: Person) => remember(who, 'food', 'x', { scope: 'conversation', conversation_id: id.ses }),
    ]
    const strangers: [Person, number][] = [
      [await plane.user('bob'), 404],
      [await plane.user('ann', 'globex'), 404],
      // R6: what is remembered is shown to the person alone
      [await plane.service(), 403],
      [await plane.service('globex'), 403],
    ]
    for (const [who, status] of strangers)
      for (const [i, ask] of requests(real).entries()) {
        const [there, nowhere] = [await ask(who), await requests(none)[i]!(who)]
        // a key that is missing or a name of a caller changes nothing of it
        expect({ i, status: there.status }).toEqual({ i, status })
        expect({ ...there.body, instance: '' }).toEqual({ ...nowhere.body, instance: '' })
      }
    const bob = strangers[0]![0]
    for (const list of ['/v1/memories', '/v1/memory-candidates', '/v1/deletions', '/v1/consents'])
      expect((await bob.get(list)).body.items).toEqual([])
    expect((await bob.post('/v1/exports')).body.items).toEqual([])
    expect((await ann.get(path)).body.status).toBe('pending')
    expect((await ann.get(`/v1/memories/${mem}`)).body.value).toBe('fish')
  })

  it('G6 BR-088 a filter or field that the server does not know is refused and not passed over', async () => {
    const ann = await someone()
    const operator = await plane.operator()
    for (const query of [
      'user=bob',
      'subject=bob',
      'tenant=globex',
      'kind=secret',
      'scope=all',
      'key=',
      'limit=0',
      'limit=101',
    ])
      expect({ query, status: (await ann.get(`/v1/memories?${query}`)).status }).toEqual({ query, status: 400 })
    for (const path of ['/v1/memory-candidates?subject=bob', '/v1/deletions?subject=bob', '/v1/consents?subject=bob'])
      expect({ path, status: (await ann.get(path)).status }).toEqual({ path, status: 400 })
    for (const query of ['', '?subject=', '?subject=a%20b', '?subject=ann&user=bob'])
      expect((await operator.get(`/ops/v1/memories${query}`)).status).toBe(400)
    for (const body of [
      { key: 'food', value: 'x', subject: 'bob' },
      { key: 'food', value: 'x', confidence: 1 },
      { key: 'food' },
      { value: 'x' },
      { key: 'nothing', value: 'x' },
    ])
      expect({ body, status: (await ann.post('/v1/memories', { body })).status }).toEqual({ body, status: 400 })
    for (const path of ['memories/run_1', 'memories/mem_1', 'memory-candidates/mem_1', 'deletions/x'])
      expect({ path, status: (await ann.get(`/v1/${path}`)).status }).toEqual({ path, status: 400 })
    expect((await ann.post('/v1/memories', { body: { key: 'food', value: 'a'.repeat(600_000) } })).status).toBe(413)
  })

  it('G1 what another server of the same database has written is seen, with the same token', async () => {
    const ann = await someone()
    const two = await openPlane({ db: await store.another(), agents: [attentiveAgent], worker: false })
    const there = person(two.url, ann.bearer)
    const { id } = (await remember(there, 'food', 'fish')).body
    expect((await ann.get(`/v1/memories/${id}`)).body.value).toBe('fish')
    await two.close()
  })
})
