/** How long what finished runs have left is kept, on both engines and over the operator plane. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scopeOf } from '../../src/request/actor.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { openPlane } from '../setup/plane.ts'
import { operator } from '../setup/relay.ts'
import { ALL, leftOf, seedEnded, SWEEP } from '../setup/retention-guards.ts'
import type { ConfirmationId } from '../../src/kernel/ids.ts'

describe.each(ENGINES)('retention on %s', (engine) => {
  let store: TestStore
  let runtime: Runtime
  beforeAll(async () => {
    store = await openStore(engine)
    runtime = createRuntime({ db: store.db, agents: [] })
  })
  afterAll(() => store?.close())

  it.each(SWEEP)('L9 what must stay stays, and what must go goes: $name', (guard) => guard.run(store))

  it('L9 an operator sets days, sees what would go, and sweeps; the ledger, the journal and the audit stay', async () => {
    const key = await seedEnded(store)
    const who = operator(key.tenant)
    const { retention } = runtime
    expect((await retention.rules(who)).map((r) => r.days)).toEqual(Array(9).fill(null))
    expect(await retention.run(who, false)).toEqual([])
    await retention.set(who, 'message', 10, 'policy 7')
    await retention.set(who, 'value', 12, 'policy 7')
    await retention.set(who, 'value', 10, 'policy 8')
    const would = await retention.run(who, true)
    expect(would).toEqual([
      { class: 'message', runs: 1, kept: 0, changed: 1, done: true },
      { class: 'value', runs: 1, kept: 0, changed: 1, done: true },
    ])
    expect(await leftOf(store, key)).toEqual(ALL)
    expect(await retention.run(who, false)).toEqual(would)
    expect(await leftOf(store, key)).toEqual({ ...ALL, message: 0, value: 0, plan: 0 })
    const audit = await store.admin(
      `select action, target, outcome, reason from plimsoll.audit where tenant_id = '${key.tenant}' order by created_at, action, outcome desc`,
    )
    expect(audit).toEqual([
      { action: 'retention.set', target: 'message', outcome: '10', reason: 'policy 7' },
      { action: 'retention.set', target: 'value', outcome: '12', reason: 'policy 7' },
      { action: 'retention.set', target: 'value', outcome: '10', reason: 'policy 8' },
      { action: 'retention.sweep', target: 'message', outcome: '1 rows of 1 runs, 0 kept', reason: null },
      { action: 'retention.sweep', target: 'value', outcome: '1 rows of 1 runs, 0 kept', reason: null },
    ])
    const [{ id } = {}] = await store.admin(`select id from plimsoll.confirmation where run_id = '${key.run}'`)
    expect(await runtime.confirmations.get(scopeOf(who), id as ConfirmationId)).toMatchObject({
      summary: 'Removed by retention.',
      params: '{}',
    })
    const rules = await retention.rules(who)
    expect(rules.find((r) => r.class === 'message')).toMatchObject({ days: 10, sweptAt: expect.any(Number) })
  })

  it('L9 a hold stops a sweep until it is released, and says in the audit who set it', async () => {
    const key = await seedEnded(store)
    const who = operator(key.tenant)
    const { retention } = runtime
    await retention.set(who, 'message', 0, 'nothing is kept')
    const hold = await retention.hold(who, 'ann', 'case 12')
    expect(await retention.run(who, false)).toMatchObject([{ kept: 1, changed: 0 }])
    expect(await retention.holds(who)).toMatchObject([{ id: hold, subject: 'ann' }])
    await retention.release(who, hold, 'case closed')
    await expect(retention.release(who, hold, 'again')).rejects.toMatchObject({ code: 'not_found' })
    expect(await retention.run(who, false)).toMatchObject([{ kept: 0, changed: 1 }])
  })

  it('L9 R6 a rule that makes no sense is refused, and nobody but an operator sets one', async () => {
    const { retention } = runtime
    for (const [name, days] of [
      ['ledger', 1],
      ['audit', 1],
      ['event', -1],
      ['event', 1.5],
      ['event', 36_501],
    ] as const)
      await expect(retention.set(operator(), name, days, 'x')).rejects.toMatchObject({ code: 'invalid_request' })
    const service = { ...operator(), kind: 'service' as const }
    for (const work of [
      retention.rules(service),
      retention.set(service, 'event', 1, 'x'),
      retention.hold(service, null, 'x'),
      retention.release(service, 'hld', 'x'),
      retention.run(service, true),
    ])
      await expect(work).rejects.toMatchObject({ code: 'permission_denied' })
  })

  it('L9 R6 the operator plane does the same, for its own tenant', async () => {
    const plane = await openPlane({ db: store.db, agents: [], worker: false })
    const [olga, stranger, ann] = [
      await plane.operator('acme'),
      await plane.operator('globex'),
      await plane.user('ann'),
    ]
    const key = await seedEnded(store, { tenant_id: 'acme', environment: 'test' })
    const at = '/ops/v1/retention'
    expect((await ann.get(at)).status).toBe(403)
    const set = await olga.post(at, { body: { class: 'message', days: 10, reason: 'policy' } })
    expect(set).toMatchObject({ status: 200, body: { class: 'message', days: 10 } })
    const hold = (await olga.post('/ops/v1/holds', { body: { reason: 'case 3' } })).body
    expect((await stranger.post(`/ops/v1/holds/${hold.id}/release`, { body: { reason: 'x' } })).status).toBe(404)
    expect((await stranger.get(at)).body.holds).toEqual([])
    const run = async (dry_run: boolean) => (await olga.post(`${at}/run`, { body: { dry_run } })).body.items
    expect(await run(false)).toEqual([{ class: 'message', runs: 0, kept: 1, changed: 0, done: true }])
    expect((await olga.post(`/ops/v1/holds/${hold.id}/release`, { body: { reason: 'over' } })).status).toBe(200)
    expect(await run(true)).toEqual([{ class: 'message', runs: 1, kept: 0, changed: 1, done: true }])
    expect(await run(false)).toEqual([{ class: 'message', runs: 1, kept: 0, changed: 1, done: true }])
    expect(await leftOf(store, key)).toMatchObject({ message: 0 })
    for (const body of [
      { class: 'audit', days: 1, reason: 'x' },
      { class: 'event', days: 'x', reason: 'x' },
      { class: 'event', days: 1 },
    ])
      expect((await olga.post(at, { body })).status).toBe(400)
    await plane.close()
  })
})
