/**
 * Memories out of what users say, behind the back of no answer: real runs, scripted models. On one engine: the statements are
 * tried on each where the store is.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { main } from '../../src/cli/program.ts'
import { plainSealer } from '../../src/db/seal.ts'
import type { Db } from '../../src/db/port.ts'
import { Fault } from '../../src/kernel/fault.ts'
import type { RunId, SessionId } from '../../src/kernel/ids.ts'
import type { Actor, ActorKind } from '../../src/kernel/scope.ts'
import { memory } from '../../src/memory/key.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { agent, type AgentSpec } from '../../src/run/agent.ts'
import type { ErrandId } from '../../src/run/errand.ts'
import { errandStore } from '../../src/run/errand.store.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { openPlane } from '../setup/plane.ts'
import { rowsWhere } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'
import { gate } from '../setup/stage.ts'

const BUDGET = { steps: 6, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
const keys = memory({
  tone: { kind: 'preference', value: z.string().max(80), purpose: 'To answer in the way that is liked.' },
  home_city: { kind: 'fact', value: z.string().max(200) },
  note: { kind: 'fact', value: z.string().max(400), cardinality: 'many', deletion: 'with_source' },
  nickname: { kind: 'fact', value: z.string(), confirm: 'ask' },
  house_rule: { kind: 'fact', value: z.string(), scopes: ['group'], sensitivity: 'none' },
})
const page = { after: '', limit: 50 }
const SAID = 'By the way, I like my answers short. What is seven times eight?'
const TONE = { key: 'tone', value: 'short', message: 'm1', quote: 'I like my answers short' }
const json = (...memories: readonly object[]): ScriptedAnswer => ({ text: JSON.stringify({ memories }) })
const told = (request: ModelRequest | undefined): string => request?.messages.map((m) => m.text).join('\n') ?? ''

type Proposes = (request: ModelRequest) => ScriptedAnswer
interface Errand {
  readonly id: string
  readonly state: string
  readonly outcome: string | null
  readonly attempts: number
  readonly work_session: string
  readonly run_id: RunId
}

describe('memories out of what was said', () => {
  let store: TestStore
  const stops: (() => Promise<void>)[] = []
  beforeAll(async () => {
    store = await openStore(ENGINES[0]!)
  })
  // a program holds the errands of agents that it does not know for a while
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  afterAll(() => store.close())

  const someone = (kind: ActorKind = 'end_user', user = unique('ann')): Actor =>
    actorFrom({ kind, tenant: 'acme', environment: 'production', user, subject: user, permissions: ['*'] })

  interface Scene {
    readonly more?: Partial<RuntimeOptions>
    readonly spec?: Partial<AgentSpec>
    readonly name?: string
    readonly talks?: Proposes
    readonly pause?: () => Promise<void>
    /** Stopped by whom it serves, and not by the end of the test. */
    readonly kept?: true
  }
  async function program(proposes: Proposes, { more = {}, spec = {}, name = unique('agent'), ...scene }: Scene = {}) {
    const asked: ModelRequest[] = []
    const talked: ModelRequest[] = []
    const errors: unknown[] = []
    const talker = scripted((request) => {
      talked.push(request)
      return scene.talks?.(request) ?? { text: 'Fifty-six.' }
    })
    const reader = scripted(
      (request) => {
        asked.push(request)
        return proposes(request)
      },
      { id: 'reader', ...(scene.pause && { pause: scene.pause }) },
    )
    const acting = agent(name, { budget: BUDGET, memory: keys, model: talker, extract: { model: reader }, ...spec })
    const runtime = createRuntime({ db: store.db, agents: [acting], ...more })
    const worker = await runtime.work({ pollMs: 20, onError: (error) => void errors.push(error) })
    const stop = () => worker.stop()
    if (!scene.kept) stops.push(stop)
    async function say(actor: Actor, text: string, before?: { session: SessionId; sessionVersion: number }) {
      const made = await runtime.submit(actor, { agent: name, text, ...before })
      for (;;) {
        const { end } = await runtime.reads.run(actor, made.run)
        if (end) return { ...made, end, session: made.session, sessionVersion: made.sessionVersion }
        await runtime.clock.sleep(15)
      }
    }
    return {
      ...{ runtime, name, asked, talked, errors, say, stop },
      values: async (actor: Actor) => (await runtime.memory.list(actor, page)).items.map((m) => m.value),
      /** Until so many errands of the conversation are done, and none is under way. */
      async errands(session: string, count = 1): Promise<readonly Errand[]> {
        for (;;) {
          const all = await errandsOf(session)
          if (all.length >= count && all.every((one) => one.state === 'done')) return all
          // nobody waits for the time between two attempts
          await store.admin(
            `update plimsoll.errand set due_at = now() where session_id = $1 and done_at is null and (tries > 0 or state = 'due')
               and due_at > now() + interval '2.5 seconds'`,
            [session],
          )
          await runtime.clock.sleep(15)
        }
      },
    }
  }
  type Stage = Awaited<ReturnType<typeof program>>
  const errandsOf = async (session: string): Promise<readonly Errand[]> =>
    (await store.admin(
      `select id, state, outcome, attempts, work_session, run_id from plimsoll.errand where session_id = $1 and kind = 'extract'
       order by from_generation, created_at`,
      [session],
    )) as unknown as Errand[]
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

  it('B7 D4 a step that throws each time is given up, told by its code alone, and leaves nothing behind', async () => {
    let reads = 0
    const db: Db = {
      ...store.db,
      read: (scope, statement, params) =>
        statement.name.startsWith('extract_extractSource') && reads++ > 0
          ? Promise.reject(new Error(`cannot read "${SAID}"`))
          : store.db.read(scope, statement, params),
    }
    const stage = await program(() => json(TONE), { more: { db } })
    const ann = someone()
    const { session } = await stage.say(ann, SAID)
    const [errand] = await stage.errands(session)
    expect(errand).toMatchObject({ outcome: 'failed', attempts: 1 })
    // one question, and as many tries of what follows the answer as there may be
    expect(reads).toBeGreaterThan(2)
    expect(reads).toBeLessThan(11)
    expect(stage.errors.length).toBeGreaterThan(0)
    expect(stage.errors.every((error) => Fault.is(error))).toBe(true)
    expect(stage.errors.map(String).join()).not.toContain('answers short')
    expect(await stage.values(ann)).toEqual([])
    expect(await rowsWhere(store, 'message', { session_id: errand!.work_session })).toEqual([])
    expect((await stage.runtime.reads.run(ann, (await stage.say(ann, 'Go on?')).run)).end).toBe('completed')
  })

  it('D1 L3 a program that does not extract leaves it to one that does, as in a release that is rolled out', async () => {
    const ann = someone()
    const stage = await program(() => json(TONE))
    const { session } = await stage.runtime.submit(ann, { agent: stage.name, text: SAID })
    await stage.stop()
    const source = {
      id: unique('ern') as ErrandId,
      kind: 'extract',
      agent: stage.name,
      session,
      from: 1,
      to: 1,
      upto: 'run.1',
    }
    await errandStore(store.db, plainSealer).open(ann, { ...source, user: ann.user, subject: ann.subject }, 0)
    // another agent of this program has errands, so it looks for them
    const old = await program(() => json())
    const held = async () => (await rowsWhere(store, 'errand', { id: source.id }))[0]
    while ((await held())?.['tries'] !== 1) await old.runtime.clock.sleep(15)
    expect(await held()).toMatchObject({ outcome: null, done_at: null })
    await old.stop()
    const next = await program(() => json(TONE), { name: stage.name })
    expect(await next.errands(session)).toMatchObject([{ outcome: 'saved' }])
    expect(await next.values(ann)).toEqual(['short'])
  })

  it('J9 D1 what an errand does is told to no sink and no endpoint, stands in no list, and stays in the books', async () => {
    const heard: string[] = []
    const publish = async ({ run }: { readonly run: string }) => void heard.push(run)
    const stage = await program(() => json(TONE), { more: { sinks: [{ name: unique('sink'), publish }] } })
    const [ann, olga] = [someone(), someone('operator')]
    await stage.runtime.endpoints.create(olga, { url: 'https://hooks.example.com/in', types: null })
    const first = await stage.say(ann, SAID)
    const [errand] = await stage.errands(first.session)
    // the sink has heard of what came later: everything before has been looked through
    const last = await stage.say(ann, 'And now?')
    while (!heard.includes(last.run)) await stage.runtime.clock.sleep(15)
    expect(heard).toContain(first.run)
    expect(heard).not.toContain(errand!.run_id)
    expect((await rowsWhere(store, 'delivery', { run_id: first.run })).length).toBeGreaterThan(0)
    expect(await rowsWhere(store, 'delivery', { run_id: errand!.run_id })).toEqual([])
    expect((await rowsWhere(store, 'event', { run_id: errand!.run_id })).length).toBeGreaterThan(1)
    expect(await rowsWhere(store, 'session', { id: errand!.work_session })).toEqual([])
    expect((await rowsWhere(store, 'ledger', { run_id: errand!.run_id })).length).toBeGreaterThan(0)
    const all = { agent: '', after: '', limit: 100 }
    const runs = await stage.runtime.reads.runs(ann, { ...all, status: '', wait: '', session: '' })
    expect(runs.items.map((r) => r.id)).toEqual([last.run, first.run])
    const conversations = await stage.runtime.reads.conversations(ann, all)
    expect(conversations.items.map((c) => c.id)).toEqual([last.session, first.session])
    await expect(stage.runtime.reads.run(ann, errand!.run_id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await stage.runtime.reads.run(olga, errand!.run_id)).toMatchObject({ agent: `${stage.name}/extract` })
    const counts = (await stage.runtime.errands(olga)).filter((one) => one.agent === stage.name)
    expect(counts).toContainEqual({ agent: stage.name, kind: 'extract', outcome: 'saved', errands: 1, attempts: 1 })
    await expect(stage.runtime.errands(ann)).rejects.toMatchObject({ code: 'permission_denied' })
  })

  it('D1 H7 operators read what became of errands over HTTP and as a command, of their tenant, and nobody else does', async () => {
    const stage = await program(() => json(TONE))
    const { session } = await stage.say(someone(), SAID)
    await stage.errands(session)
    await stage.stop()
    // where the keys of the plane are
    await store.admin(`update plimsoll.errand set environment = 'test' where session_id = $1`, [session])
    const plane = await openPlane({ db: store.db, agents: [] })
    const home = mkdtempSync(join(tmpdir(), 'plimsoll-errands-'))
    try {
      const [ann, service] = [await plane.user('ann'), await plane.service()]
      const operator = await plane.operator()
      for (const who of [ann, service])
        expect(await who.get('/ops/v1/errands')).toMatchObject({ status: 403, body: { code: 'permission_denied' } })
      expect((await (await plane.operator('globex')).get('/ops/v1/errands')).body).toEqual({ items: [] })
      const one = { agent: stage.name, kind: 'extract', outcome: 'saved', errands: 1, attempts: 1 }
      expect((await operator.get('/ops/v1/errands')).body.items).toContainEqual(one)
      const access = {
        secret: '',
        tenant: 'acme',
        environment: 'test',
        operator: operator.bearer,
        service: service.bearer,
      }
      writeFileSync(join(home, 'access.json'), JSON.stringify(access), { mode: 0o600 })
      writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url: plane.url }))
      let stdout = ''
      const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((stdout += String(text))))
      const exit = await main(['errands', '--data', home])
      out.mockRestore()
      expect(exit).toBe(0)
      expect(stdout).toMatch(new RegExp(`${stage.name} +extract +saved +1 +1`))
    } finally {
      await plane.close()
      rmSync(home, { recursive: true, force: true })
    }
  })

  it('E7 of two that open the same extraction at once, one does, however much each has seen', async () => {
    const stage = errandStore(store.db, plainSealer)
    const ann = someone()
    const source = {
      kind: 'extract',
      agent: 'a',
      session: unique('ses') as SessionId,
      user: ann.user,
      subject: ann.subject,
    }
    const opened = await Promise.all(
      [1, 2, 3].map((to) =>
        stage.open(ann, { ...source, id: unique('ern') as ErrandId, from: 1, to, upto: `run_${to}.1` }, 3_600_000),
      ),
    )
    expect(opened.filter(Boolean)).toHaveLength(1)
  })
})
