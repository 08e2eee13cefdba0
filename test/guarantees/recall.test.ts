/** Who finds which memories, in which order, whatever the index holds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSealer } from '../../src/db/seal.ts'
import { placesOf, filterOf, type Asking } from '../../src/memory/recall/filter.ts'
import { indexOf } from '../../src/memory/recall/index-text.ts'
import { recallStore, type RecallStore } from '../../src/memory/recall/recall.store.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { asking, type Made, maker, scopeFor } from '../setup/recall.ts'
import { change, insert, ms } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'

const QUESTION = 'Which city do I live in?'

describe.each(ENGINES)('recall on %s', (engine) => {
  let store: TestStore
  let recall: RecallStore
  let make: (over?: Made) => Promise<string>
  beforeAll(async () => {
    store = await openStore(engine)
    recall = recallStore(store.db, plainSealer, 'lexer')
    make = maker(store, recall)
  })
  afterAll(() => store.close())

  const found = async (
    who: { tenant?: string; environment?: string; user: string; subject?: string },
    over: Partial<Asking> = {},
  ) => {
    const scope = scopeFor(who)
    const { memories } = await recall.recall(scope, asking({ text: QUESTION, places: placesOf(scope, {}), ...over }))
    return memories.map(({ id }) => id as string)
  }
  const someone = () => unique('person')

  it('F2 H6 BR-088 the same words in another tenant, environment or subject are never found', async () => {
    const [user, other, tenant] = [someone(), someone(), unique('tenant')]
    const mine = await make({ user, text: 'I live in the city of Lyon' })
    await make({ user: other, text: 'I live in the city of Oslo' })
    await make({ user, tenant, text: 'I live in the city of Rome' })
    await make({ user, environment: 'test', text: 'I live in the city of Bern' })
    expect(await found({ user })).toEqual([mine])
    expect(await found({ user, tenant })).not.toContain(mine)
    expect(await found({ user, environment: 'test' })).toHaveLength(1)
    // asking for the place of somebody else is asking for nothing
    expect(await found({ user: other }, { places: [`user:${user}`] })).toEqual([])
  })

  /** Each makes one dimension say no; everything else would let the memory through. */
  const REFUSALS: readonly (readonly [string, Made, Partial<Asking>])[] = [
    ['a permission that the caller has not', { permission_scope: '{medical}' }, {}],
    ['a caller without any permission', {}, { scopes: [] }],
    ['another purpose', { purpose: 'ads' }, {}],
    ['a time that has not come', { valid_from: ms(60_000) }, {}],
    ['an end that has come', { expires_at: ms(-1) }, {}],
    ['too little confidence', { confidence: 0.2 }, { filter: filterOf({ purposes: ['service'], confidence: 0.5 }) }],
    ['more sensitivity than asked for', { sensitivity: 'special' }, {}],
    ['a source that nobody trusts', { integrity: 'untrusted' }, {}],
    ['another kind', { kind: 'task' }, { filter: filterOf({ purposes: ['service'], kinds: ['fact'] }) }],
    ['another layer', { layer: 'session' }, { filter: filterOf({ purposes: ['service'], layers: ['semantic'] }) }],
    ['a detector that bars it', { status: 'barred' }, {}],
    ['an authority that says no', { status: 'invalid' }, {}],
    ['long disuse', { status: 'cold' }, {}],
    ['its deletion', { status: 'deleted', deleted_at: ms(0) }, {}],
  ]
  it.each(REFUSALS)(
    'F2 one reason is enough to be left out, whatever the words: %s',
    async (_reason, over, question) => {
      const user = someone()
      const plain = await make({ user, text: QUESTION })
      const refused = await make({ user, text: QUESTION, ...over })
      const ids = await found({ user }, question)
      expect(ids).not.toContain(refused)
      if (question.scopes?.length !== 0) expect(ids).toEqual([plain])
    },
  )

  it.each(['service', '*'])(
    'F2 a subject that has withdrawn its consent to %s is not remembered from that statement on',
    async (purpose) => {
      const user = someone()
      const id = await make({ user, text: QUESTION })
      expect(await found({ user })).toEqual([id])
      const key = { tenant_id: 'acme', environment: 'production', subject_id: user, purpose }
      await insert(store, 'consent', { ...key, state: 'withdrawn', basis: 'explicit', decided_by: user })
      expect(await found({ user })).toEqual([])
      await change(store, 'consent', key, { state: 'granted' })
      expect(await found({ user })).toEqual([id])
    },
  )

  it('F2 a missing scope, no places, and a filter with an unknown field are refused, and never mean "all"', async () => {
    const user = someone()
    await make({ user, text: QUESTION })
    for (const over of [{ places: [] }, { k: 0 }, { k: 1.5 }, { k: 10_000 }])
      await expect(found({ user }, over)).rejects.toMatchObject({ code: 'invalid_request' })
    const nobody = { ...scopeFor({ user }), subject: '' }
    await expect(recall.recall(nobody, asking({ places: ['tenant:'] }))).rejects.toMatchObject({
      code: 'invalid_request',
    })
    for (const filter of [
      {},
      null,
      { purposes: ['service'], user_id: user },
      { purposes: ['service'], kinds: [] },
      { purposes: 7 },
    ])
      expect(() => filterOf(filter)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })

  it('F3 BR-097 BR-099 a deleted memory whose terms were put back comes out nowhere and takes no place', async () => {
    const who = { user: someone(), tenant: unique('tenant') }
    const scope = scopeFor(who)
    const ghosts = await Promise.all([1, 2, 3].map(() => make({ ...who, text: QUESTION })))
    const live = await make({ ...who, text: 'Lyon is nice' })
    const rows = await store.admin(
      `select tenant_id, environment, place, term::text as term, memory_id, version, tf, length from plimsoll.memory_term where memory_id = any ($1::text[])`,
      [ghosts],
    )
    for (const id of ghosts) {
      await change(store, 'memory', { tenant_id: who.tenant, id }, { status: 'deleted', deleted_at: ms(0) })
      expect(await recall.unindex(scope, id)).toBeGreaterThan(1)
    }
    expect(await store.admin(`select from plimsoll.memory_term where memory_id = any ($1::text[])`, [ghosts])).toEqual(
      [],
    )
    for (const row of rows) await insert(store, 'memory_term', row)
    expect(await found(who, { k: 3 })).toEqual([live])
    expect(await recall.byKeys(scope, ['city'], asking({ places: placesOf(scope, {}) }))).toMatchObject({ eligible: 1 })
    expect(await recall.sweep(scope)).toMatchObject({ terms: rows.length })
    expect(await found(who)).toEqual([live])
  })

  it('F3 an entry of an older version has no part in the ranking, and indexing an older version is refused', async () => {
    const user = someone()
    const scope = scopeFor({ user })
    const stale = await make({ user, text: QUESTION })
    const other = await make({ user, text: 'a city' })
    await change(store, 'memory', { tenant_id: 'acme', id: stale }, { version: 2 })
    expect(await found({ user })).toEqual([other, stale])
    expect(await recall.unindexed(scope, 1_000)).toContainEqual({ id: stale, version: 2 })
    const entry = indexOf({ text: QUESTION })
    expect(await recall.index(scope, { id: stale, version: 1 }, entry)).toBe('stale')
    expect(await recall.index(scope, { id: stale, version: 2 }, entry)).toBe('indexed')
    expect(await recall.index(scope, { id: 'mem_none', version: 1 }, entry)).toBe('gone')
    expect(await found({ user })).toEqual([stale, other])
  })

  it('F3 two who index one memory at once leave the terms of one of them, and no others', async () => {
    const user = someone()
    const scope = scopeFor({ user })
    const id = await make({ user, text: 'first' })
    const another = await store.another()
    const second = recallStore(another, plainSealer, 'lexer')
    for (let round = 0; round < 10; round++) {
      const texts = [`left ${round} apple`, `right ${round} pear`]
      await Promise.all(
        [recall, second].map((who, at) => who.index(scope, { id, version: 1 }, indexOf({ text: texts[at] ?? '' }))),
      )
      const [row] = await store.admin(
        `select (select array_agg(term order by term) from plimsoll.memory_term where memory_id = $1) =
           (select array_agg(u order by u) from plimsoll.memory_entry e, unnest(e.terms) u where memory_id = $1) as same`,
        [id],
      )
      expect(row).toEqual({ same: true })
    }
  })

  it('F1 k rows come back, or all there are, and the order is total: relevance, confidence, last use, id', async () => {
    const user = someone()
    const text = 'nothing of that'
    const late = await make({ user, text, last_used_at: ms(-1_000) })
    const never = await Promise.all([1, 2, 3].map(() => make({ user, text })))
    const early = await make({ user, text, last_used_at: ms(-9_000) })
    const sure = await make({ user, text, confidence: 1 })
    const hit = await make({ user, text: 'the city of Lyon', confidence: 0.1 })
    const expected = [hit, sure, late, early, ...never.sort()]
    expect(await found({ user }, { k: 200 })).toEqual(expected)
    for (let k = 1; k <= expected.length; k++) expect(await found({ user }, { k })).toEqual(expected.slice(0, k))
    const again = await Promise.all(Array.from({ length: 10 }, () => found({ user }, { k: 200 })))
    expect(new Set(again.map(String)).size).toBe(1)
  })

  it('F1 what the application asks for by key is found without any word, under the same filter', async () => {
    const user = someone()
    const scope = scopeFor({ user })
    const id = await make({ user, text: 'x', key: 'answer_language' })
    const cold = await make({ user, text: 'x', key: 'home_airport', status: 'cold' })
    await make({ user: someone(), text: 'x', key: 'answer_language' })
    await make({ user, text: 'x', key: 'diagnosis', permission_scope: '{medical}' })
    const byKeys = async (...names: string[]) =>
      (await recall.byKeys(scope, names, asking({ places: placesOf(scope, {}) }))).memories.map((m) => m.id as string)
    expect(await byKeys('answer_language')).toEqual([id])
    expect(await byKeys('home_airport')).toEqual([cold])
    expect(await byKeys('diagnosis', 'unknown')).toEqual([])
  })

  it('F2 what has gone cold comes back for its key or an exact identifier, and for nothing like it', async () => {
    const user = someone()
    const cold = await make({ user, text: 'the parcel A-1009 was late', status: 'cold' })
    expect(await found({ user }, { text: 'where is the late parcel?' })).toEqual([])
    expect(await found({ user }, { text: 'where is A-1010, the parcel?' })).toEqual([])
    expect(await found({ user }, { text: 'where is a-1009?' })).toEqual([cold])
    expect(await found({ user }, { text: 'where?', keys: ['city'] })).toEqual([cold])
  })

  it('H3 H4 a question in a group sees what the group shares to its members, and nothing personal', async () => {
    const [ann, bob, group] = [someone(), someone(), unique('group')]
    const personal = await make({ user: ann, text: QUESTION })
    const shared = await make({ user: bob, scope: 'group', scope_id: group, text: QUESTION })
    const seat = { tenant_id: 'acme', environment: 'production', place: `group:${group}`, user_id: ann }
    const inGroup = () =>
      found({ user: ann }, { places: placesOf(scopeFor({ user: ann }), { group, projects: ['p'] }) })
    expect(await inGroup()).toEqual([])
    await insert(store, 'member', seat)
    expect(await inGroup()).toEqual([shared])
    expect(await found({ user: ann })).toEqual([personal])
    await change(store, 'member', seat, { left_at: ms(0) })
    expect(await inGroup()).toEqual([])
  })

  it('F2 the memories of a conversation are for its owner, and those of the tenant for everybody in it', async () => {
    const [ann, bob, session] = [someone(), someone(), unique('ses')]
    const owner = {
      tenant_id: 'acme',
      environment: 'production',
      id: session,
      agent: 'support',
      version: 1,
      generation: 1,
    }
    await insert(store, 'session', { ...owner, user_id: ann, subject_id: ann })
    const said = await make({ user: ann, scope: 'conversation', scope_id: session, text: QUESTION })
    const known = await make({
      user: ann,
      subject_id: '',
      scope: 'tenant',
      scope_id: '',
      text: 'every city',
      key: unique('key'),
    })
    const at = { places: [`conversation:${session}`, 'tenant:'] }
    expect(await found({ user: ann }, at)).toEqual([said, known])
    expect(await found({ user: bob }, at)).toEqual([known])
  })

  it('H6 a hidden memory changes no order and no score of those that are seen', async () => {
    const user = someone()
    const scope = scopeFor({ user })
    for (const text of ['city of Lyon', 'I live here', 'a city to live in']) await make({ user, text })
    const ask = () => recall.recall(scope, asking({ text: QUESTION, places: placesOf(scope, {}) }))
    const before = await ask()
    for (let i = 0; i < 5; i++) await make({ user, text: 'city city live', permission_scope: '{medical}' })
    expect(await ask()).toEqual(before)
  })
})
