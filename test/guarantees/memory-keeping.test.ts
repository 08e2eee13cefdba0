/** What time does to memories: entries are made and swept, detectors learn, what nobody uses goes cold, what is full makes room. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSealer } from '../../src/db/seal.ts'
import { systemIds } from '../../src/kernel/system.shell.ts'
import { DETECTORS } from '../../src/memory/detect/finding.ts'
import { inspect } from '../../src/memory/detect/secretlint.shell.ts'
import { COLD_AFTER_DAYS, type Keeping, keep, rescan, rounds } from '../../src/memory/keeping.shell.ts'
import { keepingStore } from '../../src/memory/keeping.store.ts'
import { memory } from '../../src/memory/key.ts'
import { memoryStore } from '../../src/memory/memory.store.ts'
import type { Embedder } from '../../src/memory/recall/embedder.ts'
import { type Asking, placesOf } from '../../src/memory/recall/filter.ts'
import { recallStore, type RecallStore } from '../../src/memory/recall/recall.store.ts'
import { sourceStore } from '../../src/memory/source.store.ts'
import { z } from '../../src/index.ts'
import { createRuntime } from '../../src/runtime.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { consolidatingOn } from '../setup/growing.ts'
import { placesOf as wordsIn } from '../setup/places.ts'
import { until } from '../setup/plane.ts'
import { asking, type Made, maker, scopeFor } from '../setup/recall.ts'
import { change, insert, ms, rowsWhere } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'

const DAY = 86_400_000
const never = new AbortController().signal

/** One number per theme, as an embedder would say. */
const embedder: Embedder = {
  id: 'themes',
  dimensions: 2,
  floor: 0.5,
  embed: (texts) =>
    Promise.resolve(texts.map((text) => Float32Array.of(...(/boat|sail/.test(text) ? [1, 0] : [0, 1])))),
}

