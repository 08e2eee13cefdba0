/** Runs that the store gives to a living worker and that nobody drives: they must not lie there for as long as it lives. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Db } from '../../src/db/port.ts'
import { claim, driven, enlist } from '../../src/journal/lease.sql.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import { memoryStore } from '../../src/testing/memory/store.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { interfere } from '../setup/interfere.ts'
import { person } from '../setup/stage.ts'

const note = tool('shelf.note@1', {
  input: z.strictObject({}),
  effect: 'write',
  approval: 'auto',
  unknown: 'key',
  commit: () => 'noted',
})

/** The last event of a run that one worker drives on `db`; undefined when it does not end. */
async function endOf(db: Db, how: { readonly heartbeatMs: number; readonly leaseMs: number }) {
  const acting = agent('writer', {
    model: scripted((_, turn) =>
      turn === 0 ? { calls: [{ name: 'shelf__note', arguments: {} }] } : { text: 'it is noted' },
    ),
    tools: [note],
    budget: { steps: 3, toolCalls: 2, tokens: 20_000, costCents: 900, seconds: 60 },
  })
  const runtime = createRuntime({ db, agents: [acting] })
  const { run } = await runtime.submit(person(), { agent: 'writer', text: 'write' })
  const worker = await runtime.work({ ...how, pollMs: 30, onError: () => {} })
  const patience = new AbortController()
  const over = setTimeout(() => patience.abort(), 8_000)
  let last: string | undefined
  for await (const item of runtime.follow(person(), { run, after: 0, operator: false, signal: patience.signal }))
    if (item.kind === 'event') last = item.type
  clearTimeout(over)
  await worker.stop()
  return last
}

it('L2 L3 a worker that counts its lease as over, while the store does not, takes its runs up again', async () => {
  // the reply comes when the worker's own count is over, and the store's has just begun
  const db = interfere(memoryStore().db, enlist, async (_, send) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    return send()
  })
  expect(await endOf(db, { heartbeatMs: 300, leaseMs: 900 })).toBe('run_ended')
})

it('L3 a claim whose reply is lost is found, also when the reply of the search is lost too', async () => {
  let claims = 0
  let searches = 0
  const first = interfere(memoryStore().db, claim, async (_, send) => {
    const rows = await send()
    if (rows.length > 0 && claims++ === 0) throw new Fault('store_unavailable')
    return rows
  })
  const both = interfere(first, driven, async (_, send) => {
    const rows = await send()
    if (searches++ === 0) throw new Fault('store_unavailable')
    return rows
  })
  expect(await endOf(both, { heartbeatMs: 2_000, leaseMs: 8_000 })).toBe('run_ended')
  expect([claims, searches > 1]).toEqual([1, true])
})
