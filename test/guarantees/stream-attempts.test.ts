/** What people see of an answer whose commit did not reach the database. */
import { expect, it } from 'vitest'
import { Fault } from '../../src/kernel/fault.ts'
import type { Db } from '../../src/db/port.ts'
import { agent } from '../../src/run/agent.ts'
import { step } from '../../src/run/run.sql.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { StreamItem } from '../../src/stream/follow.shell.ts'
import { memoryStore } from '../../src/testing/memory/store.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { person } from '../setup/stage.ts'

/** The store, to which the first commit of an answer does not get through. */
function losingOne(db: Db): Db {
  let lost = false
  return {
    ...db,
    async call(statement, params) {
      const isAnswer = (statement as unknown) === step && JSON.stringify(params).includes('run_ended')
      if (!isAnswer || lost) return db.call(statement, params)
      lost = true
      throw new Fault('store_unavailable')
    },
  }
}

it('K3 an answer that is asked for again under the same claim is never joined with the one before it', async () => {
  const acting = agent('speaker', {
    model: scripted([{ text: 'first answer' }, { text: 'second answer' }]),
    budget: { steps: 2, toolCalls: 1, tokens: 20_000, costCents: 900, seconds: 60 },
  })
  const runtime = createRuntime({ db: losingOne(memoryStore().db), agents: [acting] })
  const { run } = await runtime.submit(person(), { agent: 'speaker', text: 'speak' })
  const items: StreamItem[] = []
  const request = { run, after: 0, operator: false, signal: new AbortController().signal }
  const reading = (async () => {
    for await (const item of runtime.follow(person(), request)) items.push(item)
  })()
  const worker = await runtime.work({ onError: () => {} })
  await reading
  await worker.stop()
  const texts = new Map<number, string>()
  for (const item of items)
    if (item.kind === 'delta') texts.set(item.attempt, `${texts.get(item.attempt) ?? ''}${item.text}`)
  for (const text of texts.values()) expect(['first answer', 'second answer']).toContain(text)
  expect(texts.size).toBe(2)
})
