import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get as request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import type { ObjectStore } from '../../src/tool/result/objects.ts'
import { file } from '../../src/tool/result/raw.ts'
import { tool } from '../../src/tool/define.ts'
import { scripted } from '../../src/testing/scripted.ts'
import {
  agentOf,
  type Body,
  ended,
  ENGINES,
  openPlane,
  openStore,
  type Person,
  type Plane,
  type Store,
  until,
} from '../setup/plane.ts'

const NEVER = { run: 'run_00000000000000000000000000', art: 'art_00000000000000000000000000' }
const ROWS = 20_000
const row = (i: number) => ({
  id: i,
  customer: `customer ${i % 997}`,
  cents: i === 12_345 ? 5_000_000 : (i * 37) % 10_000,
})
const WHOLE = Buffer.from(Array.from({ length: ROWS }, (_, i) => `${JSON.stringify(row(i))}\n`).join(''))
const PAGE = '<script>alert(1)</script>'

function* rows() {
  for (let i = 0; i < ROWS; i++) yield row(i)
}

const input = { type: 'object', properties: {}, additionalProperties: false } as const
/** More than the buffers of a connection hold. */
function* blocks() {
  for (let i = 0; i < 32; i++) yield Buffer.alloc(1024 * 1024, i)
}

const tools = [
  tool('orders.dump@1', { input, effect: 'read', run: () => blocks() }),
  tool('orders.list@1', { input, effect: 'read', maxResultBytes: 4_096, run: () => rows() }),
  tool('orders.page@1', {
    input,
    effect: 'read',
    run: () => file(PAGE, { name: 'Bericht für Ann.html', mediaType: 'text/html' }),
  }),
]

/** Counts how many bytes were read from the objects, and how many readers are open. */
function watched(store: ObjectStore) {
  const seen = { bytes: 0, open: 0 }
  const objects: ObjectStore = {
    ...store,
    async get(key, range) {
      const source = await store.get(key, range)
      return source && counted(source)
    },
  }
  async function* counted(source: AsyncIterable<Uint8Array>) {
    seen.open += 1
    try {
      for await (const bytes of source) {
        seen.bytes += bytes.byteLength
        yield bytes
      }
    } finally {
      seen.open -= 1
    }
  }
  return { objects, seen }
}

