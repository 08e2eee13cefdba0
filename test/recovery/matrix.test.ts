/** A short row out of the crash matrix; `npm run crash -- --points all` strikes everything. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { callerTasks } from '../../src/eval/crash-callers.ts'
import { type CrashCase, caseAt, runCrashCase } from '../../src/eval/crash-case.ts'
import type { Held } from '../../src/eval/crash-held.ts'
import { judge, verdicts } from '../../src/eval/crash-judge.ts'
import type { FaultPoint } from '../../src/kernel/faultpoint.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openMigrator, openPostgres } from '../../src/db/postgres.ts'
import { openWitness } from '../../src/db/witness.ts'
import { wave } from '../../src/eval/wave.ts'
import type { ProviderMode } from '../../src/testing/effect-provider.ts'
import { startOwnPostgres } from '../setup/server.ts'
import { type Ground, openGround, runCases } from './ground.ts'

const url = inject('postgres')

describe.skipIf(!url)('the crash matrix', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround({ processes: true })
  })
  afterAll(() => ground.close())

  /** What does not hold, by case; empty when all is as promised. */
  async function broken(cases: readonly CrashCase[]): Promise<readonly unknown[]> {
    const results = await runCases(ground, cases)
    return results.flatMap((result, i) => {
      const one = cases[i]!
      const lost = [...verdicts(one, result)].filter(([, holds]) => !holds).map(([n]) => n)
      const isMet = one.victims.every((_, at) => result.met[at]?.length === 1)
      const verdict = judge(one, result)
      return verdict === 'ok' && lost.length === 0 && isMet
        ? []
        : [{ one, verdict, lost, isMet, reason: result.reason }]
    })
  }
  const held = (action: Held, ...places: readonly (FaultPoint | readonly [FaultPoint, ProviderMode])[]) =>
    places.map((place) => (typeof place === 'string' ? caseAt(place, action) : caseAt(place[0], action, place[1])))

  it('P6 L4 BR-056 a polite stop at any place loses no run, counts no attempt, leaves no lease and ends in time', {
    timeout: 120_000,
  }, async () => {
    const cases = held(
      'term',
      'claim.before',
      'model.sent',
      'plan.before',
      ['preflight.after', 'manual'],
      'result.before',
    )
    expect(await broken(cases)).toEqual([])
  })

  it('J7 BR-049 after a cancel nothing starts, and what has started is told, at any place and after a kill', {
    timeout: 120_000,
  }, async () => {
    const cases = [
      ...held('cancel', 'claim.after', 'preflight.before', ['ext.before', 'state'], 'ext.replied'),
      ...held('cancel_kill', 'preflight.after', 'ext.committedNoReply'),
    ]
    expect(await broken(cases)).toEqual([])
  })

  it('A3 L1 a transaction that the database refuses for the sake of others is sent again, and nobody is called again', {
    timeout: 120_000,
  }, async () => {
    // the claim, two answers, the plan, the claim after it, the start, the result, the end
    const cases = [1, 2, 4, 6, 7, 8].map(
      (nth): CrashCase => ({
        mode: 'manual',
        victims: [],
        refusal: { sqlstate: nth % 2 ? '40001' : '40P01', nth },
      }),
    )
    expect(await broken(cases)).toEqual([])
  })

  it('L2 wall clocks that are wrong, stand still or step back give no run to two workers', {
    timeout: 120_000,
  }, async () => {
    const cases = (['ahead', 'behind', 'frozen', 'stepping'] as const).map(
      (clock): CrashCase => ({ ...caseAt('ext.replied', 'kill', 'state'), beside: true, clock }),
    )
    expect(await broken(cases)).toEqual([])
  })

  it('A13 L1 a process that serves callers dies around their commit, and the repeated request gets the answer', {
    timeout: 120_000,
  }, async () => {
    const outcomes = await Promise.all(
      callerTasks(ground)
        .filter((_, n) => n % 4 === 3 || n > 22)
        .map((task) => task()),
    )
    expect(outcomes.map((o) => o.trouble)).toEqual(outcomes.map(() => null))
    expect(outcomes.length).toBeGreaterThan(5)
  })
})

describe.skipIf(!url)('a database that goes down at once', () => {
  it('L1 J5 under runs that are held at their places: nothing that was acknowledged is lost', {
    timeout: 180_000,
  }, async () => {
    const server = await startOwnPostgres({ fsync: 'off' })
    if (!server) return console.log('skipped: there is no PostgreSQL here that may be restarted')
    const sources = await openGround({ processes: true })
    const migrator = await openMigrator(server.url)
    await migrate(migrator)
    await migrator.close()
    const witness = await openWitness(server.url)
    const db = await openPostgres({ url: server.url, connections: 4 })
    const ground = { ...sources, db, witness, url: server.url, patienceMs: 100_000 }
    try {
      const places: readonly FaultPoint[] = [
        'step.beforeIntent',
        'preflight.after',
        'ext.committedNoReply',
        'final.before',
      ]
      const cases = places.map((point) => caseAt(point, 'restart'))
      const seen: unknown[] = []
      await wave(cases, server.restart, async (one, restart) => {
        const result = await runCrashCase({ ...ground, restart }, one)
        const lost = [...verdicts(one, result)].filter(([, holds]) => !holds).map(([n]) => n)
        seen.push({ verdict: judge(one, result), lost, met: result.met.flat() })
      })
      expect(seen).toEqual(expect.arrayContaining(places.map((place) => ({ verdict: 'ok', lost: [], met: [place] }))))
    } finally {
      await Promise.all([db.close(), witness.close(), sources.close()])
      await server.stop()
    }
  })
})
