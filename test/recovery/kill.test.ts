import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type CrashCase, caseAt } from '../../src/eval/crash-case.ts'
import { judge } from '../../src/eval/crash-judge.ts'
import { WORKER_POINTS, type FaultPoint } from '../../src/kernel/faultpoint.ts'
import { type Ground, openGround, runCases } from './ground.ts'

const url = inject('postgres')

describe.skipIf(!url)('a worker killed', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround({ processes: true })
  })
  afterAll(() => ground.close())

  const verdicts = async (places: readonly FaultPoint[], cases: readonly CrashCase[]) => {
    const results = await runCases(ground, cases)
    return results.map((result, i) => ({
      place: places[i],
      met: result.met.at(-1),
      verdict: judge(cases[i]!, result),
      reason: result.reason,
    }))
  }

  it('J5 at every named place leaves exactly one effect, and every place is passed', { timeout: 180_000 }, async () => {
    const seen = await verdicts(
      WORKER_POINTS,
      WORKER_POINTS.map((point) => caseAt(point, 'kill')),
    )
    const asked = (place: FaultPoint) => (place.startsWith('park') ? 'unknown_effect' : 'completed')
    expect(seen).toEqual(WORKER_POINTS.map((place) => ({ place, met: [place], verdict: 'ok', reason: asked(place) })))
  })

  it('J4 around an effect that nobody can ask about leaves at most one and asks a person', {
    timeout: 90_000,
  }, async () => {
    const places: readonly FaultPoint[] = ['preflight.after', 'ext.replied']
    const seen = await verdicts(
      places,
      places.map((point) => caseAt(point, 'kill', 'manual')),
    )
    expect(seen).toEqual(places.map((place) => ({ place, met: [place], verdict: 'ok', reason: 'unknown_effect' })))
  })

  it('J4 around an effect without a key finds out whether it happened, and never does it twice', {
    timeout: 90_000,
  }, async () => {
    const places: readonly FaultPoint[] = ['ext.before', 'ext.replied', 'ext.replied']
    const cases = places.map((point, i) => caseAt(point, 'kill', i < 2 ? 'state' : 'keyed_blind'))
    const seen = await verdicts(places, cases)
    expect(seen).toEqual(places.map((place) => ({ place, met: [place], verdict: 'ok', reason: 'completed' })))
  })
})
