import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Model } from '../../src/model/port.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { compiled } from '../setup/compiled.ts'
import { durable, type Heard, type Listener, listenTo } from '../setup/listen.ts'
import {
  agentOf,
  ended,
  ENGINES,
  openPlane,
  openStore,
  type Person,
  person,
  type Plane,
  SECRET,
  type Store,
  until,
} from '../setup/plane.ts'
import { createHttpServer } from '../../src/http/server.ts'

const LONG = 'All of this is said in small pieces, so that whoever listens hears more than one of them.'

describe.each(ENGINES)('event streams on the %s store', (engine) => {
  let store: Store
  let plane: Plane
  let ann: Person
  let release: () => void = () => {}
  let turns = 0
  beforeAll(async () => {
    store = await openStore(engine)
    const look = tool('stock.look@1', {
      input: {
        type: 'object',
        properties: { page: { type: 'integer' } },
        required: ['page'],
        additionalProperties: false,
      },
      effect: 'read',
      run: () => ({ items: [] }),
    })
    const busy = scripted((request, turn) =>
      turn < 10 ? { calls: [{ name: request.tools[0]?.name ?? '', arguments: { page: turn } }] } : { text: LONG },
    )
    const wait = new Promise<void>((resolve) => (release = resolve))
    const held = scripted(() => ({ text: LONG }), {
      async pause(signal) {
        turns += 1
        if (turns < 4) return
        await Promise.race([
          wait,
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          ),
        ])
      },
    })
    const budget = { steps: 20, toolCalls: 20, tokens: 200_000, costCents: 5_000, seconds: 300 }
    plane = await openPlane({
      db: store.db,
      agents: [agentOf('busy', { model: busy, tools: [look], budget }), agentOf('held', { model: held })],
    })
    ann = await plane.user('ann')
  })
  afterAll(async () => {
    release()
    await plane?.close()
    await store?.close()
  })

  const talk = async (agent: string): Promise<string> =>
    (await ann.post('/v1/runs', { body: { agent, text: 'go' } })).body.id

  it('K4 twenty events: dropped in the middle and resumed, each durable event comes once (BR-137)', async () => {
    const run = await talk('busy')
    const whole = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    expect(whole.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(whole.headers.get('x-content-type-options')).toBe('nosniff')
    await whole.over
    const ids = durable(whole.heard)
    expect(ids.length).toBeGreaterThanOrEqual(20)
    expect(ids).toEqual(ids.map((_, i) => i + 1))
    expect(whole.heard.at(-1)).toMatchObject({ event: 'run_ended', data: { status: 'succeeded', text: LONG } })
    const jsons = (await ann.get(`/v1/runs/${run}/events?after=0&limit=100`)).body.items
    expect(jsons).toEqual(whole.heard.filter((h) => h.id !== undefined).map((h) => h.data))

    const resumed = await listenTo(plane.url, ann, `/v1/runs/${run}/events?after=3`, { 'last-event-id': '12' })
    await resumed.over
    expect(durable(resumed.heard)).toEqual(ids.filter((id) => id > 12))

    // another server on the same port's data: the same numbers mean the same events
    const again = await createHttpServer(plane.runtime, { secret: SECRET })
    const after = await listenTo(again.url, ann, `/v1/runs/${run}/events?after=12`)
    await after.over
    expect(after.heard).toEqual(resumed.heard)
    await again.close()

    const both = await Promise.all([1, 2].map(() => listenTo(plane.url, ann, `/v1/runs/${run}/events`)))
    await Promise.all(both.map((one) => one.over))
    for (const one of both)
      expect(one.heard.filter((h) => h.id !== undefined)).toEqual(whole.heard.filter((h) => h.id !== undefined))

    const end = await listenTo(plane.url, ann, `/v1/runs/${run}/events`, { 'last-event-id': String(ids.at(-1)) })
    expect(end.status).toBe(204)
    expect(await ann.get(`/v1/runs/${run}/events?after=${(ids.at(-1) ?? 0) + 1}`)).toMatchObject({ status: 400 })
    expect(await ann.get(`/v1/runs/${run}/events`, { 'last-event-id': '-1' })).toMatchObject({ status: 400 })
  })

  it('K2 text comes while the model speaks, late readers get it in one piece, and who leaves stops nothing', async () => {
    turns = 0
    const run = await talk('held')
    const first = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    const opened = await first.next((h) => h.event === 'attempt_opened')
    expect(opened).toMatchObject({ id: undefined, data: { after: 1, step: 1 } })
    const delta = await first.next((h) => h.event === 'delta')
    expect(delta).toMatchObject({ id: undefined, data: { after: 1, step: 1, attempt: opened.data.attempt, offset: 0 } })
    const heardSoFar = first.heard
      .filter((h) => h.event === 'delta')
      .map((h) => h.data.text)
      .join('')
    expect(LONG.startsWith(heardSoFar)).toBe(true)
    const second = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    const snapshot = await second.next((h) => h.event === 'delta')
    expect(snapshot.data).toMatchObject({ offset: 0 })
    first.leave()
    release()
    const answer = await second.next((h) => h.event === 'run_ended')
    expect(answer.data).toMatchObject({ status: 'succeeded', text: LONG })
    // the end of the text may come with the answer only
    expect(LONG.startsWith(joined(second.heard))).toBe(true)
    await second.over
    expect(await ended(ann, run)).toMatchObject({ status: 'succeeded' })
  })

  it('K4 streams are bounded, and beyond the bound one is told when to come back', async () => {
    // nobody drives the runs of this agent, so their streams stay open
    const idle = await openPlane({
      db: await store.another(),
      agents: [agentOf('idle', { model: scripted(() => ({ text: '' })) })],
      http: { streams: 4 },
      worker: false,
    })
    const who = await idle.user('ann')
    const made = await who.post('/v1/runs', { body: { agent: 'idle', text: 'later' } })
    const path = `/v1/runs/${made.body.id}/events`
    const inside = [
      await listenTo(idle.url, who, path),
      await listenTo(idle.url, who, path),
      await listenTo(idle.url, who, path),
    ]
    expect(inside.map((one) => one.status)).toEqual([200, 200, 200])
    const refused = await who.get(path, { accept: 'text/event-stream' })
    expect(refused).toMatchObject({ status: 503, body: { code: 'stream_limit', retryable: true } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // the last place is not for this tenant alone, and reading without a stream is always possible
    const other = await idle.user('ann', 'globex')
    const theirs = await other.post('/v1/runs', { body: { agent: 'idle', text: 'later' } })
    const fourth = await listenTo(idle.url, other, `/v1/runs/${theirs.body.id}/events`)
    expect(fourth.status).toBe(200)
    expect(await who.get(path)).toMatchObject({ status: 200, body: { ended: false } })
    inside[0]?.leave()
    const room = await until(
      () => listenTo(idle.url, who, path),
      (one) => one.status === 200,
    )
    for (const one of [...inside, fourth, room]) one.leave()
    await idle.close()
  })
})

/** More than the kernel's buffers on both sides, 4 MB by default, can swallow. */
const FLOOD_TURNS = 6
const FLOOD_BYTES = 900_000

/** A model that says a megabyte in each of its turns. */
const flood = (pace: (turn: number) => Promise<unknown>): Model => ({
  id: 'flood',
  contextTokens: 100_000_000,
  maxOutputTokens: 4_096,
  price: { inputCentsPerMillion: 0, outputCentsPerMillion: 0 },
  async *stream(request) {
    const turn = request.messages.filter((m) => m.role === 'assistant').length
    for (let i = 0; i < 10; i++) yield { kind: 'text', delta: 'x'.repeat(FLOOD_BYTES / 10) }
    await pace(turn + 1)
    if (turn < FLOOD_TURNS)
      yield {
        kind: 'call',
        key: '0',
        call: { id: '0', name: request.tools[0]?.name ?? '', arguments: `{"page":${turn}}` },
      }
    yield { kind: 'finish', reason: turn < FLOOD_TURNS ? 'tool_calls' : 'stop' }
    yield { kind: 'usage', usage: { input: 10, output: 10 } }
  },
})

const joined = (heard: readonly Heard[]): string =>
  heard
    .filter((h) => h.event === 'delta')
    .map((h) => h.data.text)
    .join('')

describe.skipIf(!ENGINES.includes('postgres'))('streams of runs that another process drives', () => {
  let store: Store
  let plane: Plane
  let ann: Person
  let child: ChildProcess
  const told: string[] = []
  let answers = 0
  /** The answer that the orders are for: the last one that was waited for. */
  let turn = 0
  beforeAll(async () => {
    store = await openStore('postgres')
    plane = await openPlane({
      db: store.db,
      agents: [agentOf('told', { model: scripted(() => ({ text: '' })) })],
      worker: false,
    })
    ann = await plane.user('ann')
    child = fork(join(compiled(), 'test/setup/speaking.worker.js'), {
      env: { ...process.env, WORKER_DB: store.url },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => {
      told.push(message as string)
      if (message === 'asked') answers++
    })
    await until(async () => told.includes('ready'), Boolean)
  })
  afterAll(async () => {
    if (child?.exitCode === null) {
      child.disconnect()
      await once(child, 'exit')
    }
    await plane?.close()
    await store?.close()
  })
  const tell = (order: object): boolean => child.send({ turn, ...order })
  const asked = async (times: number): Promise<void> => {
    await until(
      async () => told.filter((t) => t === 'asked').length,
      (n) => n >= times,
    )
    turn = answers
  }

  it('K4 pieces of an answer cross from the process of the worker to that of the server', async () => {
    told.length = 0
    const run = (await ann.post('/v1/runs', { body: { agent: 'told', text: 'go' } })).body.id
    const listener = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    await asked(1)
    tell({ say: 'Hel' })
    expect((await listener.next((h) => h.event === 'delta')).data).toMatchObject({ offset: 0, text: 'Hel', after: 1 })
    tell({ say: 'lo' })
    expect((await listener.next((h) => h.event === 'delta')).data).toMatchObject({ offset: 3, text: 'lo' })
    const late = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    await late.next((h) => h.event === 'delta')
    expect(joined(late.heard)).toMatch(/^Hel(lo)?$/)
    tell({ say: ', Ann.' })
    tell({ end: true })
    expect((await listener.next((h) => h.event === 'run_ended')).data).toMatchObject({ text: 'Hello, Ann.' })
    await Promise.all([listener.over, late.over])
    expect(durable(listener.heard)).toEqual(durable(listener.heard).map((_, i) => i + 1))
    const left = await until(
      async () => (await store.admin('select count(*)::int as n from plimsoll.delta where run_id = $1', [run]))[0]?.n,
      (n) => n === 0,
    )
    expect(left).toBe(0)
  })

  it('A4 a worker that was fenced off lets nothing more out: its pieces are refused by the store (BR-048)', async () => {
    told.length = 0
    const run = (await ann.post('/v1/runs', { body: { agent: 'told', text: 'go' } })).body.id
    const listener = await listenTo(plane.url, ann, `/v1/runs/${run}/events`)
    await asked(1)
    tell({ say: 'He' })
    await listener.next((h) => h.event === 'delta')
    // another worker takes the run over: the epoch is raised while the first one still speaks
    await store.admin('update plimsoll.run set epoch = epoch + 1 where id = $1', [run])
    tell({ say: 'llo wor' })
    tell({ say: 'ld' })
    const written = await store.admin('select count(*)::int as n from plimsoll.delta where run_id = $1', [run])
    expect(written[0]?.n).toBe(1)
    // the run goes on under the new epoch: a new attempt opens, and the text starts anew
    await store.admin(`update plimsoll.run set status = 'queued', worker_id = null, due_at = now() where id = $1`, [
      run,
    ])
    tell({ end: true })
    await asked(2)
    tell({ say: 'Hello' })
    const opened = await listener.next((h) => h.event === 'attempt_opened')
    expect(opened.data).toMatchObject({ step: 1 })
    expect((await listener.next((h) => h.event === 'delta')).data).toMatchObject({
      offset: 0,
      text: 'Hello',
      attempt: opened.data.attempt,
    })
    tell({ end: true })
    expect((await listener.next((h) => h.event === 'run_ended')).data).toMatchObject({ text: 'Hello' })
    expect(joined(listener.heard)).toBe('HeHello')
  })

  it('K4 a client that does not read is disconnected and slows nobody', async () => {
    const look = tool('stock.look@1', {
      input: {
        type: 'object',
        properties: { page: { type: 'integer' } },
        required: ['page'],
        additionalProperties: false,
      },
      effect: 'read',
      run: () => ({ items: [] }),
    })
    const budget = { steps: 40, toolCalls: 40, tokens: 1_000_000_000, costCents: 1_000_000, seconds: 300 }
    // a turn ends when the reader that reads has it whole
    let quick: Listener | null = null
    const pace = (turn: number) =>
      until(
        async () => (quick ? joined(quick.heard).length : -1),
        (n) => n >= turn * FLOOD_BYTES,
      )
    const own = await openPlane({
      db: await store.another(),
      agents: [agentOf('flood', { model: flood(pace), tools: [look], budget })],
      http: { stallMs: 200 },
    })
    const who = await own.user('ann')
    const run = (await who.post('/v1/runs', { body: { agent: 'flood', text: 'go' } })).body.id
    const { hostname, port } = new URL(own.url)
    const slow = connect(Number(port), hostname)
    const closed = once(slow, 'close')
    slow.on('error', () => {})
    slow.write(
      `GET /v1/runs/${run}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${who.bearer}\r\nAccept: text/event-stream\r\n\r\n`,
    )
    await once(slow, 'readable')
    quick = await listenTo(own.url, who, `/v1/runs/${run}/events`)
    const end = await quick.next((h) => h.event === 'run_ended')
    expect(end.data).toMatchObject({ status: 'succeeded' })
    expect(joined(quick.heard).length).toBeGreaterThan(FLOOD_TURNS * FLOOD_BYTES)
    await until(
      async () => own.server.streams(),
      (n) => n === 0,
    )
    // now it reads, and finds what the buffers of both machines held and then the end of the connection
    let bytes = 0
    let tail = ''
    slow.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      tail = (tail + chunk.toString('latin1')).slice(-200)
    })
    await closed
    expect(bytes).toBeLessThan(FLOOD_TURNS * FLOOD_BYTES * 0.9)
    expect(tail).not.toContain('run_ended')
    expect((await who.get(`/v1/runs/${run}/events`)).body.ended).toBe(true)
    await own.close()
  }, 90_000)

  it('K4 a server that stops ends its streams, and the reader goes on elsewhere where it was', async () => {
    told.length = 0
    const run = (await ann.post('/v1/runs', { body: { agent: 'told', text: 'go' } })).body.id
    const second = await openPlane({
      db: await store.another(),
      agents: [agentOf('told', { model: scripted(() => ({ text: '' })) })],
      worker: false,
    })
    const listener = await listenTo(second.url, person(second.url, ann.bearer), `/v1/runs/${run}/events`)
    await asked(1)
    const first = await listener.next((h) => h.id !== undefined)
    await second.close()
    await listener.over
    expect(listener.heard.filter((h) => h.event === 'broken')).toEqual([])
    const resumed = await listenTo(plane.url, ann, `/v1/runs/${run}/events`, { 'last-event-id': first.id ?? '' })
    tell({ say: 'still here' })
    tell({ end: true })
    await resumed.over
    expect(durable(resumed.heard)[0]).toBe(Number(first.id) + 1)
    expect(resumed.heard.at(-1)?.data).toMatchObject({ text: 'still here' })
  })
})
