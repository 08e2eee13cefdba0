/**
 * Pictures, documents and sounds over HTTP: from a client to a provider, and until they are forgotten. On PostgreSQL where there is
 * one: what differs between the engines is proved by the tests of artifacts and of forgetting.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MEDIA_LIMITS } from '../../src/kernel/media.ts'
import { openAICompatible } from '../../src/model/openai.shell.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { createRuntime } from '../../src/runtime.ts'
import { fakeProvider, type FakeProvider } from '../../src/testing/provider.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { artifactStore } from '../../src/tool/result/artifact.store.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import { file, withFiles } from '../../src/tool/result/raw.ts'
import { tool } from '../../src/tool/define.ts'
import { encodings, everyFile, everyRow, foundIn } from '../setup/canary.ts'
import { imagePart, pdf, pdfPart, png, wav } from '../setup/media.ts'
import {
  agentOf,
  type Answer,
  type Body,
  ended,
  ENGINES,
  openPlane,
  openStore,
  type Person,
  type Plane,
  type Store,
} from '../setup/plane.ts'
import { holds, problem, word } from '../setup/remembering.ts'
import { unique } from '../setup/seed.ts'

const input = { type: 'object', properties: {}, additionalProperties: false } as const
/** What the next call of the tool shows. */
let screen = png(64, 64)
const shot = tool('screen.shot@1', {
  input,
  effect: 'read',
  // the type that a tool says is its word: the file is a picture all the same
  run: () => file(screen, { name: 'shot.bin', mediaType: 'application/octet-stream' }),
})
/** Says what it shows: a picture and what cannot be kept. */
const look = tool('screen.look@1', {
  input,
  effect: 'read',
  output: { type: 'object', properties: { seen: { type: 'string' } }, required: ['seen'], additionalProperties: false },
  run: () =>
    withFiles({ seen: 'a cat' }, [
      screen,
      'no file',
      (function* () {
        yield Buffer.from('x')
        yield 5
      })(),
    ]),
})

