/** Errands that end, are nobody else's to hear of, and leave nothing behind: told with extractions, on one engine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { main } from '../../src/cli/program.ts'
import { plainSealer } from '../../src/db/seal.ts'
import type { Db } from '../../src/db/port.ts'
import { Fault } from '../../src/kernel/fault.ts'
import type { SessionId } from '../../src/kernel/ids.ts'
import type { ErrandId } from '../../src/run/errand.ts'
import { errandStore } from '../../src/run/errand.store.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import {
  json,
  program as programOn,
  type Proposes,
  SAID,
  type Scene,
  someone,
  type Stage,
  stopPrograms,
  TONE,
} from '../setup/extracting.ts'
import { openPlane, type Person } from '../setup/plane.ts'
import { insert, ms, rowsWhere } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'

describe('errands', () => {
  let store: TestStore
  const program = (proposes: Proposes, scene?: Scene): Promise<Stage> => programOn(store, proposes, scene)
  beforeAll(async () => {
    store = await openStore(ENGINES[0]!)
  })
  afterEach(stopPrograms)
  afterAll(() => store.close())

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

  /** What the command prints for an operator of this server. */
  async function printed({ url, operator, service }: Asked, command: string): Promise<string> {
    const home = mkdtempSync(join(tmpdir(), 'plimsoll-errands-'))
    const keys = { operator: operator.bearer, service: service.bearer }
    const access = { secret: '', tenant: 'acme', environment: 'test', ...keys }
    writeFileSync(join(home, 'access.json'), JSON.stringify(access), { mode: 0o600 })
    writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url }))
    let stdout = ''
    const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((stdout += String(text))))
    try {
      expect(await main([command, '--data', home])).toBe(0)
      return stdout
    } finally {
      out.mockRestore()
      rmSync(home, { recursive: true, force: true })
    }
  }
  interface Asked {
    readonly url: string
    readonly operator: Person
    readonly service: Person
  }
  /** Both ways to a list of the tenant, after everybody else has been refused it. */
  async function asOperator(path: string): Promise<{ items: unknown[]; stdout: string }> {
    const plane = await openPlane({ db: store.db, agents: [] })
    try {
      const [ann, service, operator] = [await plane.user('ann'), await plane.service(), await plane.operator()]
      for (const who of [ann, service])
        expect(await who.get(`/ops/v1/${path}`)).toMatchObject({ status: 403, body: { code: 'permission_denied' } })
      expect((await (await plane.operator('globex')).get(`/ops/v1/${path}`)).body).toEqual({ items: [] })
      const stdout = await printed({ url: plane.url, operator, service }, path)
      return { items: (await operator.get(`/ops/v1/${path}`)).body.items, stdout }
    } finally {
      await plane.close()
    }
  }

  it('D1 H7 operators read what became of errands over HTTP and as a command, of their tenant, and nobody else does', async () => {
    const stage = await program(() => json(TONE))
    const { session } = await stage.say(someone(), SAID)
    await stage.errands(session)
    await stage.stop()
    // where the keys of the plane are
    await store.admin(`update plimsoll.errand set environment = 'test' where session_id = $1`, [session])
    const { items, stdout } = await asOperator('errands')
    expect(items).toContainEqual({ agent: stage.name, kind: 'extract', outcome: 'saved', errands: 1, attempts: 1 })
    expect(stdout).toMatch(new RegExp(`${stage.name} +extract +saved +1 +1`))
  })

  it('D6 H7 operators read what became of summaries the same ways, without a word of them', async () => {
    const model = unique('small')
    const made = {
      tenant_id: 'acme',
      environment: 'test',
      session_id: unique('ses'),
      user_id: 'ann',
      subject_id: 'ann',
    }
    const range = {
      agent: 'a',
      from_generation: 1,
      to_generation: 2,
      from_message: 'm1',
      to_message: 'm2',
      model,
      prompt: 3,
    }
    const body = Buffer.from('The user speaks of whales.')
    for (const more of [
      { state: 'verified' },
      { state: 'verified', rechecked_at: ms(0), recheck_reason: 'invented_number' },
      { state: 'rejected', reason: 'lost_prohibition' },
    ])
      await insert(store, 'summary', { ...made, ...range, id: unique('sum'), body, ...more })
    const { items, stdout } = await asOperator('summaries')
    expect(items).toContainEqual({
      ...{ model, prompt: 3, made: 3, verified: 2, rejected: { lost_prohibition: 1 } },
      ...{ rechecked: 1, failed: 1 },
    })
    expect(stdout).toMatch(new RegExp(`${model} +3 +3 +2 +1 lost_prohibition +1 +1`))
    expect(stdout + JSON.stringify(items)).not.toContain('whales')
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
