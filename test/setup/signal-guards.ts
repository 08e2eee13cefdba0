/** The guards of signals: who waits, who tells, and that neither misses the other. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import type { TestStore } from './engines.ts'
import { type Guard, guard, QUEUED, unchanged, WAITING } from './guards.ts'
import { rowsWhere } from './rows.ts'
import {
  base64,
  commit,
  insert,
  type Key,
  ms,
  runOf,
  seedEffect,
  seedRun,
  seedWorker,
  tell,
  telling,
  transition,
  unique,
  VERSION,
} from './seed.ts'

type Fields = Readonly<Record<string, unknown>>

/** A run whose call waits for a signal, an hour from now. */
async function seedWaiting(store: TestStore, run: Fields = {}, effect: Fields = {}) {
  const key = await seedRun(store, { ...WAITING, wait_reason: 'external', due_at: ms(3_600_000), ...run })
  const signal = unique('signal')
  await seedEffect(store, key, {
    status: 'waiting',
    started_at: ms(-1),
    wait_signal: signal,
    wait_until: ms(3_600_000),
    ...effect,
  })
  await insert(store, 'signal', {
    tenant_id: key.tenant,
    environment: key.environment,
    key: signal,
    waiters: [key.run],
  })
  return { key, signal }
}
const isDue = async (store: TestStore, key: Key) => {
  const { memory } = store
  if (memory) return Number((await runOf(store, key)).due_at) <= memory.tables.now()
  const [row] = await store.admin('select due_at <= now() as due from plimsoll.run where id = $1', [key.run])
  return row?.due
}
const bodyOf = async (store: TestStore, signal: string) => {
  const [row] = await rowsWhere(store, 'signal', { key: signal })
  return row?.body_hash ?? null
}

/** The signal is stored, and the run is as it was. */
const wakesNobody = (name: string, run: Fields, effect: Fields = {}): Guard =>
  guard(name, async (store) => {
    const { key, signal } = await seedWaiting(store, run, effect)
    const before = await runOf(store, key)
    expect(await tell(store.db, [telling(key, signal)])).toEqual(['told'])
    expect(await runOf(store, key)).toEqual(before)
    expect(await bodyOf(store, signal)).toBe('h1')
  })

export const TELL: readonly Guard[] = [
  guard('a run that waits is due at once', async (store) => {
    const { key, signal } = await seedWaiting(store)
    expect(await isDue(store, key)).toBe(false)
    expect(await tell(store.db, [telling(key, signal)])).toEqual(['told'])
    expect(await isDue(store, key)).toBe(true)
    expect(await runOf(store, key)).toMatchObject({ version: VERSION + 1, status: 'waiting_confirmation' })
  }),
  guard('a worker that is about to lie down is told by the version', async (store) => {
    const { key, signal } = await seedWaiting(store, {
      status: 'running',
      wait_reason: null,
      worker_id: await seedWorker(store),
    })
    await tell(store.db, [telling(key, signal)])
    const sleep = { to: 'waiting_confirmation', wait: 'external', due_ms: 60_000, effects: [], kind: null }
    expect(await commit(store.db, [transition(key, sleep)], { worker: key.worker })).toEqual([])
  }),
  guard('a run that waits for an operator is not waked, and knows all the same', async (store) => {
    const { key, signal } = await seedWaiting(store, { wait_reason: 'unknown_effect', due_at: 'infinity' })
    expect(await tell(store.db, [telling(key, signal)])).toEqual(['told'])
    expect(await isDue(store, key)).toBe(false)
    expect(await runOf(store, key)).toMatchObject({ version: VERSION + 1 })
  }),
  guard('a driven run stays where it is in the queue', async (store) => {
    const { key, signal } = await seedWaiting(store, { ...QUEUED, wait_reason: null, due_at: ms(50_000) })
    await tell(store.db, [telling(key, signal)])
    expect(await isDue(store, key)).toBe(false)
  }),
  wakesNobody('a run that has ended', { status: 'succeeded', wait_reason: null, end_reason: 'completed' }),
  wakesNobody('a call that waits no more', {}, { status: 'settled', outcome: 'ok' }),
  wakesNobody('a call that waits for something else', {}, { wait_signal: 'other' }),
  guard('the same body again is the same, another is refused and the first stays', async (store) => {
    const { key, signal } = await seedWaiting(store)
    const told = [telling(key, signal), telling(key, signal)]
    for (const one of told) expect(await tell(store.db, [one])).toEqual(['told'])
    await unchanged(store, async () => {
      const other = telling(key, signal, { body: base64('"lies"'), hash: 'h2' })
      expect(await tell(store.db, [other])).toEqual(['told_otherwise'])
    })
  }),
  guard('the signals of two tenants and of two environments are two', async (store) => {
    const { key, signal } = await seedWaiting(store)
    const before = await runOf(store, key)
    for (const place of [
      { tenant: 'globex', environment: key.environment },
      { tenant: key.tenant, environment: 'test' },
    ])
      expect(await tell(store.db, [telling(place, signal)])).toEqual(['told'])
    expect(await runOf(store, key)).toEqual(before)
  }),
  guard('a signal outside of the evidence is not told', async (store) => {
    const { key, signal } = await seedWaiting(store)
    await unchanged(store, async () => {
      const keys = [`${key.tenant}/${key.environment}/signal:another`]
      await expect(tell(store.db, [telling(key, signal)], { keys })).rejects.toThrow()
    })
  }),
  guard('several travel together, each with its own answer', async (store) => {
    const [one, two] = [await seedWaiting(store), await seedWaiting(store)]
    await tell(store.db, [telling(one.key, one.signal, { hash: 'h0' })])
    const rows = [telling(one.key, one.signal), telling(two.key, two.signal)]
    expect(await tell(store.db, rows)).toEqual(['told_otherwise', 'told'])
    expect(await isDue(store, two.key)).toBe(true)
  }),
]

