/**
 * What is asked keeps what it comes from, and a word counts for exactly that. Statements of questions are tried on every engine
 * by the store's own tests; what is told here rests on them, so it is told on one.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plainSealer } from '../../src/db/seal.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { systemIds } from '../../src/kernel/system.shell.ts'
import type { Candidate } from '../../src/memory/candidate.ts'
import type { MemoryId } from '../../src/memory/entry.ts'
import { forgetStore } from '../../src/memory/forget.store.ts'
import { keepingStore } from '../../src/memory/keeping.store.ts'
import { memory } from '../../src/memory/key.ts'
import { scopeOf } from '../../src/request/actor.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { growing, settledCall, someone, told } from '../setup/growing.ts'
import { agentOf, until } from '../setup/plane.ts'
import { change, insert, ms, rowsWhere } from '../setup/rows.ts'

const keys = memory({
  fix: { kind: 'experience', value: z.string(), scopes: ['user', 'project', 'tenant'] },
  lesson: { kind: 'experience', value: z.string(), scopes: ['user', 'project', 'tenant'] },
  nickname: { kind: 'fact', value: z.string(), confirm: 'ask' },
  drink: { kind: 'fact', value: z.string(), cardinality: 'many', ttlDays: 30 },
  payout: { kind: 'fact', value: z.string(), authority: 'bank', confirm: 'ask' },
})
const page = { after: '', limit: 50 }

describe(`what waits for a word, on the ${ENGINES[0]} store`, () => {
  let store: TestStore
  let runtime: Runtime
  let grow: ReturnType<typeof growing>
  beforeAll(async () => {
    store = await openStore(ENGINES[0]!)
    runtime = createRuntime({
      db: store.db,
      agents: [agentOf('grower', { model: scripted('refund-demo'), memory: keys })],
    })
    grow = growing(store.db, keys)
  })
  afterAll(() => store.close())

  const fromCall = (ref: string, value: string, scope: Candidate['scope'] = 'user'): Candidate => ({
    ...{ kind: 'experience', key: 'fix', value, scope },
    evidence: { kind: 'call', ref },
  })
  const drawn = (ids: readonly string[], value: string, scope: Candidate['scope'] = 'user'): Candidate => ({
    ...{ kind: 'experience', key: 'lesson', value, scope },
    evidence: { kind: 'memory', ids },
  })
  const said = (message: string, value: string, key = 'nickname'): Candidate => ({
    ...{ kind: 'fact', key, value, scope: 'user' },
    evidence: { kind: 'message', message, quote: `call me ${value}` },
  })
  async function only(actor: Actor) {
    const { items } = await runtime.memory.questions(actor, page)
    expect(items).toHaveLength(1)
    return items[0]!
  }
  async function yes(actor: Actor) {
    const { id, version, hash } = await only(actor)
    return runtime.memory.accept(actor, { id, version, hash })
  }
  const sourcesOf = async (actor: Actor, outcome: { outcome: string; memory?: string }) =>
    (await grow.parts.memories.sources(scopeOf(actor), outcome.memory as never)).map((s) => [s.role, s.kind, s.ref])

  it('E6 E9 a question about what a call returned is answered with that call as its source', async () => {
    const ann = someone()
    const ref = await settledCall(store, ann, { fix: 'Restart the printer' })
    expect(await grow.remember(ann, fromCall(ref, 'Restart the printer'))).toMatchObject({ outcome: 'asked' })
    const done = await yes(ann)
    expect(done).toMatchObject({ outcome: 'saved', change: 'created' })
    expect(await sourcesOf(ann, done as never)).toEqual([['evidence', 'call', ref]])
    expect((await runtime.memory.list(ann, page)).items).toMatchObject([
      { value: 'Restart the printer', integrity: 'user', confirmedBy: ann.user, consentBasis: 'confirmed' },
    ])
  })

  it('G2 E4 a word brings nothing back whose call is forgotten, or returned something else', async () => {
    const ann = someone()
    const ref = await settledCall(store, ann, { fix: 'Restart the printer' })
    await grow.remember(ann, fromCall(ref, 'Restart the printer'))
    await change(store, 'effect', { run_id: ref.split('/')[0] }, { forgotten_at: ms(0) })
    expect(await yes(ann)).toEqual({ outcome: 'refused', reasons: ['evidence_missing'] })
    expect((await runtime.memory.list(ann, page)).items).toEqual([])
  })

  it('E9 G2 a question drawn from memories keeps its lineage, and closes without a word when one of them is gone', async () => {
    const ann = someone()
    const made = []
    for (const value of ['Restart the printer', 'Restart the scanner']) {
      await grow.remember(ann, fromCall(await settledCall(store, ann, { fix: value }), value))
      made.push(((await yes(ann)) as { memory: string }).memory)
    }
    await grow.remember(ann, drawn(made, 'Restart what does not answer'))
    const done = await yes(ann)
    expect(done).toMatchObject({ outcome: 'saved' })
    expect(await sourcesOf(ann, done as never)).toEqual(made.sort().map((id) => ['evidence', 'memory', id]))

    await grow.remember(ann, drawn(made, 'Wait before you restart'))
    const open = await only(ann)
    await runtime.memory.forget(ann, made[0] as never)
    expect(await runtime.memory.question(ann, open.id)).toMatchObject({ status: 'superseded', entry: null })
    expect(await rowsWhere(store, 'memory_candidate', { id: open.id })).toMatchObject([{ body: Buffer.alloc(0) }])
    expect((await runtime.memory.list(ann, page)).items.map((m) => m.value)).toEqual(['Restart the scanner'])
  })

  it('E14 E6 a question about what an authority said is answered with that authority as its source', async () => {
    const ann = someone()
    const authority = { name: 'bank', ref: 'acc_1', value: 'DE-1' }
    const candidate: Candidate = {
      ...{ kind: 'fact', key: 'payout', value: 'DE-1', scope: 'user', requiresConfirmation: true },
      evidence: { kind: 'authority', ref: 'acc_1' },
    }
    expect(await grow.remember(ann, candidate, { authority })).toMatchObject({ outcome: 'asked' })
    const done = await yes(ann)
    expect(await sourcesOf(ann, done as never)).toEqual([['evidence', 'authority', 'acc_1']])
  })

  it('E6 what its person has declined is asked again only when it is said again', async () => {
    const ann = someone()
    const first = await told(store, ann, 'Please call me Kit', 60_000)
    expect(await grow.remember(ann, said(first, 'Kit'))).toMatchObject({ outcome: 'asked' })
    const { id, version } = await only(ann)
    await runtime.memory.decline(ann, { id, version })
    expect(await grow.remember(ann, said(first, 'Kit'))).toEqual({ outcome: 'refused', reasons: ['declined'] })
    const older = await told(store, ann, 'You may call me Kit', 90_000)
    expect(await grow.remember(ann, said(older, 'Kit'))).toEqual({ outcome: 'refused', reasons: ['declined'] })
    expect((await runtime.memory.questions(ann, page)).items).toEqual([])
    // another value is another question, and the same one for somebody else is theirs
    expect(await grow.remember(ann, said(await told(store, ann, 'call me Kai'), 'Kai'))).toMatchObject({
      outcome: 'asked',
    })
    const bob = someone('end_user', ann.tenant)
    expect(await grow.remember(bob, said(await told(store, bob, 'call me Kit'), 'Kit'))).toMatchObject({
      outcome: 'asked',
    })
    const later = await told(store, ann, 'Do call me Kit', -60_000)
    expect(await grow.remember(ann, said(later, 'Kit'))).toMatchObject({ outcome: 'asked' })
  })

  it.skipIf(ENGINES[0] !== 'postgres')(
    'E6 E8 who asks again while it is declined waits for the no, and asks nothing',
    async () => {
      const ann = someone()
      const message = await told(store, ann, 'Please call me Kit')
      await grow.remember(ann, said(message, 'Kit'))
      const { id } = await only(ann)
      const wall = `select set_config('app.tenant', '${ann.tenant}', true), set_config('app.environment', 'production', true)`
      const no = `update plimsoll.memory_candidate set status = 'declined', version = 2, body = '', decided_at = now() where id = '${id}'`
      const open = await store.hold(`${wall}; ${no}`)
      const again = grow.remember(ann, said(message, 'Kit'))
      await until(
        () =>
          store.admin("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"),
        (waiting) => waiting.length > 0,
      )
      await open.commit()
      expect(await again).toEqual({ outcome: 'refused', reasons: ['declined'] })
      expect((await runtime.memory.questions(ann, page)).items).toEqual([])
    },
  )

  it('E15 E6 what several would read is asked of whom it came from and of operators, who see it with a reason', async () => {
    const ann = someone()
    const [bob, olga] = [someone('end_user', ann.tenant), someone('operator', ann.tenant)]
    const at = { tenant_id: ann.tenant, environment: 'production', place: 'project:printers' }
    for (const user of [ann.user, bob.user]) await insert(store, 'member', { ...at, user_id: user })
    for (const value of ['Restart the printer', 'Turn it off']) {
      const ref = await settledCall(store, ann, { fix: value })
      const asked = await grow.remember(ann, fromCall(ref, value, 'project'), { placeId: 'printers' })
      expect(asked).toMatchObject({ outcome: 'asked' })
      if (value === 'Restart the printer') expect(await yes(ann)).toMatchObject({ outcome: 'saved' })
    }
    expect((await runtime.memory.questions(bob, page)).items).toEqual([])
    await expect(runtime.memory.questions(olga, page)).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(runtime.memory.sharedQuestions(ann, page)).rejects.toMatchObject({ code: 'permission_denied' })
    const [blank, ...more] = (await runtime.memory.sharedQuestions(olga, page)).items
    expect(more).toEqual([])
    expect(blank).toMatchObject({ entry: null, hash: '', subject: '' })
    const reveal = (actor: Actor) => runtime.memory.revealQuestion(actor, blank!.id, 'ticket 7')
    await expect(reveal(bob)).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(reveal(someone('operator'))).rejects.toMatchObject({ code: 'not_found' })
    const { hash, version, entry } = await reveal(olga)
    expect(entry?.value).toBe('Turn it off')
    expect(await rowsWhere(store, 'audit', { target: blank!.id })).toMatchObject([{ action: 'memory.reveal' }])
    const wrong = runtime.memory.acceptShared(olga, { id: blank!.id, version, hash: 'other' })
    await expect(wrong).rejects.toMatchObject({ code: 'params_hash_differs' })
    expect(await runtime.memory.acceptShared(olga, { id: blank!.id, version, hash })).toMatchObject({
      outcome: 'saved',
    })
    expect((await runtime.memory.list(bob, page)).items.map((m) => m.confirmedBy).sort()).toEqual(
      [ann.user, olga.user].sort(),
    )
  })

  it('E9 an operator draws from what a project knows, and a member carries nothing from one project into another', async () => {
    const ann = someone()
    const olga = someone('operator', ann.tenant)
    const at = { tenant_id: ann.tenant, environment: 'production', user_id: ann.user }
    for (const place of ['project:printers', 'project:payroll']) await insert(store, 'member', { ...at, place })
    const ref = await settledCall(store, ann, { fix: 'Restart the printer' })
    await grow.remember(ann, fromCall(ref, 'Restart the printer', 'project'), { placeId: 'printers' })
    const { memory: id } = (await yes(ann)) as { memory: string }
    const into = (actor: Actor, placeId: string) =>
      grow.remember(actor, drawn([id], 'Restart it', 'project'), { placeId })
    expect(await into(ann, 'payroll')).toEqual({ outcome: 'refused', reasons: ['lineage_broken'] })
    expect(await into(ann, 'printers')).toMatchObject({ outcome: 'asked' })
    expect(await into(olga, 'payroll')).toMatchObject({ outcome: 'asked' })
  })

  it('E9 what is drawn from memories never takes the place of one of them', async () => {
    const ann = someone()
    await grow.remember(ann, fromCall(await settledCall(store, ann, 'Restart'), 'Restart'))
    const { memory: id } = (await yes(ann)) as { memory: string }
    const again: Candidate = { ...drawn([id], 'Restart'), key: 'fix' }
    expect(await grow.remember(ann, again)).toEqual({ outcome: 'refused', reasons: ['draws_on_itself'] })
    expect(await sourcesOf(ann, { outcome: '', memory: id })).toMatchObject([['evidence', 'call', expect.anything()]])
  })

  it('G2 E12 what was forgotten does not come back by what calls returned before', async () => {
    const ann = someone()
    const ref = await settledCall(store, ann, 'Restart', 60_000)
    await grow.remember(ann, fromCall(ref, 'Restart'))
    const { memory: id } = (await yes(ann)) as { memory: string }
    const by = { audit: systemIds.next('aud'), actorKind: 'end_user', actor: ann.user } as const
    expect(await forgetStore(store.db, plainSealer).entombMemory(scopeOf(ann), id, by, true)).toBe(true)
    expect(await grow.remember(ann, fromCall(ref, 'Restart'))).toEqual({ outcome: 'refused', reasons: ['forgotten'] })
    expect((await runtime.memory.questions(ann, page)).items).toEqual([])
  })

  it.each(['forgotten', 'corrected'] as const)(
    'G2 E13 of a memory that is %s, what was drawn from it and from that is out of use at once, and nobody is asked about it',
    async (what) => {
      const ann = someone()
      await grow.remember(ann, said(await told(store, ann, 'call me Kit'), 'Kit'))
      const chain = [((await yes(ann)) as { memory: string }).memory]
      for (const value of ['Names are short', 'Names matter']) {
        await grow.remember(ann, drawn([chain.at(-1)!], value))
        chain.push(((await yes(ann)) as { memory: string }).memory)
      }
      await grow.remember(ann, drawn([chain.at(-1)!], 'Ask for names'))
      const open = await only(ann)
      const [first] = (await runtime.memory.list(ann, page)).items.filter((m) => m.id === chain[0])
      const by = { audit: systemIds.next('aud'), actorKind: 'end_user', actor: ann.user } as const
      if (what === 'forgotten')
        expect(await forgetStore(store.db, plainSealer).entombMemory(scopeOf(ann), first!.id, by, true)).toBe(true)
      else
        expect(
          await runtime.memory.correct(ann, { id: first!.id, version: first!.version, value: 'Kat' }),
        ).toMatchObject({ outcome: 'saved', change: 'corrected' })
      for (const id of chain.slice(1))
        expect(await rowsWhere(store, 'memory', { id })).toMatchObject([{ status: 'invalid' }])
      expect(await rowsWhere(store, 'memory_candidate', { id: open.id })).toMatchObject([
        { status: 'superseded', body: Buffer.alloc(0) },
      ])
    },
  )

  describe('an echo of words that were said once', () => {
    const drinks = (message: string, value: string): Candidate => ({
      ...{ kind: 'fact', key: 'drink', value, scope: 'user' },
      evidence: { kind: 'message', message, quote: `I drink ${value}` },
    })
    async function remembered(actor: Actor) {
      const message = await told(store, actor, 'I drink tea')
      const done = await grow.remember(actor, drinks(message, 'tea'))
      if (done.outcome !== 'saved') throw new Error(done.outcome)
      const rows = async () => [
        await rowsWhere(store, 'memory', { id: done.memory }),
        await rowsWhere(store, 'memory_version', { memory_id: done.memory }),
        await rowsWhere(store, 'memory_source', { memory_id: done.memory }),
      ]
      return { id: done.memory, echo: () => grow.remember(actor, drinks(message, 'tea')), rows }
    }
    const values = async (actor: Actor) => (await runtime.memory.list(actor, page)).items.map((m) => m.value)

    it('E9 E4 BR-087 makes nothing stronger and lets nothing last longer, however often it is heard', async () => {
      const { id, echo, rows } = await remembered(someone())
      const before = await rows()
      for (let turn = 0; turn < 6; turn++)
        expect(await echo()).toMatchObject({ outcome: 'saved', memory: id, version: 1, change: 'merged' })
      expect(await rows()).toEqual(before)
    })

    it.each(['invalid', 'expired'] as const)(
      'E13 E9 brings nothing back that is %s; the same words said anew do',
      async (what) => {
        const ann = someone()
        const { id, echo } = await remembered(ann)
        const over = what === 'invalid' ? { status: 'invalid' } : { valid_from: ms(-9_000), expires_at: ms(-1_000) }
        await change(store, 'memory', { id }, over)
        expect(await echo()).toEqual({ outcome: 'refused', reasons: ['corrected'] })
        expect(await rowsWhere(store, 'memory', { id })).toMatchObject([{ version: 1 }])
        expect(await grow.remember(ann, drinks(await told(store, ann, 'I drink tea', 0), 'tea'))).toMatchObject({
          outcome: 'saved',
          memory: id,
        })
        expect(await values(ann)).toEqual(['tea'])
      },
    )

    it('E13 does not undo what its person has corrected since; the person may', async () => {
      const ann = someone()
      const { id, echo } = await remembered(ann)
      expect(await runtime.memory.correct(ann, { id, version: 1, value: 'coffee' })).toMatchObject({
        change: 'corrected',
      })
      expect(await echo()).toEqual({ outcome: 'refused', reasons: ['corrected'] })
      expect(await values(ann)).toEqual(['coffee'])
      // of somebody else, and said later, it is news
      const bob = someone('end_user', ann.tenant)
      await grow.remember(bob, drinks(await told(store, bob, 'I drink tea'), 'tea'))
      expect(await values(bob)).toEqual(['tea'])
      await grow.remember(ann, drinks(await told(store, ann, 'I drink tea', -1_000), 'tea'))
      expect([...(await values(ann))].sort()).toEqual(['coffee', 'tea'])
    })

    it('E13 E6 asks nobody about what its person has corrected since', async () => {
      const ann = someone()
      const message = await told(store, ann, 'call me Kit')
      await grow.remember(ann, said(message, 'Kit'))
      const { memory: id } = (await yes(ann)) as { memory: MemoryId }
      await runtime.memory.correct(ann, { id, version: 1, value: 'Kat' })
      await grow.remember(ann, said(message, 'Kit'))
      expect((await runtime.memory.questions(ann, page)).items).toEqual([])
      expect(await values(ann)).toEqual(['Kat'])
      expect(await rowsWhere(store, 'memory', { id })).toMatchObject([{ version: 2 }])
    })
  })

  it('G8 E6 a withdrawn consent closes what is asked for it, and nothing is asked for it any more', async () => {
    const ann = someone()
    await grow.remember(ann, said(await told(store, ann, 'call me Kit'), 'Kit'))
    const { id, entry } = await only(ann)
    await runtime.memory.setConsent(ann, { purpose: entry!.purpose, state: 'withdrawn' })
    expect((await runtime.memory.questions(ann, page)).items).toEqual([])
    expect(await rowsWhere(store, 'memory_candidate', { id })).toMatchObject([{ body: Buffer.alloc(0) }])
    const again = await grow.remember(ann, said(await told(store, ann, 'call me Kat', 0), 'Kat'))
    expect(again).toEqual({ outcome: 'refused', reasons: ['no_consent'] })
    expect(await rowsWhere(store, 'memory_candidate', { subject_id: ann.subject, status: 'pending' })).toEqual([])
  })

  it('E6 G5 a question that nobody answered in time has no value any more and stands in nobody’s way', async () => {
    const ann = someone()
    const message = await told(store, ann, 'call me Kit')
    await grow.remember(ann, said(message, 'Kit'))
    const { id } = await only(ann)
    await change(store, 'memory_candidate', { id }, { expires_at: ms(-1_000) })
    const walls = { tenant: ann.tenant, environment: 'production' }
    expect(await keepingStore(store.db, plainSealer).expire(walls)).toBe(1)
    expect(await rowsWhere(store, 'memory_candidate', { id })).toMatchObject([
      { status: 'expired', body: Buffer.alloc(0) },
    ])
    await grow.remember(ann, said(message, 'Kit'))
    const second = await only(ann)
    expect(second.id).not.toBe(id)
    // and without anybody who looks after it meanwhile
    await change(store, 'memory_candidate', { id: second.id }, { expires_at: ms(-1_000) })
    await grow.remember(ann, said(message, 'Kit'))
    expect((await only(ann)).id).not.toBe(second.id)
  })

  it('E13 G5 a question ends with what it asks about: a word for what is over brings nothing back', async () => {
    const ann = someone()
    const until = Date.now() + 3_600_000
    const asks = async (value: string, more: Partial<Candidate>) =>
      grow.remember(ann, { ...fromCall(await settledCall(store, ann, { fix: value }), value), ...more })
    await asks('Restart it', { expiresAt: new Date(until).toISOString() })
    await asks('Wait for it', {})
    const { items } = await runtime.memory.questions(ann, page)
    const endsOf = (value: string) => items.find((q) => q.entry?.value === value)?.expiresAt ?? Number.NaN
    expect(endsOf('Restart it')).toBeLessThan(until + 60_000)
    // what stands for good is asked about for longer
    expect(endsOf('Wait for it')).toBeGreaterThan(until + 60_000)
  })

  it('E15 H4 a user with the name that the program goes by, and a member who has left, see no question of a shared place', async () => {
    const ann = someone()
    const [olga, named] = [someone('operator', ann.tenant), someone('end_user', ann.tenant, 'plimsoll')]
    const program = someone('operator', ann.tenant, 'plimsoll')
    const at = { tenant_id: ann.tenant, environment: 'production', place: 'project:printers' }
    for (const user of [ann.user, 'plimsoll']) await insert(store, 'member', { ...at, user_id: user })
    for (const who of [ann, program]) {
      const value = `Restart what ${who.user} sees`
      const ref = await settledCall(store, who, { fix: value })
      expect(await grow.remember(who, fromCall(ref, value, 'project'), { placeId: 'printers' })).toMatchObject({
        outcome: 'asked',
      })
    }
    expect((await runtime.memory.questions(named, page)).items).toEqual([])
    expect((await runtime.memory.sharedQuestions(olga, page)).items).toHaveLength(2)
    const { id, version } = await only(ann)
    await runtime.memory.leave(someone('service', ann.tenant), 'project:printers', ann.user)
    expect((await runtime.memory.questions(ann, page)).items).toEqual([])
    await expect(runtime.memory.decline(ann, { id, version })).rejects.toMatchObject({ code: 'not_found' })
  })
})
