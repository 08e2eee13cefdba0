/** A backup that is put back: a real dump, a real restore, and the log that says what happened in between. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { openKeyFile } from '../../src/db/keyfile.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { restoreFolder } from '../../src/journal/restorelog.shell.ts'
import { readSegment } from '../../src/journal/restorelog.ts'
import { createRuntime } from '../../src/runtime.ts'
import { refundDemo } from '../../src/testing/refund-demo.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { makeDatabase } from '../setup/engines.ts'
import { agentOf, confirmationOf, ended, openPlane, type Payments, person, refundTool } from '../setup/plane.ts'

const BIN = '/usr/lib/postgresql/15/bin'
const hasTools = existsSync(join(BIN, 'pg_dump')) && existsSync(join(BIN, 'pg_restore'))

describe.skipIf(!inject('postgres') || !hasTools)('a backup that is put back', { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-restore-'))
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  const rows = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }

  it('G4 J2 what was spent, revoked, deleted or destroyed after the backup stays so, and the action is not done twice', async () => {
    const payments: Payments = { refunds: [], order: 1 }
    const agents = [agentOf('support', { model: scripted(refundDemo), tools: [refundTool(payments)] })]
    const keys = await openKeyFile(join(home, 'key.json'), true)
    const log = join(home, 'restore')
    const more = { keys, restoreLog: restoreFolder(log) }
    const [before, after] = await Promise.all([makeDatabase('template'), makeDatabase('nothing')])
    try {
      const db = await openPostgres({ url: before.url })
      const plane = await openPlane({ db, agents, more })
      const asking = async (tenant: string) => {
        const who = await plane.user('ann', tenant)
        const made = await who.post('/v1/runs', {
          body: { agent: 'support', text: 'Please refund order 1042, $12.00' },
        })
        return { who, run: made.body.id as string, card: await confirmationOf(who, made.body.id) }
      }
      const [acme, birch] = [await asking('acme'), await asking('birch')]
      await rows(
        before.url,
        `insert into plimsoll.memory (tenant_id, id, environment, subject_id, user_id, scope, scope_id, permission_scope, layer, kind, key, value,
           value_hash, integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, detectors, valid_from)
         values ('acme', 'mem_1', 'test', 'ann', 'ann', 'user', 'ann', '{ann}', 'semantic', 'fact', 'tea', 'green', 'h', 'user', 'subject', 1, 1,
           'none', 'help', 'consent', 1, now())`,
      )
      const stolen = await plane.service('acme', ['stolen'])
      expect((await stolen.get('/v1/agents')).status).not.toBe(401)

      // ── the backup ──
      const dump = join(home, 'backup.dump')
      execFileSync(join(BIN, 'pg_dump'), ['-Fc', '-f', dump, before.url])

      // ── what happens after it ──
      const yes = { version: acme.card.version, body: { params_hash: acme.card.params_hash } }
      expect((await acme.who.post(`/v1/confirmations/${acme.card.id}/approve`, yes)).status).toBe(200)
      expect((await ended(acme.who, acme.run)).status).toBe('succeeded')
      const [credential] = await rows(before.url, `select id from plimsoll.credential where permissions = '{stolen}'`)
      const operator = await plane.operator('acme')
      const revoked = await fetch(`${plane.url}/v1/credentials/${String(credential?.id)}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${operator.bearer}` },
      })
      expect(revoked.status).toBeLessThan(300)
      await plane.runtime.tenants.destroy('birch', { actor: 'op', reason: 'contract ended' })
      await rows(
        before.url,
        `update plimsoll.memory set status = 'deleted', deleted_at = now(), value = '' where id = 'mem_1'`,
      )
      await rows(
        before.url,
        `insert into plimsoll.tombstone (tenant_id, kind, id, environment) values ('acme', 'memory', 'mem_1', 'test')`,
      )
      await plane.close()
      await db.close()

      // ── the restore ──
      execFileSync(join(BIN, 'pg_restore'), ['-d', after.url, dump])
      const [waits] = await rows(after.url, `select status from plimsoll.confirmation where id = '${acme.card.id}'`)
      expect(waits).toEqual({ status: 'pending' })
      const restored = await openPostgres({ url: after.url })
      const again = await openPlane({ db: restored, agents, more })
      const ann = person(again.url, acme.who.bearer)
      const second = await ann.post(`/v1/confirmations/${acme.card.id}/approve`, yes)
      expect([second.status, second.body.code]).toEqual([409, 'already_decided'])
      expect((await ended(ann, acme.run)).status).toBe('succeeded')
      expect(payments.refunds).toHaveLength(1)
      expect((await person(again.url, stolen.bearer).get('/v1/agents')).status).toBe(401)
      const gone = await person(again.url, birch.who.bearer).get(`/v1/confirmations/${birch.card.id}`)
      expect([gone.status, gone.body.code]).toEqual([410, 'content_destroyed'])
      const [left] = await rows(
        after.url,
        `select (select count(*)::int from plimsoll.tombstone where id = 'mem_1') as tombstones,
           (select count(*)::int from plimsoll.memory where id = 'mem_1' and (deleted_at is null or length(value) > 0)) as memories,
           (select count(*)::int from plimsoll.tenant_key where tenant_id = 'birch' and length(wrapped) > 0) as keys,
           (select status from plimsoll.run where id = '${birch.run}') as run`,
      )
      expect(left).toEqual({ tombstones: 1, memories: 0, keys: 0, run: 'canceled' })
      // told twice it changes nothing
      expect(await again.runtime.tenants.restore()).toBe(0)
      await again.close()
      await restored.close()
      // ids and times, and nothing that anybody has said
      const text = readdirSync(log)
        .map((name) => readFileSync(join(log, name), 'utf8'))
        .join('')
      expect(text).not.toContain('1042')
    } finally {
      await Promise.all([before.drop(), after.drop()])
    }
  })

  it('G4 a database that has seen everything is told nothing, and a log that cannot be read stops the start', async () => {
    const database = await makeDatabase('template')
    const db = await openPostgres({ url: database.url })
    try {
      const log = join(home, 'other')
      const keys = await openKeyFile(join(home, 'key.json'), true)
      const runtime = createRuntime({ db, agents: [], keys, restoreLog: restoreFolder(log) })
      const { id } = await runtime.createKey({
        tenant: 'acme',
        environment: 'test',
        kind: 'service',
        user: 'shop',
        permissions: [],
      })
      await runtime.credentials.revoke({ tenant: 'acme', environment: 'test' }, id)
      const worker = await runtime.work()
      await worker.stop()
      const [segment] = readdirSync(log)
      expect(readSegment('', readFileSync(join(log, segment as string), 'utf8'))).toMatchObject([
        { kind: 'revoked', id },
      ])
      expect(await runtime.tenants.restore()).toBe(0)
      writeFileSync(join(log, '999999999999999-00000000.jsonl'), '{"kind":"revoked","tenant":"ac')
      await expect(runtime.tenants.restore()).rejects.toMatchObject({ code: 'content_damaged' })
    } finally {
      await db.close()
      await database.drop()
    }
  })
})
