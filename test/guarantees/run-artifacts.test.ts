import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/model/port.ts'
import { artifactStore } from '../../src/tool/result/artifact.store.ts'
import type { Credentials } from '../../src/tool/credential/credentials.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import type { ObjectStore } from '../../src/tool/result/objects.ts'
import { sweepObjects } from '../../src/tool/result/sweep.shell.ts'
import { toolError } from '../../src/tool/toolerror.ts'
import { plainSealer } from '../../src/db/seal.ts'
import { ENGINES, isFirst, openStore, type TestStore } from '../setup/engines.ts'
import { person, play, type Said } from '../setup/stage.ts'

const thrown = (error: unknown): never => {
  throw error
}

const MOST = 2_048
const SECRET = 'sk-vault-of-acme-0042'
const none = { type: 'object', properties: {}, additionalProperties: false } as const
const named = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
} as const

/** Calls the tool that the message names, with the rest of the message as the name of a file. */
function obeys(request: ModelRequest) {
  const last = request.messages.at(-1)
  if (last?.role !== 'user') return { text: 'done' }
  const [name = '', file] = last.text.split(' ')
  return { calls: [{ name, arguments: file === undefined ? {} : { name: file } }] }
}

const model = scripted(obeys, { id: 'obeys', contextTokens: 200_000 })

async function* rows() {
  for (let i = 0; i < 3_000; i++) yield { id: i, note: `note ${i}` }
}
const FIVE_MB = Array.from({ length: 50_000 }, (_, i) => ({ id: i, text: 'x'.repeat(80) }))

const reads = [
  tool('rows.stream@1', { input: none, effect: 'read', maxResultBytes: MOST, run: () => rows() }),
  tool('rows.large@1', { input: none, effect: 'read', maxResultBytes: MOST, run: () => FIVE_MB }),
  tool('rows.capped@1', { input: none, effect: 'read', maxResultBytes: MOST, maxRawBytes: 10_000, run: () => rows() }),
  tool('rows.typed@1', {
    input: none,
    output: { type: 'array' },
    effect: 'read',
    maxResultBytes: MOST,
    run: () => rows(),
  }),
]
const write = tool('rows.import@1', {
  input: none,
  effect: 'write',
  approval: 'auto',
  unknown: 'manual',
  maxResultBytes: MOST,
  commit: () => rows(),
})

