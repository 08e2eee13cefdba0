import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { caseAt } from '../../src/eval/crash-case.ts'
import { FAULT_POINTS } from '../../src/kernel/faultpoint.ts'
import { type Ground, openGround, runCases } from './ground.ts'

const url = inject('postgres')

describe.skipIf(!url)('a worker killed at', () => {
  let ground: Ground
  beforeAll(async () => {
    ground = await openGround()
  })
  afterAll(() => ground.close())

  it('J5 every named place: the run ends well with exactly one effect, and every place is passed', { timeout: 180_000 }, async () => {
    const cases = FAULT_POINTS.map((point) => caseAt(point, 'kill'))
    const results = await runCases(ground, cases)
    const seen = results.map((r, i) => ({ place: FAULT_POINTS[i], met: r.met.at(-1), status: r.status, effects: r.effects, keys: r.keys.length }))
    expect(seen).toEqual(FAULT_POINTS.map((place) => ({ place, met: [place], status: 'succeeded', effects: 1, keys: 1 })))
  })
})
