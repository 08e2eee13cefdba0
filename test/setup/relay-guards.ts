/** The guards of the functions of the relay, which cross tenants. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import { claim as claimStatement, look as lookStatement } from '../../src/journal/outbox.sql.ts'
import type { TestStore } from './engines.ts'
import { type Guard, guard, unchanged } from './guards.ts'
import { insert, ms, seedRun, seedWorker, unique } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>

async function seedEndpoint(store: TestStore, over: Fields = {}): Promise<string> {
  const row = {
    tenant_id: 'acme',
    environment: 'production',
    id: unique('whk'),
    url: Buffer.from(''),
    secret: Buffer.from(''),
    starts_at: ms(-600_000),
    seen_at: ms(-60_000),
    ...over,
  }
  await insert(store, 'endpoint', row)
  return row.id
}

async function seedDelivery(store: TestStore, endpoint: string, over: Fields = {}): Promise<string> {
  const run = unique('run')
  const row = { tenant_id: 'acme', environment: 'production', endpoint_id: endpoint, run_id: run, sent: 0, head: 3 }
  await insert(store, 'delivery', { ...row, due_at: ms(-1000), ...over })
  return run
}

async function seedEvent(store: TestStore, over: Fields = {}): Promise<string> {
  const run = (over.run_id as string | undefined) ?? unique('run')
  const row = {
    tenant_id: 'acme',
    environment: 'production',
    run_id: run,
    seq: 1,
    type: 'run_ended',
    visibility: 'user',
  }
  await insert(store, 'event', { ...row, body: Buffer.from(''), created_at: ms(-1000), ...over })
  return run
}

const look = (store: TestStore, sinks: readonly string[] = []) =>
  store.db.call(lookStatement, { sinks, everyMs: 1_000, backMs: 30_000 })
const claim = async (
  store: TestStore,
  worker: string,
  more: { sinks?: string[]; limit?: number; each?: number; held?: string[] } = {},
) => {
  const { sinks = [], limit = 100, each = 2, held = [] } = more
  return (await store.db.call(claimStatement, { worker, sinks, limit, each, held })).map((row) => row.run)
}
const deliveryOf = async (store: TestStore, endpoint: string, run: string) =>
  (
    await store.admin(
      `select sent, head, epoch, worker_id, (due_at <= now())::int as due from plimsoll.delivery where endpoint_id = $1 and run_id = $2`,
      [endpoint, run],
    )
  )[0]

interface Refused {
  readonly endpoint?: Fields
  readonly delivery?: Fields
  readonly leaseMs?: number
}
const refusesClaim = (name: string, { endpoint, delivery, leaseMs }: Refused): Guard =>
  guard(name, async (store) => {
    const id = await seedEndpoint(store, endpoint)
    await seedDelivery(store, id, delivery)
    const worker = await seedWorker(store, unique('wrk'), leaseMs)
    await seedWorker(store, 'wrk_living')
    await unchanged(store, async () => void (await claim(store, worker)))
    await store.admin(`delete from plimsoll.worker where id = 'wrk_living'`)
    await store.admin('delete from plimsoll.endpoint')
  })

export const OUTBOX_CLAIM: readonly Guard[] = [
  refusesClaim('a worker whose lease is over', { leaseMs: -1 }),
  refusesClaim('a delivery that is not due', { delivery: { due_at: ms(60_000) } }),
  refusesClaim('a delivery without anything to send', { delivery: { due_at: 'infinity' } }),
  refusesClaim('a delivery that a living relay has', { delivery: { worker_id: 'wrk_living' } }),
  refusesClaim('an endpoint that is disabled', { endpoint: { state: 'disabled' } }),
  refusesClaim('an endpoint that is left in peace', { endpoint: { retry_at: ms(60_000) } }),
  refusesClaim('an endpoint of another tenant', { delivery: { tenant_id: 'birch' } }),
  guard('a delivery is taken once, by the one who named itself, and again when that one is dead', async (store) => {
    const id = await seedEndpoint(store)
    const run = await seedDelivery(store, id, { worker_id: 'wrk_dead', epoch: 4 })
    const [first, second] = [await seedWorker(store), await seedWorker(store)]
    expect(await claim(store, first)).toEqual([run])
    expect(await claim(store, second)).toEqual([])
    expect(await deliveryOf(store, id, run)).toMatchObject({ worker_id: first, epoch: 5 })
    await store.admin(`update plimsoll.worker set lease_until = now() - interval '1 second' where id = '${first}'`)
    expect(await claim(store, second, { each: 1 })).toEqual([run])
    expect(await deliveryOf(store, id, run)).toMatchObject({ worker_id: second, epoch: 6 })
  }),
  guard('what its own relay has lost on the way is taken again, and what it carries is not', async (store) => {
    const id = await seedEndpoint(store)
    const [lost, carried] = [await seedDelivery(store, id), await seedDelivery(store, id)]
    const worker = await seedWorker(store)
    expect((await claim(store, worker)).sort()).toEqual([lost, carried].sort())
    expect(await claim(store, worker, { held: [`${id}/${carried}`, `${id}/other`] })).toEqual([lost])
    expect(await claim(store, worker, { each: 4, held: [`${id}/${carried}`, `${id}/${lost}`] })).toEqual([])
    expect(await deliveryOf(store, id, lost)).toMatchObject({ worker_id: worker, epoch: 2 })
    expect(await deliveryOf(store, id, carried)).toMatchObject({ worker_id: worker, epoch: 1 })
  }),
  guard('of one endpoint so many at a time, over all relays, and one while it fails', async (store) => {
    const id = await seedEndpoint(store)
    const failing = await seedEndpoint(store, { failures: 1 })
    for (let i = 0; i < 4; i++) for (const one of [id, failing]) await seedDelivery(store, one)
    const of = async (worker: string) => {
      const taken = await claim(store, worker)
      const rows = await store.admin(`select endpoint_id, run_id from plimsoll.delivery where run_id = any ($1)`, [
        taken,
      ])
      return [id, failing].map((one) => rows.filter((row) => row.endpoint_id === one).length)
    }
    expect(await of(await seedWorker(store))).toEqual([2, 1])
    expect(await of(await seedWorker(store))).toEqual([0, 0])
    expect(await claim(store, await seedWorker(store), { each: 4, limit: 1 })).toHaveLength(1)
  }),
  guard('a sink is served by a program that has it, in every tenant', async (store) => {
    const name = unique('sink')
    await insert(store, 'sink', { name })
    const runs = [await seedDelivery(store, name), await seedDelivery(store, name, { tenant_id: 'birch' })]
    const worker = await seedWorker(store)
    expect(await claim(store, worker)).not.toEqual(expect.arrayContaining(runs))
    expect(await claim(store, worker, { sinks: [name], each: 4 })).toEqual(expect.arrayContaining(runs))
  }),
]

/** Nothing of the probes before: places are shared among all. */
const alone = (name: string, run: Guard['run']): Guard =>
  guard(name, async (store) => {
    const clear = () =>
      store.admin('delete from plimsoll.endpoint; delete from plimsoll.delivery; delete from plimsoll.worker')
    await clear()
    await run(store)
    await clear()
  })