describe.each(ENGINES)('memories that are looked after, on the %s store', (engine) => {
  let store: TestStore
  let recall: RecallStore
  let make: (over?: Made) => Promise<string>
  let parts: Keeping
  beforeAll(async () => {
    store = await openStore(engine)
    recall = recallStore(store.db, plainSealer, 'lexer')
    make = maker(store, recall)
    const registry = memory({ city: { kind: 'fact', value: z.string() } })
    parts = {
      store: keepingStore(store.db, plainSealer),
      indexing: { sources: sourceStore(store.db, plainSealer), recall },
      registry,
      growing: consolidatingOn(store.db, registry),
      inspect,
      embedder: null,
      ids: systemIds,
    }
  })
  afterAll(() => store.close())

  /** A tenant of its own, so that each test has all of its walls to itself. */
  const someone = () => {
    const [tenant, user] = [unique('tenant'), unique('person')]
    return { tenant, user, scope: scopeFor({ tenant, user }) }
  }
  const of = ({ tenant, user }: { tenant: string; user: string }) => ({ tenant, user })
  const walls = ({ tenant }: { tenant: string }) => ({ tenant, environment: 'production' })
  const statusOf = async (id: string) => (await rowsWhere(store, 'memory', { id }))[0]?.status
  const found = async (who: ReturnType<typeof someone>, text: string, over: Partial<Asking> = {}) =>
    (await recall.recall(who.scope, asking({ text, places: placesOf(who.scope, {}), ...over }))).memories
  const listed = (who: ReturnType<typeof someone>) =>
    memoryStore(store.db, plainSealer).list(
      who.scope,
      { subject: who.user, user: who.user, scopes: ['owner'] },
      { after: '', limit: 10 },
    )

  it('F3 BR-099 an entry that is missing is made, and one that nothing stands behind is swept', async () => {
    const who = someone()
    const lost = await make({ ...of(who), text: 'I keep bees in Lyon' })
    const ghost = await make({ ...of(who), text: 'I keep bees in Oslo' })
    await recall.unindex(who.scope, lost)
    await change(store, 'memory', { id: ghost }, { status: 'deleted', deleted_at: ms(0) })
    expect((await found(who, 'bees'))[0]?.relevance ?? 0).toBe(0)
    await keep(parts, walls(who), true, never)
    expect((await found(who, 'bees')).map((m) => [m.id, m.relevance > 0])).toEqual([[lost, true]])
    expect(await rowsWhere(store, 'memory_entry', { memory_id: ghost })).toEqual([])
    expect(await rowsWhere(store, 'memory_term', { memory_id: ghost })).toEqual([])
  })

  it('F1 F3 vectors are made where they are missing, of another version or of another model', async () => {
    const who = someone()
    const id = await make({ ...of(who), text: 'my boat' })
    const vector = async () => (await rowsWhere(store, 'memory_vector', { memory_id: id }))[0]
    await keep({ ...parts, embedder }, walls(who), false, never)
    expect(await vector()).toMatchObject({ model: 'themes', dimensions: 2 })
    await keep({ ...parts, embedder: { ...embedder, id: 'later' } }, walls(who), false, never)
    expect(await vector()).toMatchObject({ model: 'later' })
    await change(store, 'memory', { id }, { version: 2 })
    await keep({ ...parts, embedder: { ...embedder, id: 'later' } }, walls(who), false, never)
    expect(Number((await vector())?.version)).toBe(2)
  })

  it('E5 a detector that has learnt bars what was stored before, at once and for every reader', async () => {
    const who = someone()
    const secret = 'Blue-Kite-77'
    const bad = await make({ ...of(who), text: `the staging DB password is ${secret}`, detectors: 0 })
    const good = await make({ ...of(who), text: 'I live in Lyon', detectors: 0 })
    expect(await rescan(parts, walls(who))).toBe(2)
    expect([await statusOf(bad), await statusOf(good)]).toEqual(['barred', 'active'])
    const detectors = (await rowsWhere(store, 'memory', { tenant_id: who.tenant })).map((row) => row.detectors)
    expect(detectors).toEqual([DETECTORS, DETECTORS])
    expect((await found(who, 'staging password')).map((m) => m.id)).toEqual([good])
    expect((await listed(who)).find((m) => m.id === bad)).toMatchObject({ status: 'barred', value: null })
    const by = { audit: systemIds.next('aud'), actor: 'olga', reason: 'ticket 7' }
    expect(await memoryStore(store.db, plainSealer).reveal(who.scope, bad as never, by)).toBeNull()
    const audits = await rowsWhere(store, 'audit', { tenant_id: who.tenant })
    expect(audits).toMatchObject([{ action: 'memory.bar', target: bad, outcome: 'barred' }])
    expect(JSON.stringify(audits)).not.toContain(secret)
    // what the detectors of today have seen is not read again
    expect(await rescan(parts, walls(who))).toBe(0)
  })

  it('E5 what is found in the past of a memory or in the words that it cites goes, and the memory stays', async () => {
    const who = someone()
    const canary = 'Kestrel-8813x'
    const id = await make({ ...of(who), text: 'I live in Lyon', detectors: 0, version: 1 })
    const sealed = (text: string) => plainSealer.seal(who.tenant, Buffer.from(text))
    const at = { tenant_id: who.tenant, environment: 'production', memory_id: id }
    const past = { value_hash: '', user_id: who.user, change: 'created', integrity: 'user', confidence: 1 }
    const spoken = `my password is ${canary}`
    await insert(store, 'memory_version', {
      ...at,
      ...past,
      version: 0,
      value: sealed(JSON.stringify(spoken)),
      valid_from: ms(0),
    })
    await insert(store, 'memory_source', {
      ...at,
      kind: 'message',
      ref: 'run_x.1',
      role: 'evidence',
      version: 1,
      quote: sealed(spoken),
    })
    expect(await wordsIn(store, canary)).toEqual(['memory_source.quote', 'memory_version.value'])
    await rescan(parts, walls(who))
    expect(await statusOf(id)).toBe('active')
    expect(await wordsIn(store, canary)).toEqual([])
    expect(await rowsWhere(store, 'audit', { target: id })).toMatchObject([{ action: 'memory.bar', outcome: 'cut' }])
  })

  it('E5 a detector that fails leaves everything unseen for the next time, and says no word of it', async () => {
    const who = someone()
    const id = await make({ ...of(who), text: 'the password is Blue-Kite-77', detectors: 0 })
    const failed = await rescan({ ...parts, inspect: () => Promise.resolve({ ok: false }) }, walls(who)).catch(String)
    expect(failed).toMatch(/detector/i)
    expect(failed).not.toContain('Blue-Kite')
    expect((await rowsWhere(store, 'memory', { id }))[0]).toMatchObject({ detectors: 0, status: 'active' })
  })

  it('E12 what nobody has used for as long as its kind allows goes cold, comes back when it is named, and is active once used', async () => {
    const who = someone()
    const past = ms(-(COLD_AFTER_DAYS.fact + 1) * DAY)
    const old = await make({ ...of(who), text: 'parcel ORDER-4711', recorded_at: past, valid_from: past })
    const used = await make({ ...of(who), text: 'parcel ORDER-4712', recorded_at: past, last_used_at: ms(-DAY) })
    const fresh = await make({ ...of(who), text: 'parcel ORDER-4713', recorded_at: ms(-DAY) })
    await keep(parts, walls(who), false, never)
    expect([await statusOf(old), await statusOf(used), await statusOf(fresh)]).toEqual(['cold', 'active', 'active'])
    expect((await found(who, 'which parcel')).map((m) => m.id)).not.toContain(old)
    expect((await found(who, 'where is ORDER-4711'))[0]).toMatchObject({ id: old, status: 'cold' })
    const use = { memory: old, version: 1, rank: 1, score: 1, reason: 'placed' }
    await memoryStore(store.db, plainSealer).recordUses(who.scope, unique('run'), [use])
    expect(await statusOf(old)).toBe('active')
    await keep(parts, walls(who), false, never)
    expect(await statusOf(old)).toBe('active')
  })

  it('E12 F3 E5 a worker does all of this by itself', async () => {
    const who = someone()
    const lost = await make({ ...of(who), text: 'I keep bees in Lyon' })
    await recall.unindex(who.scope, lost)
    const old = await make({ ...of(who), text: 'I once sailed' })
    const at = ms(-(COLD_AFTER_DAYS.fact + 1) * DAY)
    await change(store, 'memory', { id: old }, { recorded_at: at, last_used_at: at })
    const secret = await make({ ...of(who), text: 'the staging DB password is Blue-Kite-77', detectors: 0 })
    const runtime = createRuntime({ db: store.db, agents: [] })
    const worker = await runtime.work({ pollMs: 10 })
    try {
      await until(
        async () => [(await found(who, 'bees'))[0]?.id, await statusOf(old), await statusOf(secret)],
        (now) => now[0] === lost && now[1] === 'cold' && now[2] === 'barred',
      )
    } finally {
      await worker.stop()
    }
  })

  it('H7 E12 a round comes to every tenant, and one that fails keeps nobody else from their turn', async () => {
    const [first, second] = [someone(), someone()]
    const [bad, lost] = [
      await make({ ...of(first), text: 'x y', detectors: 0 }),
      await make({ ...of(second), text: 'bees' }),
    ]
    await recall.unindex(second.scope, lost)
    const failing: Keeping = {
      ...parts,
      inspect: (of) => (of.value === 'x y' ? Promise.resolve({ ok: false }) : inspect(of)),
    }
    const failures: unknown[] = []
    const turn = rounds(failing, (error) => failures.push(error))
    while ((await turn(false, never)) === 'more');
    expect(failures.map(String).filter((text) => /detector/i.test(text))).toHaveLength(failures.length)
    expect(failures).not.toEqual([])
    expect(await recall.unindexed(second.scope, 10)).toEqual([])
    await change(store, 'memory', { id: bad }, { detectors: 1 })
  })
})