describe.each(ENGINES)('large results on the %s store', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-artifacts-'))
  const objects = folderObjects(join(root, 'objects'))
  const broken: ObjectStore = { ...objects, put: () => Promise.reject(new Error('no space on /srv')) }
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(async () => {
    await store.close()
    rmSync(root, { recursive: true, force: true })
  })

  const artifactsOf = (said: Said) =>
    store.admin(
      'select id, object_key as key, bytes, result_hash from plimsoll.artifact where run_id = $1 order by id',
      [said.run],
    )

  it('I5 I6 the model reads a bounded part that names the whole, and the 5 MB exist once, outside of the database (BR-064)', async () => {
    const acting = await play(store, { model: model, tools: reads, more: { objects } })
    for (const name of ['rows__stream', 'rows__large']) {
      const said = await acting.say(name)
      expect((await said.rest()).end).toBe('completed')
      const [one, ...others] = await artifactsOf(said)
      expect(others).toEqual([])
      const [text] = await said.results()
      expect(JSON.stringify(text).length).toBeLessThanOrEqual(MOST)
      expect(text).toMatchObject({
        truncated: true,
        rows: name === 'rows__large' ? 50_000 : 3_000,
        artifact: { id: one?.id },
      })
      const [size] = await store.admin(
        `select (select sum(length(body)) from plimsoll.message where run_id = $1) + (select sum(length(result)) from plimsoll.effect where run_id = $1)
           + (select sum(length(body)) from plimsoll.event where run_id = $1) as bytes`,
        [said.run],
      )
      expect(Number(size?.bytes)).toBeLessThan(4 * MOST)
      const view = await acting.runtime.reads.artifact(person(), one?.id as 'art_')
      let bytes = 0
      for await (const piece of await acting.runtime.download(person(), view, { from: 0, to: view.bytes }))
        bytes += piece.byteLength
      expect(bytes).toBe(view.bytes)
    }
    await acting.stop()
  })

  it('I5 J5 what a worker has stored and never committed is seen by nobody and swept, what counts stays', async () => {
    let isPlanted = true
    const acting = await play(store, {
      model: model,
      tools: reads,
      more: { objects },
      fault(point) {
        if (point === 'result.before' && isPlanted) {
          isPlanted = false
          throw new Error('planted')
        }
      },
    })
    const said = await acting.say('rows__stream')
    expect((await said.rest()).end).toBe('completed')
    const all = await artifactsOf(said)
    expect(all).toHaveLength(2)
    const seen = await acting.runtime.reads.artifacts(person(), said.run)
    expect(seen).toHaveLength(1)
    const lost = all.find((one) => one.id !== seen[0]?.id)
    await expect(acting.runtime.reads.artifact(person(), lost?.id as 'art_')).rejects.toMatchObject({
      code: 'not_found',
    })
    const sweeping = {
      objects,
      artifacts: artifactStore(store.db, plainSealer),
      clock: acting.runtime.clock,
      onError: thrown,
    }
    expect(await sweepObjects(sweeping)).toBe(0)
    expect(await sweepObjects(sweeping, -1)).toBe(1)
    expect(await objects.get(String(lost?.key))).toBeNull()
    const left: string[] = []
    for await (const { key } of objects.list()) left.push(key)
    expect(left).toContain(seen[0]?.objectKey)
    // an expired one is gone for its reader at once, and for good with the sweep
    await store.admin(`update plimsoll.artifact set expires_at = now() - interval '1 second' where id = $1`, [
      seen[0]?.id,
    ])
    expect(await acting.runtime.reads.artifacts(person(), said.run)).toEqual([])
    expect(await sweepObjects(sweeping, -1)).toBe(1)
    const [row] = await store.admin(
      'select about, removed_at is not null as removed from plimsoll.artifact where id = $1',
      [seen[0]?.id],
    )
    expect(row).toEqual({ about: null, removed: true })
    await acting.stop()
  })

  if (!isFirst(engine)) return

  it.each([
    ['a result beyond what the contract lets it store', 'rows__capped', 'result_too_large', () => objects],
    ['a stream of a tool that promises a schema', 'rows__typed', 'result_invalid', () => objects],
    ['a stream where nothing can be kept', 'rows__stream', 'result_not_kept', () => undefined],
    ['an object store that fails', 'rows__large', 'result_not_kept', () => broken],
  ])('I5 %s is a typed error', async (_, name, code, place) => {
    const given = place()
    const acting = await play(store, { model: model, tools: reads, more: given ? { objects: given } : {} })
    const said = await acting.say(name)
    expect((await said.rest()).end).toBe('completed')
    expect(await said.results()).toMatchObject([{ code }])
    expect(await artifactsOf(said)).toEqual([])
    await acting.stop()
  })

  it('J4 I5 an effect that happened stays a success when its result cannot be kept', async () => {
    for (const given of [objects, broken]) {
      const acting = await play(store, { model: model, tools: [write], more: { objects: given } })
      const said = await acting.say('rows__import')
      expect((await said.rest()).end).toBe('completed')
      expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'ok' }])
      const wanted = given === broken ? { happened: true, missing: 'result_not_kept' } : { rows: 3_000 }
      expect(await said.results()).toMatchObject([wanted])
      await acting.stop()
    }
  })

  describe('credentials', () => {
    const calls: string[] = []
    const paying = [
      tool('bank.look@1', {
        input: none,
        effect: 'read',
        credentials: ['payments'],
        run: (_, cx) => ({
          echo: `Bearer ${cx.credential('payments')}`,
          basic: Buffer.from(`me:${cx.credential('payments')}`).toString('base64'),
        }),
      }),
      tool('bank.fail@1', {
        input: none,
        effect: 'read',
        credentials: ['payments'],
        errors: ['business_rejected'],
        run: (_, cx) => {
          throw toolError('business_rejected', `The provider said ${cx.credential('payments')} is blocked.`)
        },
      }),
      tool('bank.sneak@1', { input: none, effect: 'read', run: (_, cx) => cx.credential('payments') }),
      tool('bank.out@1', {
        input: none,
        effect: 'irreversible',
        credentials: ['payments'],
        unknown: 'key',
        resourceVersion: (_, cx) => `v1-${cx.credential('payments').length}`,
        plan: (_, cx) => ({ summary: `Pay with ${cx.credential('payments')}` }),
        commit(_, cx) {
          calls.push(cx.credential('payments'))
          return { used: cx.credential('payments') }
        },
      }),
    ]
    const vault: Credentials = {
      get: ({ tenant }, capability) => (tenant === 'acme' && capability === 'payments' ? SECRET : null),
    }

    it('I6 a value is given for the call, and stands in no result, error, plan or row afterwards', async () => {
      const acting = await play(store, { model: model, tools: paying, more: { credentials: vault } })
      const look = await acting.say('bank__look')
      await look.rest()
      expect(await look.results()).toEqual([
        { echo: 'Bearer [credential removed]', basic: expect.stringContaining('[credential removed]') },
      ])
      const fail = await acting.say('bank__fail')
      await fail.rest()
      expect(await fail.results()).toMatchObject([
        { code: 'business_rejected', hint: expect.stringContaining('[credential removed]') },
      ])
      const sneak = await acting.say('bank__sneak')
      await sneak.rest()
      expect(await sneak.results()).toMatchObject([{ code: 'tool_failed' }])
      const out = await acting.say('bank__out')
      const [card] = await out.asked(1)
      expect(card?.summary).toBe('Pay with [credential removed]')
      await out.decide(card as NonNullable<typeof card>, true)
      expect((await out.rest()).end).toBe('completed')
      expect(calls).toEqual([SECRET])
      const everywhere = await store.admin(
        `select count(*)::int as n from (select body from plimsoll.message union all select result from plimsoll.effect union all select arguments from plimsoll.effect
           union all select plan from plimsoll.confirmation union all select body from plimsoll.event) x
         where position(convert_to($1, 'UTF8') in x.body) > 0`,
        [SECRET],
      )
      expect(everywhere).toEqual([{ n: 0 }])
      await acting.stop()
    })

    it.each([
      ['there is no vault', undefined],
      ['the vault has none', { get: () => null }],
      ['the vault fails', { get: () => Promise.reject(new Error(`vault of ${SECRET}`)) }],
      ['what it has is too short to be one', { get: () => 'short' }],
    ] as readonly (readonly [string, Credentials | undefined])[])(
      'I6 a call without its credential does not start: %s',
      async (_, credentials) => {
        const before = calls.length
        const acting = await play(store, { model: model, tools: paying, more: credentials ? { credentials } : {} })
        for (const name of ['bank__look', 'bank__out']) {
          const said = await acting.say(name)
          expect((await said.rest()).end).toBe('completed')
          expect(await said.results()).toMatchObject([{ code: 'credential_missing' }])
        }
        expect(calls).toHaveLength(before)
        await acting.stop()
      },
    )

    it('I6 a credential that is gone between approval and start stops the effect before it starts', async () => {
      let value: string | null = SECRET
      const before = calls.length
      const acting = await play(store, { model: model, tools: paying, more: { credentials: { get: () => value } } })
      const said = await acting.say('bank__out')
      const [card] = await said.asked(1)
      await acting.worker.stop()
      await said.decide(card as NonNullable<typeof card>, true)
      value = null
      const other = await acting.again({ more: { credentials: { get: () => value } }, model: model })
      expect((await said.rest()).end).toBe('completed')
      expect(await said.results()).toMatchObject([{ code: 'credential_missing' }])
      expect(calls).toHaveLength(before)
      await other.stop()
    })
  })

  describe('the folder of a conversation', () => {
    const filing = [
      tool('files.write@1', {
        input: named,
        effect: 'read',
        folder: true,
        run: async (p, cx) => {
          const folder = await cx.folder()
          const { name } = p as { name: string }
          await folder.write(name, `content of ${name}`)
          return folder.list()
        },
      }),
      tool('files.keep@1', {
        input: named,
        effect: 'read',
        folder: true,
        run: async (p, cx) => (await cx.folder()).keep((p as { name: string }).name),
      }),
      tool('files.remove@1', {
        input: named,
        effect: 'read',
        folder: true,
        run: async (p, cx) => rmSync(join((await cx.folder()).path, (p as { name: string }).name), { recursive: true }),
      }),
      tool('files.read@1', {
        input: named,
        effect: 'read',
        folder: true,
        errors: ['not_found'],
        run: async (p, cx) => {
          const folder = await cx.folder()
          const bytes = await folder.read((p as { name: string }).name).catch(() => null)
          if (!bytes) throw toolError('not_found')
          return Buffer.from(bytes).toString()
        },
      }),
    ]

    it('A10 is made when it is asked for, made again elsewhere from what was kept, and gone when the conversation is closed', async () => {
      const [here, there] = [join(root, 'here'), join(root, 'there')]
      const acting = await play(store, { model: model, tools: filing, more: { objects, folders: here } })
      const first = await acting.say('files__write a.txt')
      await first.rest()
      expect(await first.results()).toEqual([['a.txt']])
      let { sessionVersion } = first
      const goOn = async (text: string, on = acting) => {
        const said = await on.say(text, { session: first.session, sessionVersion })
        sessionVersion = said.sessionVersion
        expect((await said.rest()).end).toBe('completed')
        return (await said.results())[0]
      }
      await goOn('files__write b.txt')
      const kept = (await goOn('files__keep b.txt')) as { id: string; name: string }
      expect(kept).toMatchObject({ name: 'b.txt', id: expect.stringMatching(/^art_/) })
      await acting.worker.stop()

      const other = await acting.again({ more: { objects, folders: there } })
      expect(await goOn('files__read b.txt', other)).toBe('content of b.txt')
      expect(await goOn('files__read a.txt', other)).toMatchObject({ code: 'not_found' })
      expect(readdirSync(here, { recursive: true }).map(String)).toContain(
        join('acme', 'production', first.session, 'files', 'a.txt'),
      )
      const view = await other.runtime.reads.artifact(person(), kept.id as 'art_')
      expect([view.kind, view.name]).toEqual(['file', 'b.txt'])

      await other.runtime.closeConversation(person(), first.session, null)
      expect(readdirSync(there, { recursive: true }).map(String)).not.toContain(
        join('acme', 'production', first.session),
      )
      // a machine that did not hear of it finds out when it sweeps
      expect(await acting.runtime.sweep()).toMatchObject({ folders: 1 })
      expect(readdirSync(here, { recursive: true }).map(String)).not.toContain(
        join('acme', 'production', first.session),
      )
      await other.stop()
    })

    it('A10 a file that was kept under the name of what is a folder now does not close the conversation for ever', async () => {
      const acting = await play(store, { model: model, tools: filing, more: { objects, folders: join(root, 'up') } })
      const first = await acting.say('files__write d')
      await first.rest()
      let { sessionVersion } = first
      const goOn = async (text: string, on = acting) => {
        const said = await on.say(text, { session: first.session, sessionVersion })
        sessionVersion = said.sessionVersion
        await said.rest()
        return (await said.results())[0]
      }
      await goOn('files__keep d')
      await goOn('files__remove d')
      await goOn('files__write d/e')
      expect(await goOn('files__keep d/e')).toMatchObject({ name: 'd/e' })
      await acting.worker.stop()
      const other = await acting.again({ more: { objects, folders: join(root, 'down') } })
      expect(await goOn('files__read d/e', other)).toBe('content of d/e')
      // and back: what stands in the way on a machine gives way to what was kept later
      await goOn('files__remove d', other)
      await goOn('files__write d', other)
      await goOn('files__keep d', other)
      await other.worker.stop()
      const back = await acting.again({ more: { objects, folders: join(root, 'up') } })
      expect(await goOn('files__read d', back)).toBe('content of d')
      await back.stop()
    })

    it('A10 that cannot be made again is a clear failure, never an empty folder', async () => {
      const acting = await play(store, { model: model, tools: filing, more: { objects, folders: join(root, 'one') } })
      const first = await acting.say('files__write c.txt')
      await first.rest()
      const second = await acting.say('files__keep c.txt', first)
      await second.rest()
      await acting.worker.stop()
      const away: ObjectStore = { ...objects, get: () => Promise.reject(new Error('away')) }
      const other = await acting.again({ more: { objects: away, folders: join(root, 'two') } })
      const third = await other.say('files__read c.txt', {
        session: first.session,
        sessionVersion: second.sessionVersion,
      })
      await third.rest()
      expect(await third.results()).toMatchObject([{ code: 'tool_failed' }])
      await other.stop()
    })

    it('A10 is not given to a tool that does not declare it', async () => {
      const plain = tool('files.sneak@1', {
        input: none,
        effect: 'read',
        run: async (_, cx) => (await cx.folder()).path,
      })
      const acting = await play(store, { model: model, tools: [plain], more: { objects, folders: join(root, 'none') } })
      const said = await acting.say('files__sneak')
      await said.rest()
      expect(await said.results()).toMatchObject([{ code: 'tool_failed' }])
      expect(() => readFileSync(join(root, 'none'))).toThrow()
      await acting.stop()
    })
  })
})
