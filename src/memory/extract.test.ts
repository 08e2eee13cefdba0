import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../testing/scripted.ts'
import { agent, type AgentSpec } from '../run/agent.ts'
import { extractable, extractedIn, extractPrompt, nextUnread, type UnreadTurn } from './extract.ts'
import { memory } from './key.ts'

const keys = memory({
  tone: { kind: 'preference', value: z.string(), purpose: 'To answer well.' },
  bill: { kind: 'fact', value: z.string(), sources: ['call'] },
  rule: { kind: 'fact', value: z.string(), scopes: ['group'], sensitivity: 'none' },
  city: { kind: 'fact', value: z.string(), purpose: 'To answer for where you live.' },
})
const names = (withdrawn: readonly string[]): readonly string[] =>
  extractable(keys, new Set(withdrawn)).map((key) => key.name)
const turn = (generation: number, more: Partial<UnreadTurn> = {}): UnreadTurn => ({
  run: `run_${generation}`,
  ...{ generation, ended: true, user: 'ann', subject: 'ann', tokens: 100, last: 1 },
  ...more,
})

describe('what an extraction is asked', () => {
  it('E4 G8 the keys are those that words of the person may fill for themselves, without what has no consent', () => {
    expect(names([])).toEqual(['tone', 'city'])
    expect(names(['To answer well.'])).toEqual(['city'])
    expect(names(['*'])).toEqual([])
  })

  it('E10 whole runs are read in their order, up to one that goes on, another person, or too much', () => {
    expect(nextUnread([], 1_000)).toBeNull()
    expect(nextUnread([turn(4, { ended: false }), turn(5)], 1_000)).toBeNull()
    expect(nextUnread([turn(4), turn(5, { last: 3 }), turn(6, { ended: false })], 1_000)).toMatchObject({
      ...{ from: 4, to: 5, upto: 'run_5.3' },
    })
    expect(nextUnread([turn(4), turn(5, { subject: 'bob' })], 1_000)).toMatchObject({ to: 4, subject: 'ann' })
    expect(nextUnread([turn(4), turn(5, { user: 'bob' })], 1_000)).toMatchObject({ to: 4, user: 'ann' })
    expect(nextUnread([turn(4), turn(5), turn(6)], 200)).toMatchObject({ from: 4, to: 5 })
    expect(nextUnread([turn(4, { tokens: 9_000 }), turn(5)], 200)).toMatchObject({ from: 4, to: 4 })
  })

  it('E10 what is asked fits into the message of a run, whatever was said', () => {
    const long = { name: 'run_1.1', short: 'm1', text: `\0\ud800${'x'.repeat(200_000)}` }
    const prompt = extractPrompt(keys.keys, [long])
    expect(prompt.length).toBeLessThan(100_000)
    expect(prompt.isWellFormed() && !prompt.includes('\0')).toBe(true)
    expect(prompt).toContain('- tone (preference): To answer well. {')
    expect(extractedIn('{"memories":[')).toBeNull()
  })

  const model = scripted([])
  const BUDGET = { steps: 1, toolCalls: 0, tokens: 10_000, costCents: 10, seconds: 10 }
  const BROKEN: readonly [code: string, spec: object][] = [
    ['extract_illegal', { memory: keys, extract: { model: {} } }],
    ['extract_without_memory', { extract: {} }],
    ['extract_cost_illegal', { memory: keys, extract: { costCents: 0 } }],
    ['line_unknown', { memory: keys, extract: { keys } }],
  ]
  it.each(BROKEN)('B1 a definition that is %s fails at load', (code, spec) => {
    expect(() => agent('a', { model, budget: BUDGET, ...spec })).toThrow(code)
  })

  it('B1 extraction is in the release of its agent, and asks the model of the agent when it names none', () => {
    const of = (extract?: AgentSpec['extract']) =>
      agent('a', { model, budget: BUDGET, memory: keys, ...(extract && { extract }) })
    const releases = [of(), of({}), of({ costCents: 3 }), of({ model: scripted([], { id: 'small' }) })].map(
      (a) => a.release,
    )
    expect(new Set(releases).size).toBe(4)
    expect(of({}).extract?.agent.model).toBe(model)
    expect(of({}).extract?.agent.name).toBe('a/extract')
  })
})
