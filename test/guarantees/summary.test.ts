/** Long conversations that are summarised behind the back of nobody: real runs, scripted models. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SummarySpec } from '../../src/context/summary.ts'
import type { RunId } from '../../src/kernel/ids.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { scopeOf } from '../../src/request/actor.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { type Play, person, play, type Said, type Scene } from '../setup/stage.ts'

const RULES = ['Do not deploy this week.', 'Never contact the customer before Friday.']
const OPENING = `The order A-1009 is late. ${RULES.join(' ')}`
const chatter = 'and then we talked about something else for a while '.repeat(12)
const GOOD = {
  text: 'The user reports that order A-1009 is late; something else was talked about for a while.',
  decisions: [],
  open_tasks: [],
  constraints: RULES.map((text) => ({ text, source_message: 'm1' })),
}
const MODEL = { id: 'small-2026', contextTokens: 20_000, maxOutputTokens: 1_000 }

/** What a summariser says, request by request; the last goes on. */
function summariser(...answers: readonly ScriptedAnswer[]) {
  const requests: ModelRequest[] = []
  const model = scripted(
    (request) => answers[Math.min(requests.push(request), answers.length) - 1] as ScriptedAnswer,
    MODEL,
  )
  return { model, requests }
}
const json = (value: object): ScriptedAnswer => ({ text: JSON.stringify(value) })

const ANSWERS: readonly [string, ScriptedAnswer, string][] = [
  ['an empty answer', { text: '' }, 'empty_final'],
  ['a blank answer', { text: '  ' }, 'empty_final'],
  ['429 without end', { fault: 'model_transient' }, 'model_unavailable'],
  ['a refusal', { text: "I'm sorry, I can't help with that." }, 'invalid_final'],
  [
    'a refusal in the right form',
    json({ ...GOOD, text: "I'm sorry, but I can't summarise this conversation." }),
    'refusal',
  ],
  ['a template', json({ ...GOOD, text: 'No prior history was found for this conversation.' }), 'template'],
  ['nothing in the right form', json({ ...GOOD, text: ' ' }), 'empty'],
  ['a summary without what was forbidden', json({ ...GOOD, constraints: [] }), 'lost_prohibition'],
  ['a number that nobody said', json({ ...GOOD, text: `${GOOD.text} It costs 420 euros.` }), 'invented_number'],
]

interface Row {
  readonly id: string
  readonly state: string
  readonly reason: string | null
  readonly from: number
  readonly to: number
  readonly size: number
}

