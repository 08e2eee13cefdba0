import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { caseAt, type CrashCase, runCrashCase } from '../../src/eval/crash-case.ts'
import { judge } from '../../src/eval/crash-judge.ts'
import { type Ground, openGround, runCases } from './ground.ts'

const url = inject('postgres')

describe.skipIf(!url)('a process that is asked to end', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround({ processes: true })
  })
  afterAll(() => ground.close())

  it('P6 in the middle of an effect says first that it is not ready, on every connection, and then ends with its work done', {
    timeout: 60_000,
  }, async () => {
    const one = caseAt('ext.committedNoReply', 'term', 'manual')
    const { politeEnd, reason, effects, ...rest } = await runCrashCase(ground, one)
    // the effect was nobody's to ask about, and is known all the same: it was waited for
    expect({ reason, effects, keys: rest.keys.length }).toEqual({ reason: 'completed', effects: 1, keys: 1 })
    expect(politeEnd).toMatchObject({ code: 0, hasLease: false, ready: [200, 503, 503] })
    expect(politeEnd?.evidence.effects).toMatchObject([{ status: 'settled', outcome: 'ok' }])
  })
})

describe.skipIf(!url)('a worker that is paused for longer than its lease', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround({ processes: true })
  })
  afterAll(() => ground.close())

  it('L2 BR-008 BR-058 wakes up without rights: no second effect, and its stale writes are refused', {
    timeout: 120_000,
  }, async () => {
    const cases: CrashCase[] = [
      { mode: 'manual', victims: ['preflight.after:1:stop'] },
      { mode: 'state', victims: ['ext.before:1:stop'] },
      { mode: 'keyed', victims: ['ext.replied:1:stop'] },
      { mode: 'keyed', victims: ['step.beforeIntent:2:stop'] },
    ]
    const results = await runCases(ground, cases)
    expect(results.map((r) => r.met.flat().length)).toEqual(cases.map(() => 1))
    expect(results.map((r, i) => judge(cases[i]!, r))).toEqual(cases.map(() => 'ok'))
    expect(results.map((r) => r.reason)).toEqual(['unknown_effect', 'completed', 'completed', 'completed'])
    // one chain of versions, and each message once, whoever wrote it
    const [doubled] = await ground.store.admin(
      `select count(*) as n from (select run_id, step, position, role from plimsoll.message group by 1, 2, 3, 4 having count(*) > 1) d`,
    )
    expect(doubled).toEqual({ n: 0 })
  })
})
