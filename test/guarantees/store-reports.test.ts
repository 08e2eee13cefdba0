/** What users of other stores met: rows that grow without end, settings that leak, runs that start twice, states that come back. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionId } from '../../src/kernel/ids.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import { ENGINES, openStore, statement, type TestStore } from '../setup/engines.ts'
import { operator } from '../setup/relay.ts'
import { rowsWhere } from '../setup/rows.ts'
import {
  base64,
  commit,
  runOf,
  seedRun,
  submission,
  TENANT_TABLES,
  transition,
  unique,
  VERSION,
} from '../setup/seed.ts'
import { play } from '../setup/stage.ts'
import { PLACES, rowsOf, seedEverything } from '../setup/wall-guards.ts'

const input = { type: 'object', properties: {}, additionalProperties: false } as const
const text = (value: unknown) => `$json$${JSON.stringify(value)}$json$`

describe.each(ENGINES)('reports of users, on the %s store', (engine) => {
  let store: TestStore
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-reports-'))
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(async () => {
    await store?.close()
    rmSync(root, { recursive: true, force: true })
  })

  it('H2 BR-068 one connection for two tenants: what one has set is gone for the next, and nothing set means no rows', async () => {
    const places = PLACES.map(({ tenant, environment }) => ({ tenant, environment }))
    await seedEverything(store)
    // one for statements and one for the transitions: every borrower has the connection of the last
    const db = engine === 'postgres' ? await store.another(1) : store.db
    const setting = statement(
      'settings',
      `select current_setting('app.tenant', true) as tenant, current_setting('app.batch', true) as batch`,
    )
    const unset = async () => {
      expect((await db.call(setting, {})).flatMap((row) => [row.tenant, row.batch]).filter(Boolean)).toEqual([])
      for (const table of TENANT_TABLES) expect([table, await db.call(rowsOf(table), {})]).toEqual([table, []])
    }
    const fails = statement('fails', `select 1 / (select count(*) from plimsoll.run where id = 'nobody')`)
    for (const place of places) {
      const seen = await db.read(place, rowsOf('run'), {})
      expect(new Set(seen.map((row) => `${String(row.tenant_id)}/${String(row.environment)}`))).toEqual(
        new Set([`${place.tenant}/${place.environment}`]),
      )
      await unset()
      // an error in the middle leaves nothing behind, nor does a transition that opens its own door
      await expect(db.read(place, fails, {})).rejects.toThrow()
      await unset()
      const key = await seedRun(store, { tenant_id: place.tenant, environment: place.environment })
      expect(await commit(db, [transition(key)], { worker: key.worker })).toEqual([1])
      await unset()
    }
    const all = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const place = places[i % places.length]!
        const rows = i % 5 === 4 ? await db.call(rowsOf('run'), {}) : await db.read(place, rowsOf('run'), {})
        return rows.every(
          (row) => i % 5 !== 4 && row.tenant_id === place.tenant && row.environment === place.environment,
        )
      }),
    )
    expect(new Set(all)).toEqual(new Set([true]))
    const [role] = await db.call(
      statement(
        'role',
        `select rolsuper or rolbypassrls as above, pg_has_role(current_user, 'plimsoll_owner', 'member') as owner,
           (select bool_and(c.relforcerowsecurity and c.relowner <> r.oid) from pg_class c join pg_policy p on p.polrelid = c.oid) as forced
         from pg_roles r where rolname = current_user`,
      ),
      {},
    )
    expect(role).toEqual({ above: false, owner: false, forced: true })
  })

  it('L2 BR-061 claimed and looked for in the tick in which it was submitted, a run has one worker', async () => {
    // within one transaction the clock of the database stands still
    const [w1, w2] = [unique('wrk'), unique('wrk')]
    const key = { tenant: 'acme', environment: 'production', run: unique('run') }
    const session = unique('ses')
    const agent = unique('agent')
    const keys = `array['acme/production/${key.run}', 'acme/production/${session}']`
    const worker = (id: string) =>
      `insert into plimsoll.worker (id, host, pid, lease_until) values ('${id}', 'here', 1, now() + interval '20 seconds')`
    const claims = (id: string) =>
      `insert into seen select '${id}', run, epoch from plimsoll.claim('${id}', array['${agent}'], 9)`
    const rows = await store.app(
      [
        'create temp table seen (worker text, run text, epoch int8) on commit drop',
        worker(w1),
        `select plimsoll.submit(${text([submission(key, session, { agent })])}, ${keys})`,
        claims(w1),
        worker(w2),
        // the start of a second worker, its sweep and its claim, in the same tick
        `insert into seen select 'reaped', '', plimsoll.reap(100)`,
        claims(w2),
        claims(w1),
        `insert into seen select 'reaped', '', plimsoll.reap(100)`,
        'select worker, run, epoch::int from seen order by worker, epoch',
      ].join(';\n'),
    )
    expect(rows.filter((row) => row.run === key.run)).toEqual([{ worker: w1, run: key.run, epoch: 1 }])
    expect(rows.filter((row) => row.worker === 'reaped').map((row) => row.epoch)).toEqual([0, 0])
  })

  it('L2 BR-061 workers that start while runs are submitted execute each of them once', async () => {
    let calls = 0
    const count = tool('world.count@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: () => (calls += 1),
    })
    const model = scripted(({ messages }) =>
      messages.at(-1)?.role === 'user' ? { calls: [{ name: count.exposedName, arguments: {} }] } : { text: 'done' },
    )
    const idle = await play(store, { tools: [count], model, worker: null })
    const [first, second, ...said] = await Promise.all([
      idle.again({ worker: {} }),
      idle.again({ worker: {} }),
      ...Array.from({ length: 6 }, () => idle.say('go')),
    ])
    for (const one of said) {
      expect(await one.rest()).toMatchObject({ end: 'completed' })
      const [row] = await rowsWhere(store, 'run', { id: one.run })
      expect(row).toMatchObject({ attempts: 0 })
    }
    await Promise.all([first.stop(), second.stop()])
    expect(calls).toBe(6)
  })

  it('A11 BR-071 versions only grow: no commit of an older state is ever the latest, and what was written stays', async () => {
    const tries = fc.array(fc.record({ back: fc.integer({ min: -2, max: 4 }), again: fc.boolean() }), {
      minLength: 3,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(tries, async (story) => {
        const key = await seedRun(store, {
          max_steps: 1_000,
          max_tool_calls: 1_000,
          max_tokens: 1_000_000,
          max_cost: 1_000_000,
        })
        let version = VERSION
        let seq = 2
        const sent: ReturnType<typeof transition>[] = []
        const said: string[] = []
        for (const { back, again } of story) {
          // a state of before, as it was written then, or something new on top of a version of before
          const old = again ? sent.at(-back) : undefined
          const body = `said ${seq}`
          const fresh = transition(key, {
            version: version - back,
            step: seq,
            message_seq: seq,
            event_seq: seq,
            messages: [{ ...transition(key).messages[0]!, seq, step: seq, body: base64(body) }],
            effects: [],
            tool_calls: 0,
            events: [],
          })
          const row = old ?? fresh
          const applied = await commit(store.db, [row], { worker: key.worker })
          const isCurrent = row.version === version
          expect(applied).toEqual(isCurrent ? [1] : [])
          if (isCurrent) {
            version += 1
            seq += 1
            sent.push(row)
            said.push(body)
          }
          expect(await runOf(store, key)).toMatchObject({ version, message_seq: seq - 1 })
        }
        const messages = await rowsWhere(store, 'message', { run_id: key.run })
        const bodies = messages
          .sort((a, b) => Number(a.seq) - Number(b.seq))
          .map((m) => Buffer.from(m.body as Uint8Array).toString())
        expect(bodies).toEqual(said)
      }),
      { numRuns: 12 },
    )
    // and nobody else has a way to put one back
    for (const line of [
      `update plimsoll.run set version = 1`,
      `update plimsoll.session set version = 1`,
      `update plimsoll.message set body = ''`,
      `delete from plimsoll.message`,
      `delete from plimsoll.audit`,
    ])
      await expect(store.app(line)).rejects.toThrow(/permission denied/)
  })

  it.runIf(engine === ENGINES[0])(
    'L6 L9 BR-064 two hundred turns and 5 MB are stored once each: no state of before is kept, retention keeps the books, and the conversation goes on',
    { timeout: 200_000 },
    async () => {
      const TURNS = 200
      // its own: no hold and no endpoint of another story keeps anything here
      const store = await openStore(engine)
      let made = 0
      // nothing in it repeats, so that no compression flatters the figure
      const kilobyte = () =>
        Array.from({ length: 12 }, () => createHash('sha512').update(`${made++}`).digest('base64'))
          .join('')
          .slice(0, 1_024)
      const objects = folderObjects(root)
      const large = tool('rows.large@1', {
        input,
        effect: 'read',
        maxResultBytes: 2_048,
        run: () => 'x'.repeat(5_000_000),
      })
      const pay = tool('bank.pay@1', { input, effect: 'irreversible', unknown: 'manual', commit: () => 'paid' })
      const seen: number[] = []
      const model = scripted(
        ({ messages }: ModelRequest) => {
          const last = messages.at(-1)
          if (last?.role !== 'user') return { text: 'done' }
          seen.push(messages.length)
          const name = { large: large.exposedName, pay: pay.exposedName }[last.text]
          return name ? { calls: [{ name, arguments: {} }] } : { text: kilobyte() }
        },
        { id: 'kilobytes', contextTokens: 1_000_000 },
      )
      const budget = { steps: 4, toolCalls: 4, tokens: 5_000_000, costCents: 1_000_000, seconds: 100 }
      const stage = await play(store, { tools: [large, pay], model, budget, more: { objects }, worker: { pollMs: 20 } })
      let at: { session: SessionId; sessionVersion: number } | undefined
      const runs: string[] = []
      const turn = async (words: string) => {
        const said = await stage.say(words, at)
        expect(await said.rest()).toMatchObject({ end: 'completed' })
        at = said
        runs.push(said.run)
        return said
      }
      for (let i = 0; i < TURNS; i++) await turn(kilobyte())
      const of = (table: string) => (table === 'run' ? 'id' : 'run_id')
      const stored = async () => {
        const tables = [
          'run',
          'message',
          'effect',
          'ledger',
          'event',
          'delta',
          'confirmation',
          'artifact',
          'audit',
          'idempotency',
        ]
        const sizes = tables.map(
          (t) =>
            `select coalesce(sum(pg_column_size(t.*)), 0) as bytes from plimsoll.${t} t where t.${of(t)} = any ($1)`,
        )
        const [row] = await store.admin(`select sum(bytes)::int8 as bytes from (${sizes.join(' union all ')}) s`, [
          runs,
        ])
        return Number(row?.bytes)
      }
      const fresh = TURNS * 2_048
      expect((await stored()) / fresh).toBeLessThan(3)

      const before = await stored()
      await turn('large')
      // its summary and its message, and not the 5 MB
      expect((await stored()) - before).toBeLessThan(30_000)
      const found: string[] = []
      for await (const { key } of objects.list()) found.push(key)
      expect(found).toHaveLength(1)
      let bytes = 0
      for await (const piece of (await objects.get(found[0]!))!) bytes += piece.byteLength
      expect(bytes / 5_000_000).toBeLessThan(1.01)

      const waiting = await stage.say('pay')
      const [card] = await waiting.asked(1)
      await store.admin(`update plimsoll.run set ended_at = now() - interval '2 hours' where id = any ($1)`, [runs])
      const who = operator('acme')
      const books = () =>
        store.admin(
          `select (select count(*) from plimsoll.run where id = any ($1))::int as runs, (select count(*) from plimsoll.ledger where run_id = any ($1))::int as ledger,
             (select count(*) from plimsoll.effect where run_id = any ($1))::int as effects`,
          [runs],
        )
      const held = await books()
      for (const name of ['delta', 'event', 'value', 'artifact'])
        await stage.runtime.retention.set(who, name, 0, 'policy 64')
      const swept = await stage.runtime.retention.run(who, false)
      expect(swept.find((one) => one.class === 'event')).toMatchObject({ runs: TURNS + 1, kept: 0, done: true })
      expect(await books()).toEqual(held)
      expect(await stored()).toBeLessThan(before)
      const audit = await store.admin(
        `select count(*)::int as n from plimsoll.audit where action like 'retention.%' and tenant_id = 'acme'`,
      )
      expect(audit).toEqual([{ n: 8 }])

      await turn('and on')
      // two messages of each turn, four of that with the call, and its own
      expect(seen.at(-1)).toBe(2 * TURNS + 4 + 1)
      await waiting.decide(card!, true)
      expect(await waiting.rest()).toMatchObject({ end: 'completed' })
      expect(await waiting.results()).toEqual(['paid'])
      await stage.stop()
      await store.close()
    },
  )
})
