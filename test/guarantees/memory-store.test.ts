/** Memories in the store: one current version, whoever writes; what was forgotten, withdrawn or left behind stays so. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Db } from '../../src/db/port.ts'
import { plainSealer } from '../../src/db/seal.ts'
import type { Scope } from '../../src/kernel/scope.ts'
import { systemIds } from '../../src/kernel/system.shell.ts'
import { scopeOf } from '../../src/request/actor.ts'
import { candidateStore } from '../../src/memory/candidate.store.ts'
import type { Change, Entry, MemoryId } from '../../src/memory/entry.ts'
import { memoryStore, valueMark, type Writing } from '../../src/memory/memory.store.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { person } from '../setup/stage.ts'
import { unique } from '../setup/seed.ts'

const DAY = 86_400_000

const said = (by: Partial<Writing> = {}): Writing => ({
  audit: systemIds.next('aud'),
  actorKind: 'end_user',
  writer: 'ann',
  run: null,
  asked: null,
  ...by,
})
const quota = { subject: 100, tenant: 10_000 }

describe.each(ENGINES)('what is remembered, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  const on = (db: Db = store.db) => ({
    memories: memoryStore(db, plainSealer),
    candidates: candidateStore(db, plainSealer),
  })
  /** A place of its own for each test. */
  function place(more: Partial<Entry> = {}) {
    const subject = unique('ann')
    const scope = scopeOf(person('end_user', subject))
    const entry = (value: unknown, also: Partial<Entry> = {}): Entry => ({
      place: { scope: 'user', id: subject },
      subject,
      key: 'food',
      kind: 'preference',
      layer: 'semantic',
      slot: '',
      value: value as string,
      permissionScope: ['owner'],
      integrity: 'user',
      confidentiality: 'subject',
      confidence: 0.8,
      importance: 0.5,
      sensitivity: 'personal',
      purpose: 'service',
      consentBasis: 'explicit',
      confirmedBy: null,
      authority: null,
      detectors: 1,
      validFrom: Date.now(),
      expiresAt: null,
      saidAt: Date.now() + DAY,
      sources: [{ kind: 'message', ref: `${unique('run')}.1`, role: 'evidence', run: null, quote: 'words' }],
      ...more,
      ...also,
    })
    const viewer = { subject, user: subject, scopes: ['owner', 'member'] }
    const list = async () => (await on().memories.list(scope, viewer, { after: '', limit: 50 })).map((m) => m.value)
    const make = async (value: unknown, also: Partial<Entry> = {}, by: Partial<Writing> = {}) => {
      const id = systemIds.next('mem')
      const version = await on().memories.insert(scope, id, entry(value, also), { ...said(by), quota })
      return version === null ? null : id
    }
    const change = (id: MemoryId, version: number, how: Change, value: unknown, also: Partial<Entry> = {}) =>
      on().memories.change(scope, { id, version, change: how }, entry(value, also), said())
    return { scope, subject, entry, viewer, list, make, change }
  }
  const forget = (scope: Scope, entry: Entry, at = Date.now()) =>
    store.admin(
      `insert into plimsoll.tombstone (tenant_id, kind, id, environment, created_at)
       values ($1, 'memory_value', $2, $3, to_timestamp($4::float8 / 1000))`,
      [scope.tenant, valueMark(plainSealer, scope.tenant, entry), scope.environment, at],
    )

  it('E8 BR-079 a contradiction makes one current version and one past one, neither none nor two', async () => {
    const { scope, make, change, list } = place()
    const id = (await make('I love durian'))!
    expect(await change(id, 1, 'superseded', 'I cannot stand durian')).toBe(2)
    expect(await list()).toEqual(['I cannot stand durian'])
    const versions = await on().memories.versions(scope, id)
    expect(versions.map((v) => [v.version, v.change, v.value])).toEqual([
      [1, 'created', 'I love durian'],
      [2, 'superseded', 'I cannot stand durian'],
    ])
    expect((await on().memories.sources(scope, id)).map((s) => [s.version, s.quote])).toEqual([
      [1, 'words'],
      [2, 'words'],
    ])
  })

  it('E8 BR-081 of many writers of one key at once one is current, and the others are told', async () => {
    const { scope, subject, make, entry, list } = place()
    const other = on(await store.another())
    const first = await Promise.all(
      [...Array(8).keys()].map((n) =>
        (n % 2 ? other : on()).memories.insert(scope, systemIds.next('mem'), entry(`v${n}`), { ...said(), quota }),
      ),
    )
    expect(first.filter((v) => v !== null)).toEqual([1])
    const current = (await on().memories.current(scope, entry('')))!
    const next = await Promise.all(
      [...Array(8).keys()].map((n) =>
        (n % 2 ? other : on()).memories.change(
          scope,
          { id: current.id, version: 1, change: 'superseded' },
          entry(`w${n}`),
          said(),
        ),
      ),
    )
    expect(next.filter((v) => v !== null)).toEqual([2])
    expect(await list()).toHaveLength(1)
    expect(await make('late')).toBeNull()
    expect(await on().memories.whyNot(scope, entry('late'), subject)).toBe('exists')
    expect((await on().memories.versions(scope, current.id)).map((v) => v.version)).toEqual([1, 2])
  })

  it('E8 BR-103 a fact from before the current one goes into the past, whatever came first', async () => {
    const { scope, make, change, list } = place()
    const id = (await make('Berlin', { validFrom: Date.parse('2024-03-09T00:00+08:00') }))!
    expect(await change(id, 1, 'late', 'Paris', { validFrom: Date.parse('2023-01-05T00:00+08:00') })).toBe(2)
    expect(await list()).toEqual(['Berlin'])
    const past = await on().memories.versions(scope, id)
    expect(past.at(-1)).toMatchObject({
      change: 'late',
      value: 'Paris',
      validFrom: Date.parse('2023-01-05T00:00+08:00'),
    })
    expect(past.at(-1)!.recordedAt).toBeGreaterThan(Date.parse('2026-01-01'))
  })

  it('E9 a repetition adds its source and never raises what a memory is trusted for', async () => {
    const { scope, viewer, make, change } = place({ integrity: 'untrusted' })
    const id = (await make('tea'))!
    await change(id, 1, 'merged', 'tea', { integrity: 'trusted', confidence: 0.9 })
    const [found] = await on().memories.list(scope, viewer, { after: '', limit: 9 })
    expect(found).toMatchObject({ value: 'tea', version: 2, integrity: 'untrusted', confidence: expect.closeTo(0.9) })
    expect(await on().memories.sources(scope, id)).toHaveLength(2)
  })

  it('G3 a forgotten value comes back only when it is said again', async () => {
    const { scope, subject, make, entry, list } = place()
    const before = { saidAt: Date.now() - DAY }
    await forget(scope, entry('secret taste'))
    expect(await make('secret taste', before)).toBeNull()
    expect(await on().memories.whyNot(scope, entry('secret taste', before), subject)).toBe('forgotten')
    expect(await list()).toEqual([])
    expect(await make('secret taste', { saidAt: Date.now() + DAY })).not.toBeNull()
  })

  it('G3 G9 a message that was deleted is no source any more', async () => {
    const { scope, make, change, entry, subject } = place()
    const ref = `${unique('run')}.3`
    const sources = [{ kind: 'message', ref, role: 'evidence', run: null, quote: null }] as const
    const id = (await make('tea', { sources }))!
    await store.admin(
      `insert into plimsoll.tombstone (tenant_id, kind, id, environment) values ($1, 'message', $2, $3)`,
      [scope.tenant, ref, scope.environment],
    )
    expect(await change(id, 1, 'superseded', 'coffee', { sources })).toBeNull()
    expect(await make('milk', { sources, key: 'drink' })).toBeNull()
    expect(await on().memories.whyNot(scope, entry('milk', { sources, key: 'drink' }), subject)).toBe('forgotten')
  })

  it('G8 without consent nothing is written, and what its purpose covers is named', async () => {
    const { scope, subject, make, entry } = place()
    const id = (await make('tea'))!
    const by = { audit: systemIds.next('aud'), actorKind: 'end_user', actor: subject } as const
    await on().candidates.setConsent(scope, subject, { purpose: 'service', state: 'withdrawn', basis: 'asked' }, by)
    expect(await make('milk', { key: 'drink' })).toBeNull()
    expect(await on().memories.whyNot(scope, entry('milk', { key: 'drink' }), subject)).toBe('no_consent')
    expect(await on().candidates.affected(scope, subject, 'service')).toEqual([id])
    expect(await on().candidates.affected(scope, subject, 'advertising')).toEqual([])
    const again = { ...by, audit: systemIds.next('aud') }
    await on().candidates.setConsent(scope, subject, { purpose: 'service', state: 'granted', basis: 'asked' }, again)
    expect(await make('milk', { key: 'drink' })).not.toBeNull()
  })

  it('H4 who has left a group neither reads nor writes there from the next statement on', async () => {
    const group = unique('group:g')
    const { scope, subject, make, list, viewer } = place({ place: { scope: 'group', id: group.slice(6) }, subject: '' })
    const by = (n: string) => ({ audit: systemIds.next('aud'), actorKind: 'service', actor: n }) as const
    expect(await make('atlas', {}, { writer: subject })).toBeNull()
    await on().candidates.join(scope, group, subject, by('svc'))
    expect(await make('atlas', {}, { writer: subject })).not.toBeNull()
    expect(await list()).toEqual(['atlas'])
    expect(await on().candidates.leave(scope, group, subject, by('svc'))).toBe(true)
    expect(await list()).toEqual([])
    expect(await make('boreas', { key: 'other' }, { writer: subject })).toBeNull()
    expect(viewer.scopes).toContain('member')
  })

  it('E11 a full place takes nothing more, and says so', async () => {
    const { scope, subject, entry, make } = place()
    await make('tea')
    const full = { ...said(), quota: { subject: 1, tenant: 10_000 } }
    const more = entry('milk', { key: 'drink' })
    expect(await on().memories.insert(scope, systemIds.next('mem'), more, full)).toBeNull()
    expect(await on().memories.whyNot(scope, more, subject)).toBe('full')
  })

  it('F2 an empty list of scopes sees nothing, and neither does another subject', async () => {
    const { scope, viewer, make } = place()
    await make('tea')
    const { memories } = on()
    const page = { after: '', limit: 9 }
    expect(await memories.list(scope, viewer, page)).toHaveLength(1)
    expect(await memories.list(scope, { ...viewer, scopes: [] }, page)).toEqual([])
    expect(await memories.list(scope, { ...viewer, scopes: ['member'] }, page)).toEqual([])
    expect(await memories.list(scope, { ...viewer, subject: 'bob' }, page)).toEqual([])
    expect(await memories.list({ ...scope, tenant: 'birch' }, viewer, page)).toEqual([])
  })

  it('E6 of accepting and declining at once one counts, and the memory is there exactly when it was accepted', async () => {
    for (let round = 0; round < 6; round++) {
      const { scope, subject, entry, list, viewer } = place()
      const id = systemIds.next('mcd')
      const asking = { id, writer: subject, session: null, run: null, many: false, reasons: ['impact'], openMs: DAY }
      expect(await on().candidates.ask(scope, entry('boreas'), asking)).toBe(id)
      const other = on(await store.another())
      const by = { audit: systemIds.next('aud'), actorKind: 'end_user', actor: subject } as const
      const asked = { id, version: 1 }
      const accept = (memories: ReturnType<typeof on>['memories']) =>
        memories.insert(scope, systemIds.next('mem'), entry('boreas'), { ...said({ asked }), quota })
      const [accepted, declined] = await Promise.all([
        accept(on().memories),
        other.candidates.decline(scope, asked, by),
      ])
      expect([accepted !== null, declined].filter(Boolean)).toHaveLength(1)
      expect(await list()).toEqual(accepted === null ? [] : ['boreas'])
      const now = await on().candidates.get(scope, viewer, id)
      expect(now).toMatchObject({ status: accepted === null ? 'declined' : 'accepted', entry: null })
      expect(await accept(on().memories)).toBeNull()
    }
  })

  it('E6 asked twice about one value it is one question, and a newer value replaces an unanswered one', async () => {
    const { scope, subject, entry, viewer } = place()
    const asking = () => ({
      id: systemIds.next('mcd'),
      writer: subject,
      session: null,
      run: null,
      many: false,
      reasons: ['impact'],
      openMs: DAY,
    })
    const { candidates } = on()
    const [a, b] = await Promise.all([1, 2].map(() => candidates.ask(scope, entry('boreas'), asking())))
    expect(a).toBe(b)
    const c = (await candidates.ask(scope, entry('zephyr'), asking()))!
    expect((await candidates.list(scope, viewer, { after: '', limit: 9 })).map((q) => q.id)).toEqual([c])
    expect(await candidates.get(scope, viewer, a!)).toMatchObject({ status: 'superseded', entry: null })
    expect(await candidates.get(scope, { subject: 'somebody', user: 'somebody' }, c)).toBeNull()
  })
})
