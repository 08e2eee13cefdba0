import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Circuit, CLOSED, judged, passed, type Showed } from './circuit.ts'

const failing = (times: number, now = 0): Circuit => {
  let circuit = CLOSED
  for (let i = 0; i < times; i++) circuit = judged(circuit, 'failed', now)
  return circuit
}

describe('a circuit', () => {
  it('N4 lets everything pass until five calls in a row have failed, and then nothing', () => {
    expect(passed(failing(4), 0)).not.toBeNull()
    expect(passed(failing(5), 0)).toBeNull()
    expect(passed(failing(5), 9_999)).toBeNull()
  })

  it('N4 one answer forgets the failures before it', () => {
    expect(passed(judged(judged(failing(4), 'answered', 0), 'failed', 0), 0)).not.toBeNull()
  })

  it('N4 after a while one call may try, and no second beside it', () => {
    const trying = passed(failing(5), 10_000)
    expect(trying).not.toBeNull()
    expect(passed(trying!, 10_000)).toBeNull()
    expect(judged(trying!, 'answered', 10_100)).toEqual(CLOSED)
  })

  it('N4 a try that fails doubles the while, up to five minutes', () => {
    let circuit = failing(5)
    let now = 0
    const whiles: number[] = []
    for (let i = 0; i < 8; i++) {
      now = circuit.opensAt!
      circuit = judged(passed(circuit, now)!, 'failed', now)
      whiles.push(circuit.opensAt! - now)
    }
    expect(whiles).toEqual([20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000, 300_000])
  })

  it('N4 a try that was left without an answer lets another try', () => {
    const left = judged(passed(failing(5), 10_000)!, 'nothing', 10_000)
    expect(passed(left, 10_000)).not.toBeNull()
  })

  it('N4 whatever happens, there is never more than one try in an open circuit, and it can always close again', () => {
    const showed = fc.constantFrom<Showed>('answered', 'failed', 'nothing')
    const calls = fc.array(fc.record({ showed, after: fc.nat(400_000), overlapping: fc.boolean() }), { maxLength: 60 })
    fc.assert(
      fc.property(calls, (story) => {
        let circuit = CLOSED
        let now = 0
        for (const call of story) {
          now += call.after
          const on = passed(circuit, now)
          if (!on) continue
          if (on.opensAt !== null) expect(passed(on, now)).toBeNull()
          circuit = judged(on, call.showed, now)
        }
        const later = passed({ ...circuit, trying: false }, now + 300_000)
        expect(judged(later!, 'answered', now)).toEqual(CLOSED)
      }),
    )
  })
})
