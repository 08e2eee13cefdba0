/**
 * What is forgotten while nobody works in the background: out of every read at once, and out of the very files of the
 * database after one look for residue; and nothing that works later brings it back.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { ModelRequest } from '../../src/model/port.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { encodings, foundIn } from '../setup/canary.ts'
import { listenTo } from '../setup/listen.ts'
import {
  agentOf,
  type Body,
  ended,
  openPlane,
  openStore,
  type Person,
  type Plane,
  person,
  type Store,
  until,
} from '../setup/plane.ts'
import { memoryKeys, word } from '../setup/remembering.ts'
import { unique } from '../setup/seed.ts'

const chatter = 'and then we talked about something else for a while '.repeat(12)
/** All that models were sent, by anybody. */
const requests: ModelRequest[] = []
function asking(answer: (request: ModelRequest) => ScriptedAnswer) {
  const heard = (request: ModelRequest): ScriptedAnswer => {
    requests.push(request)
    return answer(request)
  }
  return scripted(heard, { id: unique('model'), contextTokens: 8_000, maxOutputTokens: 400 })
}

/** Proposes what follows `food: `, and otherwise says back what it was told. */
const talker = asking((request) => {
  const last = request.messages.at(-1)
  const [key, value] = last?.role === 'user' ? last.text.split(': ') : []
  if (key === 'food' && value !== undefined)
    return { calls: [{ name: 'memory__remember', arguments: { key, value, quote: value } }] }
  return {
    text: `${chatter} ${request.messages.flatMap((m) => ('text' in m ? [m.text.slice(0, 200)] : [])).join(' ')}`,
  }
})
/** Says what was said of food, in the words that were used. */
const summariser = asking((request) => {
  const [value = 'nothing'] = /Papageientaucher\w+/.exec(JSON.stringify(request)) ?? []
  const text = `The user says that the food is ${value}; something else was talked about for a while.`
  return { text: JSON.stringify({ text, decisions: [], open_tasks: [], constraints: [] }) }
})

describe.skipIf(!inject('postgres'))('forgotten while nobody works', () => {
  let store: Store
  let plane: Plane
  const agents = [
    agentOf('talker', {
      model: talker,
      memory: memoryKeys,
      summary: { model: summariser, above: 400, keep: 100, recheck: 0 },
    }),
  ]
  const open = async (works: boolean) =>
    openPlane({ db: await store.another(), agents, ...(!works && { worker: false }) })
  beforeAll(async () => {
    store = await openStore('postgres')
    plane = await open(true)
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
  })

  /** Goes on elsewhere: the same person on the plane of now. */
  const again = (who: Person): Person => person(() => plane.url, who.bearer)
  async function say(who: Person, text: string, before?: Body): Promise<Body> {
    const to = before && { conversation_id: before.conversation_id }
    const version = before && (await who.get(`/v1/conversations/${before.conversation_id}`)).body.version
    const sent = { body: { ...(to ? { text } : { agent: 'talker', text }) }, ...(version !== undefined && { version }) }
    const { body } = await who.post(before ? `/v1/conversations/${before.conversation_id}/messages` : '/v1/runs', sent)
    await ended(who, body.id)
    return body
  }
  /** Everything that the person can read of what was said and remembered. */
  async function everyRead(who: Person, runs: readonly Body[], memory: string): Promise<string> {
    const paths = ['/v1/memories', '/v1/memory-candidates', '/v1/conversations', '/v1/deletions', '/v1/confirmations']
    for (const path of ['', '/why', '/versions']) paths.push(`/v1/memories/${memory}${path}`)
    for (const { id, conversation_id } of runs) {
      for (const path of ['', '/context', '/effects', '/memories', '/artifacts', '/ledger'])
        paths.push(`/v1/runs/${id}${path}`)
      paths.push(`/v1/conversations/${conversation_id}`, `/v1/conversations/${conversation_id}/messages`)
    }
    const bodies = await Promise.all(paths.map(async (path) => [path, (await who.get(path)).body]))
    const streams = await Promise.all(
      runs.map(async ({ id }) => {
        const listener = await listenTo(plane.url, who, `/v1/runs/${id}/events`)
        await listener.over
        return listener.heard
      }),
    )
    return JSON.stringify([bodies, streams, (await who.post('/v1/exports')).body])
  }
  /** The files of every table and index, after the server has written them anew. */
  async function everyByte(): Promise<string> {
    await store.admin('vacuum full')
    const files = await store.admin(
      `select relname::text as name, encode(pg_read_binary_file(pg_relation_filepath(oid)), 'escape') as bytes from pg_class
       where relkind in ('r', 'i', 't') and (relnamespace = 'plimsoll'::regnamespace or relnamespace = 'pg_toast'::regnamespace)`,
      [],
    )
    return files.map(({ name, bytes }) => `${String(name)} ${String(bytes)}`).join('\n')
  }

  it('G2 G3 with every worker stopped, a memory and then a whole subject are out of reads, streams, exports, prompts and files, and nothing brings them back', async () => {
    const name = unique('ann')
    const ann = again(await plane.user(name))
    const value = word()
    const first = await say(ann, `food: ${value}`)
    let last = first
    for (let turn = 0; turn < 3; turn++) last = await say(ann, `${chatter} ${turn}`, first)
    const second = await say(ann, `What is my food?`)
    const runs = [first, last, second]
    const memory = (await ann.get('/v1/memories')).body.items[0].id
    await until(
      async () => store.admin('select state, reason from plimsoll.summary'),
      (rows) => rows.some((row) => row.state === 'verified'),
    )
    const looked = encodings(value)
    // the looks below can find it
    expect(foundIn(await everyRead(ann, runs, memory), looked)).toContain(value)
    expect(foundIn(await everyByte(), looked)).toContain(value)
    expect(foundIn(JSON.stringify(requests.at(-1)), looked)).toContain(value)
    await plane.close()

    plane = await open(false)
    const gone = await ann.send('DELETE', `/v1/memories/${memory}`)
    expect(gone.status).toBe(202)
    const remembered = [
      '/v1/memories',
      `/v1/memories/${memory}`,
      `/v1/memories/${memory}/why`,
      `/v1/runs/${second.id}/context`,
    ]
    const seen = await Promise.all(remembered.map(async (path) => (await ann.get(path)).body))
    expect(foundIn(JSON.stringify([seen, (await ann.post('/v1/exports')).body]), looked)).toEqual([])

    const everything = await ann.post('/v1/deletions', { body: { everything: true } })
    expect(everything.body).toMatchObject({ kind: 'subject', done_at: expect.any(String) })
    expect(foundIn(await everyRead(ann, runs, memory), looked)).toEqual([])
    const residue = (await (await plane.operator()).post('/ops/v1/memories/reconcile')).body.items
    expect(residue.filter((part: Body) => part.error !== null || part.removed > 0)).toEqual([])
    expect(foundIn(await everyByte(), looked)).toEqual([])
    await plane.close()

    // whoever works later finds nothing to make it again from
    plane = await open(true)
    requests.length = 0
    const later = await say(ann, 'What is my food?')
    await until(
      async () => store.admin(`select count(*)::int as n from plimsoll.errand where state <> 'done'`),
      ([row]) => Number(row?.n) === 0,
    )
    expect(requests.length).toBeGreaterThan(0)
    expect(foundIn(JSON.stringify(requests), looked)).toEqual([])
    expect(foundIn(await everyRead(ann, [...runs, later], memory), looked)).toEqual([])
    expect(foundIn(await everyByte(), looked)).toEqual([])
  }, 120_000)
})
