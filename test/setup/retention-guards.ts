/** The guards of the sweep. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import { plainSealer } from '../../src/db/seal.ts'
import { retentionStore } from '../../src/journal/retention.store.ts'
import type { RetentionClass } from '../../src/journal/retention.ts'
import type { TestStore } from './engines.ts'
import { type Guard, guard, unchanged } from './guards.ts'
import { insert, type Key, ms, seedConfirmation, seedEffect, seedRun, unique } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>
const DAY = 86_400_000
const RUN_CLASSES = ['delta', 'event', 'message', 'value', 'artifact'] as const

const WAITS = { wait_reason: 'confirmation', worker_id: null, due_at: ms(60_000) }
const scopeOf = ({ tenant, environment }: Pick<Key, 'tenant' | 'environment'>) => ({ tenant, environment })
export const sweep = (
  store: TestStore,
  key: Pick<Key, 'tenant' | 'environment'>,
  name: RetentionClass,
  limit = 100,
  dry = false,
) =>
  retentionStore(store.db, plainSealer).sweep(scopeOf(key), { class: name, limit, dry, afterAt: null, afterRun: null })

/** A run of a tenant of its own that ended eleven days ago, with a row of every kind. */
export async function seedEnded(store: TestStore, over: Fields = {}): Promise<Key & { session: string }> {
  const place = { tenant_id: unique('t'), environment: 'production' }
  const ended = { status: 'succeeded', end_reason: 'completed', worker_id: null, ended_at: ms(-11 * DAY) }
  const key = await seedRun(store, { ...place, ...ended, ...over })
  const ofRun = { tenant_id: key.tenant, environment: key.environment, run_id: key.run }
  const body = Buffer.from('secret value')
  const owner = { session_id: key.session, user_id: 'ann', subject_id: 'ann' }
  const labels = { visibility: 'user', integrity: 'user', confidentiality: 'public', origin: '{}', tokens: 1 }
  await insert(store, 'message', {
    ...ofRun,
    ...owner,
    seq: 1,
    step: 0,
    role: 'user',
    body,
    content_hash: 'h',
    ...labels,
  })
  await insert(store, 'event', { ...ofRun, seq: 1, type: 'run_ended', visibility: 'user', body })
  await insert(store, 'delta', { ...ofRun, seq: 1, generation: 1, step: 1, attempt: 1, body })
  await insert(store, 'ledger', { ...ofRun, seq: 1, step: 0, kind: 'open' })
  const settled = { status: 'settled', outcome: 'ok', started_at: ms(0), arguments: body, result: body }
  await seedEffect(store, key, settled)
  await seedConfirmation(store, key, { status: 'consumed', plan: body })
  await seedArtifact(store, key)
  return key
}

/** What the call of `seedEffect` returned: it counts when that is settled with the same hash. */
export async function seedArtifact(store: TestStore, key: Key & { session: string }, over: Fields = {}) {
  const place = { tenant_id: key.tenant, environment: key.environment, run_id: key.run, session_id: key.session }
  const owner = { user_id: 'ann', subject_id: 'ann', step: 1, position: 0, call_id: 'call', kind: 'result' }
  const object = { media_type: 'text/plain', bytes: 1, sha256: 'h', object_key: unique('key'), result_hash: 'h' }
  const labels = { integrity: 'untrusted', confidentiality: 'subject', origin: '{}' }
  const about = Buffer.from('secret value')
  await insert(store, 'artifact', { ...place, id: unique('art'), ...owner, ...object, ...labels, about, ...over })
}

export const artifactsOf = (store: TestStore, { run }: Pick<Key, 'run'>) =>
  store.admin(
    'select about is null as emptied, removed_at is not null as removed from plimsoll.artifact where run_id = $1',
    [run],
  )

export const rule = (
  store: TestStore,
  key: Pick<Key, 'tenant' | 'environment'>,
  name: RetentionClass,
  days: number | null = 10,
) => insert(store, 'retention', { tenant_id: key.tenant, environment: key.environment, class: name, days })

/** What is left of a run: rows by table, and whether its values are still there. */
export async function leftOf(store: TestStore, { run }: Pick<Key, 'run'>) {
  const [row] = await store.admin(
    `select (select count(*) from plimsoll.delta where run_id = $1)::int as delta, (select count(*) from plimsoll.event where run_id = $1)::int as event,
       (select count(*) from plimsoll.message where run_id = $1)::int as message, (select count(*) from plimsoll.ledger where run_id = $1)::int as ledger,
       (select count(*) from plimsoll.effect where run_id = $1 and (arguments::text || coalesce(result::text, '')) like '%736563726574%')::int as value,
       (select count(*) from plimsoll.confirmation where run_id = $1 and plan::text like '%736563726574%')::int as plan,
       (select count(*) from plimsoll.effect where run_id = $1)::int as effect,
       (select count(*) from plimsoll.artifact where run_id = $1 and removed_at is null and about is not null)::int as artifact`,
    [run],
  )
  return row
}
export const ALL = { delta: 1, event: 1, message: 1, ledger: 1, value: 1, plan: 1, effect: 1, artifact: 1 }

