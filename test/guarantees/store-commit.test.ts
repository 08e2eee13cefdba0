/** What a commit of a run refuses, and that a refusal leaves nothing behind, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { batch } from '../../src/db/batch.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { CANCEL, CLOSE, COMMIT_BUDGET, COMMIT_LEASE, COMMIT_STATE, COMMIT_WALL, OPEN, SUBMIT } from '../setup/guards.ts'
import {
  commit,
  keyText,
  picture,
  runOf,
  seedRun,
  seedWorker,
  submission,
  submit,
  transition,
  unique,
  VERSION,
} from '../setup/seed.ts'

describe.each(ENGINES)('commits on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it.each(COMMIT_STATE)('A3 a commit on a state that has moved on changes nothing: $name', (guard) => guard.run(store))

  it.each(COMMIT_LEASE)('L2 a worker that lost its run commits nothing: $name', (guard) => guard.run(store))

  it.each(COMMIT_BUDGET)('Q1 a commit beyond the budget changes nothing: $name', (guard) => guard.run(store))

  it.each(COMMIT_WALL)('H1 H2 a batch of several tenants moves only what each row owns: $name', (guard) =>
    guard.run(store),
  )

  it.each(CANCEL)('A4 J7 a cancel that comes too late, or for another, changes nothing: $name', (guard) =>
    guard.run(store),
  )

  it.each(SUBMIT)('A3 C5 a message to a conversation that has moved on opens nothing: $name', (guard) =>
    guard.run(store),
  )

  it.each([...CLOSE, ...OPEN])('A3 A12 a conversation is opened and closed once, by its own: $name', (guard) =>
    guard.run(store),
  )

  it('A3 the same run twice in one batch moves once', async () => {
    const key = await seedRun(store)
    const rows = [transition(key), transition(key, { messages: [], effects: [] })]
    expect(await commit(store.db, rows, { worker: key.worker })).toHaveLength(1)
    expect(await runOf(store, key)).toMatchObject({ version: VERSION + 1, commits: 1 })
  })

  it('A3 a row that cannot be written fails alone: its neighbours in the batch are committed', async () => {
    const worker = await seedWorker(store)
    const keys: Awaited<ReturnType<typeof seedRun>>[] = []
    for (let i = 0; i < 5; i++) keys.push(await seedRun(store, { worker_id: worker }))
    const rows = keys.map((key, i) => {
      const sent = transition(key)
      return i === 3 ? { ...sent, messages: sent.messages.map((m) => ({ ...m, role: 'system' })) } : sent
    })
    const before = await picture(store)
    await expect(commit(store.db, rows, { worker })).rejects.toThrow()
    expect(await picture(store)).toEqual(before)

    const sizes: number[] = []
    const send = batch<(typeof rows)[number], boolean>(async (some) => {
      sizes.push(some.length)
      const applied = await commit(store.db, some, { worker })
      return some.map((_, i) => applied.includes(i + 1))
    })
    // the first two fly at once; the other three share a batch
    const results = await Promise.allSettled(rows.map(send))
    expect(results.map((r) => (r.status === 'fulfilled' ? r.value : 'failed'))).toEqual([
      true,
      true,
      true,
      'failed',
      true,
    ])
    expect(sizes).toContain(3)
  })

  it('H2 the list of a batch is gone after the call, after an error and inside the same transaction', async () => {
    const key = await seedRun(store)
    const call = `select n from plimsoll.step('${JSON.stringify([transition(key)])}', array['${keyText(key)}'], '${key.worker}')`
    expect(await store.app(`${call}; select current_setting('app.batch', true) as list`)).toEqual([{ list: '' }])
    await expect(commit(store.db, [transition(key, { step: 'x' })], { worker: key.worker })).rejects.toThrow()
    expect(await store.app(`select nullif(current_setting('app.batch', true), '') as list`)).toEqual([{ list: null }])
  })

  it('A3 C5 of many tabs that answer to one version of a conversation one wins', async () => {
    const { session } = await seedRun(store)
    const other = await store.another()
    const rows = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const key = { tenant: 'acme', environment: 'production', run: unique('run') }
        return submit(i % 2 ? store.db : other, [submission(key, session, { session_version: 2 })])
      }),
    )
    const outcomes = rows.flat().map((row) => row.outcome)
    expect(outcomes.sort()).toEqual(['created', ...Array<string>(11).fill('version')])
  })

  it('A3 C5 of many callers that open the same conversation one creates it', async () => {
    const session = unique('ses')
    const other = await store.another()
    const rows = await Promise.all(
      Array.from({ length: 8 }, (_, i) => {
        const key = { tenant: 'acme', environment: 'production', run: unique('run') }
        return submit(i % 2 ? store.db : other, [submission(key, session)])
      }),
    )
    expect(rows.flat().filter((row) => row.outcome === 'created')).toHaveLength(1)
  })
})
