/** Keys and ends of tenants on the command line: each command is a process of its own. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { EXIT } from '../../src/kernel/fault.ts'
import { oneLine, type Place, plimsoll, serving } from '../setup/cli.ts'
import { makeDatabase } from '../setup/engines.ts'

/** Each command is a process: see cli-failures.test.ts. */
const SLOW = 180_000

describe('a key file on the command line', { timeout: SLOW }, () => {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-cli-seal-'))
  const place: Place = { cwd: home, env: { PLIMSOLL_HOME: home } }
  afterAll(() => rmSync(home, { recursive: true, force: true }))
  const file = () => join(home, 'key.json')

  it('G7 the first start makes a key file for its owner alone, seals what is said, and does not start without it', async () => {
    const server = await serving([], place)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    server.process.kill('SIGTERM')
    expect(await server.gone).toBe(0)
    const text = readdirSync(join(home, 'store'), { recursive: true, encoding: 'utf8' })
      .map((name) => join(home, 'store', name))
      .filter((path) => statSync(path).isFile())
      .map((path) => readFileSync(path, 'latin1'))
      .join('')
    expect(text).toContain('run_queued')
    // what the demo's customer says
    expect(text).not.toContain('$12.00')

    renameSync(file(), `${file()}.away`)
    const missing = await plimsoll(['start', '--port', '0'], place)
    expect(missing).toMatchObject({ exit: EXIT.unavailable, stderr: expect.stringContaining('[sealing_key_missing]') })
    expect(existsSync(file())).toBe(false)
    renameSync(`${file()}.away`, file())
  })
})

describe('keys and tenants on the command line', { timeout: SLOW }, () => {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-cli-keys-'))
  const env = { PLIMSOLL_HOME: home, PLIMSOLL_BACKUP_DAYS: '35' }
  const file = () => join(home, 'key.json')
  let place: Place = { cwd: home, env }
  /** Another store, which has seen nothing of the log. */
  let older: Place = {
    cwd: home,
    env: { PLIMSOLL_HOME: join(home, 'older'), PLIMSOLL_RESTORE_LOG: join(home, 'restore') },
  }
  const made: Awaited<ReturnType<typeof makeDatabase>>[] = []
  beforeAll(async () => {
    // the server answers a command in a fraction of the time that the embedded store takes to open
    if (inject('postgres')) {
      const [one, other] = await Promise.all([makeDatabase('template'), makeDatabase('template')])
      made.push(one, other)
      place = { cwd: home, env: { ...env, DATABASE_URL: one.url } }
      older = { cwd: home, env: { ...older.env, DATABASE_URL: other.url } }
    }
    const server = await serving([], place)
    server.process.kill('SIGTERM')
    await server.gone
  })
  afterAll(async () => {
    await Promise.all(made.map((database) => database.drop()))
    rmSync(home, { recursive: true, force: true })
  })

  it('G7 keys are rotated, and a tenant is destroyed by whoever says its name twice', async () => {
    expect((await plimsoll(['keys', 'rotate-data', 'default', '--json'], place)).json()).toEqual({
      tenant: 'default',
      epoch: 2,
    })
    const master = (await plimsoll(['keys', 'rotate-master', '--json'], place)).json()
    expect(master).toEqual({ kek: expect.stringMatching(/^kek_/), rewrapped: 2 })
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ current: master.kek })

    const reason = ['--reason', 'contract ended']
    const unsure = await plimsoll(['tenants', 'destroy', 'default', ...reason, '--confirm', 'defualt'], place)
    expect(unsure).toMatchObject({ exit: EXIT.usage, stderr: expect.stringMatching(oneLine('usage')) })
    const done = (
      await plimsoll(['tenants', 'destroy', 'default', ...reason, '--confirm', 'default', '--json'], place)
    ).json()
    expect(done).toEqual({ tenant: 'default', outcome: 'destroyed', runs: 1, backups_expire_at: expect.any(String) })
    const days = (Date.parse(done.backups_expire_at) - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(35)
    const rotated = await plimsoll(['keys', 'rotate-data', 'default'], place)
    expect(rotated).toMatchObject({ exit: EXIT.notFound, stderr: expect.stringMatching(oneLine('content_destroyed')) })
  })

  it('G4 a store that was copied before is told of it: `restore check` fails, `restore apply` mends it', async () => {
    expect((await plimsoll(['restore', 'check', '--json'], place)).json()).toEqual({ pending: 0 })
    const check = await plimsoll(['restore', 'check'], older)
    expect(check).toMatchObject({ exit: EXIT.unavailable, stderr: expect.stringContaining('[restore_pending]') })
    expect((await plimsoll(['restore', 'apply', '--json'], older)).json()).toEqual({ changed: 1 })
    expect((await plimsoll(['restore', 'check', '--json'], older)).json()).toEqual({ pending: 0 })
  })
})
