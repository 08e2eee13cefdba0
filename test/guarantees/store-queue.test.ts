/** The queue: claims, takeovers and what happens when several processes take at once, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WorkerId } from '../../src/kernel/ids.ts'
import { claimRuns, enlistWorker, reapRuns, renewLease, retireWorker } from '../../src/journal/lease.store.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { CLAIM, DRIVEN, LAY_DOWN, REAP } from '../setup/queue-guards.ts'
import { commit, runOf, seedRun, seedWorker, submission, submit, transition, unique, VERSION } from '../setup/seed.ts'

describe.each(ENGINES)('the queue on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it.each(CLAIM)('L2 A4 what a claim takes and what it leaves: $name', (guard) => guard.run(store))

  it.each(REAP)('L2 L4 only the runs of the dead go back: $name', (guard) => guard.run(store))

  it.each(LAY_DOWN)('L4 a run that nobody can drive or end gives its place back: $name', (guard) => guard.run(store))

  it.each(DRIVEN)('A4 a cancel reaches the process that drives the run: $name', (guard) => guard.run(store))

  it('L2 a lease that is over is not renewed, and a worker that leaves gives its runs up', async () => {
    const [living, late] = [unique('wrk') as WorkerId, unique('wrk') as WorkerId]
    await enlistWorker(store.db, living, 60_000, { host: 'here', pid: 1 })
    await enlistWorker(store.db, late, -1, { host: 'here', pid: 1 })
    expect(await renewLease(store.db, living, 60_000)).toBe(true)
    expect(await renewLease(store.db, late, 60_000)).toBe(false)
    const key = await seedRun(store, { worker_id: living })
    await retireWorker(store.db, living)
    expect(await renewLease(store.db, living, 60_000)).toBe(false)
    await reapRuns(store.db, 1000)
    expect(await runOf(store, key)).toMatchObject({ status: 'queued' })
  })

  it('L2 a zombie that wakes up after the takeover writes nothing', async () => {
    const agent = unique('agent')
    const zombie = await seedWorker(store)
    const key = await seedRun(store, { agent, status: 'queued', worker_id: null })
    const [old] = await claimRuns(store.db, zombie as WorkerId, [agent], 1)
    await store.admin(`update plimsoll.worker set lease_until = now() - interval '1 s' where id = '${zombie}'`)
    await reapRuns(store.db, 1000)
    const heir = await seedWorker(store)
    const [lease] = await claimRuns(store.db, heir as WorkerId, [agent], 1)
    expect(lease?.epoch).toBe((old?.epoch ?? 0) + 1)
    const { version } = await runOf(store, key)
    const sent = transition(key, { version, epoch: old?.epoch })
    expect(await commit(store.db, [sent], { worker: zombie })).toEqual([])
    expect(await commit(store.db, [sent], { worker: heir })).toEqual([])
    expect(await commit(store.db, [{ ...sent, epoch: lease?.epoch ?? 0 }], { worker: heir })).toEqual([1])
  })

  it('L2 eight processes that claim at once take every run once', async () => {
    const agent = unique('agent')
    for (let i = 0; i < 24; i++)
      await seedRun(store, { agent, status: 'queued', worker_id: null, tenant_id: ['acme', 'birch', 'cedar'][i % 3] })
    const dbs = await Promise.all(Array.from({ length: 8 }, () => store.another(1)))
    const workers: string[] = []
    for (const _ of dbs) workers.push(await seedWorker(store))
    const taken: string[] = []
    // who finds a row locked goes on without it, so one round may leave some
    for (let round = 0; round < 24 && taken.length < 24; round++) {
      const leases = await Promise.all(dbs.map((db, i) => claimRuns(db, workers[i] as WorkerId, [agent], 3)))
      taken.push(...leases.flat().map((lease) => lease.run))
    }
    expect(taken).toHaveLength(24)
    expect(new Set(taken).size).toBe(24)
  })

  it('L4 a run whose workers all died is still taken, so that it can end and free its conversation', async () => {
    const agent = unique('agent')
    const poison = await seedRun(store, { agent, attempts: 3, max_attempts: 3, worker_id: unique('wrk_gone') })
    const next = { agent, status: 'queued', worker_id: null, session_id: poison.session, generation: 2 }
    const behind = await seedRun(store, next)
    await reapRuns(store.db, 1000)
    const worker = await seedWorker(store)
    const [lease] = await claimRuns(store.db, worker as WorkerId, [agent], 10)
    expect(lease?.run).toBe(poison.run)
    const { version, attempts } = await runOf(store, poison)
    expect(attempts).toBe(4)
    const ended = { version, epoch: lease?.epoch, to: 'failed', end_reason: 'attempts_exhausted', kind: 'close' }
    expect(await commit(store.db, [transition(poison, ended)], { worker })).toEqual([1])
    expect(await claimRuns(store.db, worker as WorkerId, [agent], 10)).toMatchObject([{ run: behind.run }])
  })
})

/** A commit of the run row alone. */
const BARE = { messages: [], effects: [], events: [], tool_calls: 0, kind: null }

describe.runIf(ENGINES.includes('postgres'))('two connections', () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore('postgres')
  })
  afterAll(() => store.close())

  it('A7 batches of the same runs in any order never deadlock, and each run is won once', async () => {
    const worker = await seedWorker(store)
    const keys: Awaited<ReturnType<typeof seedRun>>[] = []
    for (let i = 0; i < 20; i++)
      keys.push(await seedRun(store, { worker_id: worker, tenant_id: ['acme', 'birch', 'cedar', 'dune'][i % 4] }))
    const dbs = [await store.another(1), await store.another(1)]
    let won = 0
    for (let round = 0; round < 60; round++) {
      const rows = () => shuffled(keys).map((key) => transition(key, { ...BARE, version: VERSION + round }))
      won += (await Promise.all(dbs.map((db) => commit(db, rows(), { worker })))).flat().length
    }
    expect(won).toBe(60 * 20)
    for (const key of keys) expect(await runOf(store, key)).toMatchObject({ version: VERSION + 60 })
  })

  it('A7 a message that replaces runs and a batch that commits them never deadlock', async () => {
    const worker = await seedWorker(store)
    const first = await seedRun(store, { worker_id: worker })
    const keys: Awaited<ReturnType<typeof seedRun>>[] = [first]
    for (let i = 2; i <= 9; i++)
      keys.push(await seedRun(store, { worker_id: worker, session_id: first.session, branch: `b${i}` }))
    const [one, two] = [await store.another(1), await store.another(1)]
    const replaced = keys.map((key) => key.run).reverse()
    for (let round = 0; round < 60; round++) {
      const versions = await store.admin('select id, version from plimsoll.run where id = any($1)', [replaced])
      const now = new Map(versions.map((row) => [row.id, row.version]))
      const key = { tenant: 'acme', environment: 'production', run: unique('run') }
      const message = submission(key, first.session, { session_version: 2 + round, replaced })
      const rows = keys.map((k) => transition(k, { ...BARE, version: now.get(k.run) }))
      const [submitted] = await Promise.all([submit(one, [message]), commit(two, rows, { worker })])
      expect(submitted).toMatchObject([{ outcome: 'created' }])
    }
  })
})

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
