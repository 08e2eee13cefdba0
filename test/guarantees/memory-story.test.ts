/** From words in one conversation to words in the next: proposed, judged, kept, given, explained and forgotten. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/model/port.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { memory } from '../../src/memory/key.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import type { Worker } from '../../src/run/worker.shell.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { placesOf } from '../setup/places.ts'
import { unique } from '../setup/seed.ts'

const BUDGET = { steps: 4, toolCalls: 4, tokens: 100_000, costCents: 100, seconds: 60 }
const keys = memory({
  answer_language: { kind: 'preference', value: z.enum(['en', 'zh-CN']), ttlDays: 365 },
  home_city: { kind: 'fact', value: z.string().max(80) },
  legal_name: { kind: 'fact', value: z.string().max(80), impact: 'high' },
})

describe.each(ENGINES)('a memory through its life, on the %s store', (engine) => {
  let store: TestStore
  let runtime: Runtime
  let worker: Worker
  /** What the model was sent, by the question. */
  const sent = new Map<string, ModelRequest>()
  const name = unique('remembering')
  beforeAll(async () => {
    store = await openStore(engine)
    const model = scripted((request, turn) => {
      const said = request.messages.findLast((m) => m.role === 'user')?.text ?? ''
      const [, verb = '', rest = ''] = /^(\w+) (.*)$/s.exec(said) ?? []
      if (verb !== 'remember') sent.set(said, request)
      if (!['remember', 'misquote'].includes(verb) || turn > 0) return { text: 'done' }
      const proposed = JSON.parse(rest) as Record<string, string>
      if (verb === 'misquote')
        return { calls: [{ name: 'memory__remember', arguments: { ...proposed, quote: 'I have always lived there' } }] }
      return { calls: [{ name: 'memory__remember', arguments: proposed }] }
    })
    runtime = createRuntime({ db: store.db, agents: [agent(name, { model, budget: BUDGET, memory: keys })] })
    worker = await runtime.work({ pollMs: 60 })
  })
  afterAll(async () => {
    await worker.stop()
    await store.close()
  })

  const ann = (): Actor => {
    const user = unique('ann')
    const who = { kind: 'end_user', tenant: 'acme', environment: 'production', user, subject: user } as const
    return actorFrom({ ...who, permissions: ['*'] })
  }
  async function say(actor: Actor, text: string) {
    const made = await runtime.submit(actor, { agent: name, text })
    for (;;) {
      const run = await runtime.reads.run(actor, made.run)
      if (run.end) return { ...made, end: run.end }
      await runtime.clock.sleep(30)
    }
  }
  const propose = (actor: Actor, key: string, value: string, quote = value) =>
    say(actor, `remember ${JSON.stringify({ key, value, quote })}`)
  const page = { after: '', limit: 20 }
  const remembered = async (actor: Actor) => (await runtime.memory.list(actor, page)).items
  /** What a model is told of memory for a question. */
  async function given(actor: Actor, question: string): Promise<string> {
    await say(actor, question)
    const texts = sent.get(question)?.messages.flatMap((m) => (m.role === 'user' ? [m.text] : [])) ?? []
    return texts.filter((text) => text !== question).join('\n')
  }

  it('E4 F1 what a person said is remembered, given to the next conversation, and why is told', async () => {
    const actor = ann()
    const first = await propose(actor, 'home_city', 'Lyon')
    const [one] = await remembered(actor)
    expect(one).toMatchObject({ key: 'home_city', value: 'Lyon', status: 'active', integrity: 'user', version: 1 })
    const question = `In which city is my home, ${unique('q')}?`
    expect(await given(actor, question)).toContain('home_city: "Lyon"')
    const why = await runtime.memory.why(actor, one!.id)
    expect(why.sources).toMatchObject([{ kind: 'message', ref: `${first.run}.1`, quote: 'Lyon' }])
    expect(why.uses.filter((use) => use.reason === 'placed')).toMatchObject([{ rank: 1, version: 1 }])
    expect((await remembered(actor))[0]).toMatchObject({ useCount: 1 })
    // nobody else is given it, and nothing is given that has nothing to do with the question
    expect(await given(ann(), `In which city is my home, ${unique('q')}?`)).not.toContain('Lyon')
    expect(await given(actor, `Compute 7 times 8, ${unique('q')}`)).not.toContain('Lyon')
  })

  it('F1 E8 a preference is given whatever is asked, and a newer one replaces it', async () => {
    const actor = ann()
    await propose(actor, 'answer_language', 'en')
    await propose(actor, 'answer_language', 'zh-CN')
    expect(await remembered(actor)).toMatchObject([{ value: 'zh-CN', version: 2 }])
    const told = await given(actor, `Compute 7 times 8, ${unique('q')}`)
    expect(told).toContain('answer_language: "zh-CN"')
    expect(told).not.toContain('"en"')
  })

  it('E4 words that the person did not say are no evidence, whoever quotes them', async () => {
    const actor = ann()
    const { run } = await say(actor, `misquote ${JSON.stringify({ key: 'home_city', value: 'Oslo' })}`)
    expect(await runtime.reads.effects(actor, run)).toMatchObject([{ tool: 'memory.remember', status: 'settled' }])
    expect(await remembered(actor)).toEqual([])
  })

  it('E6 what has a high impact is asked about first, and exactly what was shown is saved', async () => {
    const actor = ann()
    await propose(actor, 'legal_name', 'Ann Boreas')
    expect(await remembered(actor)).toEqual([])
    const [question] = (await runtime.memory.questions(actor, page)).items
    expect(question).toMatchObject({ key: 'legal_name', status: 'pending', entry: { value: 'Ann Boreas' } })
    const at = { id: question!.id, version: question!.version }
    await expect(runtime.memory.accept(actor, { ...at, hash: 'other' })).rejects.toMatchObject({
      code: 'params_hash_differs',
    })
    const accepts = [1, 2, 3, 4].map(() => runtime.memory.accept(actor, { ...at, hash: question!.hash }))
    const all = await Promise.allSettled(accepts)
    expect(all.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
    expect(await remembered(actor)).toMatchObject([{ value: 'Ann Boreas', confirmedBy: actor.user, version: 1 }])
  })

  it('E6 a declined value is not saved, and asked again it is a new question', async () => {
    const actor = ann()
    await propose(actor, 'legal_name', 'Ann Zephyr')
    const [question] = (await runtime.memory.questions(actor, page)).items
    await runtime.memory.decline(actor, { id: question!.id, version: question!.version })
    await expect(
      runtime.memory.accept(actor, { id: question!.id, version: question!.version, hash: question!.hash }),
    ).rejects.toMatchObject({ code: 'already_decided' })
    expect(await remembered(actor)).toEqual([])
  })

  it('G2 G3 forgotten, it is in no prompt, no table of memory and no argument of the call that wrote it', async () => {
    const actor = ann()
    const canary = `Kanaria${unique('x').replace('_', '')}`
    await propose(actor, 'home_city', canary)
    const [one] = await remembered(actor)
    await runtime.memory.forget(actor, one!.id)
    expect(await given(actor, `In which city is my home, ${unique('q')}?`)).not.toContain(canary)
    // the person's own words are theirs to delete; everything that was made of them is gone
    expect(await placesOf(store, canary)).toEqual(['message.body'])
    const [message] = await store.admin(
      `select run_id || '.' || seq as id from plimsoll.message where strpos(encode(body, 'escape'), $1) > 0`,
      [canary],
    )
    await runtime.memory.forgetMessage(actor, String(message?.id))
    expect(await placesOf(store, canary)).toEqual([])
  })

  it('E7 G1 a person writes, corrects and sees the past of what is theirs', async () => {
    const actor = ann()
    const made = await runtime.memory.remember(actor, { key: 'home_city', value: 'Lyon' })
    expect(made).toMatchObject({ outcome: 'saved', change: 'created', version: 1 })
    const [one] = await remembered(actor)
    expect(one).toMatchObject({ confirmedBy: actor.user })
    expect(await runtime.memory.correct(actor, { id: one!.id, version: 1, value: 'Paris' })).toMatchObject({
      version: 2,
    })
    await expect(runtime.memory.correct(actor, { id: one!.id, version: 1, value: 'Rome' })).rejects.toMatchObject({
      code: 'precondition_failed',
    })
    const past = await runtime.memory.versions(actor, one!.id)
    expect(past.map((v) => [v.change, v.value])).toEqual([
      ['created', 'Lyon'],
      ['corrected', 'Paris'],
    ])
    expect(await given(actor, `In which city is my home, ${unique('q')}?`)).toContain('"Paris"')
    await expect(runtime.memory.remember(actor, { key: 'shoe_size', value: '42' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    const secret = await runtime.memory.remember(actor, { key: 'home_city', value: 'my password is Blue-Kite-77' })
    expect(secret).toMatchObject({ outcome: 'refused', reasons: ['password'] })
  })
})
