/** What the stories of this folder stand on: a database, a provider in its own process, and cases that run side by side. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db } from '../../src/db/port.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { type CrashCase, type CrashGround, type CrashResult, runCrashCase } from '../../src/eval/crash-case.ts'
import { startEffectProvider } from '../../src/testing/effect-provider.ts'
import { compiled } from '../setup/compiled.ts'
import { type TestDatabase, testDatabase } from '../setup/database.ts'

export interface Ground extends CrashGround {
  readonly database: TestDatabase
  readonly db: Db
  close(): Promise<void>
}

/** `processes`: workers of their own will be started, which is quicker from plain JavaScript. */
export async function openGround({ processes = false } = {}): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-recovery-'))
  const database = await testDatabase()
  const sources = processes ? compiled() : null
  const [db, provider] = await Promise.all([
    openPostgres({ url: database.url, connections: 6 }),
    startEffectProvider({ log: join(folder, 'effects.jsonl') }),
  ])
  return {
    database,
    db,
    url: database.url,
    provider,
    ...(sources ? { program: join(sources.folder, 'eval/crash-worker.js') } : {}),
    patienceMs: 40_000,
    async close() {
      await Promise.all([db.close(), provider.stop()])
      await database.drop()
      sources?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Two cores: three processes at a time keep them busy, more of them only wait for each other. */
const LANES = 3

/** Runs the cases side by side; the results are in the order of the cases. */
export async function runCases(ground: CrashGround, cases: readonly CrashCase[]): Promise<readonly CrashResult[]> {
  const results: CrashResult[] = []
  const queue = cases.map((one, at) => ({ one, at }))
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next.at] = await runCrashCase(ground, next.one)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return results
}
