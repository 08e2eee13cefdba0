/** The commands on a PostgreSQL that nobody has prepared. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { EXIT } from '../../src/kernel/fault.ts'
import { oneLine, type Place, plimsoll, serving } from '../setup/cli.ts'
import { makeDatabase } from '../setup/engines.ts'
import { type Body, ended, person } from '../setup/plane.ts'

/** Each command is a process: see cli-failures.test.ts. */
const SLOW = 180_000

describe.skipIf(!inject('postgres'))('commands on PostgreSQL', { timeout: SLOW }, () => {
  let home = ''
  let database: Awaited<ReturnType<typeof makeDatabase>>
  let place: Place
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-cli-'))
    database = await makeDatabase('nothing')
    place = { cwd: home, env: { DATABASE_URL: database.url, PLIMSOLL_HOME: home } }
  })
  afterAll(async () => {
    await database?.drop()
    rmSync(home, { recursive: true, force: true })
  })

  it('L1 a database without our schema is told, migrated once, and then serves', async () => {
    const tooOld = { exit: EXIT.unavailable, stderr: expect.stringMatching(oneLine('schema_older')) }
    expect(await plimsoll(['migrate', '--check'], place)).toMatchObject(tooOld)
    expect(await plimsoll(['start', '--port', '0'], place)).toMatchObject(tooOld)
    const applied = (await plimsoll(['migrate', '--json'], place)).json().applied
    expect(applied[0]).toBe('0001_runs.sql')
    expect((await plimsoll(['migrate', '--json'], place)).json()).toEqual({ applied: [], store: 'postgres' })
    expect((await plimsoll(['migrate', '--check'], place)).exit).toBe(EXIT.ok)

    const server = await serving([], place)
    expect(server.said).toMatchObject({ ready: true, store: 'postgres', waiting: true })
    const [waiting] = (await plimsoll(['approvals', 'list', '--json'], place)).json().items
    expect((await plimsoll(['approvals', 'approve', waiting.id, '--yes'], place)).exit).toBe(EXIT.ok)
    const made = await plimsoll(['keys', 'create', '--db', database.url, '--user', 'shop', '--permission', '*'], place)
    const shop = person(server.said.url, made.stdout.trim())
    expect(await ended(shop, waiting.run_id)).toMatchObject({ status: 'succeeded' })
    server.process.kill('SIGTERM')
    expect(await server.gone).toBe(0)
  })

  it('H2 the doctor warns of a login that passes every wall, and finds the walls', async () => {
    const { exit, stdout } = await plimsoll(['doctor', '--json'], place)
    const found = Object.fromEntries(JSON.parse(stdout).findings.map((f: Body) => [f.check, f.verdict]))
    expect({ exit, found }).toMatchObject({
      exit: EXIT.ok,
      found: { store: 'ok', migrations: 'ok', role: 'warning', walls: 'ok', lease: 'ok' },
    })
  })
})