describe('what comes with a message, and what calls show', () => {
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-media-'))
  const objects = folderObjects(root)
  let store: Store
  let provider: FakeProvider
  let plane: Plane
  beforeAll(async () => {
    store = await openStore(ENGINES[0]!)
    provider = await fakeProvider({
      models: {
        sees: scripted(
          (request) =>
            ({
              'Click.': { calls: [{ name: 'screen__shot', arguments: {} }] },
              'Describe.': { calls: [{ name: 'screen__look', arguments: {} }] },
            })[request.messages.at(-1)?.text ?? ''] ?? { text: 'Seen.' },
        ),
      },
    })
    const model = openAICompatible({
      baseUrl: provider.baseUrl,
      model: 'sees',
      contextTokens: 64_000,
      input: ['image', 'pdf', 'audio'],
    })
    plane = await openPlane({
      db: store.db,
      agents: [
        agentOf('eyes', { model, accepts: ['image', 'pdf'], tools: [shot, look] }),
        agentOf('blind', { model, tools: [shot] }),
      ],
      more: { objects },
    })
  })
  afterAll(async () => {
    await plane?.close()
    await provider?.close()
    await store?.close()
    rmSync(root, { recursive: true, force: true })
  })

  const someone = (): Promise<Person> => plane.user(unique('ann'))
  const say = (who: Person, text: string, parts?: unknown, agent = 'eyes'): Promise<Answer> =>
    who.post('/v1/runs', { body: { agent, text, ...(parts !== undefined && { parts }) } })
  const go = async (who: Person, run: Body, text: string, parts?: unknown): Promise<Body> => {
    const made = await who.post(`/v1/conversations/${run.conversation_id}/messages`, {
      body: { text, ...(parts !== undefined && { parts }) },
      version: run.conversation_version,
    })
    expect(made.status).toBe(201)
    await ended(who, made.body.id)
    return made.body
  }
  const seen = async (who: Person, text: string, parts?: unknown, agent?: string): Promise<Body> => {
    const made = await say(who, text, parts, agent)
    expect(made).toMatchObject({ status: 201 })
    expect(await ended(who, made.body.id)).toMatchObject({ status: 'succeeded' })
    return made.body
  }
  /** The messages of the last request that the provider has had. */
  const sent = (): readonly Body[] => (provider.requests.at(-1)?.body.messages ?? []) as readonly Body[]
  const files = (): number =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(root, name)).isFile())
      .length
  const messagesOf = async (who: Person, run: Body): Promise<readonly Body[]> => {
    const page = await who.get(`/v1/conversations/${run.conversation_id}/messages`)
    holds('messages', page)
    return page.body.items
  }
  const url = (data: Buffer): string => `data:image/png;base64,${data.toString('base64')}`

  it('T2 what a person sends reaches the provider, is named in the messages and the explanation, and is paid for', async () => {
    const ann = await someone()
    const [picture, paper] = [png(512, 512, word()), pdf(2, word())]
    const run = await seen(ann, 'What is this?', [imagePart(picture), pdfPart(paper)])
    expect(sent()).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: url(picture) } },
          {
            type: 'file',
            file: { filename: 'pdf-2.pdf', file_data: `data:application/pdf;base64,${paper.toString('base64')}` },
          },
        ],
      },
    ])
    const [said] = await messagesOf(ann, run)
    expect(said?.parts).toMatchObject([
      { type: 'image', media_type: 'image/png', bytes: picture.byteLength },
      { type: 'pdf', media_type: 'application/pdf', bytes: paper.byteLength },
    ])
    const kept = await ann.get(`/v1/artifacts/${said?.parts[0].artifact_id}`)
    holds('artifact', kept)
    expect(kept.body).toMatchObject({ kind: 'upload', name: 'image.png', integrity: 'untrusted', run_id: run.id })
    const download = await fetch(`${plane.url}/v1/artifacts/${said?.parts[0].artifact_id}/content`, {
      headers: { authorization: `Bearer ${ann.bearer}` },
    })
    expect(Buffer.from(await download.arrayBuffer()).equals(picture)).toBe(true)
    const why = await ann.get(`/v1/runs/${run.id}/context?step=1`)
    holds('context', why)
    expect(why.body.media).toEqual([
      { part: `${run.message_id}/1`, type: 'image', tokens: 350, sent: true },
      { part: `${run.message_id}/2`, type: 'pdf', tokens: 5_000, sent: true },
    ])
    expect(why.body.tokens).toBeGreaterThan(5_350)
    const ledger = (await ann.get(`/v1/runs/${run.id}/ledger`)).body.items
    expect(ledger[0]).toMatchObject({ kind: 'open' })
    expect(ledger[0].reserved.tokens).toBeGreaterThan(5_350)
    // nobody we trust has drawn it
    const [row] = await store.admin('select integrity, watermark_from as from from plimsoll.run where id = $1', [
      run.id,
    ])
    expect(row).toEqual({ integrity: 'untrusted', from: '1/media' })
    const plain = await seen(ann, 'And without?')
    expect(await store.admin('select integrity from plimsoll.run where id = $1', [plain.id])).toEqual([
      { integrity: 'user' },
    ])
    // the next question sends it again, and an artifact of one's own may be sent by its id
    const artifact = { type: 'image', media_type: 'image/png', artifact: said?.parts[0].artifact_id }
    await go(ann, run, 'And this again?', [artifact])
    expect(sent().map((m) => (Array.isArray(m.content) ? m.content.length : 1))).toEqual([3, 1, 2])
  })

  it('T2 what may not be sent is refused with its code and its place, and nothing of it is kept', async () => {
    const ann = await someone()
    const before = files()
    const part = imagePart(png(8, 8))
    const refusals: readonly (readonly [unknown, number, string, string])[] = [
      [
        [{ type: 'audio', media_type: 'audio/wav', data: wav(1).toString('base64') }],
        422,
        'media_not_accepted',
        '/parts/0/type',
      ],
      [[part, { ...part, media_type: 'image/jpeg' }], 422, 'media_unknown', '/parts/1'],
      [[{ ...part, data: Buffer.from('MZ no picture').toString('base64') }], 422, 'media_unknown', '/parts/0'],
      [
        [{ ...part, data: Buffer.from('<svg/>').toString('base64'), media_type: 'image/svg+xml' }],
        422,
        'media_unknown',
        '/parts/0',
      ],
      [Array.from({ length: MEDIA_LIMITS.parts + 1 }, () => part), 422, 'media_too_many', '/parts'],
      [
        [imagePart(Buffer.concat([png(8, 8), Buffer.alloc(MEDIA_LIMITS.partBytes)]))],
        413,
        'media_too_large',
        '/parts/0',
      ],
      [[{ ...part, data: `${part.data}!` }], 400, 'invalid_request', '/parts/0/data'],
      [[{ ...part, url: 'https://example.com/a.png' }], 400, 'invalid_request', '/parts/0/url'],
      [
        [{ type: 'image', media_type: 'image/png', artifact: `art_${'0'.repeat(26)}` }],
        404,
        'not_found',
        '/parts/0/artifact',
      ],
    ]
    for (const [parts, status, code, path] of refusals) {
      const answer = await say(ann, 'Look.', parts)
      expect(problem(answer), code).toEqual({ status, code })
      expect(answer.body.errors[0].path, code).toBe(path)
    }
    const half = Buffer.concat([png(8, 8), Buffer.alloc(MEDIA_LIMITS.messageBytes / 2)])
    expect(problem(await say(ann, 'Look.', [imagePart(half), imagePart(half)]))).toEqual({
      status: 413,
      code: 'media_too_large',
    })
    expect(problem(await say(ann, 'Look.', [part], 'blind'))).toEqual({ status: 422, code: 'media_not_accepted' })
    // a conversation that went on meanwhile
    const run = await seen(ann, 'Hello.')
    const stale = await ann.post(`/v1/conversations/${run.conversation_id}/messages`, {
      body: { text: 'Look.', parts: [part] },
      version: 1,
    })
    expect(problem(stale)).toEqual({ status: 412, code: 'precondition_failed' })
    expect(files()).toBe(before)
    const [{ rows } = {}] = await store.admin(
      `select count(*)::int as rows from plimsoll.artifact where user_id = $1 and removed_at is null`,
      [(await ann.get(`/v1/runs/${run.id}`)).body.user],
    )
    expect(rows).toBe(0)
    // other routes keep their own limit
    const large = await ann.post('/v1/conversations', { body: { agent: 'x'.repeat(600_000) } })
    expect(problem(large)).toEqual({ status: 413, code: 'input_too_large' })
  })

  it('T2 F2 what another person or tenant has sent is not there for anybody else', async () => {
    const [ann, bob, other] = [await someone(), await someone(), await plane.user(unique('eve'), 'globex')]
    const run = await seen(ann, 'Mine.', [imagePart(png(8, 8))])
    const [said] = await messagesOf(ann, run)
    const artifact = { type: 'image', media_type: 'image/png', artifact: said?.parts[0].artifact_id }
    // a service sees the row, and speaks for somebody else
    for (const who of [bob, other, await plane.service()]) {
      expect(problem(await say(who, 'Look.', [artifact]))).toEqual({ status: 404, code: 'not_found' })
    }
    for (const who of [bob, other])
      expect((await who.get(`/v1/artifacts/${artifact.artifact}/content`)).status).toBe(404)
  })

  it('A13 T2 a message that is sent again with its key is stored and kept once', async () => {
    const ann = await someone()
    const body = { agent: 'eyes', text: 'Look.', parts: [imagePart(png(8, 8, word()))] }
    const first = await ann.post('/v1/runs', { body, key: 'once' })
    const before = files()
    const again = await ann.post('/v1/runs', { body, key: 'once' })
    expect(again.body.id).toBe(first.body.id)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(files()).toBe(before)
    const other = { ...body, parts: [imagePart(png(8, 8, word()))] }
    expect(problem(await ann.post('/v1/runs', { body: other, key: 'once' }))).toEqual({
      status: 422,
      code: 'idempotency_key_reused',
    })
  })

  it('L3 T2 G9 what a lost request has kept is seen by nobody, is swept, and goes with everything of its subject', async () => {
    const name = unique('ann')
    const ann = await plane.user(name)
    const secret = word()
    const fault = (point: string) =>
      point === 'submit.before' ? Promise.reject(new Error('killed')) : Promise.resolve()
    const dying = createRuntime({ db: store.db, agents: [...plane.runtime.agents.values()], objects, fault })
    const actor = actorFrom({
      kind: 'end_user',
      tenant: 'acme',
      environment: 'test',
      user: name,
      subject: name,
      permissions: ['*'],
    })
    const part = { type: 'image', mediaType: 'image/png', data: png(8, 8, secret) } as const
    const there = () => foundIn(everyFile(root), encodings(secret))
    await expect(dying.submit(actor, { agent: 'eyes', text: 'Look.', parts: [part] })).rejects.toThrow('killed')
    const [row] = (await store.admin('select id, object_key as key from plimsoll.artifact where user_id = $1', [
      name,
    ])) as [{ id: string; key: string }]
    expect(there()).not.toEqual([])
    expect((await ann.get(`/v1/artifacts/${row.id}`)).status).toBe(404)
    expect((await ann.post('/v1/deletions', { body: { everything: true } })).status).toBe(202)
    expect(there()).toEqual([])
    await expect(dying.submit(actor, { agent: 'eyes', text: 'Look.', parts: [part] })).rejects.toThrow('killed')
    const [again] = (await store.admin(
      'select object_key as key from plimsoll.artifact where user_id = $1 and removed_at is null',
      [name],
    )) as [{ key: string }]
    const artifacts = artifactStore(store.db, plane.runtime.sealer)
    expect(await artifacts.drop(actor, [again.key])).toEqual([again.key])
  })

  it('T2 without a store of objects, or with one that fails, nothing is stored and the caller is told to try later', async () => {
    const actor = actorFrom({
      kind: 'end_user',
      tenant: 'acme',
      environment: 'test',
      user: unique('ann'),
      subject: unique('ann'),
      permissions: ['*'],
    })
    const part = { type: 'image', mediaType: 'image/png', data: png(8, 8) } as const
    const failing = { ...objects, put: () => Promise.reject(new Error('disk full')) }
    for (const more of [{}, { objects: failing }]) {
      const runtime = createRuntime({ db: store.db, agents: [...plane.runtime.agents.values()], ...more })
      await expect(runtime.submit(actor, { agent: 'eyes', text: 'Look.', parts: [part] })).rejects.toMatchObject({
        code: 'unavailable',
      })
    }
    expect(await store.admin('select id from plimsoll.run where user_id = $1', [actor.user])).toEqual([])
  })

  it('T2 I9 a picture that a call shows is seen by a model that takes it, and is named to one that does not', async () => {
    const ann = await someone()
    screen = png(300, 200, word())
    const run = await seen(ann, 'Click.')
    expect(
      sent()
        .slice(1)
        .map((m) => m.role),
    ).toEqual(['assistant', 'tool', 'user'])
    expect(sent().at(-1)?.content[1]).toEqual({ type: 'image_url', image_url: { url: url(screen) } })
    const why = (await ann.get(`/v1/runs/${run.id}/context?step=2`)).body
    expect(why.media).toMatchObject([{ part: `${run.id}.3/1`, type: 'image', sent: true }])
    const rows = await store.admin(
      `select integrity, (origin ->> 'kind') as kind from plimsoll.message where run_id = $1 and role = 'tool'`,
      [run.id],
    )
    expect(rows).toEqual([{ integrity: 'untrusted', kind: 'tool' }])
    await seen(ann, 'Click.', undefined, 'blind')
    expect(sent().map((m) => m.role)).toEqual(['user', 'assistant', 'tool'])
    expect(sent().at(-1)?.content).toContain('"media_type":"application/octet-stream"')
    expect(JSON.stringify(sent())).not.toContain('base64')
  })

  it('T2 I5 a result may have pictures beside its value, and what cannot be kept of them fails no call', async () => {
    const ann = await someone()
    screen = png(30, 20, word())
    const run = await seen(ann, 'Describe.')
    expect(sent().map((m) => m.role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(sent()[2]?.content).toBe('{"seen":"a cat"}')
    expect(sent()[3]?.content.slice(1)).toEqual([{ type: 'image_url', image_url: { url: url(screen) } }])
    const kept = (await ann.get(`/v1/runs/${run.id}/artifacts`)).body.items
    expect(kept).toMatchObject([{ kind: 'result', bytes: screen.byteLength }])
  })

  it('T2 a file that is gone or damaged leaves a note in its place, and the run goes on', async () => {
    const ann = await someone()
    const run = await seen(ann, 'Look.', [imagePart(png(8, 8)), imagePart(png(9, 9))])
    const keys = await store.admin(
      'select object_key as key from plimsoll.artifact where run_id = $1 order by position',
      [run.id],
    )
    await objects.delete(String(keys[0]?.key))
    const after = await go(ann, run, 'And now?')
    expect(sent()[0]?.content).toEqual([
      { type: 'text', text: `Look.\n[image left out: ${run.message_id}/1]` },
      { type: 'image_url', image_url: { url: url(png(9, 9)) } },
    ])
    // somebody else's bytes under the same key do not open, or do not match
    await objects.delete(String(keys[1]?.key))
    await objects.put(
      String(keys[1]?.key),
      (async function* () {
        yield Buffer.from('not a frame at all')
      })(),
    )
    await go(ann, after, 'Still?')
    expect(sent()[0]?.content).toBe(
      `Look.\n[image left out: ${run.message_id}/1]\n[image left out: ${run.message_id}/2]`,
    )
  })

  it.each([
    ['a message', (run: Body) => ({ message_id: run.message_id })],
    ['a conversation', (run: Body) => ({ conversation_id: run.conversation_id })],
    ['everything', () => ({ everything: true })],
    ['an artifact', (_: Body, artifact: string) => ({ artifact_id: artifact })],
  ])('G9 T2 of %s that is forgotten no byte is left, in no table and no file', async (_, wanted) => {
    const ann = await someone()
    const secret = word()
    const run = await seen(ann, 'Look.', [imagePart(png(8, 8, secret))])
    const [said] = await messagesOf(ann, run)
    const there = async (): Promise<readonly string[]> =>
      foundIn((await everyRow(store)) + everyFile(root), encodings(secret))
    expect(await there()).not.toEqual([])
    const done = await ann.post('/v1/deletions', { body: wanted(run, said?.parts[0].artifact_id) })
    expect(done.status).toBe(202)
    expect(done.body.parts.find((p: Body) => p.derivative === 'objects')).toMatchObject({ removed: 1, state: 'done' })
    expect(await there()).toEqual([])
    expect((await ann.get(`/v1/artifacts/${said?.parts[0].artifact_id}`)).status).toBe(404)
    const rows = await store.admin(
      'select about, removed_at is not null as gone from plimsoll.artifact where run_id = $1',
      [run.id],
    )
    expect(rows).toEqual([{ about: null, gone: true }])
  })

  it('G9 T2 a picture that a call has shown goes with the message that shows it', async () => {
    const ann = await someone()
    const secret = word()
    screen = png(8, 8, secret)
    const run = await seen(ann, 'Click.')
    const done = await ann.post('/v1/deletions', { body: { message_id: `${run.id}.3` } })
    expect(done.status).toBe(202)
    expect(foundIn((await everyRow(store)) + everyFile(root), encodings(secret))).toEqual([])
    await go(ann, run, 'And now?')
    expect(JSON.stringify(sent())).not.toContain('base64')
  })

  it('L9 T2 what retention has taken of messages is swept with them, and what waits for its message is not', async () => {
    const ann = await someone()
    const secret = word()
    const run = await seen(ann, 'Look.', [imagePart(png(8, 8, secret))])
    const { key } = (
      await store.admin('select object_key as key from plimsoll.artifact where run_id = $1', [run.id])
    )[0] as { key: string }
    const walls = { tenant: 'acme', environment: 'test' }
    const artifacts = artifactStore(store.db, plane.runtime.sealer)
    expect(await artifacts.drop(walls, [key])).toEqual([])
    const expires = (when: string) =>
      store.admin(`update plimsoll.artifact set expires_at = ${when} where run_id = $1`, [run.id])
    await expires(`now() - interval '1 second'`)
    await go(ann, run, 'And now?')
    expect(sent()[0]?.content).toBe(`Look.\n[image left out: ${run.message_id}/1]`)
    await expires('null')
    await store.admin('delete from plimsoll.message where run_id = $1', [run.id])
    expect((await ann.get(`/v1/runs/${run.id}/artifacts`)).body.items).toEqual([])
    expect(await artifacts.drop(walls, [key])).toEqual([key])
  })
})
