/** Events on their way out: what a receiver sees, whatever fails between the log and it. */
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answers } from '../../src/http/answers.ts'
import { claim } from '../../src/journal/outbox.sql.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { DISABLE, MOST_ATTEMPTS } from '../../src/journal/webhook.ts'
import type { EndpointId } from '../../src/journal/endpoint.store.ts'
import type { OutboxMessage, Sink } from '../../src/journal/sink.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import {
  addEvents,
  openReceiver,
  operator,
  type Receiver,
  type Relaying,
  relaying,
  runtimeFor,
  runWith,
} from '../setup/relay.ts'

const STORY = ['run_queued', 'step_planned', 'calls_settled', 'run_ended']

describe.each(ENGINES)('the outbox on %s', (engine) => {
  let store: TestStore
  let receiver: Receiver
  const running: Relaying[] = []
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store?.close())
  beforeEach(async () => {
    receiver = await openReceiver()
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.stop()))
    await receiver.close()
    for (const t of ['delivery_attempt', 'delivery', 'endpoint', 'event', 'run', 'sink'])
      await store.admin(`delete from plimsoll.${t}`)
  })

  const go = async (scene: Parameters<typeof relaying>[1] = {}) => {
    const one = await relaying(store, { receivers: [receiver], ...scene })
    running.push(one)
    return one
  }
  const endpoint = (types: readonly string[] | null = null, path = '/hook', who = operator(), url = receiver.url) =>
    runtimeFor(store, { receivers: [receiver] }).endpoints.create(who, { url: url + path, types })
  const got = (count: number) =>
    until(
      async () => receiver.got,
      (all) => all.length >= count,
    )
  const places = (run: string) => receiver.got.filter((m) => m.run === run).map((m) => m.seq)
  const one = async (text: string) => (await store.admin(text))[0] ?? {}
  const idle = () =>
    until(
      () => one(`select count(*)::int as n from plimsoll.delivery where due_at < 'infinity' or worker_id is not null`),
      (row) => row.n === 0,
    )

  it('J9 a receiver verifies every message by the standard, in the order of the run, under stable ids', async () => {
    const { secret } = await endpoint()
    await go()
    const run = await runWith(store, [...STORY.slice(0, 2), 'attempt_lost', ...STORY.slice(2)])
    await got(4)
    await idle()
    expect(receiver.got.map((m) => [m.run, m.seq, m.type])).toEqual([
      [run, 1, 'run_queued'],
      [run, 2, 'step_planned'],
      [run, 4, 'calls_settled'],
      [run, 5, 'run_ended'],
    ])
    const { session_id } = await one(`select session_id from plimsoll.run where id = '${run}'`)
    for (const { body, headers, seq, id } of receiver.got) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: { run_id: run, conversation_id: session_id, seq },
      })
      expect(id).toBe(`evt_${run.replace('run_', '')}_${seq}`)
      expect(() => new Webhook(secret).verify(body.replace(run, 'other'), headers)).toThrow()
      expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'evt_1' })).toThrow()
    }
  })

  it('J9 22 a crash between sending and marking repeats the message under the same id, and loses nothing', async () => {
    await endpoint()
    let crashes = 2
    await go({
      fault: (point) => {
        if (point === 'outbox.afterPublish' && crashes-- > 0) throw new Error('the process is gone')
      },
    })
    // who threw still holds its claim, as a dead process would: its lease is over when its worker is gone
    const run = await runWith(store, STORY)
    await got(1)
    await store.admin(`delete from plimsoll.worker`)
    await go()
    await got(2)
    await store.admin(
      `delete from plimsoll.worker where id in (select worker_id from plimsoll.delivery where due_at < 'infinity')`,
    )
    await go()
    await idle()
    expect(new Set(places(run))).toEqual(new Set([1, 2, 3, 4]))
    const ids = receiver.got.map((m) => m.id)
    expect(ids.length).toBeGreaterThan(4)
    expect(new Set(ids).size).toBe(4)
    const firsts = places(run).filter((seq, i, all) => all.indexOf(seq) === i)
    expect(firsts).toEqual([1, 2, 3, 4])
  })

  it('J9 8 a claim whose reply is lost is taken up again by the relay that made it, while its process lives', async () => {
    await endpoint()
    let lost = 2
    const { db } = store
    await go({
      db: {
        ...db,
        async call(statement, params) {
          const rows = await db.call(statement, params)
          if ((statement as unknown) === claim && rows.length > 0 && lost-- > 0) throw new Fault('store_unavailable')
          return rows
        },
      },
    })
    const run = await runWith(store, STORY)
    await got(4)
    await idle()
    expect(lost).toBeLessThan(0)
    expect(places(run)).toEqual([1, 2, 3, 4])
  })

  it('J9 22 a message that always fails holds up its own run and nobody else', async () => {
    await endpoint()
    await endpoint(null, '/other')
    const poison = await runWith(store, STORY)
    receiver.answer = (m) => (m.run === poison && m.seq === 2 && m.headers[':path'] !== '/other' ? 500 : 204)
    await go()
    const others = [await runWith(store, STORY), await runWith(store, STORY)]
    await until(async () => others.every((run) => places(run).length === 8), Boolean)
    expect(new Set(places(poison))).toEqual(new Set([1, 2]))
    const attempts = await store.admin(
      `select seq, outcome, status, fault from plimsoll.delivery_attempt where run_id = '${poison}' and outcome <> 'delivered'`,
    )
    expect(attempts[0]).toMatchObject({ seq: 2, outcome: 'failed', status: 500 })
    const { wait } = await one(
      `select extract(epoch from min(due_at) - now())::float8 as wait from plimsoll.delivery where run_id = '${poison}' and attempt = 1`,
    )
    expect(Number(wait)).toBeGreaterThan(0)
    expect(Number(wait)).toBeLessThan(6.1)
  })

  it('J9 an event that has had all its attempts is given up, and its run goes on without it', async () => {
    const { id } = await endpoint()
    const run = await runWith(store, STORY)
    receiver.answer = (m) => (m.seq === 2 ? 500 : 204)
    const first = await go()
    await until(
      () => one(`select attempt from plimsoll.delivery`),
      (row) => row.attempt === 1,
    )
    await first.stop()
    await store.admin(`update plimsoll.delivery set attempt = ${MOST_ATTEMPTS - 1}, due_at = now()`)
    await store.admin(`update plimsoll.endpoint set retry_at = now()`)
    await go()
    await idle()
    expect(places(run)).toEqual([1, 2, 2, 3, 4])
    const attempts = await running[0]!.runtime.endpoints.attempts(operator(), id, 10)
    expect(attempts.map((a) => [a.seq, a.outcome, a.status])).toEqual([
      [4, 'delivered', 204],
      [3, 'delivered', 204],
      [2, 'given_up', 500],
      [2, 'failed', 500],
      [1, 'delivered', 204],
    ])
  })

  it('J9 an endpoint that says it is gone is disabled at once, and told nothing more', async () => {
    const { id } = await endpoint()
    receiver.answer = () => 410
    const { runtime } = await go()
    await runWith(store, STORY)
    const gone = await until(
      () => runtime.endpoints.get(operator(), id),
      (e) => e.state === 'disabled',
    )
    expect(gone).toMatchObject({ reason: 'gone', waiting: 1 })
    await runWith(store, STORY)
    const audit = await store.admin(
      `select actor_kind, action, outcome, reason from plimsoll.audit where target = '${id}'`,
    )
    expect(audit).toContainEqual({
      actor_kind: 'system',
      action: 'endpoint.disable',
      outcome: 'disabled',
      reason: 'gone',
    })
    expect(receiver.got).toHaveLength(1)
    receiver.answer = () => 204
    await runtime.endpoints.setState(operator(), id, 'enabled', null)
    await got(9)
    await idle()
    expect(
      receiver.got
        .slice(1)
        .map((m) => m.seq)
        .sort(),
    ).toEqual([1, 1, 2, 2, 3, 3, 4, 4])
  })

  it('J9 an endpoint is disabled after failures in a row over days, and not for many in a moment', async () => {
    const { id } = await endpoint()
    receiver.answer = () => 503
    await store.admin(
      `update plimsoll.endpoint set failures = ${DISABLE.most + 5}, failing_since = now() - interval '4 days 23 hours'`,
    )
    const { runtime } = await go()
    await runWith(store, ['run_ended'])
    await until(
      () => one(`select attempt from plimsoll.delivery`),
      (row) => row.attempt === 1,
    )
    expect(await runtime.endpoints.get(operator(), id)).toMatchObject({ state: 'enabled', failures: DISABLE.most + 6 })
    await store.admin(`update plimsoll.endpoint set failing_since = now() - interval '5 days 1 hour', retry_at = now()`)
    await store.admin(`update plimsoll.delivery set due_at = now()`)
    const seen = await until(
      () => runtime.endpoints.get(operator(), id),
      (e) => e.state === 'disabled',
    )
    expect(seen.reason).toBe('failing')
  })

  it('J9 an endpoint that fails is left in peace, with all its runs, and forgiven by one success', async () => {
    await endpoint()
    receiver.answer = () => 503
    await go()
    for (let i = 0; i < 12; i++) await runWith(store, ['run_ended'])
    await until(
      () => one(`select failures, (retry_at > now())::int as pause from plimsoll.endpoint`),
      (row) => Number(row.failures) >= 3 && row.pause === 1,
    )
    receiver.answer = () => 204
    await store.admin(`update plimsoll.delivery set due_at = now() where due_at < 'infinity'`)
    await store.admin(`update plimsoll.endpoint set retry_at = now()`)
    await idle()
    expect(await one(`select failures, failing_since from plimsoll.endpoint`)).toEqual({
      failures: 0,
      failing_since: null,
    })
  })

  it('J9 an endpoint hears of the types that it asked for, of what happens after it was made, and of no other tenant', async () => {
    const before = await runWith(store, ['run_queued'])
    await store.admin(`update plimsoll.event set created_at = now() - interval '1 minute'`)
    await endpoint(['run_ended'])
    const mine = await runWith(store, STORY)
    for (const place of [{ tenant_id: 'birch' }, { environment: 'test' }]) await runWith(store, STORY, place)
    await addEvents(store, before, ['run_ended'], { from: 2 })
    await go()
    await got(2)
    await idle()
    expect(receiver.got.map((m) => [m.run, m.seq]).sort()).toEqual(
      [
        [before, 2],
        [mine, 4],
      ].sort(),
    )
  })

  it('J9 an event whose commit came late is found by a later look', async () => {
    await endpoint()
    await store.admin(`update plimsoll.endpoint set starts_at = now() - interval '1 hour'`)
    const run = await runWith(store, ['run_queued'])
    await go()
    await got(1)
    await until(
      () => one(`select (seen_at > now() - interval '5 seconds')::int as seen from plimsoll.endpoint`),
      (row) => row.seen === 1,
    )
    await addEvents(store, run, ['run_ended'], { from: 2, at: -25_000 })
    await got(2)
    expect(places(run)).toEqual([1, 2])
  })

  it('J9 after a rotation both secrets sign for a day, and then the new one alone', async () => {
    const { id, secret: old } = await endpoint()
    const { runtime } = await go()
    const { secret } = await runtime.endpoints.rotate(operator(), id)
    const run = await runWith(store, ['run_queued'])
    await got(1)
    for (const key of [old, secret])
      expect(() => new Webhook(key).verify(receiver.got[0]!.body, receiver.got[0]!.headers)).not.toThrow()
    await store.admin(`update plimsoll.endpoint set previous_until = now() - interval '1 second'`)
    await addEvents(store, run, ['run_ended'], { from: 2 })
    await got(2)
    const { body, headers } = receiver.got[1]!
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow()
    expect(answers.webhook.safeParse(JSON.parse(body)).error?.issues).toBeUndefined()
    expect(() => new Webhook(old).verify(body, headers)).toThrow()
    const [{ secret: stored }] = (await store.admin(
      `select encode(secret, 'escape') as secret from plimsoll.endpoint`,
    )) as [any]
    expect(stored).toContain(secret)
  })

  it('J9 a replay sends again from an event or a time, under the same ids, though a delivery was under way', async () => {
    const { id } = await endpoint()
    const { runtime } = await go()
    const [run, other] = [await runWith(store, STORY), await runWith(store, STORY)]
    await got(8)
    await idle()
    receiver.got.length = 0
    expect(await runtime.endpoints.replay(operator(), id, { run, seq: 3 }, 'lost by us')).toBe(1)
    await got(2)
    await idle()
    expect(receiver.got.map((m) => [m.run, m.seq])).toEqual([
      [run, 3],
      [run, 4],
    ])

    receiver.got.length = 0
    let open = (_: number): void => {}
    receiver.answer = () => new Promise((resolve) => (open = resolve))
    await addEvents(store, run, ['run_ended'], { from: 5 })
    await got(1)
    expect(await runtime.endpoints.replay(operator(), id, { since: 0 }, 'all again')).toBe(2)
    receiver.answer = () => 204
    open(204)
    await until(async () => places(other).length >= 4 && places(run).length >= 6, Boolean)
    await idle()
    expect(places(run)).toEqual([5, 1, 2, 3, 4, 5])
    const audit = await store.admin(
      `select actor, outcome, reason from plimsoll.audit where action = 'endpoint.replay' and target = '${id}' order by reason`,
    )
    expect(audit).toEqual([
      { actor: 'olga', outcome: '2 runs', reason: 'all again' },
      { actor: 'olga', outcome: '1 runs', reason: 'lost by us' },
    ])
  })

  it('P6 a relay that stops takes nothing new, and marks what was under way', async () => {
    await endpoint()
    let open = (_: number): void => {}
    receiver.answer = () => new Promise((resolve) => (open = resolve))
    const mine = await go()
    const run = await runWith(store, STORY)
    await got(1)
    const stopped = mine.stop()
    open(204)
    await stopped
    expect(places(run)).toEqual([1])
    expect(await one(`select sent, worker_id from plimsoll.delivery`)).toEqual({ sent: 1, worker_id: null })
  })

  it('I4 an endpoint that leads inside the network is refused when it is made and when it is called', async () => {
    const { endpoints } = runtimeFor(store, {})
    for (const url of [
      'http://api.vendor.example/',
      'https://169.254.169.254/',
      'https://localhost./',
      'https://u:p@a.example/',
      'https://127.1/',
      'x',
    ])
      await expect(endpoints.create(operator(), { url, types: null })).rejects.toMatchObject({
        code: 'invalid_request',
      })
    await expect(
      endpoints.create(operator(), { url: 'https://a.example/', types: ['attempt_lost'] }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
    })
    // made where a developer's origin was known, called where it is not
    await endpoint()
    await go({ receivers: [] })
    await runWith(store, ['run_ended'])
    const attempt = await until(
      () => one(`select outcome, status, fault from plimsoll.delivery_attempt`),
      (row) => 'outcome' in row,
    )
    expect(attempt).toEqual({ outcome: 'failed', status: null, fault: 'egress_refused' })
    expect(receiver.got).toEqual([])
  })

  it('J9 a redirect is a failure, and is not followed', async () => {
    await endpoint()
    receiver.answer = () => 307
    await go()
    await runWith(store, ['run_ended'])
    const attempt = await until(
      () => one(`select outcome, status from plimsoll.delivery_attempt`),
      (row) => 'outcome' in row,
    )
    expect(attempt).toEqual({ outcome: 'failed', status: 307 })
  })

  it('J9 a test goes out at once, and nobody but an operator does anything here', async () => {
    const { id, secret } = await endpoint()
    const { endpoints } = runtimeFor(store, { receivers: [receiver] })
    expect(await endpoints.test(operator(), id)).toMatchObject({ ok: true, status: 204 })
    expect(new Webhook(secret).verify(receiver.got[0]!.body, receiver.got[0]!.headers)).toMatchObject({
      type: 'endpoint_tested',
    })
    const service = { ...operator(), kind: 'service' as const }
    const refused = [
      endpoints.list(service),
      endpoints.create(service, { url: 'https://a.example/', types: null }),
      endpoints.rotate(service, id),
      endpoints.test(service, id),
      endpoints.remove(service, id),
      endpoints.setState(service, id, 'disabled', null),
      endpoints.attempts(service, id, 1),
      endpoints.replay(service, id, { since: 0 }, 'x'),
    ]
    for (const work of refused) await expect(work).rejects.toMatchObject({ code: 'permission_denied' })
    for (const who of [operator('birch'), operator('acme', 'test')]) {
      expect(await endpoints.list(who)).toEqual([])
      await expect(endpoints.remove(who, id)).rejects.toMatchObject({ code: 'not_found' })
      await expect(endpoints.test(who, id)).rejects.toMatchObject({ code: 'not_found' })
    }
    await endpoints.remove(operator(), id)
    expect(await endpoints.list(operator())).toEqual([])
  })

  it('J9 a sink of the program hears of every tenant, and its failures are tried again in order', async () => {
    const heard: OutboxMessage[] = []
    let failing = 3
    const sink: Sink = {
      name: 'inside',
      publish: async (message) => {
        if (message.seq === 2 && failing-- > 0) throw new Error('not now')
        heard.push(message)
      },
    }
    await go({ sinks: [sink] })
    await until(
      () => one(`select count(*)::int as n from plimsoll.sink`),
      (row) => row.n === 1,
    )
    const runs = [await runWith(store, STORY), await runWith(store, STORY, { tenant_id: 'birch', environment: 'test' })]
    await until(
      async () => {
        await store.admin(`update plimsoll.delivery set due_at = now() where attempt > 0`)
        return heard.length
      },
      (count) => count >= 8,
    )
    await idle()
    for (const run of runs) expect(heard.filter((m) => m.run === run).map((m) => m.seq)).toEqual([1, 2, 3, 4])
    expect(new Set(heard.map((m) => `${m.tenant}/${m.environment}`))).toEqual(
      new Set(['acme/production', 'birch/test']),
    )
  })

  it('J9 sinks that the store could not keep apart are refused', () => {
    const publish = async () => {}
    for (const names of [['a', 'a'], ['whk_1'], ['A'], ['']])
      expect(() => runtimeFor(store, { sinks: names.map((name) => ({ name, publish })) })).toThrow(/name of its own/)
  })

  it.skipIf(engine === 'embedded')(
    'J9 22 two relays keep the order of every run, and what is sent again has its id',
    async () => {
      const second = await openReceiver()
      await endpoint()
      await runtimeFor(store, { receivers: [second] }).endpoints.create(operator(), { url: second.url, types: null })
      const runs: string[] = []
      for (let i = 0; i < 30; i++) runs.push(await runWith(store, STORY))
      const receivers = [receiver, second]
      await Promise.all([
        go({ receivers }),
        store.another(3).then((db) => go({ receivers, db })),
        store.another(3).then((db) => go({ receivers, db })),
      ])
      for (const run of runs) await addEvents(store, run, STORY, { from: 5 })
      await until(async () => receivers.every((r) => r.got.length >= runs.length * 8), Boolean)
      await idle()
      for (const { got: all } of receivers)
        for (const run of runs) {
          const of = all.filter((m) => m.run === run)
          // a lease that ran out on a busy machine may send one again: at least once is the promise, and in this order
          expect([...new Set(of.map((m) => m.seq))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
          expect(new Set(of.map((m) => m.id)).size).toBe(8)
        }
      await second.close()
    },
  )

  it.skipIf(engine === 'embedded')('L5 nothing of the database is open while a message is on its way', async () => {
    await endpoint()
    let open = (_: number): void => {}
    receiver.answer = () => new Promise((resolve) => (open = resolve))
    await go()
    await runWith(store, ['run_ended'])
    await got(1)
    const [now] = await store.admin('select clock_timestamp()::text as now')
    // whatever was open when the message arrived ends while it is still on its way
    const older = `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and xact_start < '${String(now?.now)}' and pid <> pg_backend_pid()`
    await until(
      () => one(older),
      (row) => row.n === 0,
    )
    expect(receiver.got).toHaveLength(1)
    open(204)
    await idle()
  })

  it('J9 an id is that of the endpoint and of nothing else', async () => {
    const { id } = await endpoint()
    await expect(runtimeFor(store, {}).endpoints.get(operator(), `${id}x` as EndpointId)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})
