import { describe, expect, it } from 'vitest'
import { scoreboard, withScoreboard } from './scoreboard.ts'

const results: Readonly<Record<string, Record<string, unknown>>> = {
  demo: { passed: 12, checks: Array.from({ length: 12 }), seconds: 14.26 },
  steps: { concurrency: { '1': { stepsPerSecond: 812.4, commitsPerStep: 2 }, '50': { stepsPerSecond: 12_345.6 } } },
}

describe('the scoreboard', () => {
  it('O2 shows what was measured, in one row each, and nothing for what was not', () => {
    const board = scoreboard((name) => results[name] ?? null)
    expect(board.split('\n')).toHaveLength(4)
    expect(board).toContain('12 of 12 checks hold, in 14 s')
    expect(board).toContain('12 346 steps a second with 50 runs, 812 with one; 2 commits a step; bare commits ?')
  })

  it('O2 says so when nothing was measured', () => expect(scoreboard(() => null)).toMatch(/^Nothing has been measured/))

  it('O2 replaces its own lines and no others', () => {
    const page = 'before\n<!-- scoreboard: written by `npm run scoreboard` -->\nold\n<!-- /scoreboard -->\nafter'
    const once = withScoreboard(page, 'new')
    expect(once).toMatch(/^before\n[^]*\n\nnew\n\n<!-- \/scoreboard -->\nafter$/)
    expect(withScoreboard(once, 'new')).toBe(once)
    expect(() => withScoreboard('no markers', 'new')).toThrow(/no place/)
  })
})
