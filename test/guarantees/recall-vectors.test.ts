/** Vectors beside words: another model's are refused, what may not be seen gains nothing, and nothing is lost. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSealer } from '../../src/db/seal.ts'
import { openAIEmbedder } from '../../src/memory/recall/embedder.shell.ts'
import type { Embedder } from '../../src/memory/recall/embedder.ts'
import { placesOf } from '../../src/memory/recall/filter.ts'
import { recallHybrid, writeVectors } from '../../src/memory/recall/hybrid.shell.ts'
import { recallStore, type RecallStore } from '../../src/memory/recall/recall.store.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { asking, type Made, maker, scopeFor } from '../setup/recall.ts'
import { change } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'

/** What a server of embeddings knows here: four themes, and which words belong to each. */
const THEMES = [/dog|beagle|puppy/, /sail|boat|harbour/, /bread|bake|oven/, /piano|song/]
const themes = (text: string) => THEMES.map((theme) => (theme.test(text) ? 1 : 0.05))

let server: Server
let requests: { readonly input: string[]; readonly authorization: string | undefined }[] = []
let status = 200
let reply: ((input: string[]) => unknown) | null = null
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => {
      const { input } = JSON.parse(body) as { input: string[] }
      requests.push({ input, authorization: request.headers.authorization })
      const data = input.map((text, index) => ({ index, embedding: themes(text) })).reverse()
      response
        .writeHead(status, { 'content-type': 'application/json', connection: 'close' })
        .end(JSON.stringify(reply ? reply(input) : { data }))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
})
afterAll(() => new Promise((closed) => server.close(closed)))

const embedderAt = (over: { dimensions?: number; batch?: number; model?: string } = {}): Embedder => {
  const { port } = server.address() as AddressInfo
  return openAIEmbedder({
    baseUrl: `http://127.0.0.1:${port}/v1/`,
    model: 'themes',
    dimensions: 4,
    apiKey: 'sk-test',
    ...over,
  })
}
const never = new AbortController().signal

describe('an embedder over HTTP', () => {
  it('F1 texts go out in batches, one request each, and come back in their order', async () => {
    requests = []
    const vectors = await embedderAt({ batch: 2 }).embed(['dog', 'boat', 'song'], never)
    expect(vectors.map((vector) => vector.indexOf(1))).toEqual([0, 1, 3])
    expect(requests.map(({ input }) => input)).toEqual([['dog', 'boat'], ['song']])
    expect(requests[0]?.authorization).toBe('Bearer sk-test')
  })

  it.each([
    [429, 'model_rate_limited'],
    [503, 'model_transient'],
    [401, 'model_auth'],
    [400, 'model_invalid_request'],
    [302, 'model_invalid_request'],
  ])('B5 an answer %i is one fault and no second request: %s', async (answer, code) => {
    requests = []
    status = answer
    const failed = await embedderAt()
      .embed(['secret text'], never)
      .catch((error: unknown) => error)
    status = 200
    expect(failed).toMatchObject({ code })
    expect(JSON.stringify([String(failed), failed])).not.toMatch(/secret text|sk-test|127\.0\.0\.1/)
    expect(requests).toHaveLength(1)
  })

  it.each<[string, (input: string[]) => unknown]>([
    ['of another length', () => ({ data: [{ index: 0, embedding: [1, 2] }] })],
    ['too few', () => ({ data: [] })],
    ['at a place that nobody asked for', () => ({ data: [{ index: 5, embedding: [1, 1, 1, 1] }] })],
    ['no numbers', () => ({ data: [{ index: 0, embedding: [1, null, 1, 1] }] })],
    ['none at all', () => 'ok'],
  ])('F1 vectors %s are refused before any is stored', async (_what, answer) => {
    reply = answer
    const failed = embedderAt().embed(['dog'], never)
    await expect(failed.finally(() => (reply = null))).rejects.toMatchObject({ code: 'model_protocol' })
  })
})

