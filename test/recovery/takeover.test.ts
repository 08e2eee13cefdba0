import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type CrashCase, crashActor, judge, runCrashCase, seen } from '../../src/eval/crash-case.ts'
import { crashAgent } from '../../src/eval/crash-agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import { type Ground, openGround, runCases } from './ground.ts'
import { COMPLETED, rest } from './story.ts'

const url = inject('postgres')

describe.skipIf(!url)('another worker', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround({ processes: true })
  })
  afterAll(() => ground.close())

  it('L2 beside the one that dies takes over, and nothing happens twice', { timeout: 90_000 }, async () => {
    const cases: CrashCase[] = ['model.sent:1:kill', 'ext.replied:1:kill'].map((fault) => ({
      mode: 'state',
      victims: [fault],
      beside: true,
    }))
    const results = await runCases(ground, cases)
    expect(results.map((r, i) => judge(cases[i]!, r))).toEqual(cases.map(() => 'ok'))
  })

  it('L4 BR-062 does not loop on a run that kills its workers, and the conversation goes on', {
    timeout: 90_000,
  }, async () => {
    const poison: CrashCase = { mode: 'keyed', victims: ['', ''], deadly: 'read', attempts: 2 }
    const { reason, session, sessionVersion, spec } = await runCrashCase(ground, poison)
    expect(reason).toBe('attempts_exhausted')
    const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
    const { run } = await runtime.submit(crashActor(), {
      agent: spec.name,
      text: `${spec.name}b`,
      session,
      sessionVersion,
    })
    const worker = await runtime.work({ heartbeatMs: 400, leaseMs: 1_600, pollMs: 50 })
    expect(await rest(runtime, run, runtime)).toEqual(COMPLETED)
    await worker.stop()
  })

  it('L4 J4 asks a person about an effect that killed its workers, and goes on from the answer', {
    timeout: 90_000,
  }, async () => {
    const poison: CrashCase = { mode: 'keyed', victims: ['', ''], deadly: 'write', attempts: 2 }
    const { reason, run, effects, spec } = await runCrashCase(ground, poison)
    expect({ reason, effects }).toEqual({ reason: 'unknown_effect', effects: 0 })
    const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
    const at = { run, step: 2, position: 0 }
    await expect(runtime.resolve(crashActor(), at, { outcome: 'did_not_happen', reason: 'no' })).rejects.toMatchObject({
      code: 'permission_denied',
    })
    await runtime.resolve(crashActor('operator'), at, {
      outcome: 'did_not_happen',
      reason: 'the provider has no such order',
    })
    const audit = await ground.store.admin(
      'select actor_kind, actor, action, target, outcome, reason from plimsoll.audit where run_id = $1 and action <> $2',
      [run, 'confirmation.decide'],
    )
    expect(audit).toEqual([
      {
        actor_kind: 'operator',
        actor: 'olga',
        action: 'effect.resolve',
        target: `${run}/2/0`,
        outcome: 'did_not_happen',
        reason: 'the provider has no such order',
      },
    ])
    const worker = await runtime.work({ heartbeatMs: 400, leaseMs: 1_600, pollMs: 50 })
    expect(await rest(runtime, run, runtime)).toEqual(COMPLETED)
    await expect(
      runtime.resolve(crashActor('operator'), at, { outcome: 'happened', result: {}, reason: 'no' }),
    ).rejects.toMatchObject({ code: 'refused_transition' })
    await worker.stop()
    expect((await seen(runtime, run))?.end).toBe('completed')
  })
})
