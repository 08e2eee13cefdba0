/** What an operator may say about an effect of which nobody knows whether it happened. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Resolution } from '../../src/run/resolve.shell.ts'
import { tool } from '../../src/tool/define.ts'
import type { ToolSpec } from '../../src/tool/spec.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { person, play, type Scene } from '../setup/stage.ts'

const input = z.strictObject({ n: z.int() })

describe.each(ENGINES)('an unknown effect, on the %s store', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** A run whose effect has broken off: the first try has no outcome, the second has. */
  async function parked(scene: Partial<Scene> = {}, more: Partial<ToolSpec<typeof input>> = {}) {
    const keys: string[] = []
    const contract = tool('world.change@1', {
      input,
      effect: 'write',
      approval: 'auto',
      unknown: 'manual',
      commit: (_, cx) => {
        keys.push(cx.effectKey)
        if (keys.length === 1) throw new Error('the connection broke')
        return 'changed'
      },
      ...more,
    })
    const stage = await play(store, {
      ...scene,
      tools: [contract],
      script: (_, turn) =>
        turn === 0 ? { calls: [{ name: contract.exposedName, arguments: { n: 1 } }] } : { text: 'done' },
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ wait: 'unknown_effect' })
    const operator = person('operator', 'olga')
    const resolve = (word: Resolution) => stage.runtime.resolve(operator, { run: said.run, step: 1, position: 0 }, word)
    return { stage, said, keys, resolve }
  }
  const audits = (run: string) =>
    store.admin('select actor, action, outcome, reason from plimsoll.audit where run_id = $1 order by created_at', [
      run,
    ])

  it('J4 is sent once more only when an operator says so, and then under the same key', async () => {
    const { stage, said, keys, resolve } = await parked()
    await resolve({ outcome: 'retry', reason: 'their log ends before it' })
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    expect(await said.results()).toEqual(['changed'])
    expect(await audits(said.run)).toEqual([
      { actor: 'olga', action: 'effect.resolve', outcome: 'retry', reason: 'their log ends before it' },
    ])
    await stage.stop()
  })

  it('J4 whose tool the agent has no more is not sent again, and that is said at once', async () => {
    const { stage, said, keys } = await parked()
    const later = await stage.again({ tools: [], worker: null })
    const at = { run: said.run, step: 1, position: 0 }
    await expect(
      later.runtime.resolve(person('operator', 'olga'), at, { outcome: 'retry', reason: 'not there' }),
    ).rejects.toMatchObject({ code: 'refused_transition', message: expect.stringContaining('no more') })
    expect(keys).toHaveLength(1)
    expect(await audits(said.run)).toEqual([])
    await stage.stop()
  })

  it('J4 that answers later is not sent again, since the first word would be heard as the second', async () => {
    const { stage, said, keys, resolve } = await parked({}, { resume: () => 'told of the first' })
    await expect(resolve({ outcome: 'retry', reason: 'not there' })).rejects.toMatchObject({
      code: 'refused_transition',
    })
    expect(keys).toHaveLength(1)
    expect(await audits(said.run)).toEqual([])
    await resolve({ outcome: 'did_not_happen', reason: 'not there' })
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    const breaks = (): never => {
      throw new Error('the connection broke')
    }
    const byKey = await parked({}, { resume: () => 'told of the first', unknown: 'key', commit: breaks })
    await byKey.resolve({ outcome: 'retry', reason: 'they remove doubles' })
    expect(await audits(byKey.said.run)).toMatchObject([{ outcome: 'retry' }])
    await byKey.stage.stop()
  })

  it.each([
    ['is not allowed any more', () => false],
    [
      'cannot be judged',
      () => {
        throw new Error('the directory is away')
      },
    ],
  ])('J4 whose repetition %s stays unknown: a refusal says nothing of the first try', async (_, refuse) => {
    let isOver = false
    const { stage, said, keys, resolve } = await parked({ authorize: () => (isOver ? refuse() : true) })
    isOver = true
    await resolve({ outcome: 'retry', reason: 'their log ends before it' })
    expect(await said.rest()).toMatchObject({ wait: 'unknown_effect' })
    await said.until((now) => now.wait === 'unknown_effect')
    expect(await said.effects()).toMatchObject([{ status: 'unknown', outcome: null }])
    expect(keys).toHaveLength(1)
    // and a person can still say what became of it
    await resolve({ outcome: 'happened', result: 'changed', reason: 'their statement shows it' })
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await said.results()).toEqual(['changed'])
    await stage.stop()
  })

  it('J4 that nobody will ever know ends the run and says so, and stays on record', async () => {
    const { stage, said, keys, resolve } = await parked()
    await resolve({ outcome: 'leave', reason: 'the provider is gone' })
    expect(await said.rest()).toEqual({ status: 'failed', wait: null, end: 'unknown_effect' })
    expect(await said.effects()).toMatchObject([{ status: 'unknown' }])
    expect(await said.results()).toMatchObject([{ code: 'unknown_outcome' }])
    expect(await audits(said.run)).toMatchObject([{ outcome: 'leave' }])
    expect(keys).toHaveLength(1)
    // the conversation goes on
    const { session, sessionVersion } = said
    const more = await stage.say('and now?', { session, sessionVersion })
    expect(await more.rest()).toMatchObject({ status: 'succeeded' })
    await stage.stop()
  })

  it('J7 of a canceled run is not sent again, and is answered in any other way', async () => {
    const { stage, said, keys, resolve } = await parked()
    await said.cancel()
    await expect(resolve({ outcome: 'retry', reason: 'why not' })).rejects.toMatchObject({ code: 'refused_transition' })
    await resolve({ outcome: 'did_not_happen', reason: 'no trace of it' })
    expect(await said.rest()).toMatchObject({ end: 'user_canceled' })
    expect(keys).toHaveLength(1)
    await stage.stop()
  })

  it('J4 is resolved once: of many words at once one counts, with one audit row', async () => {
    const { stage, said, resolve } = await parked()
    const words: Resolution[] = Array.from({ length: 12 }, (_, i) =>
      i % 2 ? { outcome: 'happened', result: i, reason: `word ${i}` } : { outcome: 'retry', reason: `word ${i}` },
    )
    const done = await Promise.allSettled(words.map(resolve))
    const [row] = await audits(said.run)
    const counted = words.findIndex(({ reason }) => reason === row?.['reason'])
    expect(done.flatMap((d, i) => (d.status === 'fulfilled' ? [i] : []))).toEqual([counted])
    // who says again what was recorded, because his answer was lost, is told that it is
    await resolve(words[counted]!)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    expect(await audits(said.run)).toHaveLength(1)
    await stage.stop()
  })
})