describe.each(ENGINES)('downloads on the %s store', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-downloads-'))
  const { objects, seen } = watched(folderObjects(root))
  let store: Store
  let plane: Plane
  let ann: Person
  const faults: unknown[] = []
  let listed: Body
  let page: Body
  let large: Body
  beforeAll(async () => {
    store = await openStore(engine)
    const call = (name: string) => scripted([{ calls: [{ name, arguments: {} }] }, { text: 'done' }])
    plane = await openPlane({
      db: store.db,
      more: { objects },
      http: { stallMs: 300, onError: (error) => faults.push(error) },
      agents: [
        agentOf('lister', { model: call('orders__list'), tools }),
        agentOf('larger', { model: call('orders__dump'), tools }),
        agentOf('pager', { model: call('orders__page'), tools }),
      ],
    })
    ann = await plane.user('ann')
    const artifactOf = async (agent: string): Promise<Body> => {
      const made = await ann.post('/v1/runs', { body: { agent, text: 'go' } })
      await ended(ann, made.body.id)
      const found = await ann.get(`/v1/runs/${made.body.id}/artifacts`)
      expect([found.status, found.body.items.length]).toEqual([200, 1])
      return found.body.items[0]
    }
    listed = await artifactOf('lister')
    page = await artifactOf('pager')
    large = await artifactOf('larger')
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
    rmSync(root, { recursive: true, force: true })
  })

  const content = (id: string, headers: Record<string, string> = {}, method = 'GET', who = ann) =>
    fetch(`${plane.url}/v1/artifacts/${id}/content`, {
      method,
      headers: { authorization: `Bearer ${who.bearer}`, ...headers },
    })

  it('I5 a large result is named with its size, hash, place and a summary for programs', async () => {
    const one = await ann.get(`/v1/artifacts/${listed.id}`)
    expect(one.status).toBe(200)
    expect(one.body).toEqual(listed)
    expect(listed).toMatchObject({
      step: 1,
      position: 0,
      kind: 'result',
      name: 'orders.list-1-0.ndjson',
      media_type: 'application/x-ndjson',
      bytes: WHOLE.byteLength,
      sha256: createHash('sha256').update(WHOLE).digest('hex'),
      integrity: 'untrusted',
      summary: { rows: ROWS, more_columns: 0, outliers: [{ column: 'cents', row: 12_346, value: 5_000_000 }] },
    })
    expect(listed.summary.first[0]).toEqual(row(0))
  })

  it('I5 the raw bytes come back identical, for download alone and never as a page', async () => {
    const answer = await content(listed.id)
    expect(Buffer.from(await answer.arrayBuffer()).equals(WHOLE)).toBe(true)
    expect(answer.headers.get('etag')).toBe(`"${listed.sha256}"`)
    const html = await content(page.id)
    expect(await html.text()).toBe(PAGE)
    expect(Object.fromEntries(html.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': `attachment; filename="Bericht_f_r_Ann.html"; filename*=UTF-8''Bericht%20f%C3%BCr%20Ann.html`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining(`default-src 'none'`),
      'content-length': String(PAGE.length),
      'accept-ranges': 'bytes',
    })
  })

  it('I5 ranges, conditions and HEAD are answered as HTTP says', async () => {
    const part = await content(listed.id, { range: 'bytes=300000-300099' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 300000-300099/${WHOLE.byteLength}`])
    expect(Buffer.from(await part.arrayBuffer()).equals(WHOLE.subarray(300_000, 300_100))).toBe(true)
    const end = await content(listed.id, { range: 'bytes=-5', 'if-range': `"${listed.sha256}"` })
    expect([end.status, await end.text()]).toEqual([206, WHOLE.subarray(-5).toString()])
    const other = await content(page.id, { range: 'bytes=0-3', 'if-range': '"of another content"' })
    expect([other.status, await other.text()]).toEqual([200, PAGE])
    const outside = await content(page.id, { range: 'bytes=500-' })
    expect([outside.status, outside.headers.get('content-range')]).toEqual([416, `bytes */${PAGE.length}`])
    expect(await outside.json()).toMatchObject({ code: 'range_not_satisfiable' })
    const known = await content(listed.id, { 'if-none-match': `"x", "${listed.sha256}"` })
    expect([known.status, await known.text()]).toEqual([304, ''])
    const head = await content(listed.id, {}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(WHOLE.byteLength),
      '',
    ])
  })

  it('I5 each download leaves a row that says who took what, and looking leaves none', async () => {
    await store.admin('delete from plimsoll.audit', [])
    await ann.get(`/v1/artifacts/${listed.id}`)
    await content(listed.id, {}, 'HEAD')
    await (await content(listed.id)).arrayBuffer()
    await (await content(listed.id, { range: 'bytes=0-9' })).arrayBuffer()
    const audit = await store.admin(
      'select actor_kind, actor, action, target, outcome, run_id, digest from plimsoll.audit order by outcome',
      [],
    )
    const entry = {
      actor_kind: 'end_user',
      actor: 'ann',
      action: 'artifact.download',
      target: listed.id,
      run_id: listed.run_id,
      digest: listed.sha256,
    }
    expect(audit).toEqual([
      { ...entry, outcome: 'bytes 0-9' },
      { ...entry, outcome: 'whole' },
    ])
  })

  it('R6 H1 what is another’s does not exist, in the very same words (BR-090)', async () => {
    const strangers = [
      await plane.user('bob'),
      await plane.user('ann', 'globex'),
      await plane.service('globex'),
      await plane.operator('globex'),
    ]
    for (const who of strangers) {
      for (const path of [
        (id: typeof NEVER) => `/v1/runs/${id.run}/artifacts`,
        (id: typeof NEVER) => `/v1/artifacts/${id.art}`,
        (id: typeof NEVER) => `/v1/artifacts/${id.art}/content`,
      ]) {
        const [there, nowhere] = [
          await who.get(path({ run: listed.run_id, art: listed.id })),
          await who.get(path(NEVER)),
        ]
        expect(there.status).toBe(404)
        expect({ ...there.body, instance: '' }).toEqual({ ...nowhere.body, instance: '' })
        const headers = (answer: typeof there) =>
          [...answer.headers].filter(([name]) => !/^(date|content-length|keep-alive)$/.test(name))
        expect(headers(there)).toEqual(headers(nowhere))
      }
    }
    const service = await plane.service()
    expect((await service.get(`/v1/artifacts/${listed.id}`)).status).toBe(200)
    expect((await ann.get('/v1/artifacts/art_x/content')).status).toBe(400)
  })

  it('K4 a client that leaves, or takes nothing, ends the reading of the object, and nothing else', async () => {
    // leaves after the first bytes, or stays and reads no further
    for (const leaves of [true, false]) {
      seen.bytes = 0
      await new Promise<void>((resolve, reject) => {
        const asked = request(
          `${plane.url}/v1/artifacts/${large.id}/content`,
          { headers: { authorization: `Bearer ${ann.bearer}` } },
          (answer) => {
            answer.once('readable', () => {
              if (leaves) asked.destroy()
              resolve()
            })
            answer.on('error', () => {})
          },
        )
        asked.on('error', (error) => (leaves ? undefined : reject(error)))
      })
      await until(
        async () => seen.open + plane.server.streams(),
        (open) => open === 0,
      )
      expect(seen.bytes).toBeLessThan(large.bytes)
    }
    expect((await content(page.id)).status).toBe(200)
  })

  it('I5 an object that was changed is never given out whole', async () => {
    const [stored] = await store.admin('select object_key as key from plimsoll.artifact where id = $1', [listed.id])
    const path = join(root, String(stored?.key))
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill('9', 100_000, 100_010))
    await expect(content(listed.id).then((answer) => answer.arrayBuffer())).rejects.toThrow()
    expect(faults).toMatchObject([{ code: 'content_damaged' }])
  })
})
