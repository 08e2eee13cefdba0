/** The operator plane: what nobody could tell, and a person's word on it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scripted } from '../../src/testing/scripted.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { type Body, ended, openPlane, type Person, type Plane, until } from '../setup/plane.ts'
import { uncertainAgent } from '../setup/uncertain.ts'

describe.each(ENGINES)('the operator plane on the %s store', (engine) => {
  let store: TestStore
  let plane: Plane
  let ann: Person
  let operator: Person
  const sent: string[] = []
  beforeAll(async () => {
    store = await openStore(engine)
    plane = await openPlane({ db: store.db, agents: [uncertainAgent(sent, scripted)] })
    ann = await plane.user('ann')
    operator = await plane.operator()
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  const unknown = async (): Promise<Body[]> => (await operator.get('/ops/v1/effects?status=unknown')).body.items
  async function lost(): Promise<Body> {
    const run = (await ann.post('/v1/runs', { body: { agent: 'uncertain', text: 'Post it.' } })).body.id
    const items = await until(unknown, (found) => found.some((e) => e.run_id === run))
    const effect = items.find((e) => e.run_id === run)
    return { ...effect, path: `/ops/v1/effects/${run}/${effect.step}/${effect.position}/resolve` }
  }

  it('R5 nobody but an operator sees or resolves what is unknown, whatever else he may do', async () => {
    const { path, run_id: run } = await lost()
    const body = { outcome: 'happened', reason: 'the letter is there' }
    for (const who of [ann, await plane.service()]) {
      expect(await who.get('/ops/v1/effects?status=unknown')).toMatchObject({
        status: 403,
        body: { code: 'permission_denied' },
      })
      expect(await who.post(path, { body })).toMatchObject({ status: 403, body: { code: 'permission_denied' } })
    }
    const stranger = await plane.operator('globex')
    expect((await stranger.get('/ops/v1/effects?status=unknown')).body.items).toEqual([])
    expect(await stranger.post(path, { body })).toMatchObject({ status: 404 })
    expect((await ann.get(`/v1/runs/${run}`)).body).toMatchObject({
      status: 'waiting_confirmation',
      wait_reason: 'unknown_effect',
    })
    expect((await operator.post(path, { body })).status).toBe(200)
    await ended(ann, run)
  })

  it('J4 an operator says that it happened: the run goes on, and the provider is not asked again', async () => {
    const { path, run_id: run } = await lost()
    const before = sent.length
    const body = { outcome: 'happened', reason: 'receipt 12', result: { receipt: 12 } }
    expect(await operator.post(path, { body })).toMatchObject({
      status: 200,
      body: { run_id: run, outcome: 'happened' },
    })
    expect(await ended(ann, run)).toMatchObject({
      status: 'succeeded',
      actions: [{ tool: 'letters.post', outcome: 'ok' }],
    })
    expect(sent).toHaveLength(before)
    // said again, because the answer was lost, it is recorded already; another word comes too late
    expect(await operator.post(path, { body })).toMatchObject({ status: 200, body: { outcome: 'happened' } })
    // the audit has the first word alone, so the same with another reason is another one
    for (const other of [
      { outcome: 'did_not_happen', reason: 'no receipt' },
      { ...body, reason: 'receipt 13' },
    ])
      expect(await operator.post(path, { body: other })).toMatchObject({
        status: 409,
        body: { code: 'refused_transition', detail: expect.stringContaining('not unknown') },
      })
  })

  it('J4 an operator says that it did not happen: the model is told, and nothing is repeated by itself', async () => {
    const { path, run_id: run } = await lost()
    const before = sent.length
    expect(await operator.post(path, { body: { outcome: 'did_not_happen', reason: 'nothing there' } })).toMatchObject({
      status: 200,
    })
    expect(await ended(ann, run)).toMatchObject({ status: 'succeeded' })
    expect((await operator.get(`/v1/runs/${run}/effects`)).body.items).toMatchObject([
      { status: 'settled', outcome: 'error', error_code: 'not_started' },
    ])
    expect(sent).toHaveLength(before)
  })

  it('R5 a word needs a reason and a key, and a repeated request is the same word', async () => {
    const { path, run_id: run } = await lost()
    const body = { outcome: 'happened', reason: 'seen' }
    for (const wrong of [
      { outcome: 'happened' },
      { ...body, reason: '' },
      { ...body, outcome: 'perhaps' },
      { ...body, tenant: 'globex' },
    ])
      expect(await operator.post(path, { body: wrong })).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      })
    expect(await operator.post(path, { body, key: null })).toMatchObject({
      status: 400,
      body: { code: 'idempotency_key_missing' },
    })
    const first = await operator.post(path, { body, key: 'k1' })
    const again = await operator.post(path, { body, key: 'k1' })
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body).toEqual(first.body)
    await ended(ann, run)
  })

  it('R5 the audit holds who said what and why, in the transition that it caused', async () => {
    const { path, run_id: run } = await lost()
    await operator.post(path, { body: { outcome: 'happened', reason: 'the letter is there' } })
    const rows = await store.admin(
      'select actor_kind, actor, action, target, outcome, reason from plimsoll.audit where run_id = $1 order by id',
      [run],
    )
    const row = {
      actor_kind: 'operator',
      actor: 'operator_1',
      action: 'effect.resolve',
      target: `${run}/1/0`,
      reason: 'the letter is there',
    }
    expect(rows).toEqual([{ ...row, outcome: 'happened' }])
    await ended(ann, run)
  })
})
