/** What the tour plays on: a server in a process of its own, two end users, and the provider's own file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Fault } from '../kernel/fault.ts'
import { readAccess } from './access.ts'
import { type Body, type Client, client } from './client.ts'
import { readRefunds, type Refund } from './payments.ts'

export interface Served {
  readonly process: ChildProcess
  readonly url: string
  /** How it ended: a code or the name of a signal. */
  readonly gone: Promise<number | string>
}

export interface Stage {
  readonly home: string
  /** The provider's own record: its file, read anew each time. */
  charges(orderId?: string): readonly Refund[]
  served(): Served
  /** Starts the server again, on the same folder. */
  restart(): Promise<void>
  user(name: string): Promise<Client>
  /** Ends the server politely and removes the folder. Returns how it ended. */
  close(): Promise<number | string>
}

/** The same language as this file: .ts from the repository, .js from the package. */
const beside = (name: string): string => fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url))

export async function openStage(): Promise<Stage> {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-demo-'))
  let served = await serve(home)
  return {
    home,
    charges: (orderId) =>
      readRefunds(join(home, 'payments.jsonl')).filter((r) => orderId === undefined || r.orderId === orderId),
    served: () => served,
    async restart() {
      served = await serve(home)
    },
    async user(name) {
      const access = await readAccess(home)
      if (!access) throw new Fault('internal')
      return client(served.url, access.service).as(name)
    },
    async close() {
      served.process.kill('SIGTERM')
      const how = await served.gone
      rmSync(home, { recursive: true, force: true })
      return how
    },
  }
}

async function serve(home: string): Promise<Served> {
  const { DATABASE_URL: _, ...env } = process.env
  const words = [
    fileURLToPath(new URL('../../bin/plimsoll.js', import.meta.url)),
    'start',
    beside('demo-agents'),
    '--data',
    home,
    '--port',
    '0',
    '--json',
  ]
  // no command in between: the process that is killed is the one that serves
  const child = spawn(process.execPath, words, {
    env: { ...env, PLIMSOLL_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
  const gone = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(signal ?? code ?? 1)),
  )
  // should the tour itself be stopped, its server goes with it
  process.once('exit', () => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(String((JSON.parse(line) as Body)['url'])))
    void gone.then(() =>
      reject(new Fault('internal', `The server of the tour did not start: ${said.at(-1) ?? 'it said nothing'}`)),
    )
  })
  return { process: child, url, gone }
}

/** On a busy machine things take their time; what does not come at all fails the tour. */
const LONGEST_MS = 60_000
const LOOK_MS = 50

export async function until<T>(ask: () => Promise<T>, isWanted: (value: T) => boolean): Promise<T> {
  for (const end = performance.now() + LONGEST_MS; ; await sleep(LOOK_MS)) {
    const value = await ask()
    if (isWanted(value) || performance.now() > end) return value
  }
}
