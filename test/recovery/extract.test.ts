/** A process that is killed with the answer of an extraction in its hand. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { z } from 'zod'
import { memory } from '../../src/memory/key.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { compiled } from '../setup/compiled.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import { rowsWhere } from '../setup/rows.ts'
import { unique } from '../setup/seed.ts'
import { person } from '../setup/stage.ts'

const PROGRAM = join(compiled(), 'test/recovery/extract.worker.js')

describe.skipIf(!inject('postgres'))('an extraction in a process of its own', { timeout: 120_000 }, () => {
  let store: TestStore
  const children: ChildProcess[] = []
  beforeAll(async () => {
    store = await openStore('postgres')
  })
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL')
    await store?.close()
  })

  it('D1 E10 L3 killed between the answer and its use, another remembers it once and asks no model again', async () => {
    const name = unique('agent')
    const spec = { memory: memory({ tone: { kind: 'preference', value: z.string().max(80) } }), extract: {} } as const
    const budget = { steps: 2, toolCalls: 1, tokens: 100_000, costCents: 1_000, seconds: 60 }
    const runtime = createRuntime({ db: store.db, agents: [agent(name, { model: scripted([]), budget, ...spec })] })
    const { session } = await runtime.submit(person(), { agent: name, text: 'By the way, I like my answers short.' })
    const worker = (faults: string) => {
      const env = { ...process.env, PLIMSOLL_FAULT: faults }
      const child = spawn(process.execPath, [PROGRAM, store.url, name], { stdio: ['pipe', 'ignore', 'inherit'], env })
      children.push(child)
      return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
    }
    expect(await worker('errand.answered:1:kill')).toBe('SIGKILL')
    const values = async () => (await runtime.memory.list(person(), { after: '', limit: 9 })).items.map((m) => m.value)
    expect(await values()).toEqual([])
    expect(await rowsWhere(store, 'errand', { session_id: session })).toMatchObject([{ state: 'running', attempts: 1 }])
    // how long the dead hold what they had is not what is looked at here
    await store.admin(`update plimsoll.worker set lease_until = now() - interval '1 second'`)
    await store.admin(`update plimsoll.errand set due_at = now() where done_at is null`)
    void worker('')
    await until(
      () => rowsWhere(store, 'errand', { session_id: session }),
      ([errand]) => errand?.['state'] === 'done',
    )
    expect(await rowsWhere(store, 'errand', { session_id: session })).toMatchObject([{ outcome: 'saved', attempts: 1 }])
    expect(await values()).toEqual(['short'])
    expect(await rowsWhere(store, 'run', { agent: `${name}/extract` })).toHaveLength(1)
  })
})
