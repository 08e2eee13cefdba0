/** What the stories of this folder stand on: a database, a provider in its own process, and cases that run side by side. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type CrashCase, type CrashGround, type CrashResult, runCrashCase } from '../../src/eval/crash-case.ts'
import { openWitness } from '../../src/db/witness.ts'
import { startEffectProvider } from '../../src/testing/effect-provider.ts'
import { bundled } from '../setup/compiled.ts'
import { openStore, type TestStore } from '../setup/engines.ts'

export interface Ground extends CrashGround {
  readonly store: TestStore
  close(): Promise<void>
}

/** `processes`: workers of their own will be started, which are quicker from one file. */
export async function openGround({ processes = false } = {}): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-recovery-'))
  const [store, provider] = await Promise.all([
    openStore('postgres'),
    startEffectProvider({ log: join(folder, 'effects.jsonl') }),
  ])
  const witness = await openWitness(
    Object.assign(new URL(inject('postgres')), { pathname: new URL(store.url).pathname }).toString(),
  )
  return {
    store,
    witness,
    db: store.db,
    url: store.url,
    provider,
    ...(processes ? { program: bundled('src/eval/crash-worker.ts') } : {}),
    patienceMs: 40_000,
    async close() {
      await witness.close()
      await Promise.all([store.close(), provider.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A case is mostly the wait for a lease: so many keep two cores busy, and more of them only wait for each other. */
const LANES = 4

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
