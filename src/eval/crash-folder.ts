/** Invariant 32: an embedded folder through a row of killed processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Outcome } from './crash-summary.ts'

const ROUNDS = 20
/** Rows that each process has acknowledged, at least, when it is killed. */
const ROWS = 10

interface Holder {
  readonly found: Promise<number>
  /** Rows that it has told of. */
  readonly committed: () => number
  until(rows: number): Promise<void>
  kill(): Promise<void>
}

export const lockTask = (folder: string) => async (): Promise<Outcome> => {
  const store = join(folder, 'store')
  mkdirSync(store)
  const start = (...args: readonly string[]) => startFolderWorker(args)
  let [acknowledged, rounds, refused] = [0, 0, 0]
  let isWhole = true
  for (; rounds < ROUNDS; rounds++) {
    const holder = hold(start('hold', store))
    const found = await holder.found
    // one row may be committed and the word of it lost
    isWhole &&= found >= acknowledged && found <= acknowledged + 1
    await holder.until(ROWS)
    // every few rounds somebody else tries, while the holder lives
    if (rounds % 5 === 0) refused += (await firstLine(start('try', store)))['code'] === 'store_locked' ? 1 : 0
    await holder.kill()
    acknowledged = found + holder.committed()
  }
  const holds = isWhole && refused === ROUNDS / 5
  return {
    verdict: holds ? 'ok' : 'lost',
    proves: new Map([[32, holds]]),
    kills: [],
    strikes: [],
    takeovers: [],
    trouble: holds ? null : `lost: an embedded folder after ${rounds} kills (${refused} refusals, whole: ${isWhole})`,
  }
}

/** The program of the suite, which is in the repository and not in the package. */
function startFolderWorker(args: readonly string[]): ChildProcess {
  const program = fileURLToPath(new URL('../../test/recovery/folder.worker.ts', import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
}

type Line = Readonly<Record<string, unknown>>

async function firstLine(child: ChildProcess): Promise<Line> {
  for await (const line of lines(child)) return JSON.parse(line) as Line
  return {}
}

const lines = (child: ChildProcess) => {
  if (!child.stdout) throw new Error('the process has no output')
  return createInterface({ input: child.stdout })
}

function hold(child: ChildProcess): Holder {
  let committed = 0
  let heard: () => void = () => {}
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const found = new Promise<number>((resolve, reject) => {
    void gone.then(() => reject(new Error('the process of the folder ended by itself')))
    lines(child).on('line', (text) => {
      const line = JSON.parse(text) as Line
      if (typeof line['found'] === 'number') resolve(line['found'])
      if (typeof line['committed'] === 'number') committed = line['committed']
      heard()
    })
  })
  // who waits for it hears of it; nobody may be waiting
  found.catch(() => {})
  return {
    found,
    committed: () => committed,
    until: (rows) =>
      new Promise((resolve, reject) => {
        void gone.then(() => reject(new Error('the process of the folder ended by itself')))
        heard = () => {
          if (committed >= rows) resolve()
        }
        heard()
      }),
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