describe.each(ENGINES)('a summary, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  const summariesOf = async (session: string): Promise<readonly Row[]> =>
    (await store.admin(
      `select id, state, reason, from_generation::int as from, to_generation::int as to, length(body) as size
       from plimsoll.summary where session_id = $1 order by created_at, id`,
      [session],
    )) as unknown as Row[]
  const errandsOf = async (session: string) =>
    store.admin(
      'select state, outcome, attempts, work_session from plimsoll.errand where session_id = $1 order by created_at',
      [session],
    )
  /** Until the conversation has so many summaries and nothing is under way. */
  async function settled(stage: Play, session: string, count: number): Promise<readonly Row[]> {
    for (;;) {
      const rows = await summariesOf(session)
      const open = (await errandsOf(session)).filter((e) => e.state !== 'done')
      if (rows.length >= count && open.length === 0) return rows
      // nobody waits for the delay between two attempts
      await store.admin(
        `update plimsoll.errand set due_at = now() where session_id = $1 and kind = 'summary' and state = 'due' and attempts > 0`,
        [session],
      )
      await stage.runtime.clock.sleep(40)
    }
  }
  async function open(summary: SummarySpec, more: Partial<Scene> = {}) {
    const requests: ModelRequest[] = []
    const model = scripted(
      (request) => {
        requests.push(request)
        return { text: chatter }
      },
      { id: 'talker', contextTokens: 8_000, maxOutputTokens: 400 },
    )
    const stage = await play(store, { model, budget: BUDGET, summary, ...more })
    return { stage, requests }
  }
  async function talk(stage: Play, turns: number, first = OPENING, before?: Said): Promise<Said> {
    let last = before
    for (let n = 0; n < turns; n += 1) {
      const text = n === 0 ? first : `And something else, number ${n}?`
      last = await stage.say(text, last && { session: last.session, sessionVersion: last.sessionVersion })
      await last.rest()
    }
    return last as Said
  }
  const told = (request: ModelRequest | undefined): string => request?.messages.map((m) => m.text).join('\n') ?? ''
  // a share that is checked again would wait for a day
  const SMALL = { above: 600, keep: 200, recheck: 0 }

  it('D1 D2 BR-104 what the user forbade is in the next context word for word, binding, and what it was made of stays', async () => {
    const { model, requests } = summariser(json(GOOD))
    const { stage, requests: asked } = await open({ model, ...SMALL })
    const before = await talk(stage, 6)
    const [row] = await settled(stage, before.session, 1)
    expect(row).toMatchObject({ state: 'verified', reason: null, from: 1 })
    expect(told(requests[0])).toContain('[m1] user: The order A-1009 is late.')
    const last = await talk(stage, 1, 'Deploy it now?', before)
    const context = told(asked.at(-1))
    for (const rule of RULES) expect(context).toContain(`- ${rule} [`)
    expect(context).toContain('binding until the user takes it back')
    expect(context).toContain('A-1009')
    expect(context).not.toContain(OPENING)
    const messages = await stage.runtime.reads.messages(person(), last.session, { after: '', limit: 50 })
    expect(messages.items[0]?.text).toBe(OPENING)
    const explained = await stage.runtime.context(person('operator'), last.run, null)
    expect(explained.left.filter((m) => m.why === 'summarised').length).toBeGreaterThan(1)
    await stage.stop()
  })

  // seconds for each: all of them on one store, and one on each
  if (!isFirst(engine)) return

  it.each(ANSWERS)(
    'D4 BR-106 BR-104 %s replaces nothing and is counted',
    { timeout: 90_000 },
    async (_, answer, reason) => {
      const { model } = summariser(answer)
      const { stage, requests } = await open({ model, ...SMALL })
      const before = await talk(stage, 6)
      // attempts that failed come again later: here, now
      const hurry = setInterval(() => {
        void store.admin(`update plimsoll.errand set due_at = now() where state = 'due'`, []).catch(() => {})
      }, 100)
      const rows = await settled(stage, before.session, 1).finally(() => clearInterval(hurry))
      expect(rows.every((r) => r.state === 'rejected' && r.reason === reason && r.size === 0)).toBe(true)
      const last = await talk(stage, 1, 'And now?', before)
      expect(await last.seen()).toMatchObject({ status: 'succeeded' })
      expect(told(requests.at(-1))).toContain(OPENING)
      const report = await stage.runtime.summaries(person('operator'))
      expect(report.find((r) => r.model === MODEL.id)?.rejected[reason]).toBeGreaterThanOrEqual(1)
      await stage.stop()
    },
  )

  it('D1 an errand is no conversation of the user, costs what a run costs, and keeps nothing of what it read', async () => {
    const { model } = summariser(json(GOOD))
    const { stage } = await open({ model, ...SMALL })
    const last = await talk(stage, 6)
    await settled(stage, last.session, 1)
    const [errand] = await errandsOf(last.session)
    expect(errand).toMatchObject({ state: 'done', outcome: 'verified', attempts: 1 })
    const [run] = (await store.admin(
      'select id, agent, status, used_tokens::int as tokens from plimsoll.run where session_id = $1',
      [errand?.work_session],
    )) as unknown as { id: RunId; agent: string; status: string; tokens: number }[]
    expect(run).toMatchObject({ agent: `${stage.name}/summary`, status: 'succeeded' })
    expect(run?.tokens).toBeGreaterThan(0)
    const { reads } = stage.runtime
    const all = { agent: '', after: '', limit: 100 }
    const mine = await reads.conversations(person(), all)
    expect(mine.items.some((c) => c.agent.includes('/'))).toBe(false)
    const runs = await reads.runs(person(), { ...all, status: '', wait: '', session: '' })
    expect(runs.items.some((r) => r.agent.includes('/'))).toBe(false)
    await expect(reads.run(person(), run!.id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await reads.run(person('operator'), run!.id)).toMatchObject({ id: run!.id })
    await expect(stage.runtime.submit(person(), { agent: `${stage.name}/summary`, text: 'Hi' })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await store.admin('select 1 from plimsoll.message where session_id = $1', [errand?.work_session])).toEqual(
      [],
    )
    await stage.stop()
  })

  it('D5 a message that is forgotten takes the summaries over it, and they are made again from what is left', async () => {
    const left = { ...GOOD, text: 'Something else was talked about for a while.', constraints: [] }
    const { model, requests } = summariser(json(GOOD), json(left))
    const { stage, requests: asked } = await open({ model, ...SMALL })
    const before = await talk(stage, 6)
    const first = (await stage.runtime.reads.messages(person(), before.session, { after: '', limit: 1 })).items[0]
    await settled(stage, before.session, 1)
    const receipt = await stage.runtime.memory.forgetMessage(person(), first!.id)
    expect(receipt.parts.find((p) => p.derivative === 'summaries')?.removed).toBeGreaterThanOrEqual(1)
    expect((await summariesOf(before.session))[0]).toMatchObject({ state: 'stale', reason: 'forgotten', size: 0 })
    const rows = await settled(stage, before.session, 2)
    expect(rows.at(-1)).toMatchObject({ state: 'verified' })
    expect(told(requests.at(-1))).not.toContain('A-1009')
    await talk(stage, 1, 'And now?', before)
    expect(told(asked.at(-1))).not.toContain('A-1009')
    expect(told(asked.at(-1))).toContain(left.text)
    await stage.stop()
  })

  it('L9 D5 what retention takes away takes the summaries of it along', async () => {
    const { model } = summariser(json(GOOD))
    const { stage } = await open({ model, ...SMALL })
    const last = await talk(stage, 6)
    await settled(stage, last.session, 1)
    const operator = person('operator', 'olga')
    await store.admin(`update plimsoll.run set ended_at = now() - interval '3 days' where session_id = $1`, [
      last.session,
    ])
    await stage.runtime.retention.set(operator, 'message', 1, 'short')
    await stage.runtime.retention.run(operator, false)
    expect((await summariesOf(last.session))[0]).toMatchObject({ state: 'stale', size: 0 })
    await stage.runtime.retention.set(operator, 'message', null, 'long')
    await stage.stop()
  })

  it('D6 a share is checked again later against the messages, and what does not hold is told by model and prompt', async () => {
    const { model } = summariser(json(GOOD))
    const { stage } = await open({ model, ...SMALL, recheck: 1 })
    const last = await talk(stage, 6)
    const id = (await untilRecheck(stage, last.session)).id
    // what it was made of is another text by then
    const [message] = await store.admin(
      'select run_id, seq from plimsoll.message where session_id = $1 order by created_at, seq limit 1',
      [last.session],
    )
    const body = { role: 'user', text: 'Something else.' }
    const { createHash } = await import('node:crypto')
    const { runtime } = stage
    await store.admin('update plimsoll.message set body = $3, content_hash = $4 where run_id = $1 and seq = $2', [
      message?.run_id,
      message?.seq,
      Buffer.from(runtime.sealer.seal('acme', Buffer.from(JSON.stringify(body)))),
      runtime.sealer.veil('acme', createHash('sha256').update(JSON.stringify(body)).digest('hex')),
    ])
    await store.admin(`update plimsoll.errand set due_at = now() where kind = 'recheck' and session_id = $1`, [
      last.session,
    ])
    for (;;) {
      const [row] = (await summariesOf(last.session)).filter((r) => r.id === id)
      if (row?.state === 'stale') break
      await runtime.clock.sleep(40)
    }
    const [told] = (await runtime.summaries(person('operator'))).filter((r) => r.model === MODEL.id)
    expect(told).toMatchObject({ prompt: 1, rechecked: expect.any(Number) as number })
    expect(told?.failed).toBeGreaterThanOrEqual(1)
    await expect(runtime.summaries(person())).rejects.toMatchObject({ code: 'permission_denied' })
    await stage.stop()
  })
  async function untilRecheck(stage: Play, session: string): Promise<Row> {
    for (;;) {
      const [row] = await summariesOf(session)
      const waits = await store.admin(`select 1 from plimsoll.errand where kind = 'recheck' and session_id = $1`, [
        session,
      ])
      if (row && waits.length > 0) return row
      await stage.runtime.clock.sleep(40)
    }
  }

  it('D1 L3 a process that dies between the answer and the summary: the next one keeps it, and asks nobody again', async () => {
    const { model, requests } = summariser(json(GOOD))
    let dead = false
    const { stage } = await open(
      { model, ...SMALL },
      {
        fault(point) {
          if (point !== 'errand.answered') return
          dead = true
          throw new Error('killed')
        },
      },
    )
    const last = await talk(stage, 6)
    while (!dead) await stage.runtime.clock.sleep(40)
    await stage.stop()
    expect(await summariesOf(last.session)).toEqual([])
    const next = await stage.again({ fault: () => {} })
    await store.admin('update plimsoll.errand set due_at = now() where session_id = $1 and done_at is null', [
      last.session,
    ])
    expect((await settled(next, last.session, 1))[0]).toMatchObject({ state: 'verified' })
    expect(requests).toHaveLength(1)
    expect(await next.runtime.runs.before(scopeOf(person()), last.session)).toMatchObject({ agent: stage.name })
    await next.stop()
  })
})

const BUDGET = { steps: 10, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
