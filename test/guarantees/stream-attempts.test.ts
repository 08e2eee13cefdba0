/** What people see of an answer whose commit, or whose reply, did not get through. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Db } from '../../src/db/port.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { agent } from '../../src/run/agent.ts'
import { step } from '../../src/run/run.sql.ts'
import { createRuntime } from '../../src/runtime.ts'
import { memoryStore } from '../../src/testing/memory/store.ts'
import type { Script } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { interfere } from '../setup/interfere.ts'
import { gate, person } from '../setup/stage.ts'

const look = tool('shelf.look@1', { input: z.strictObject({}), effect: 'read', run: () => 'empty' })

function speaking(db: Db, script: Script) {
  const budget = { steps: 3, toolCalls: 2, tokens: 20_000, costCents: 900, seconds: 60 }
  return createRuntime({ db, agents: [agent('speaker', { model: scripted(script), tools: [look], budget })] })
}

const following = (run: `run_${string}`) =>
  ({ run, after: 0, operator: false, signal: new AbortController().signal }) as const

it('K3 an answer that is asked for again under the same claim is never joined with the one before it', async () => {
  let lost = false
  const db = interfere(memoryStore().db, step, async ({ transitions }, send) => {
    if (lost || !transitions.includes('run_ended')) return send()
    lost = true
    throw new Fault('store_unavailable')
  })
  const runtime = speaking(db, [{ text: 'first answer' }, { text: 'second answer' }])
  const { run } = await runtime.submit(person(), { agent: 'speaker', text: 'speak' })
  const texts = new Map<number, string>()
  const reading = (async () => {
    for await (const item of runtime.follow(person(), following(run)))
      if (item.kind === 'delta') texts.set(item.attempt, `${texts.get(item.attempt) ?? ''}${item.text}`)
  })()
  const worker = await runtime.work({ onError: () => {} })
  await reading
  await worker.stop()
  expect([...texts.values()]).toEqual(['first answer', 'second answer'])
})

it('A4 K3 who has the message of a step is never sent its text again, when the worker hears of the commit later', async () => {
  const [stored, told] = [gate(), gate()]
  const db = interfere(memoryStore().db, step, async (_, send) => {
    const rows = await send()
    stored.open()
    await told.opened
    return rows
  })
  const runtime = speaking(db, [
    { text: 'let me look', calls: [{ name: 'shelf__look', arguments: {} }] },
    { text: 'it is empty' },
  ])
  const { run } = await runtime.submit(person(), { agent: 'speaker', text: 'speak' })
  const worker = await runtime.work({ onError: () => {} })
  await stored.opened
  const seen: string[] = []
  for await (const item of runtime.follow(person(), following(run))) {
    seen.push(item.kind === 'event' ? item.type : `text of step ${item.step}`)
    // the reader has all that there is to read, and looks once more, before the worker hears
    if (item.kind === 'event' && item.type === 'calls_settled') void runtime.clock.sleep(300).then(told.open)
  }
  await worker.stop()
  expect(seen).not.toContain('text of step 1')
  expect(seen).toContain('run_ended')
})