async function seedSink(store: TestStore): Promise<string> {
  const name = unique('sink')
  await insert(store, 'sink', { name })
  return name
}

/** Deliveries to `place`, the first due for longest. */
async function seedMany(store: TestStore, place: string, count: number, over: Fields = {}): Promise<string[]> {
  const runs: string[] = []
  for (let i = 0; i < count; i++)
    runs.push(await seedDelivery(store, place, { due_at: ms(-100_000 + i * 1_000), ...over }))
  return runs
}

export const OUTBOX_SHARE: readonly Guard[] = [
  alone('the endpoints of one tenant have a quarter of the places, whatever waits for them', async (store) => {
    const ids = [await seedEndpoint(store), await seedEndpoint(store), await seedEndpoint(store)]
    for (const id of ids) await seedMany(store, id, 4)
    const birch = await seedEndpoint(store, { tenant_id: 'birch' })
    const young = await seedDelivery(store, birch, { tenant_id: 'birch' })
    const [mine, other] = [await seedWorker(store), await seedWorker(store)]
    const first = await claim(store, mine, { limit: 8, each: 3 })
    expect(first).toHaveLength(3)
    expect(first).toContain(young)
    const rows = await store.admin(
      `select endpoint_id || '/' || run_id as key from plimsoll.delivery where worker_id = '${mine}'`,
    )
    const held = rows.map((row) => String(row.key))
    expect(await claim(store, mine, { limit: 8 - held.length, each: 3, held })).toEqual([])
    // another relay has places of its own
    expect(await claim(store, other, { limit: 8, each: 3 })).toHaveLength(2)
    const one = held.filter((key) => !key.endsWith(young)).slice(0, 1)
    await store.admin(`update plimsoll.delivery set due_at = 'infinity', worker_id = null where worker_id = '${mine}'
      and endpoint_id || '/' || run_id <> '${one[0] ?? ''}'`)
    expect(await claim(store, mine, { limit: 7, each: 3, held: one })).toHaveLength(1)
  }),
  alone('whoever holds fewer places is first, among tenants and among the endpoints of one', async (store) => {
    const slow = await seedEndpoint(store)
    const old = await seedMany(store, slow, 4)
    const quick = await seedDelivery(store, await seedEndpoint(store))
    const birch = await seedEndpoint(store, { tenant_id: 'birch' })
    const young = await seedDelivery(store, birch, { tenant_id: 'birch' })
    const worker = await seedWorker(store)
    const held = (await claim(store, worker, { limit: 1, each: 3 })).map((run) => `${slow}/${run}`)
    expect(held).toEqual([`${slow}/${old[0]}`])
    expect(await claim(store, worker, { limit: 1, each: 3, held })).toEqual([young])
    held.push(`${birch}/${young}`)
    // as many places as let the tenant have two: the second is not for the endpoint that has one
    expect(await claim(store, worker, { limit: 6, each: 3, held })).toEqual([quick])
  }),
  alone(
    'no more are taken than there is room for, first of those that hold fewest, whatever they are',
    async (store) => {
      const name = await seedSink(store)
      const young: string[] = []
      for (const tenant_id of ['t1', 't2', 't3', 't4']) {
        if (tenant_id !== 't4') await seedMany(store, await seedEndpoint(store, { tenant_id }), 2, { tenant_id })
        young.push(await seedDelivery(store, name, { tenant_id }))
      }
      const taken = await claim(store, await seedWorker(store), { sinks: [name], limit: 8, each: 4 })
      expect(taken).toHaveLength(8)
      expect(taken).toEqual(expect.arrayContaining(young))
    },
  ),
  alone(
    'a tenant leaves a place of each sink to the others, however much of it waits and for how long',
    async (store) => {
      const name = await seedSink(store)
      const old = await seedMany(store, name, 5)
      const [birch, cedar] = [
        await seedDelivery(store, name, { tenant_id: 'birch' }),
        await seedDelivery(store, name, { tenant_id: 'cedar', due_at: ms(-500) }),
      ]
      const worker = await seedWorker(store)
      const scene = { sinks: [name], limit: 16, each: 3 }
      expect((await claim(store, worker, scene)).sort()).toEqual([old[0], birch, cedar].sort())
      expect(await claim(store, await seedWorker(store), scene)).toEqual([])
      await store.admin(`update plimsoll.delivery set due_at = 'infinity', worker_id = null where tenant_id <> 'acme'`)
      const held = [`${name}/${old[0]}`]
      expect(await claim(store, worker, { ...scene, limit: 15, held })).toEqual([old[1]])
      held.push(`${name}/${old[1]}`)
      expect(await claim(store, worker, { ...scene, limit: 14, held })).toEqual([])
      // what sinks hear of a tenant takes no place of its endpoints
      const told = await seedDelivery(store, await seedEndpoint(store))
      expect(await claim(store, worker, { ...scene, limit: 6, held })).toEqual([told])
    },
  ),
  alone('endpoints and sinks leave a quarter of the places to each other', async (store) => {
    const tenants = ['t1', 't2', 't3', 't4', 't5']
    const name = await seedSink(store)
    const runs: string[] = []
    for (const tenant_id of tenants) {
      const id = await seedEndpoint(store, { tenant_id })
      runs.push(...(await seedMany(store, id, 1, { tenant_id })))
    }
    const worker = await seedWorker(store)
    const scene = { sinks: [name], each: 3 }
    const held: string[] = []
    const take = async (limit: number, more = scene) => {
      const taken = await claim(store, worker, { ...more, limit, held })
      const rows = await store.admin(
        `select endpoint_id || '/' || run_id as key from plimsoll.delivery where run_id = any ($1)`,
        [taken],
      )
      held.push(...rows.map((row) => String(row.key)))
      return taken
    }
    expect(await take(1)).toHaveLength(1)
    expect(await take(3)).toHaveLength(2)
    expect(await take(1)).toEqual([])
    const heard = await seedDelivery(store, name, { tenant_id: 't1' })
    expect(await take(1)).toEqual([heard])
    await store.admin(`update plimsoll.delivery set due_at = 'infinity', worker_id = null where run_id = '${heard}'`)
    held.pop()
    expect(await take(1, { ...scene, sinks: [] })).toHaveLength(1)
    expect(runs).toHaveLength(5)
  }),
]

