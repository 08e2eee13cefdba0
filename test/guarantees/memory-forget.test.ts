/** Forgetting: hidden at once, gone everywhere in the end, and never back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plainSealer } from '../../src/db/seal.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { systemIds } from '../../src/kernel/system.shell.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import { candidateStore } from '../../src/memory/candidate.store.ts'
import type { Entry, MemoryId } from '../../src/memory/entry.ts'
import { memoryStore } from '../../src/memory/memory.store.ts'
import { tool } from '../../src/tool/define.ts'
import { placesOf } from '../setup/places.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { unique } from '../setup/seed.ts'
import { type Play, play } from '../setup/stage.ts'

const DAY = 86_400_000
/** A word that stands nowhere else. */
const canaryOf = (): string => `Kanarienvogel${unique('x').replace('_', '')}`

describe.each(ENGINES)('what is to be forgotten, on the %s store', (engine) => {
  let store: TestStore
  let stage: Play
  const change = tool('world.change@1', {
    input: z.strictObject({ word: z.string() }),
    effect: 'write',
    approval: 'auto',
    unknown: 'manual',
    commit: ({ word }) => ({ done: word }),
  })
  beforeAll(async () => {
    store = await openStore(engine)
    stage = await play(store, {
      name: 'forgetful',
      tools: [change],
      script: (request, turn) => {
        const said = request.messages.findLast((m) => m.role === 'user')?.text ?? ''
        if (turn === 0) return { calls: [{ name: change.exposedName, arguments: { word: said } }] }
        return { text: `I did what ${said} wants` }
      },
    })
  })
  afterAll(async () => {
    await stage.stop()
    await store.close()
  })

  const ann = (): Actor => {
    const name = unique('ann')
    const who = { kind: 'end_user', tenant: 'acme', environment: 'production', user: name, subject: name } as const
    return actorFrom({ ...who, permissions: ['*'] })
  }
  const operator = actorFrom({
    kind: 'operator',
    tenant: 'acme',
    environment: 'production',
    user: 'olga',
    subject: 'olga',
    permissions: ['*'],
  })
  const memories = () => memoryStore(store.db, plainSealer)
  const entryOf = (actor: Actor, value: string, more: Partial<Entry> = {}): Entry => ({
    place: { scope: 'user', id: actor.subject },
    subject: actor.subject,
    key: 'food',
    kind: 'preference',
    layer: 'semantic',
    slot: '',
    value,
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
    validFrom: 0,
    expiresAt: null,
    saidAt: Date.now() - DAY,
    sources: [{ kind: 'message', ref: `${unique('run')}.1`, role: 'evidence', run: null, quote: `I like ${value}` }],
    ...more,
  })
  async function remember(actor: Actor, value: string, more: Partial<Entry> = {}): Promise<MemoryId | null> {
    const id = systemIds.next('mem')
    const by = { audit: systemIds.next('aud'), actorKind: actor.kind, writer: actor.user, run: null, asked: null }
    const made = await memories().insert(scopeOf(actor), id, entryOf(actor, value, more), {
      ...by,
      quota: { subject: 100, tenant: 100_000 },
    })
    return made === null ? null : id
  }
  async function converse(actor: Actor, text: string) {
    const said = await stage.runtime.submit(actor, { agent: stage.name, text })
    for (;;) {
      const run = await stage.runtime.reads.run(actor, said.run)
      if (run.end) return said
      await stage.runtime.clock.sleep(30)
    }
  }
  const page = { after: '', limit: 50 }

  it('G2 G3 a memory is gone for everybody with one word, and its value from every table, with a receipt', async () => {
    const actor = ann()
    const canary = canaryOf()
    const id = (await remember(actor, canary))!
    await candidateStore(store.db, plainSealer).ask(scopeOf(actor), entryOf(actor, canary), {
      id: systemIds.next('mcd'),
      writer: actor.user,
      session: null,
      run: null,
      many: false,
      reasons: ['impact'],
      openMs: DAY,
    })
    expect((await placesOf(store, canary)).length).toBeGreaterThan(2)
    const { memory } = stage.runtime
    const receipt = await memory.forget(actor, id)
    expect(receipt.parts.filter((part) => part.error !== null)).toEqual([])
    expect((await memory.list(actor, page)).items).toEqual([])
    await expect(memory.get(actor, id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await placesOf(store, canary)).toEqual([])
    expect(receipt.doneAt).not.toBeNull()
    expect(receipt.parts.every((part) => part.doneAt !== null && part.error === null)).toBe(true)
    expect(receipt.parts.find((part) => part.derivative === 'record')?.removed).toBe(1)
    expect(await memory.deletion(actor, receipt.id)).toEqual(receipt)
    // what was said before is not remembered again, and forgetting twice is no more than once
    expect(await remember(actor, canary)).toBeNull()
    await expect(memory.forget(actor, id)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('G2 G3 a copy that somebody put back is found, taken away and counted', async () => {
    const actor = ann()
    const canary = canaryOf()
    const id = (await remember(actor, canary))!
    await stage.runtime.memory.forget(actor, id)
    await store.admin(`update plimsoll.memory_version set value = $2 where memory_id = $1`, [
      id,
      Buffer.from(plainSealer.seal('acme', Buffer.from(JSON.stringify(canary)))),
    ])
    expect(await placesOf(store, canary)).toEqual(['memory_version.value'])
    const found = await stage.runtime.memory.reconcile(operator)
    expect(found.filter((r) => r.removed > 0)).toEqual([{ derivative: 'versions', removed: 1, error: null }])
    expect(await placesOf(store, canary)).toEqual([])
    expect((await stage.runtime.memory.reconcile(operator)).filter((r) => r.removed > 0)).toEqual([])
  })

  it('G2 G3 what was drawn from a memory goes with it, and what was drawn from that', async () => {
    const actor = ann()
    const canary = canaryOf()
    const id = (await remember(actor, canary))!
    const from = (ref: string) => ({
      sources: [{ kind: 'memory', ref, role: 'evidence', run: null, quote: null }] as const,
    })
    const drawn = (await remember(actor, `mostly ${canary}`, { ...from(id), key: 'taste' }))!
    await remember(actor, `always ${canary}`, { ...from(drawn), key: 'habit' })
    const other = await remember(actor, 'tea', { key: 'drink' })
    const receipt = await stage.runtime.memory.forget(actor, id)
    expect(await placesOf(store, canary)).toEqual([])
    expect((await stage.runtime.memory.list(actor, page)).items.map((m) => m.id)).toEqual([other])
    expect(receipt.memories).toHaveLength(3)
  })

  if (!isFirst(engine)) return

  it('G8 a withdrawn purpose takes what it covers, and a given one lets it be said again', async () => {
    const actor = ann()
    const canary = canaryOf()
    await remember(actor, canary)
    const kept = await remember(actor, 'tea', { key: 'drink', purpose: 'other' })
    const receipt = await stage.runtime.memory.setConsent(actor, { purpose: 'service', state: 'withdrawn' })
    expect(receipt?.memories).toHaveLength(1)
    expect(await placesOf(store, canary)).toEqual([])
    expect((await stage.runtime.memory.list(actor, page)).items.map((m) => m.id)).toEqual([kept])
    expect(await remember(actor, canary)).toBeNull()
    await stage.runtime.memory.setConsent(actor, { purpose: 'service', state: 'granted' })
    expect(await remember(actor, canary)).not.toBeNull()
  })

  it('G9 C2 a message is gone and its place is not: the conversation can be read and goes on', async () => {
    const actor = ann()
    const canary = canaryOf()
    const said = await converse(actor, canary)
    await remember(actor, 'drawn', {
      sources: [{ kind: 'message', ref: said.message, role: 'evidence', run: said.run, quote: canary }],
    })
    await stage.runtime.memory.forgetMessage(actor, said.message)
    const { items } = await stage.runtime.reads.messages(actor, said.session, page)
    expect(items[0]).toMatchObject({ id: said.message, text: 'This message was deleted.' })
    expect(await placesOf(store, canary)).not.toContain('memory_source.quote')
    const now = await stage.runtime.reads.conversation(actor, said.session)
    const more = { agent: stage.name, text: 'and now', session: said.session, sessionVersion: now.version }
    const next = await stage.runtime.submit(actor, more)
    for (;;) {
      const run = await stage.runtime.reads.run(actor, next.run)
      if (run.end) {
        expect(run.end).toBe('completed')
        break
      }
      await stage.runtime.clock.sleep(30)
    }
    const ghost = {
      sources: [{ kind: 'message', ref: said.message, role: 'evidence', run: said.run, quote: null }] as const,
    }
    expect(await remember(actor, 'again', { ...ghost, key: 'again' })).toBeNull()
    await expect(stage.runtime.memory.forgetMessage(ann(), said.message)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('G2 G9 a message that is forgotten while a run is at work is in no further request, and the run ends', async () => {
    const actor = ann()
    const canary = canaryOf()
    const requests: string[] = []
    let [arrive, goOn] = [(): void => {}, (): void => {}]
    const arrived = new Promise<void>((resolve) => (arrive = resolve))
    const gate = new Promise<void>((resolve) => (goOn = resolve))
    const slow = tool('world.look@1', {
      input: z.strictObject({}),
      effect: 'read',
      async run() {
        arrive()
        await gate
        return { seen: true }
      },
    })
    const busy = await play(store, {
      name: unique('busy'),
      tools: [slow],
      script(request, turn) {
        requests.push(JSON.stringify(request))
        return turn === 0 ? { calls: [{ name: slow.exposedName, arguments: {} }] } : { text: 'done' }
      },
    })
    const said = await busy.runtime.submit(actor, { agent: busy.name, text: canary })
    await arrived
    expect(requests.filter((request) => request.includes(canary))).toHaveLength(1)
    const receipt = await busy.runtime.memory.forgetMessage(actor, said.message)
    expect(receipt.parts.filter((part) => part.error !== null)).toEqual([])
    goOn()
    for (;;) {
      const run = await busy.runtime.reads.run(actor, said.run)
      if (run.end) {
        expect(run.end).toBe('operator_canceled')
        break
      }
      await busy.runtime.clock.sleep(20)
    }
    expect(requests).toHaveLength(1)
    await busy.stop()
  })

  it('G9 a conversation and all that its runs were told, asked and returned is gone', async () => {
    const actor = ann()
    const canary = canaryOf()
    const said = await converse(actor, canary)
    expect((await placesOf(store, canary)).length).toBeGreaterThan(1)
    await expect(stage.runtime.memory.forgetConversation(ann(), said.session)).rejects.toMatchObject({
      code: 'not_found',
    })
    const receipt = await stage.runtime.memory.forgetConversation(actor, said.session)
    expect(receipt.doneAt).not.toBeNull()
    expect(await placesOf(store, canary)).toEqual([])
    const effects = await stage.runtime.reads.effects(actor, said.run)
    expect(effects.map((e) => [e.status, e.outcome])).toEqual([['settled', 'ok']])
    expect((await stage.runtime.reads.conversation(actor, said.session)).closedAt).not.toBeNull()
  })

  it('G9 a whole subject is gone from every table, and the ledger and the audit are not', async () => {
    const actor = ann()
    const canary = canaryOf()
    const said = await converse(actor, canary)
    await remember(actor, `${canary} too`)
    await remember(actor, `${canary} here`, { place: { scope: 'conversation', id: said.session }, key: 'here' })
    await expect(stage.runtime.memory.forgetSubject(ann(), actor.subject)).rejects.toMatchObject({ code: 'not_found' })
    const receipt = await stage.runtime.memory.forgetSubject(operator, actor.subject)
    expect(receipt.doneAt).not.toBeNull()
    expect(await placesOf(store, canary)).toEqual([])
    expect((await stage.runtime.memory.list(actor, page)).items).toEqual([])
    expect((await stage.runtime.reads.ledger(actor, said.run)).length).toBeGreaterThan(0)
  })

  it('L9 G2 a legal hold keeps what would be forgotten, and says so', async () => {
    const actor = ann()
    const id = (await remember(actor, 'tea'))!
    const hold = await stage.runtime.retention.hold(operator, actor.subject, 'a case')
    await expect(stage.runtime.memory.forget(actor, id)).rejects.toMatchObject({ code: 'legal_hold' })
    expect((await stage.runtime.memory.list(actor, page)).items).toHaveLength(1)
    await stage.runtime.retention.release(operator, hold, 'closed')
    await stage.runtime.memory.forget(actor, id)
    expect((await stage.runtime.memory.list(actor, page)).items).toEqual([])
  })

  it('G6 BR-090 the memory of another is not there: not by its id, its receipt or its history', async () => {
    const actor = ann()
    const id = (await remember(actor, 'tea'))!
    const { memory } = stage.runtime
    const stranger = ann()
    for (const look of [memory.get, memory.why, memory.versions, memory.forget])
      await expect(look(stranger, id)).rejects.toMatchObject({ code: 'not_found' })
    const receipt = await memory.forget(actor, id)
    await expect(memory.deletion(stranger, receipt.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(memory.facts(stranger, actor.subject, page)).rejects.toMatchObject({ code: 'permission_denied' })
    await expect(memory.list(operator, page)).rejects.toMatchObject({ code: 'permission_denied' })
  })

  it('G6 an export holds nothing of others, stands in the audit, and cannot be made all the time', async () => {
    const actor = ann()
    const { memory } = stage.runtime
    await remember(actor, 'tea')
    await remember(ann(), 'coffee')
    expect((await memory.export(actor)).map((one) => one.memory.value)).toEqual(['tea'])
    for (let i = 1; i < 5; i++) await memory.export(actor)
    await expect(memory.export(actor)).rejects.toMatchObject({ code: 'rate_limited' })
    const audits = await store.admin(
      `select actor from plimsoll.audit where action = 'memory.export' and target = $1`,
      [actor.subject],
    )
    expect(audits).toHaveLength(5)
  })

  it('G6 H4 an export of a member holds nothing of what others know together with them', async () => {
    const actor = ann()
    const { memory } = stage.runtime
    await remember(actor, 'tea')
    const placeId = unique('crew')
    await memory.join(operator, `group:${placeId}`, actor.user)
    const id = (await remember(ann(), 'coffee'))!
    await store.admin(
      `update plimsoll.memory set scope = 'group', scope_id = $2, subject_id = '', permission_scope = '{member}' where id = $1`,
      [id, placeId],
    )
    // it is there for the member, and is not theirs to take along
    expect((await memory.list(actor, page)).items.map((m) => m.value).sort()).toEqual(['coffee', 'tea'])
    expect((await memory.export(actor)).map((one) => one.memory.value)).toEqual(['tea'])
  })

  it('G7 an operator sees facts, and a value only with a reason that stands in the audit', async () => {
    const actor = ann()
    const id = (await remember(actor, 'tea'))!
    const { memory } = stage.runtime
    const { items } = await memory.facts(operator, actor.subject, page)
    expect(items).toMatchObject([{ id, key: 'food', subject: actor.subject }])
    expect(JSON.stringify(items)).not.toContain('tea')
    expect(await memory.reveal(operator, id, 'ticket 7')).toBe('tea')
    await expect(memory.reveal(operator, systemIds.next('mem'), 'ticket 7')).rejects.toMatchObject({
      code: 'not_found',
    })
    const audits = await store.admin(
      `select actor, reason from plimsoll.audit where action = 'memory.reveal' and target = $1`,
      [id],
    )
    expect(audits).toEqual([{ actor: 'olga', reason: 'ticket 7' }])
  })
})
