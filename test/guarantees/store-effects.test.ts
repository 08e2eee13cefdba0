/** Effects and the decisions that allow them: COMMIT S and the card, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { DECIDE, START_CONSENT, START_LEASE } from '../setup/effect-guards.ts'
import { WAITING } from '../setup/guards.ts'
import {
  decide,
  decision,
  ms,
  picture,
  runOf,
  seedConfirmation,
  seedEffect,
  seedRun,
  seedWorker,
  start,
  starting,
  VERSION,
} from '../setup/seed.ts'

describe.each(ENGINES)('effects on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it.each(START_LEASE)('J6 L2 no effect starts after its run has moved on: $name', (guard) => guard.run(store))

  it.each(START_CONSENT)('J1 no effect starts without its own fresh approval: $name', (guard) => guard.run(store))

  it.each(DECIDE)('J1 J2 R6 each way to decide wrongly has its own answer and changes nothing: $name', (guard) =>
    guard.run(store),
  )

  it('J1 of many that start one approved call at the same moment one starts it', async () => {
    const key = await seedRun(store)
    await seedEffect(store, key)
    const confirmation = await seedConfirmation(store, key, { status: 'approved', execute_by: ms(60_000) })
    const other = await store.another()
    const rows = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        start(i % 2 ? store.db : other, [starting(key, { confirmation })], { worker: key.worker }),
      ),
    )
    const outcomes = rows.flat().map((row) => row.outcome)
    expect(outcomes.sort()).toEqual([...Array<string>(9).fill('conflict'), 'started'])
  })

  it('H2 in a batch of starts each row has its own outcome', async () => {
    const worker = await seedWorker(store)
    const ok = await seedRun(store, { worker_id: worker })
    const canceled = await seedRun(store, { worker_id: worker, tenant_id: 'birch', cancel_cause: 'user' })
    const foreign = await seedRun(store, { worker_id: worker, tenant_id: 'birch' })
    for (const key of [ok, canceled, foreign]) await seedEffect(store, key, { approval: 'auto' })
    const rows = [canceled, { ...foreign, tenant: 'acme' }, ok].map((key) => starting(key))
    const outcomes = await start(store.db, rows, { worker })
    expect(outcomes.sort((a, b) => a.n - b.n).map((r) => r.outcome)).toEqual(['canceled', 'lease_lost', 'started'])
    expect(await runOf(store, foreign)).toMatchObject({ version: VERSION })
  })

  it('J1 A3 fifty people press at once: one decides, the others are told what was recorded', async () => {
    const key = await seedRun(store, WAITING)
    const confirmation = await seedConfirmation(store, key)
    const other = await store.another()
    const rows = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        decide(i % 2 ? store.db : other, [
          decision(key, confirmation, { approve: i % 3 === 0, actor: i % 4 ? 'ann' : 'bob' }),
        ]),
      ),
    )
    const answers = rows.flat()
    const [winner] = answers.filter((row) => row.outcome === 'decided')
    expect(answers.filter((row) => row.outcome === 'already_decided')).toHaveLength(49)
    expect(new Set(answers.map((row) => row.status))).toEqual(new Set([winner?.status]))
    expect(await runOf(store, key)).toMatchObject({ status: 'queued', version: VERSION + 1 })
    const audit = await store.admin('select from plimsoll.audit where run_id = $1', [key.run])
    expect(audit).toHaveLength(1)
  })

  it('J13 parallel calls are decided in any order, before and while their run is driven', async () => {
    const key = await seedRun(store, WAITING)
    const cards: string[] = []
    for (const position of [0, 1, 2]) cards.push(await seedConfirmation(store, key, { position }))
    const outcome = async (position: number, approve: boolean) =>
      (await decide(store.db, [decision(key, cards[position] ?? '', { approve })]))[0]?.status
    expect(await outcome(2, true)).toBe('approved')
    expect(await runOf(store, key)).toMatchObject({ status: 'queued', version: VERSION + 1 })
    expect(await outcome(0, false)).toBe('rejected')
    expect(await runOf(store, key)).toMatchObject({ status: 'queued', version: VERSION + 2 })
    await store.admin(`update plimsoll.run set status = 'running', worker_id = 'w' where id = '${key.run}'`)
    expect(await outcome(1, true)).toBe('approved')
    expect(await runOf(store, key)).toMatchObject({ status: 'running', worker_id: 'w', version: VERSION + 3 })
  })

  it('J13 one call decides several cards of one run, each once', async () => {
    const key = await seedRun(store, WAITING)
    const cards = [await seedConfirmation(store, key), await seedConfirmation(store, key, { position: 1 })]
    const rows = await decide(
      store.db,
      [...cards, ...cards].map((card) => decision(key, card)),
    )
    expect(rows.map((row) => row.outcome).sort()).toEqual(['already_decided', 'already_decided', 'decided', 'decided'])
  })

  it('J1 an error in the middle of a start leaves the approval unused', async () => {
    const key = await seedRun(store)
    await seedEffect(store, key)
    const confirmation = await seedConfirmation(store, key, { status: 'approved', execute_by: ms(60_000) })
    const before = await picture(store)
    const sent = starting(key, { confirmation, event: '!' })
    await expect(start(store.db, [sent], { worker: key.worker })).rejects.toThrow()
    expect(await picture(store)).toEqual(before)
  })
})
