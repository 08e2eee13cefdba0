import { describe, expect, it } from 'vitest'
import type { Context } from './assemble.ts'
import { explain } from './explain.ts'
import { contextLimits } from './limits.ts'
import type { MessageBody, TranscriptMessage } from './message.ts'
import { tokensOf } from './tokens.ts'

const count = (text: string): number => text.length
const said = (run: string, seq: number, step: number, body: MessageBody, partial = false): TranscriptMessage => ({
  run,
  seq,
  step,
  body,
  partial,
  tokens: tokensOf(body.text, count),
})
const user = (run: string, text: string) => said(run, 1, 0, { role: 'user', text })
const answer = (run: string, seq: number, text: string, partial = false) =>
  said(run, seq, seq - 1, { role: 'assistant', text, calls: [], reasoning: null }, partial)
const reads = (run: string, step: number, text: string) => [
  said(run, step * 2, step, {
    role: 'assistant',
    text: '',
    calls: [{ id: 'c', name: 't', arguments: '{}' }],
    reasoning: null,
  }),
  said(run, step * 2 + 1, step, { role: 'tool', callId: 'c', name: 't', text }),
]
const context = (transcript: readonly TranscriptMessage[], tokens: number): Context => ({
  limits: contextLimits({ tokens }, { window: tokens + 100, maxOutput: 100, leastOutput: 16 }, { count }),
  fixedTokens: 10,
  transcript,
  memory: [],
  memoryTokens: 0,
  summaries: [],
})

describe('the explanation of a context', () => {
  const talk = [user('r1', 'hello'), answer('r1', 2, 'x'.repeat(300)), user('r2', 'and now?')]

  it('C7 says what went in and what was dropped, why, and how many tokens each section has', () => {
    const of = explain(context(talk, 260), 'r2', 1)
    expect(of.sections).toMatchObject([
      { section: 'rules', tokens: 10 },
      { section: 'recent', messages: 1 },
      { section: 'question', tokens: 12 },
    ])
    expect(of.sent.at(-1)).toEqual({ message: 'r2.1', section: 'question', role: 'user', tokens: 12, of: null })
    expect(of.left).toEqual([
      { message: 'r1.1', tokens: 9, why: 'old_talk' },
      { message: 'r1.2', tokens: 304, why: 'old_talk' },
    ])
    expect(of.sections.reduce((all, s) => all + s.tokens, 0)).toBe(of.tokens)
    expect(of.cuts).toBe(1)
  })

  it('C7 of an earlier step is the same after later ones', () => {
    const steps = [...talk, ...reads('r2', 1, 'one'), ...reads('r2', 2, 'two'), answer('r2', 6, 'done')]
    expect(explain(context(steps, 900), 'r2', 1)).toEqual(explain(context(talk, 900), 'r2', 1))
    expect(explain(context(steps, 900), 'r2', 2).sent.map((s) => s.message)).toEqual([
      'r1.1',
      'r1.2',
      'r2.1',
      'r2.2',
      'r2.3',
    ])
  })

  it('C7 names what a result had before it was cut, and what has lost its other half', () => {
    const cut = [user('r1', 'read'), ...reads('r1', 1, 'y'.repeat(2_000))]
    expect(explain(context(cut, 500), 'r1', 2).sent.at(-1)).toMatchObject({ message: 'r1.3', of: 2_004 })
    const broken = [user('r1', 'a'), answer('r1', 2, 'half', true), user('r2', 'b')]
    expect(explain(context(broken, 500), 'r2', 1).left).toEqual([{ message: 'r1.2', tokens: 8, why: 'unpaired' }])
  })

  it('C8 tells the share of a request that the call before has sent in the same words', () => {
    const steps = [...talk, ...reads('r2', 1, 'one')]
    expect(explain(context(talk.slice(0, 1), 900), 'r1', 1).prefix).toBe(null)
    const { prefix, tokens } = explain(context(steps, 900), 'r2', 2)
    expect(prefix).toMatchObject({ messages: 3, tokens: 10 + 9 + 304 + 12 })
    expect(prefix?.share).toBeCloseTo(335 / tokens)
    // at the cut the beginning is another one, and the rules alone are the same
    expect(explain(context(talk, 260), 'r2', 1).prefix).toMatchObject({ messages: 0, tokens: 10 })
  })
})
