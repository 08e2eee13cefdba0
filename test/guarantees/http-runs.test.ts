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
  type Plane,
  refundTool,
  type Store,
  type Body,
} from '../setup/plane.ts'

describe.each(ENGINES)('the app plane on the %s store', (engine) => {
  const payments: Payments = { refunds: [], order: 17 }
  let store: Store
  let plane: Plane
  beforeAll(async () => {
    store = await openStore(engine)
    plane = await openPlane({
      db: store.db,
      agents: [agentOf('support', { model: scripted('refund-demo'), tools: [refundTool(payments)] })],
    })
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  it('J1 a refund is asked for, approved by its user and paid once', async () => {
    const ann = await plane.user('ann')
    const made = await ann.post('/v1/runs', { body: { agent: 'support', text: 'Please refund order 1042, $12.00' } })
    expect(made.status).toBe(201)
    expect(made.headers.get('etag')).toBe('"v1"')
    expect(made.headers.get('location')).toBe(`/v1/runs/${made.body.id}`)
    const card = await confirmationOf(ann, made.body.id)
    expect(card).toMatchObject({
      run_id: made.body.id,
      tool: 'orders.refund',
      params: { orderId: '1042', cents: 1200 },
      params_text: '{"cents":1200,"orderId":"1042"}',
      summary: 'Refund order 1042',
      before: { refunded: 0 },
      after: { refunded: 1200 },
      status: 'pending',
      resource_version: 'v17',
    })
    const waiting = await ann.get(`/v1/runs/${made.body.id}`)
    expect(waiting.body).toMatchObject({
      status: 'waiting_confirmation',
      wait_reason: 'confirmation',
      pending_confirmations: [card.id],
    })
    expect(waiting.headers.get('etag')).toBe(`"v${waiting.body.version}"`)
    const approved = await ann.post(`/v1/confirmations/${card.id}/approve`, {
      version: card.version,
      body: { params_hash: card.params_hash },
    })
    expect(approved.status).toBe(200)
    expect(approved.body).toMatchObject({ id: card.id, status: 'approved', decided_by: 'ann' })
    const run = await ended(ann, made.body.id)
    expect(run).toMatchObject({
      status: 'succeeded',
      end_reason: 'completed',
      actions: [{ tool: 'orders.refund', outcome: 'ok', step: 1, position: 0 }],
    })
    expect(payments.refunds).toHaveLength(1)
    const said = await ann.get(`/v1/conversations/${made.body.conversation_id}/messages`)
    expect(said.body.items.map((m: Body) => [m.role, m.parent_message_id])).toEqual([
      ['user', null],
      ['assistant', made.body.message_id],
    ])
    const effects = await ann.get(`/v1/runs/${made.body.id}/effects`)
    expect(JSON.stringify(effects.body)).not.toContain('1042')
    expect(effects.body.items).toMatchObject([{ params_hash: card.params_hash, status: 'settled' }])
    const ledger = await ann.get(`/v1/runs/${made.body.id}/ledger`)
    expect(ledger.body.items[0]).toMatchObject({ kind: 'open', seq: 1 })
    const context = await ann.get(`/v1/runs/${made.body.id}/context?step=2`)
    expect(context.body).toMatchObject({ step: 2, own_release: true, overflows: false, cuts: 0, left_out: [] })
    expect(context.body.sent.map((m: Body) => m.role)).toEqual(['user', 'assistant', 'tool'])
    expect(context.body.shared_prefix.messages).toBe(1)
    expect(JSON.stringify(context.body)).not.toContain('1042')
    expect((await ann.get(`/v1/runs/${made.body.id}/context?step=9`)).status).toBe(400)
    const talk = await ann.get(`/v1/conversations/${made.body.conversation_id}`)
    expect(talk.body).toMatchObject({ state: 'idle', last_message_id: said.body.items[1].id, active_runs: [] })
    const events = await ann.get(`/v1/runs/${made.body.id}/events`)
    expect(events.body.ended).toBe(true)
    expect(events.body.items.map((e: Body) => e.id)).toEqual(events.body.items.map((_: unknown, i: number) => i + 1))
    expect(events.body.items.at(-1)).toMatchObject({
      type: 'run_ended',
      status: 'succeeded',
      text: expect.stringContaining('on its way'),
    })
  })
})