const keeps = (
  name: string,
  prepare: (store: TestStore, key: Key) => Promise<unknown>,
  over: Fields = {},
  only: readonly (typeof RUN_CLASSES)[number][] = RUN_CLASSES,
): Guard =>
  guard(name, async (store) => {
    const key = await seedEnded(store, over)
    for (const one of only) await rule(store, key, one)
    await prepare(store, key)
    for (const one of only) await sweep(store, key, one)
    expect(await leftOf(store, key)).toEqual(ALL)
  })

/** It has been there for long, and nobody has looked for it since the events came. */
const endpointOf = (key: Key, over: Fields = {}) => ({
  tenant_id: key.tenant,
  environment: key.environment,
  id: unique('whk'),
  url: Buffer.from('url'),
  secret: Buffer.from('secret'),
  starts_at: ms(-30 * DAY),
  seen_at: ms(-DAY),
  ...over,
})

const hold = (key: Key, over: Fields = {}) => ({
  tenant_id: key.tenant,
  environment: key.environment,
  id: unique('hld'),
  ...over,
})

export const SWEEP: readonly Guard[] = [
  keeps('a run that ended too short a time ago', async () => {}, { ended_at: ms(-9 * DAY) }),
  keeps('a run that has not ended', async () => {}, { status: 'queued', end_reason: null, ended_at: null }),
  keeps('everything, under a hold of the environment', (store, key) => insert(store, 'legal_hold', hold(key))),
  keeps('what is about a subject that is held', (store, key) =>
    insert(store, 'legal_hold', hold(key, { subject_id: 'ann' })),
  ),
  keeps('everything, when no rule says otherwise', (store, key) =>
    store.admin(`update plimsoll.retention set days = null where tenant_id = '${key.tenant}'`),
  ),
  keeps('events that no relay has looked at', (store, key) => insert(store, 'endpoint', endpointOf(key)), {}, [
    'event',
  ]),
  guard('events that no relay has looked at for a sink stay, unless nobody serves it any more', async (store) => {
    const [fresh, stale] = [await seedEnded(store), await seedEnded(store)]
    for (const key of [fresh, stale]) await rule(store, key, 'event')
    await insert(store, 'sink', { name: 'books', starts_at: ms(-30 * DAY), seen_at: ms(-DAY) })
    await sweep(store, fresh, 'event')
    const kept = await leftOf(store, fresh)
    await store.admin(`update plimsoll.sink set seen_at = now() - interval '8 days'`)
    await sweep(store, stale, 'event')
    await store.admin(`delete from plimsoll.sink`)
    expect(kept).toEqual(ALL)
    expect(await leftOf(store, stale)).toEqual({ ...ALL, event: 0 })
  }),
  guard('events that an endpoint has no right to wait for go', async (store) => {
    const key = await seedEnded(store)
    await rule(store, key, 'event')
    await insert(store, 'endpoint', endpointOf(key, { state: 'disabled' }))
    await insert(store, 'endpoint', endpointOf(key, { environment: 'test' }))
    await insert(store, 'endpoint', endpointOf(key, { starts_at: ms(DAY), seen_at: ms(-DAY) }))
    await insert(store, 'endpoint', endpointOf(key, { seen_at: ms(60_000) }))
    await insert(store, 'endpoint', endpointOf({ ...key, tenant: unique('t') }))
    await sweep(store, key, 'event')
    expect(await leftOf(store, key)).toEqual({ ...ALL, event: 0 })
  }),
  keeps(
    'events that are still to be sent',
    (store, key) =>
      insert(store, 'delivery', {
        tenant_id: key.tenant,
        environment: key.environment,
        endpoint_id: 'whk_x',
        run_id: key.run,
        sent: 0,
        head: 1,
      }),
    {},
    ['event'],
  ),
  guard('values and artifacts wait for an action of which nobody knows whether it happened', async (store) => {
    const key = await seedEnded(store)
    await seedEffect(store, key, { position: 1, status: 'unknown', started_at: ms(0) })
    for (const one of ['value', 'artifact'] as const) {
      await rule(store, key, one)
      expect(await sweep(store, key, one)).toMatchObject({ runs: 0, kept: 1 })
    }
    expect(await leftOf(store, key)).toMatchObject({ value: 1, plan: 1, artifact: 1 })
  }),
  guard('artifacts wait until no run of their conversation is alive', async (store) => {
    const key = await seedEnded(store)
    const place = { tenant_id: key.tenant, environment: key.environment, session_id: key.session }
    const alive = await seedRun(store, { ...place, generation: 2, status: 'waiting_confirmation', ...WAITS })
    await seedRun(store, { ...place, session_id: unique('ses') })
    await rule(store, key, 'artifact')
    expect(await sweep(store, key, 'artifact')).toMatchObject({ runs: 0, kept: 1, changed: 0 })
    const ended = `status = 'succeeded', end_reason = 'completed', wait_reason = null, ended_at = now()`
    await store.admin(`update plimsoll.run set ${ended} where id = '${alive.run}'`)
    expect(await sweep(store, key, 'artifact')).toMatchObject({ runs: 1, kept: 0, changed: 1 })
    expect(await artifactsOf(store, key)).toEqual([{ emptied: true, removed: true }])
    expect(await leftOf(store, key)).toEqual({ ...ALL, artifact: 0 })
  }),
  guard('a run of another tenant, environment or with a released hold goes by its own rule', async (store) => {
    const key = await seedEnded(store)
    const [other, elsewhere] = [
      await seedEnded(store),
      await seedEnded(store, { tenant_id: key.tenant, environment: 'test' }),
    ]
    for (const one of RUN_CLASSES) await rule(store, key, one)
    await insert(store, 'legal_hold', hold(key, { released_at: ms(0) }))
    await insert(store, 'legal_hold', hold(key, { subject_id: 'bob' }))
    await insert(store, 'legal_hold', hold(other))
    await insert(store, 'legal_hold', hold(elsewhere))
    for (const one of RUN_CLASSES)
      expect(await sweep(store, key, one)).toMatchObject({ runs: 1, kept: 0, changed: 1, done: true })
    expect(await leftOf(store, key)).toEqual({
      delta: 0,
      event: 0,
      message: 0,
      value: 0,
      plan: 0,
      artifact: 0,
      ledger: 1,
      effect: 1,
    })
    for (const one of [other, elsewhere]) expect(await leftOf(store, one)).toEqual(ALL)
  }),
  guard('a dry run counts and changes nothing', async (store) => {
    const key = await seedEnded(store)
    for (const one of RUN_CLASSES) await rule(store, key, one)
    await unchanged(store, async () => {
      for (const one of RUN_CLASSES)
        expect(await sweep(store, key, one, 100, true)).toMatchObject({ runs: 1, changed: 1, done: true })
    })
  }),
  guard('a sweep goes on where it stopped, and comes back for what it left alone', async (store) => {
    const first = await seedEnded(store, { ended_at: ms(-30 * DAY) })
    const place = { tenant_id: first.tenant, environment: first.environment }
    const rest = [20, 15, 12].map((days) => ({ ...place, ended_at: ms(-days * DAY) }))
    const runs = [first]
    for (const over of rest) runs.push(await seedEnded(store, over))
    await rule(store, first, 'message')
    await insert(store, 'legal_hold', { ...place, id: unique('hld') })
    await store.admin(`update plimsoll.run set subject_id = 'eve' where id = '${runs[1]?.run}'`)
    await store.admin(`update plimsoll.legal_hold set subject_id = 'eve' where tenant_id = '${first.tenant}'`)
    const swept = []
    for (let i = 0; i < 3; i++) swept.push(await sweep(store, first, 'message', 2))
    expect(swept).toMatchObject([
      { runs: 1, kept: 1, done: false },
      { runs: 2, kept: 0, done: false },
      { runs: 0, kept: 0, done: true },
    ])
    expect(await sweep(store, first, 'message', 100)).toMatchObject({ runs: 2, kept: 1, changed: 0 })
    await store.admin(`update plimsoll.legal_hold set released_at = now() where tenant_id = '${first.tenant}'`)
    expect(await sweep(store, first, 'message', 100)).toMatchObject({ kept: 0, changed: 1, done: true })
    expect(await sweep(store, first, 'message', 100)).toMatchObject({ runs: 0, changed: 0 })
    for (const run of runs) expect(await leftOf(store, run)).toMatchObject({ message: 0, event: 1 })
  }),
  guard('old attempts and expired keys go in batches, and under a hold nothing of them', async (store) => {
    const key = await seedEnded(store)
    const place = { tenant_id: key.tenant, environment: key.environment }
    for (let i = 0; i < 3; i++) {
      const old = { created_at: ms(i < 2 ? -11 * DAY : -DAY) }
      const attempt = { endpoint_id: 'whk_x', run_id: key.run, seq: i, epoch: 1, outcome: 'delivered', millis: 1 }
      await insert(store, 'delivery_attempt', { ...place, ...attempt, ...old })
      const request = { caller: 'ann', key: `k${i}`, operation: 'x', body_hash: 'h', run_id: key.run }
      await insert(store, 'idempotency', { ...place, ...request, expires_at: old.created_at })
    }
    for (const name of ['attempt', 'idempotency'] as const) {
      await rule(store, key, name)
      const id = unique('hld')
      await insert(store, 'legal_hold', { ...place, id, subject_id: 'bob' })
      expect(await sweep(store, key, name)).toMatchObject({ changed: 0 })
      await store.admin(`update plimsoll.legal_hold set released_at = now() where id = '${id}'`)
      expect(await sweep(store, key, name, 100, true)).toMatchObject({ changed: 2 })
      expect(await sweep(store, key, name, 1)).toMatchObject({ changed: 1, done: false })
      expect(await sweep(store, key, name, 2)).toMatchObject({ changed: 1, done: true })
    }
  }),
  guard('what was told long ago goes, except to those who may still wait for it', async (store) => {
    const key = await seedEnded(store)
    const place = { tenant_id: key.tenant, environment: key.environment }
    const told = { body: Buffer.from('x'), body_hash: 'h' }
    const signal = (name: string, over: Fields) => insert(store, 'signal', { ...place, key: name, ...over })
    const old = { created_at: ms(-12 * DAY) }
    await signal('told', { ...old, ...told, told_at: ms(-11 * DAY), waiters: [key.run] })
    await signal('told to nobody', { ...old, ...told, told_at: ms(-11 * DAY) })
    await signal('never told', { ...old, waiters: [key.run] })
    await signal('told of late', { ...old, ...told, told_at: ms(-DAY) })
    await rule(store, key, 'signal')
    const id = unique('hld')
    await insert(store, 'legal_hold', { ...place, id, subject_id: 'bob' })
    expect(await sweep(store, key, 'signal')).toMatchObject({ changed: 0 })
    await store.admin(`update plimsoll.legal_hold set released_at = now() where id = '${id}'`)

    const old_run = { ...place, created_at: ms(-20 * DAY), worker_id: null, status: 'queued' }
    const living = await seedRun(store, old_run)
    // it has lived all the while, and each of them may be for it
    expect(await sweep(store, key, 'signal')).toMatchObject({ changed: 0, done: true })
    await store.admin(`update plimsoll.run set created_at = now() - interval '1 hour' where id = '${living.run}'`)
    await signal('waited for', { ...old, waiters: [key.run, living.run] })
    const left = async () => {
      const rows = await store.admin('select key from plimsoll.signal where tenant_id = $1 order by key', [key.tenant])
      return rows.map((row) => row.key)
    }
    expect(await sweep(store, key, 'signal', 100, true)).toMatchObject({ changed: 3 })
    expect(await left()).toHaveLength(5)
    expect(await sweep(store, key, 'signal', 2)).toMatchObject({ changed: 2, done: false })
    expect(await sweep(store, key, 'signal', 2)).toMatchObject({ changed: 1, done: true })
    expect(await left()).toEqual(['told of late', 'waited for'])
  }),
  guard('the starts of a rate go when no rate counts them, and no earlier', async (store) => {
    const key = await seedEnded(store)
    const place = { tenant_id: key.tenant, environment: key.environment }
    const starts = (tool: string, hours: number) =>
      store.admin(
        `insert into plimsoll.tool_calls (tenant_id, environment, tool, starts)
         values ($1, $2, $3, array[now() - interval '20 days', now() - $4::int * interval '1 hour'])`,
        [place.tenant_id, place.environment, tool, hours],
      )
    for (const [tool, hours] of [
      ['old', 49],
      ['older', 50],
      ['of today', 23],
    ] as const)
      await starts(tool, hours)
    await rule(store, key, 'rate', 0)
    const id = unique('hld')
    await insert(store, 'legal_hold', { ...place, id, subject_id: 'bob' })
    expect(await sweep(store, key, 'rate')).toMatchObject({ changed: 0 })
    await store.admin(`update plimsoll.legal_hold set released_at = now() where id = '${id}'`)
    expect(await sweep(store, key, 'rate', 100, true)).toMatchObject({ changed: 2 })
    expect(await sweep(store, key, 'rate', 1)).toMatchObject({ changed: 1, done: false })
    expect(await sweep(store, key, 'rate', 2)).toMatchObject({ changed: 1, done: true })
    expect(await store.admin('select tool from plimsoll.tool_calls where tenant_id = $1', [key.tenant])).toEqual([
      { tool: 'of today' },
    ])
  }),
]