const unheard = (name: string, event: Fields, endpoint: Fields = {}): Guard =>
  guard(name, async (store) => {
    const id = await seedEndpoint(store, endpoint)
    // somebody listens, so that the look is made at all
    await seedEndpoint(store, { tenant_id: 'cedar' })
    const run = await seedEvent(store, event)
    await look(store)
    expect(await deliveryOf(store, id, run)).toBeUndefined()
    await store.admin('delete from plimsoll.endpoint')
  })

export const OUTBOX_LOOK: readonly Guard[] = [
  unheard('an event of another tenant', { tenant_id: 'birch' }),
  unheard('an event of another environment', { environment: 'test' }),
  unheard('an event that operators alone may see', { visibility: 'operator' }),
  unheard('an event of a type that was not asked for', {}, { types: ['run_queued'] }),
  unheard('an event before the endpoint', { created_at: ms(-700_000) }, { seen_at: ms(-800_000) }),
  unheard('an event for an endpoint that is disabled', {}, { state: 'disabled' }),
  unheard('an event for an endpoint whose log was looked through just now', {}, { seen_at: ms(0) }),
  guard('an event of a run of an errand', async (store) => {
    const id = await seedEndpoint(store)
    const name = unique('sink')
    await insert(store, 'sink', { name, starts_at: ms(-600_000), seen_at: ms(-60_000) })
    const done = { status: 'succeeded', end_reason: 'completed' }
    const { run } = await seedRun(store, { ...done, agent: 'support/summary' })
    const { run: user } = await seedRun(store, { ...done, agent: 'support' })
    for (const run_id of [run, user]) await seedEvent(store, { run_id })
    await look(store, [name])
    for (const place of [id, name]) {
      expect(await deliveryOf(store, place, run)).toBeUndefined()
      expect(await deliveryOf(store, place, user)).toMatchObject({ head: 1 })
    }
    await store.admin('delete from plimsoll.endpoint')
  }),
  guard('an event of a tenant that was destroyed', async (store) => {
    const name = unique('sink')
    await insert(store, 'sink', { name, starts_at: ms(-600_000), seen_at: ms(-60_000) })
    const key = { environment: '_', epoch: 1, kek: 'kek', wrapped: Buffer.from('') }
    await insert(store, 'tenant_key', { ...key, tenant_id: 'gone', destroyed_at: ms(-1000) })
    await insert(store, 'tenant_key', { ...key, tenant_id: 'living' })
    const [gone, living] = [
      await seedEvent(store, { tenant_id: 'gone' }),
      await seedEvent(store, { tenant_id: 'living' }),
    ]
    await look(store, [name])
    await store.admin('delete from plimsoll.tenant_key')
    expect(await deliveryOf(store, name, gone)).toBeUndefined()
    expect(await deliveryOf(store, name, living)).toMatchObject({ head: 1 })
  }),
  guard('an event is due, from its own place on, and again when there is more', async (store) => {
    const id = await seedEndpoint(store, { types: ['run_ended', 'run_queued'] })
    const run = await seedEvent(store, { seq: 4, created_at: ms(-700_000) })
    await seedEvent(store, { run_id: run, seq: 5, type: 'run_queued' })
    await seedEvent(store, { run_id: run, seq: 6, type: 'step_planned' })
    await look(store)
    expect(await deliveryOf(store, id, run)).toMatchObject({ sent: 4, head: 5, due: 1 })
    await store.admin(`update plimsoll.delivery set sent = 5, due_at = 'infinity' where run_id = '${run}'`)
    await seedEvent(store, { run_id: run, seq: 7, created_at: ms(-25_000) })
    await store.admin(`update plimsoll.endpoint set seen_at = now() - interval '2 seconds' where id = '${id}'`)
    await look(store)
    expect(await deliveryOf(store, id, run)).toMatchObject({ sent: 5, head: 7, due: 1 })
    await store.admin(`update plimsoll.delivery set due_at = now() + interval '1 hour' where run_id = '${run}'`)
    await seedEvent(store, { run_id: run, seq: 8 })
    await store.admin(`update plimsoll.endpoint set seen_at = now() - interval '2 seconds' where id = '${id}'`)
    await look(store)
    expect(await deliveryOf(store, id, run)).toMatchObject({ sent: 5, head: 8, due: 0 })
    const [{ seen } = {}] = await store.admin(
      `select (seen_at > now() - interval '1 second')::int as seen from plimsoll.endpoint where id = '${id}'`,
    )
    expect(seen).toBe(1)
  }),
  guard('a sink hears of every tenant from its first look on', async (store) => {
    const name = unique('sink')
    const before = await seedEvent(store)
    expect(await look(store, [name])).toMatchObject([{ served: expect.any(Number) }])
    await store.admin(`update plimsoll.sink set seen_at = now() - interval '2 seconds' where name = '${name}'`)
    const runs = [
      await seedEvent(store, { created_at: ms(0) }),
      await seedEvent(store, { tenant_id: 'birch', created_at: ms(0) }),
    ]
    await look(store, [name])
    for (const run of runs) expect(await deliveryOf(store, name, run)).toMatchObject({ sent: 0, head: 1 })
    expect(await deliveryOf(store, name, before)).toBeUndefined()
  }),
]
