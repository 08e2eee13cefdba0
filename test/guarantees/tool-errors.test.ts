/** What tools throw, told to whoever runs them and to nobody else. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/tool/define.ts'
import type { ThrownAt } from '../../src/tool/thrown.ts'
import { toolError } from '../../src/tool/toolerror.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { play } from '../setup/stage.ts'

const input = z.strictObject({})
const SECRET = 'sk_live_0123456789'
let store: TestStore
beforeAll(async () => {
  store = await openStore(ENGINES[0]!)
})
afterAll(() => store.close())

it('B6 who runs a tool hears what it threw and where, and neither the model, the run nor a row does', async () => {
  const thrown = (where: string) => new Error(`${where} ${SECRET}`)
  const fails = (where: string) => () => Promise.reject(thrown(where))
  const read = tool('shop.read@1', { input, effect: 'read', run: fails('read') })
  const expected = tool('shop.none@1', {
    input,
    effect: 'read',
    errors: { none: { kind: 'not_found', reaction: 'replan' } },
    run: () => Promise.reject(toolError('none')),
  })
  const behind = tool('shop.behind@1', {
    input,
    effect: 'read',
    errors: { away: { kind: 'unavailable', reaction: 'replan' } },
    run: () => Promise.reject(toolError('away', '', { cause: thrown('cause') })),
  })
  const planned = tool('shop.plan@1', {
    ...{ input, effect: 'write', unknown: 'manual' },
    plan: fails('plan'),
    commit: () => null,
  })
  const keyed = tool('shop.keyed@1', { input, effect: 'read', credentials: ['shop'], run: () => null })
  const effect = tool('shop.commit@1', {
    ...{ input, effect: 'write', approval: 'auto', unknown: 'manual' },
    commit: fails('commit'),
  })
  const asked = [[read, expected, behind, keyed], [planned], [effect]]
  const heard: [string, string, string][] = []
  const onToolError = (error: unknown, { tool: name, step, position }: ThrownAt): void => {
    const { message, cause } = error as Error
    heard.push([name, `${step}/${position}`, `${message}${cause instanceof Error ? `: ${cause.message}` : ''}`])
    throw new Error('a log that fails')
  }
  const credentials = { get: fails('vault') }
  const stage = await play(store, {
    tools: asked.flat(),
    script: (_, turn) => ({ calls: (asked[turn] ?? []).map((one) => ({ name: one.exposedName, arguments: {} })) }),
    more: { onToolError, credentials },
  })
  const said = await stage.say('go')
  expect(await said.rest()).toMatchObject({ wait: 'unknown_effect' })
  await stage.stop()
  expect(heard.sort(([, a], [, b]) => a.localeCompare(b))).toEqual([
    ['shop.read', '1/0', `read ${SECRET}`],
    // `none` is what the contract says of itself, and no news
    ['shop.behind', '1/2', `tool error away: cause ${SECRET}`],
    ['shop.keyed', '1/3', `vault ${SECRET}`],
    ['shop.plan', '2/0', `plan ${SECRET}`],
    ['shop.commit', '3/0', `commit ${SECRET}`],
  ])
  const rows = [await said.results(), await said.effects(), await said.ledger()]
  expect(JSON.stringify(rows)).not.toContain(SECRET)
})