describe.each(ENGINES)('words and vectors on %s', (engine) => {
  let store: TestStore
  let recall: RecallStore
  let make: (over?: Made) => Promise<string>
  beforeAll(async () => {
    store = await openStore(engine)
    recall = recallStore(store.db, plainSealer, 'lexer')
    make = maker(store, recall)
  })
  afterAll(() => store.close())

  const TEXTS = ['My beagle sleeps a lot', 'We bake on Sundays', 'The harbour was calm']
  const remember = async (user: string, embedder: Embedder, over: Made = {}) => {
    const ids: string[] = []
    for (const text of TEXTS) ids.push(await make({ user, text, ...over }))
    const memories = ids.map((id, at) => ({ id, version: 1, text: TEXTS[at] ?? '' }))
    expect(await writeVectors(recall, embedder, scopeFor({ user }), memories, never)).toBe(3)
    return ids
  }
  const ask = async (user: string, embedder: Embedder, text: string) => {
    const scope = scopeFor({ user })
    return recallHybrid(recall, embedder, scope, asking({ text, places: placesOf(scope, {}) }), never)
  }

  it('F1 a question without a common word finds what is near, a word in common still counts, and all come back', async () => {
    const user = unique('person')
    const embedder = embedderAt()
    const [beagle, bread, harbour] = await remember(user, embedder)
    const near = await ask(user, embedder, 'do I own a puppy?')
    expect(near.memories[0]).toMatchObject({ id: beagle, lexical: 0 })
    expect(near.memories[0]?.semantic).toBeGreaterThan(0.9)
    expect(near.memories.map(({ id }) => id as string).sort()).toEqual([beagle, bread, harbour].sort())
    expect((await ask(user, embedder, 'Sundays')).memories[0]?.id).toBe(bread)
  })

  it('H6 BR-088 BR-092 equal vectors of another subject are never compared: each finds its own', async () => {
    const [ann, bob] = [unique('person'), unique('person')]
    const embedder = embedderAt()
    const mine = await remember(ann, embedder)
    const others = await remember(bob, embedder)
    const found = (await ask(ann, embedder, 'puppy')).memories.map(({ id }) => id as string)
    expect(found.sort()).toEqual(mine.sort())
    expect(found.filter((id) => others.includes(id))).toEqual([])
  })

  it('F3 a vector of a deleted memory, or of one that the filter hides, is no hit and no yardstick', async () => {
    const user = unique('person')
    const embedder = embedderAt()
    const [beagle = '', bread] = await remember(user, embedder)
    await remember(user, embedder, { status: 'barred' })
    await change(store, 'memory', { tenant_id: 'acme', id: beagle }, { confidence: 0.4 })
    const best = (await ask(user, embedder, 'oven')).memories[0]
    expect(best).toMatchObject({ id: bread, relevance: 0.5 })
    await store.admin(`update plimsoll.memory set status = 'deleted', deleted_at = now() where id = $1`, [beagle])
    expect((await ask(user, embedder, 'puppy')).memories.map(({ id }) => id as string)).not.toContain(beagle)
  })

  it('F1 vectors of another model, or of another length, are refused and not compared', async () => {
    const user = unique('person')
    await remember(user, embedderAt())
    await expect(ask(user, embedderAt({ model: 'other' }), 'dog')).rejects.toMatchObject({ code: 'recall_mixed' })
    await expect(ask(user, embedderAt({ dimensions: 3 }), 'dog')).rejects.toMatchObject({ code: 'recall_mixed' })
  })

  it('F3 a vector for an older version is not written', async () => {
    const user = unique('person')
    const id = await make({ user, text: 'dog' })
    await change(store, 'memory', { tenant_id: 'acme', id }, { version: 2 })
    expect(await writeVectors(recall, embedderAt(), scopeFor({ user }), [{ id, version: 1, text: 'dog' }], never)).toBe(
      0,
    )
  })
})
