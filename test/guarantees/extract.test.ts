/**
 * Memories out of what users say, behind the back of no answer: real runs, scripted models. On one engine: the statements are
 * tried on each where the store is.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Db } from '../../src/db/port.ts'
import { Fault } from '../../src/kernel/fault.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import {
  json,
  keys,
  page,
  program as programOn,
  type Proposes,
  SAID,
  type Scene,
  someone,
  type Stage,
  stopPrograms,
  TONE,
  told,
} from '../setup/extracting.ts'
import { growing } from '../setup/growing.ts'
import { until } from '../setup/plane.ts'
import { rowsWhere } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'
import { gate } from '../setup/stage.ts'

describe('memories out of what was said', () => {
  let store: TestStore
  const program = (proposes: Proposes, scene?: Scene): Promise<Stage> => programOn(store, proposes, scene)
  beforeAll(async () => {
    store = await openStore(ENGINES[0]!)
  })
  afterEach(stopPrograms)
  afterAll(() => store.close())
  const questions = async (stage: Stage, actor: Actor) => (await stage.runtime.memory.questions(actor, page)).items

  it('E10 E4 what was said by the way is remembered when the run has ended, is given to the next conversation, and is read once', async () => {
    const stage = await program((request) =>
      told(request).includes('by the way') || told(request).includes(SAID) ? json(TONE) : json(),
    )
    const ann = someone()
    const first = await stage.say(ann, SAID)
    expect(first.end).toBe('completed')
    expect(await stage.errands(first.session)).toMatchObject([{ outcome: 'saved', attempts: 1 }])
    expect(await stage.values(ann)).toEqual(['short'])
    const [known] = (await stage.runtime.memory.list(ann, page)).items
    const why = await stage.runtime.memory.why(ann, known!.id)
    expect(JSON.stringify(why)).toContain(`${first.run}.1`)
    expect(told(stage.asked[0])).toContain(`[m1] ${SAID}`)
    expect(told(stage.asked[0])).toContain('To answer in the way that is liked.')
    // what several read is nothing that one person says by the way
    expect(told(stage.asked[0])).not.toContain('house_rule')
    await stage.say(ann, 'And nine times nine?', first)
    expect(await stage.errands(first.session, 2)).toMatchObject([{ outcome: 'saved' }, { outcome: 'nothing' }])
    expect(told(stage.asked[1])).toContain('nine times nine')
    expect(told(stage.asked[1])).not.toContain('by the way')
    expect(told(stage.asked[1])).not.toContain(SAID)
    const next = await stage.say(ann, 'Tell me about whales')
    expect(told(stage.talked.at(-1))).toContain(String.raw`tone: "short"`)
    await stage.errands(next.session)
    expect(await stage.values(ann)).toEqual(['short'])
  })

  it('E6 E4 what a key asks about is asked, and saved by nobody but the person', async () => {
    const stage = await program(() => json({ key: 'nickname', value: 'Kit', message: 'm1', quote: 'call me Kit' }))
    const ann = someone()
    const { session } = await stage.say(ann, 'You can call me Kit')
    expect(await stage.errands(session)).toMatchObject([{ outcome: 'asked' }])
    expect(await stage.values(ann)).toEqual([])
    const [question] = await questions(stage, ann)
    expect(question).toMatchObject({ key: 'nickname' })
  })

  it('E1 what was said for now is remembered by no extraction, whatever the model thinks of it', async () => {
    const stage = await program(() => json({ ...TONE, lasting: false }))
    const ann = someone()
    const one = await stage.say(ann, SAID)
    expect(await stage.errands(one.session)).toMatchObject([{ outcome: 'session' }])
    const quoted = await program(() => json({ ...TONE, quote: 'just for today keep it short' }))
    const two = await quoted.say(ann, 'Please just for today keep it short')
    expect(await quoted.errands(two.session)).toMatchObject([{ outcome: 'session' }])
    expect(await stage.values(ann)).toEqual([])
  })

  const look = tool('shelf.look@1', {
    input: z.strictObject({}),
    effect: 'read',
    approval: 'auto',
    run: () => ({ note: 'The customer collects porcelain owls.' }),
  })
  const ECHOES: readonly [what: string, quote: string][] = [
    ['an assistant', 'You told me that you love opera'],
    ['a tool', 'The customer collects porcelain owls.'],
    ['a system prompt', 'Everybody here plays chess'],
    ['a recalled memory', 'Reykjavik'],
    ['the extractor itself', 'The user adores beekeeping'],
  ]
  describe('that nobody has said', () => {
    let quote = ''
    let stage: Stage
    beforeAll(async () => {
      stage = await program(() => json({ key: 'note', value: quote, message: 'm1', quote }), {
        kept: true,
        spec: { tools: [look], instructions: 'Everybody here plays chess.' },
        talks: (request) =>
          request.messages.at(-1)?.role === 'user'
            ? { calls: [{ name: 'shelf__look', arguments: {} }] }
            : { text: 'You told me that you love opera.' },
      })
    })
    afterAll(() => stage.stop())

    it.each(ECHOES)(
      'E4 E15 BR-083 BR-087 what %s has said is quoted as the words of the user, and is no memory',
      async (_, said) => {
        quote = said
        const ann = someone()
        await stage.runtime.memory.remember(ann, { key: 'home_city', value: 'Reykjavik' })
        const { session } = await stage.say(ann, 'What is my home city, and what do you know?')
        expect(JSON.stringify(stage.talked.at(-1))).toContain('porcelain owls')
        expect(JSON.stringify(stage.talked.at(-1))).toContain('Reykjavik')
        expect(await stage.errands(session)).toMatchObject([{ outcome: 'refused' }])
        expect(await stage.values(ann)).toEqual(['Reykjavik'])
        expect(await questions(stage, ann)).toEqual([])
        expect(told(stage.asked.at(-1))).not.toContain(quote)
      },
    )
  })

  const ODD: readonly [what: string, answer: ScriptedAnswer, outcome: string, attempts: number][] = [
    ['an answer that is no list', { text: "I'm sorry, I can't help with that." }, 'invalid', 3],
    ['a list of another shape', { text: '{"memories":[{"remember":"all of it"}]}' }, 'invalid', 3],
    ['a scope that others read', json({ ...TONE, scope: 'group' }), 'invalid', 3],
    ['nothing', { text: '' }, 'failed', 3],
    ['an empty list', json(), 'nothing', 1],
    ['a quote that nobody said', json({ ...TONE, quote: 'I like long answers' }), 'refused', 1],
    ['a message that is none', json({ ...TONE, message: 'm7' }), 'refused', 1],
    ['a key that is none', json({ ...TONE, key: 'is_admin' }), 'refused', 1],
    ['a key of a group', json({ ...TONE, key: 'house_rule' }), 'refused', 1],
    ['a value of another kind', json({ ...TONE, value: { short: true } }), 'refused', 1],
  ]
  describe('from a model that is odd', () => {
    let answer: ScriptedAnswer = json()
    let stage: Stage
    beforeAll(async () => {
      stage = await program(() => answer, { kept: true })
    })
    afterAll(() => stage.stop())

    it.each(ODD)(
      'E10 D4 a model that proposes %s: nothing is remembered, and nobody feels it',
      async (_, proposed, outcome, attempts) => {
        answer = proposed
        const ann = someone()
        const said = await stage.say(ann, SAID)
        expect(said.end).toBe('completed')
        expect(await stage.errands(said.session)).toMatchObject([{ outcome, attempts }])
        expect(await stage.values(ann)).toEqual([])
      },
    )
  })

  it('E5 E4 a secret that the user has said is refused and stands nowhere but in their message', async () => {
    const secret = 'hunter2-Zx9!q'
    const stage = await program(() =>
      json({ key: 'note', value: `My password is ${secret}`, message: 'm1', quote: `My password is ${secret}` }),
    )
    const ann = someone()
    const { session } = await stage.say(ann, `My password is ${secret}. What is seven times eight?`)
    const [errand] = await stage.errands(session)
    expect(errand).toMatchObject({ outcome: 'refused' })
    for (const table of ['memory', 'memory_candidate'])
      expect(await rowsWhere(store, table, { subject_id: ann.subject })).toEqual([])
    const tables = await store.admin(
      `select table_name as t from information_schema.tables where table_schema = 'plimsoll' and table_type = 'BASE TABLE'`,
    )
    const holding: string[] = []
    for (const { t } of tables) {
      const rows = await store.admin(
        `select count(*)::int as n from plimsoll.${String(t)} x where position($1 in x::text) > 0 or position(encode(convert_to($1, 'UTF8'), 'hex') in x::text) > 0`,
        [secret],
      )
      if (rows[0]?.['n'] !== 0) holding.push(String(t))
    }
    expect(holding).toEqual(['message'])
    expect(await rowsWhere(store, 'message', { session_id: errand!.work_session })).toEqual([])
    expect(JSON.stringify(stage.errors)).not.toContain(secret)
  })

  it('D1 E10 a process that dies between the answer and its use: the next one remembers it once, and asks nobody again', async () => {
    let dead = false
    const stage = await program(() => json(TONE), {
      more: {
        fault(point) {
          if (point !== 'errand.answered') return
          dead = true
          throw new Error('killed')
        },
      },
    })
    const ann = someone()
    const { session } = await stage.say(ann, SAID)
    while (!dead) await stage.runtime.clock.sleep(15)
    await stage.stop()
    expect(await stage.values(ann)).toEqual([])
    const next = await program(() => json(TONE), { name: stage.name })
    expect(await next.errands(session)).toMatchObject([{ outcome: 'saved', attempts: 1 }])
    expect(await next.values(ann)).toEqual(['short'])
    expect([stage.asked.length, next.asked.length]).toEqual([1, 0])
  })

  it('E7 E10 what is lost after the memory was written is done again, and there is one memory', async () => {
    let lost = 0
    const db: Db = {
      ...store.db,
      write: (scope, statement, params) =>
        statement.name.startsWith('errand_endAttempt') && lost++ === 0
          ? Promise.reject(new Fault('store_unavailable'))
          : store.db.write(scope, statement, params),
    }
    const stage = await program(() => json(TONE), { more: { db } })
    const ann = someone()
    const { session } = await stage.say(ann, SAID)
    expect(await stage.errands(session)).toMatchObject([{ outcome: 'saved', attempts: 1 }])
    expect(lost).toBeGreaterThan(1)
    expect(await stage.values(ann)).toEqual(['short'])
    expect(stage.asked).toHaveLength(1)
  })

  it.each(['message', 'conversation'] as const)(
    'G2 G9 a %s that is forgotten while it is read leaves no memory, and ends the errand',
    async (what) => {
      const answering = gate()
      const ann = someone()
      const stage = await program(() => json(TONE), { pause: () => answering.opened })
      const said = await stage.say(ann, SAID)
      while (stage.asked.length === 0) await stage.runtime.clock.sleep(15)
      const forgetting =
        what === 'message'
          ? stage.runtime.memory.forgetMessage(ann, `${said.run}.1`)
          : stage.runtime.memory.forgetConversation(ann, said.session)
      await forgetting
      answering.open()
      const [errand] = await stage.errands(said.session)
      expect(errand).toMatchObject({ outcome: 'forgotten' })
      expect(await stage.values(ann)).toEqual([])
      expect(await rowsWhere(store, 'message', { session_id: errand!.work_session })).toEqual([])
      expect(await rowsWhere(store, 'session', { id: errand!.work_session })).toEqual([])
    },
  )

  it('G2 a message that was forgotten is read by no later extraction, and the rest of what was left is', async () => {
    const answering = gate()
    const stage = await program((request) => (told(request).includes('cities') ? json() : json(TONE)), {
      pause: () => answering.opened,
    })
    const ann = someone()
    const said = await stage.say(ann, SAID)
    while (stage.asked.length === 0) await stage.runtime.clock.sleep(15)
    await stage.runtime.memory.forgetMessage(ann, `${said.run}.1`)
    answering.open()
    await stage.errands(said.session)
    await stage.say(ann, 'I never liked big cities', said)
    // the range that was left is read again, from its beginning
    expect((await stage.errands(said.session, 2)).map((e) => e.outcome)).toEqual(['forgotten', 'nothing'])
    expect(told(stage.asked.at(-1))).toContain('big cities')
    expect(told(stage.asked.at(-1))).not.toContain('answers short')
    expect(await stage.values(ann)).toEqual([])
  })

  it('G2 what a memory that was forgotten came from is read by no extraction: nobody says it again in other words', async () => {
    const ann = someone()
    const [answering, prepared] = [gate(), gate()]
    const pause = async (): Promise<void> => {
      answering.open()
      await prepared.opened
    }
    const model = scripted(() => ({ text: 'Fifty-six.' }), { pause })
    const stage = await program(() => json(TONE), { spec: { model } })
    const said = await stage.runtime.submit(ann, { agent: stage.name, text: SAID })
    await answering.opened
    const evidence = { kind: 'message', message: `${said.run}.1`, quote: 'I like my answers short' } as const
    const kept = { kind: 'preference', key: 'tone', value: 'short', scope: 'user', evidence } as const
    const outcome = await growing(store.db, keys).remember(ann, kept)
    if (outcome.outcome !== 'saved') throw new Error(outcome.outcome)
    await stage.runtime.memory.forget(ann, outcome.memory)
    prepared.open()
    expect(await stage.errands(said.session)).toMatchObject([{ outcome: 'nothing' }])
    expect(stage.asked).toEqual([])
    expect(await stage.values(ann)).toEqual([])
  })

  it('G2 what was read just before it was forgotten is asked of no model, or taken away again', async () => {
    const ann = someone()
    let forget = async (): Promise<unknown> => null
    const db: Db = {
      ...store.db,
      async read(scope, statement, params) {
        const rows = await store.db.read(scope, statement, params)
        if (statement.name.startsWith('extract_extractSource')) await forget()
        return rows
      },
    }
    const stage = await program(() => json(TONE), { more: { db } })
    const text = `${SAID} I work at ${unique('Porcelain')}.`
    const said = await stage.runtime.submit(ann, { agent: stage.name, text })
    let forgotten = 0
    forget = async () => {
      if (forgotten++ === 0) await stage.runtime.memory.forgetMessage(ann, `${said.run}.1`)
    }
    const [errand] = await stage.errands(said.session)
    expect(errand).toMatchObject({ outcome: 'forgotten' })
    // the step that read it may still be at work
    const begun = () => rowsWhere(store, 'run', { session_id: errand!.work_session })
    await until(begun, (runs) => runs.length > 0)
    await until(
      async () => (await rowsWhere(store, 'session', { id: errand!.work_session })).length,
      (n) => n === 0,
    )
    expect((await begun()).every((run) => run['ended_at'] !== null)).toBe(true)
    expect(await rowsWhere(store, 'message', { session_id: errand!.work_session })).toEqual([])
    expect(await stage.values(ann)).toEqual([])
  })

  it('G8 nobody is asked about what no purpose is left for, and consent that ends meanwhile counts', async () => {
    const ann = someone()
    const silent = await program(() => json(TONE))
    await silent.runtime.memory.setConsent(ann, { purpose: '*', state: 'withdrawn' })
    const { session } = await silent.say(ann, SAID)
    expect(await silent.errands(session)).toMatchObject([{ outcome: 'no_consent', attempts: 1 }])
    expect(silent.asked).toEqual([])
    const bob = someone()
    const answering = gate()
    const stage = await program(() => json(TONE), { pause: () => answering.opened })
    const said = await stage.say(bob, SAID)
    while (stage.asked.length === 0) await stage.runtime.clock.sleep(15)
    await stage.runtime.memory.setConsent(bob, { purpose: 'To answer in the way that is liked.', state: 'withdrawn' })
    answering.open()
    expect((await stage.errands(said.session))[0]?.outcome).toMatch(/refused|forgotten/)
    expect(await stage.values(bob)).toEqual([])
  })
})