/** The commit with which a call goes to wait. */
const going = (key: Key, signal: string | null, over: Fields = {}) =>
  transition(key, {
    to: 'waiting_confirmation',
    wait: 'external',
    due_ms: 60_000,
    effects: [],
    kind: null,
    waiting: [{ position: 0, signal, ms: 60_000 }],
    listens: signal === null ? [] : [signal],
    ...over,
  })
const sent = (key: Key & { readonly worker: string }, signal: string) => ({
  worker: key.worker,
  keys: [`${key.tenant}/${key.environment}/${key.run}`, `${key.tenant}/${key.environment}/signal:${signal}`],
})
const effectOf = async (store: TestStore, key: Key) => {
  const [{ status, wait_signal, waits } = {}] = await rowsWhere(store, 'effect', { run_id: key.run })
  return { status, wait_signal, waits }
}

export const WAIT: readonly Guard[] = [
  guard('a call that goes to wait is found by who tells', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'started', started_at: ms(-1) })
    const signal = unique('signal')
    expect(await commit(store.db, [going(key, signal)], sent(key, signal))).toEqual([1])
    expect(await effectOf(store, key)).toEqual({ status: 'waiting', wait_signal: signal, waits: 1 })
    expect(await isDue(store, key)).toBe(false)
    await tell(store.db, [telling(key, signal)])
    expect(await isDue(store, key)).toBe(true)
  }),
  guard('what was told before is not waited for', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'started', started_at: ms(-1) })
    const signal = unique('signal')
    await tell(store.db, [telling(key, signal)])
    expect(await commit(store.db, [going(key, signal)], sent(key, signal))).toEqual([1])
    expect(await isDue(store, key)).toBe(true)
  }),
  guard('what was heard and is to be heard again later is waited for', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'waiting', started_at: ms(-1), waits: 1 })
    const signal = unique('signal')
    await tell(store.db, [telling(key, signal)])
    expect(await commit(store.db, [going(key, signal, { listens: [] })], sent(key, signal))).toEqual([1])
    expect(await isDue(store, key)).toBe(false)
    expect(await effectOf(store, key)).toMatchObject({ waits: 2 })
  }),
  guard('what was heard does not wake who listens for something else', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'waiting', started_at: ms(-1) })
    const [heard, awaited] = [unique('signal'), unique('signal')]
    await tell(store.db, [telling(key, heard)])
    const keys = [...sent(key, heard).keys, ...sent(key, awaited).keys]
    await commit(store.db, [going(key, heard, { listens: [awaited] })], { worker: key.worker, keys })
    expect(await isDue(store, key)).toBe(false)
  }),
  guard('a run that goes on is not put back into the queue', async (store) => {
    const key = await seedRun(store, { due_at: ms(50_000) })
    await seedEffect(store, key, { status: 'started', started_at: ms(-1) })
    const signal = unique('signal')
    await tell(store.db, [telling(key, signal)])
    await commit(store.db, [going(key, signal, { to: 'running', wait: null, due_ms: null })], sent(key, signal))
    expect(await isDue(store, key)).toBe(false)
  }),
  guard('a second run that waits for the same does not push the first away', async (store) => {
    const signal = unique('signal')
    const keys = [await seedRun(store), await seedRun(store)]
    for (const key of keys) {
      await seedEffect(store, key, { status: 'started', started_at: ms(-1) })
      await commit(store.db, [going(key, signal)], sent(key, signal))
    }
    await tell(store.db, [telling(keys[0]!, signal)])
    expect(await Promise.all(keys.map((key) => isDue(store, key)))).toEqual([true, true])
  }),
  guard('a call that has its outcome does not wait any more', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'settled', outcome: 'ok', started_at: ms(-1) })
    const signal = unique('signal')
    await commit(store.db, [going(key, signal)], sent(key, signal))
    expect(await effectOf(store, key)).toMatchObject({ status: 'settled' })
  }),
  guard('only the call of the open step waits', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { step: 2, status: 'started', started_at: ms(-1) })
    const signal = unique('signal')
    await commit(store.db, [going(key, signal)], sent(key, signal))
    expect(await effectOf(store, key)).toMatchObject({ status: 'started' })
  }),
]
