/**
 * What one tenant cannot be told holds up nobody else: content that is gone or damaged, endpoints and sinks that are slow.
 * On PostgreSQL alone: what differs between the engines is in the probes of `outbox_take` and `outbox_look`.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { openKeyFile } from '../../src/db/keyfile.ts'
import type { Db } from '../../src/db/port.ts'
import { claim, parcel } from '../../src/journal/outbox.sql.ts'
import type { OutboxMessage, Sink } from '../../src/journal/sink.ts'
import { MOST_ATTEMPTS } from '../../src/journal/webhook.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { openMemory, openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import {
  addEvents,
  openReceiver,
  operator,
  type Receiver,
  type Relaying,
  type RelayScene,
  relaying,
  runtimeFor,
  runWith,
} from '../setup/relay.ts'
import { change } from '../setup/rows.ts'
import { insert, ms } from '../setup/seed.ts'

const STORY = ['run_queued', 'step_planned', 'calls_settled', 'run_ended']
/** As many runs as a sink, and as an endpoint, have places, and more. */
const MANY = 6
const WORDS = 'kanarienvogel-Zx81'

describe.skipIf(!inject('postgres'))('what one tenant cannot be told', () => {
  let store: TestStore
  let receiver: Receiver
  /** Answers nothing until it is closed. */
  let slow: Receiver
  const running: Relaying[] = []
  const heard: OutboxMessage[] = []
  const errors: unknown[] = []
  const books: Sink = { name: 'books', publish: async (message) => void heard.push(message) }
  beforeAll(async () => {
    store = await openStore('postgres')
  })
  afterAll(() => store?.close())
  beforeEach(async () => {
    receiver = await openReceiver()
    slow = await openReceiver()
    slow.answer = () => new Promise(() => {})
    heard.length = 0
    errors.length = 0
  })
  afterEach(async () => {
    await receiver.close()
    await slow.close()
    await Promise.all(running.splice(0).map((one) => one.stop()))
    for (const t of ['delivery_attempt', 'delivery', 'endpoint', 'event', 'run', 'sink', 'tenant_key', 'worker'])
      await store.admin(`delete from plimsoll.${t}`)
  })

  async function go(scene: RelayScene = {}): Promise<Relaying> {
    const one = await relaying(store, {
      receivers: [receiver, slow],
      onError: (error) => void errors.push(error),
      ...scene,
    })
    running.push(one)
    return one
  }
  /** The sinks are known, so that all events from now on are theirs. */
  async function listening(scene: RelayScene = {}): Promise<Relaying> {
    for (const { name } of scene.sinks ?? [books])
      await insert(store, 'sink', { name, starts_at: ms(-60_000), seen_at: ms(-60_000) })
    return go({ sinks: [books], ...scene })
  }
  const endpoint = (path: string, tenant = 'acme', { url } = receiver) =>
    runtimeFor(store, { receivers: [receiver, slow] }).endpoints.create(operator(tenant), {
      url: url + path,
      types: null,
    })
  async function many(count: number, types: readonly string[] = ['run_queued'], tenant_id = 'acme'): Promise<string[]> {
    const runs: string[] = []
    for (let i = 0; i < count; i++) runs.push(await runWith(store, types, { tenant_id }))
    return runs
  }
  const codes = () => errors.map((error) => (Fault.is(error) ? error.code : String(error)))
  const hears = (run: string) => until(async () => heard.some((m) => m.run === run), Boolean)
  const placesOf = (run: string) => heard.filter((m) => m.run === run).map((m) => m.seq)
  const damage = (runs: readonly string[], seq = 1) =>
    store.admin(`update plimsoll.event set body = '\\x01deadbeef' where run_id = any ($1) and seq = ${seq}`, [runs])
  const attempts = (run: string) =>
    store.admin('select seq, outcome, fault from plimsoll.delivery_attempt where run_id = $1 order by created_at', [
      run,
    ])
  const deliveries = (where: string) => store.admin(`select * from plimsoll.delivery where ${where}`)
  const rows = (where: string, count: number) =>
    until(
      () => deliveries(where),
      (all) => all.length === count,
    )
  const keys = () => openKeyFile(join(mkdtempSync(join(tmpdir(), 'plimsoll-keys-')), 'key.json'), true)

  it('J9 G7 a tenant that was destroyed is told to nobody any more, and the sinks of all others go on', async () => {
    const scene = { sinks: [books], keys: await keys() }
    const first = await listening(scene)
    const gone = await many(MANY, STORY, 'gone')
    for (const run of gone) await hears(run)
    expect(await deliveries(`tenant_id = 'gone'`)).toHaveLength(MANY)
    await first.stop()
    await first.runtime.tenants.destroy('gone', { actor: 'op', reason: 'end of contract' })
    await go(scene)
    const told = heard.length
    // the next looks find these events again: they are younger than a look goes back
    for (const run of await many(2, STORY, 'globex')) await hears(run)
    expect(heard.slice(told).map((m) => m.tenant)).not.toContain('gone')
    expect(await deliveries(`tenant_id = 'gone'`)).toEqual([])
    expect(await store.admin(`select distinct tenant_id from plimsoll.event where tenant_id = 'gone'`)).toHaveLength(1)
  })

  it('J9 G7 what was made due while its tenant was destroyed is given up at once, and that is told', async () => {
    const scene = { sinks: [books], keys: await keys() }
    const first = await listening(scene)
    const [run = ''] = await many(1, STORY, 'gone')
    await hears(run)
    await first.stop()
    await first.runtime.tenants.destroy('gone', { actor: 'op', reason: 'end of contract' })
    const told = heard.length
    const place = { tenant_id: 'gone', environment: 'production', endpoint_id: 'books', run_id: run }
    await insert(store, 'delivery', { ...place, sent: 0, head: 4, epoch: 7, due_at: ms(-60_000) })
    await go(scene)
    await rows(`tenant_id = 'gone' and due_at = 'infinity' and worker_id is null and sent = 4`, 1)
    expect((await attempts(run)).at(-1)).toEqual({ seq: 4, outcome: 'given_up', fault: 'content_destroyed' })
    expect(codes()).toEqual(['content_destroyed'])
    expect(heard).toHaveLength(told)
  })

  it('J9 damaged events of one tenant stop no sink of the others, wait for their turn, and are told by code', async () => {
    const bad = await many(MANY, STORY)
    await damage(bad.slice(1), 2)
    await store.admin(`update plimsoll.event set body = $1 where run_id = $2 and seq = 2`, [
      Buffer.from(`\0${WORDS}`),
      bad[0],
    ])
    await listening()
    await rows(`attempt > 0 and due_at > now() and worker_id is null and sent = 1`, MANY)
    const [fine = ''] = await many(1, STORY, 'globex')
    await hears(fine)
    await rows(`tenant_id = 'globex' and due_at = 'infinity'`, 1)
    expect(placesOf(fine)).toEqual([1, 2, 3, 4])
    for (const run of bad) expect(placesOf(run)).toEqual([1])
    expect((await attempts(bad[0]!)).slice(0, 2)).toEqual([
      { seq: 1, outcome: 'delivered', fault: null },
      { seq: 2, outcome: 'failed', fault: 'content_damaged' },
    ])
    expect(new Set(codes())).toEqual(new Set(['content_damaged']))
    expect(
      errors.map((e) => (e instanceof Error ? `${e.message} ${e.stack} ${String(e.cause)}` : '')).join(),
    ).not.toContain(WORDS)
    // put right, they come in their order, and nothing was lost
    await store.admin(`update plimsoll.event set body = $1 where run_id = any ($2) and seq = 2`, [
      Buffer.from('\0{}'),
      bad,
    ])
    await store.admin(`update plimsoll.delivery set due_at = now() where attempt > 0`)
    for (const run of bad)
      await until(
        async () => placesOf(run),
        (all) => all.length === 4,
      )
    for (const run of bad) expect(placesOf(run)).toEqual([1, 2, 3, 4])
  })

  it('J9 a damaged event is no failure of its endpoint, and is given up after all attempts: the run goes on without it', async () => {
    await endpoint('/hook')
    const [run = ''] = await many(1, STORY)
    await damage([run], 2)
    await go()
    await rows(`attempt = 1 and due_at > now() + interval '3 seconds'`, 1)
    expect(receiver.got.map((m) => m.seq)).toEqual([1])
    await store.admin(`update plimsoll.delivery set attempt = ${MOST_ATTEMPTS - 1}, due_at = now()`)
    await rows(`due_at = 'infinity' and worker_id is null`, 1)
    expect(receiver.got.map((m) => m.seq)).toEqual([1, 3, 4])
    expect((await attempts(run)).map((a) => `${a.seq} ${a.outcome}`)).toEqual([
      ...['1 delivered', '2 failed', '2 given_up', '3 delivered', '4 delivered'],
    ])
    expect(await store.admin('select failures, state from plimsoll.endpoint')).toEqual([
      { failures: 0, state: 'enabled' },
    ])
  })

  it('J9 an endpoint whose address cannot be opened fails by itself, and no other', async () => {
    const { id } = await endpoint('/damaged')
    await endpoint('/fine')
    await store.admin(`update plimsoll.endpoint set url = '\\x01deadbeef' where id = '${id}'`)
    const runs = await many(MANY, STORY)
    await go()
    await until(async () => receiver.got.length >= MANY * STORY.length, Boolean)
    const [row] = await until(
      () => store.admin(`select failures from plimsoll.endpoint where id = '${id}'`),
      ([one]) => Number(one?.failures) >= 1,
    )
    expect(Number(row?.failures)).toBeLessThan(MANY)
    const told = await store.admin(
      `select distinct outcome, fault from plimsoll.delivery_attempt where endpoint_id = '${id}'`,
    )
    expect(told).toEqual([{ outcome: 'failed', fault: 'content_damaged' }])
    expect(new Set(receiver.got.map((m) => m.run))).toEqual(new Set(runs))
  })

  it('J9 what cannot even be read moves on and counts nothing, and nobody waits behind it', async () => {
    const broken: Db = {
      ...store.db,
      async read(scope, statement, params) {
        if ((statement as unknown) === parcel && scope.tenant === 'acme') throw new Fault('sealing_key_unfit')
        return store.db.read(scope, statement, params)
      },
    }
    await many(MANY, STORY)
    const mine = await listening({ db: broken })
    await rows(`tenant_id = 'acme' and due_at > now() and worker_id is null and attempt = 0 and sent = 0`, MANY)
    for (const run of await many(2, STORY, 'globex')) await hears(run)
    expect(new Set(codes())).toEqual(new Set(['sealing_key_unfit']))
    expect(heard.map((m) => m.tenant)).not.toContain('acme')
    await mine.stop()
    await store.admin(`update plimsoll.delivery set due_at = now() where due_at < 'infinity'`)
    await go({ sinks: [books] })
    await until(async () => heard.filter((m) => m.tenant === 'acme').length === MANY * STORY.length, Boolean)
  })

  it('J9 a tenant whose endpoints are slow has a quarter of the places, and others are told while it holds them', async () => {
    for (const path of ['/a', '/b', '/c', '/d', '/e', '/f']) await endpoint(path, 'acme', slow)
    await endpoint('/quick', 'globex')
    await many(MANY, STORY)
    await listening()
    await until(async () => slow.got.length >= 4, Boolean)
    for (const run of await many(3, STORY, 'globex')) {
      await until(async () => receiver.got.filter((m) => m.run === run).length === STORY.length, Boolean)
      await hears(run)
    }
    // a sink hears of the slow tenant too
    await until(async () => heard.length === (MANY + 3) * STORY.length, Boolean)
    expect(slow.got).toHaveLength(4)
  })

  it('J9 a slow endpoint leaves a place to the others of its tenant', async () => {
    await endpoint('/slow', 'acme', slow)
    await many(MANY, STORY)
    await go()
    await until(async () => slow.got.length >= 3, Boolean)
    await endpoint('/quick')
    const [run = ''] = await many(1, STORY)
    await until(async () => receiver.got.filter((m) => m.run === run).length === STORY.length, Boolean)
    expect(slow.got).toHaveLength(3)
  })

  it('J9 a sink that hangs with the events of one tenant hears of the others', async () => {
    const asked: string[] = []
    const waiting: (() => void)[] = []
    const partial: Sink = {
      name: 'partial',
      publish: async (message) => {
        asked.push(message.tenant)
        if (message.tenant !== 'acme') return void heard.push(message)
        await new Promise<void>((resolve) => void waiting.push(resolve))
      },
    }
    await many(MANY, STORY)
    await listening({ sinks: [partial] })
    await until(async () => asked.length >= 2, Boolean)
    for (const run of await many(3, STORY, 'globex')) await hears(run)
    expect(asked.filter((tenant) => tenant === 'acme')).toHaveLength(2)
    await addEvents(store, heard[0]!.run, ['run_ended'], { from: 5, tenant_id: 'globex' })
    await until(async () => heard.some((m) => m.seq === 5), Boolean)
    const stopped = running.splice(0).map((one) => one.stop())
    for (const go of waiting) go()
    await Promise.all(stopped)
  })

  it('A3 J9 the store in memory shares the places of sinks as the database does', async () => {
    const memory = openMemory()
    const names = ['s1', 's2', 's3']
    const both = async (table: string, row: Readonly<Record<string, unknown>>) => {
      for (const one of [store, memory]) await insert(one, table, row)
    }
    for (const name of names) await both('sink', { name })
    for (const id of ['one', 'two']) await both('worker', { id, host: 'h', pid: 1, lease_until: ms(600_000) })
    for (let i = 0; i < 120; i++) {
      // most are of one tenant, and its own are the oldest
      const tenant_id = i < 60 ? 't1' : `t${1 + ((i * 7) % 5)}`
      const place = { tenant_id, endpoint_id: names[(i * 5 + (i >> 3)) % 3], run_id: `run_${i}` }
      await both('delivery', {
        ...place,
        environment: 'production',
        sent: 0,
        head: 1,
        due_at: ms(-200_000 + i * 1_000),
      })
    }
    const held: Record<string, string[]> = { one: [], two: [] }
    let taken = 0
    for (let round = 0; round < 12; round++) {
      const worker = round % 3 === 2 ? 'two' : 'one'
      const mine = held[worker]!
      const params = {
        worker,
        sinks: names,
        limit: (round % 2 === 0 ? 16 : 9) - Math.min(mine.length, 9),
        each: 3,
        held: mine,
      }
      const answers: string[][] = []
      for (const one of [store, memory])
        answers.push((await one.db.call(claim, params)).map((c) => `${c.endpoint}/${c.run}`).sort())
      expect([round, answers[1]]).toEqual([round, answers[0]])
      taken += answers[0]!.length
      // what is done with is asleep, the oldest of what it holds first
      const done = [...mine, ...answers[0]!].slice(0, 4)
      held[worker] = [...mine, ...answers[0]!].slice(4)
      for (const key of done)
        for (const one of [store, memory])
          await change(one, 'delivery', { run_id: key.split('/')[1] }, { worker_id: null, due_at: 'infinity' })
    }
    expect(taken).toBeGreaterThan(20)
  })

  it('L6 a relay finds the tenants that wait for a sink without reading what one of them has piled up', async () => {
    await insert(store, 'sink', { name: 'books' })
    await insert(store, 'worker', { id: 'wrk', host: 'h', pid: 1, lease_until: ms(600_000) })
    await store.admin(
      `insert into plimsoll.delivery (tenant_id, endpoint_id, run_id, environment, sent, head, due_at)
       select 'acme', 'books', 'run' || s, 'production', 0, 1, now() - interval '1 hour' from generate_series(1, 2000) s;
       insert into plimsoll.delivery (tenant_id, endpoint_id, run_id, environment, sent, head)
       values ('globex', 'books', 'young', 'production', 0, 1)`,
    )
    await store.app('select pg_stat_force_next_flush()')
    const [seen] = await store.app(
      `select count(run) as taken from plimsoll.outbox_take('wrk', '{books}', 16, 3, '{}');
       select coalesce(sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)), 0)::int as rows
       from pg_stat_xact_user_tables where schemaname = 'plimsoll'`,
    )
    expect(Number(seen?.rows)).toBeLessThan(60)
    const taken = await store.db.call(claim, { worker: 'wrk', sinks: ['books'], limit: 16, each: 3, held: [] })
    expect(taken.map((d) => d.tenant).sort()).toEqual(['acme', 'acme', 'globex'])
  })
})
