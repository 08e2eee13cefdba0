/** One process per folder, and what survives when it is killed: real processes on a real folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockFolder } from '../../src/db/folder-lock.ts'
import { compiled } from '../setup/compiled.ts'
import { bareLite } from '../setup/engines.ts'

const WORKER = join(compiled(), 'test/recovery/folder.worker.js')

type Line = Record<string, unknown>
interface Child {
  readonly process: ChildProcess
  /** The first line with this key; the process must not end before. */
  heard(key: string, enough?: (value: unknown) => boolean): Promise<unknown>
  readonly lines: Line[]
  readonly gone: Promise<void>
}

let home = ''
const children: Child[] = []

function child(...args: readonly string[]): Child {
  const started = spawn(process.execPath, [WORKER, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines: Line[] = []
  let heard: () => void = () => {}
  createInterface({ input: started.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as Line)
    heard()
  })
  const gone = new Promise<void>((resolve) => started.once('close', () => resolve()))
  const made: Child = {
    process: started,
    lines,
    gone,
    heard(key, enough = () => true) {
      const found = () => lines.find((line) => key in line && enough(line[key]))
      return new Promise((resolve, reject) => {
        heard = () => {
          const line = found()
          if (line) resolve(line[key])
        }
        heard()
        void gone.then(() => reject(new Error(`ended before it said ${key}: ${JSON.stringify(lines.slice(-3))}`)))
      })
    },
  }
  children.push(made)
  return made
}

describe('an embedded folder', () => {
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-folder-'))
    mkdirSync(join(home, 'store'))
    const lite = await bareLite(join(home, 'store/data'))
    await lite.close()
  })
  afterAll(async () => {
    for (const one of children) one.process.kill('SIGKILL')
    await Promise.all(children.map((one) => one.gone))
    rmSync(home, { recursive: true, force: true })
  })

  it('L1 a second process is refused by name, a killed one is taken over from, and no acknowledged row is lost', async () => {
    const folder = join(home, 'store')
    const alias = join(home, 'alias')
    symlinkSync(folder, alias)
    const enough = (n: unknown) => Number(n) >= 20
    let acknowledged = 0

    const first = child('hold', folder)
    expect(await first.heard('found')).toBe(0)
    const second = child('try', folder, alias)
    await second.gone
    const refused = { code: 'store_locked', message: expect.stringContaining(`Process ${first.process.pid} on `) }
    expect(second.lines).toEqual([refused, refused])

    let holder = first
    for (let round = 0; round < 2; round++) {
      await holder.heard('committed', enough)
      holder.process.kill('SIGKILL')
      await holder.gone
      acknowledged += Number(holder.lines.at(-1)?.committed)
      holder = child('hold', folder)
      const found = Number(await holder.heard('found'))
      // a row may be committed and the word of it lost
      expect(found - acknowledged).toBeGreaterThanOrEqual(0)
      expect(found - acknowledged).toBeLessThanOrEqual(1)
      acknowledged = found
    }
    // five processes, each of which takes seconds to start on a busy machine
  }, 120_000)
})

describe('the lock of a folder', () => {
  const inFolder = async (work: (folder: string) => Promise<void>) => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-lock-'))
    await work(folder).finally(() => rmSync(folder, { recursive: true, force: true }))
  }

  it('L1 one process cannot open a folder twice, and can once the first is closed', () =>
    inFolder(async (folder) => {
      const lock = await lockFolder(folder)
      await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'store_locked' })
      await lock.release()
      await (await lockFolder(folder)).release()
    }))

  it('L1 of many that open a folder at once one gets it', () =>
    inFolder(async (folder) => {
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder)))
      const got = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      expect(got).toHaveLength(1)
      await got[0]?.release()
    }))

  it('L1 a file that a dead process, an earlier boot or a reused number left behind locks nobody out', () =>
    inFolder(async (folder) => {
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
      const left = [
        { host: hostname(), boot, pid: 2 ** 22 - 1, started: '1' },
        { host: hostname(), boot: 'another', pid: process.pid, started: '1' },
        { host: hostname(), boot, pid: process.pid, started: '1' },
      ]
      for (const holder of left) {
        writeFileSync(join(folder, 'lock.json'), JSON.stringify(holder))
        await (await lockFolder(folder)).release()
      }
      writeFileSync(join(folder, 'lock.json'), '{"half')
      await (await lockFolder(folder)).release()
    }))
})
