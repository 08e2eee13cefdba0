/** The code of the README is this example, and it works as the README says. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Agent } from '../src/index.ts'
import { openStore, type TestStore } from '../test/setup/engines.ts'
import { confirmationOf, ended, openPlane, type Plane } from '../test/setup/plane.ts'
import support from './support.ts'

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
const MOST_LINES = 25

let store: TestStore
let plane: Plane
beforeAll(async () => {
  store = await openStore('embedded')
  plane = await openPlane({ db: store.db, agents: [support satisfies Agent] })
})
afterAll(async () => {
  await plane?.close()
  await store?.close()
})

it('I1 the README shows this example, in at most 25 lines', () => {
  const code = /```ts\n([^]*?)```/.exec(read('../README.md'))?.[1]
  expect(code).toBe(read('support.ts'))
  expect(code?.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES)
})

it('J1 the example asks before it pays, and pays once', async () => {
  const ann = await plane.user('ann')
  const run = (await ann.post('/v1/runs', { body: { agent: 'support', text: 'Please refund order 1042, $12.00' } }))
    .body.id
  const card = await confirmationOf(ann, run)
  expect(card).toMatchObject({ summary: 'Refund 1200 cents of order 1042', params: { orderId: '1042', cents: 1_200 } })
  await ann.post(`/v1/confirmations/${card.id}/approve`, {
    version: card.version,
    body: { params_hash: card.params_hash },
  })
  expect(await ended(ann, run)).toMatchObject({
    status: 'succeeded',
    actions: [{ tool: 'orders.refund', outcome: 'ok' }],
  })
})
