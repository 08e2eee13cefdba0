/** The judges of the simulation are worth something only if they notice: each planted fault, within 500 stories. */
import { describe, expect, it } from 'vitest'
import { findBug } from '../../src/eval/simulate.ts'
import { BUGS } from '../../src/testing/simulation/bugs.ts'
import { theatre } from '../../src/testing/simulation/play.ts'

const stage = theatre()

describe('the judges of a simulated world', () => {
  it.each(BUGS)(
    'J4 L2 notice a planted fault: $name',
    async (bug) => {
      expect((await findBug(stage, bug)).seed).not.toBeNull()
    },
    300_000,
  )

  it('L3 are asked about enough faults, each under a name of its own', () => {
    expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
    expect(BUGS.length).toBeGreaterThanOrEqual(15)
  })
})
