import { describe, expect, it } from 'vitest'
import { aCall, after, answered, aRun, asks, aStep, moved, ok, says, settles } from '../../test/unit/runs.ts'
import { MEDIA_LIMITS, type MediaFacts } from '../kernel/media.ts'
import type { ModelAnswer } from '../model/port.ts'
import type { ToolOutcome } from '../tool/contract.ts'
import type { Run } from './state.ts'

const image = (bytes: number): MediaFacts => ({ kind: 'image', mediaType: 'image/png', bytes, pixels: null })
const showing = (...media: readonly (MediaFacts | null)[]): ToolOutcome => ({
  ...(ok() as ToolOutcome & { ok: true }),
  artifacts: media.map((one, i) => ({
    id: `art_${i}` as `art_${string}`,
    name: 'shot.png',
    mediaType: 'image/png',
    bytes: one?.bytes ?? 1,
    sha256: '',
    ...(one && { media: one }),
  })),
})
const accepting = (run: Run, accepts: readonly MediaFacts['kind'][]): Run => ({
  ...run,
  context: { ...run.context, limits: { ...run.context.limits, accepts, countMedia: () => 700 } },
})
/** The tool message of a step whose only call comes to this. */
const told = (outcome: ToolOutcome, accepts: readonly MediaFacts['kind'][] = ['image']) =>
  moved(accepting(aStep([aCall(0)]), accepts), settles([0, outcome])).writes.messages[0]

describe('what a result shows', () => {
  it('T2 Q1 is in its message with what it costs, and in the money for the next call', () => {
    const run = accepting(aStep([aCall(0)]), ['image'])
    const { writes, run: next } = moved(run, settles([0, showing(image(10))]))
    expect(writes.messages[0]?.body).toMatchObject({ parts: [{ place: 1, artifact: 'art_0', tokens: 700, bytes: 10 }] })
    const plain = moved(run, settles([0, ok()]))
    expect(next.promptTokens - plain.run.promptTokens).toBe(700)
    expect(next.reserved.tokens - plain.run.reserved.tokens).toBe(700)
  })

  it('Q1 T2 a provider that counts a picture as less than we do is believed, and one that counts its words as nothing is not', () => {
    const body = {
      role: 'user',
      text: 'Look.',
      parts: [{ ...image(10), place: 1, artifact: 'art_0', tokens: 5_000 }],
    } as const
    const said = { run: 'run_1', seq: 1, step: 0, body, tokens: 5_010, partial: false }
    const run = aRun({ promptTokens: 5_110, reserved: { tokens: 6_110, cost: 1_000_000 } })
    const seen: Run = { ...run, context: { ...run.context, transcript: [said] } }
    const spent = (input: number) => moved(seen, answered(says('A cat.', { input, output: 20 }))).writes.ledger
    expect(spent(400)).toMatchObject({ inputTokens: 400, suspect: false, known: true })
    expect(spent(20)).toMatchObject({ inputTokens: 5_110, suspect: true, known: false })
  })

  it('T2 is only named when the agent does not take its kind, when it is no media, and beyond the limits of a message', () => {
    const parts = (...of: Parameters<typeof told>) => {
      const body = told(...of)?.body
      return body?.role === 'tool' ? (body.parts ?? []) : null
    }
    expect(parts(showing(image(10)), ['pdf', 'audio'])).toEqual([])
    expect(parts(showing(null))).toEqual([])
    expect(parts(showing(image(MEDIA_LIMITS.partBytes + 1), image(5)))).toMatchObject([{ place: 1, artifact: 'art_1' }])
    const half = image(MEDIA_LIMITS.messageBytes / 2)
    expect(parts(showing(half, half, image(1)))).toHaveLength(2)
    expect(parts(showing(...Array.from({ length: 20 }, () => image(1))))).toHaveLength(MEDIA_LIMITS.parts)
  })
})

describe('what a model thought', () => {
  const thought = (usage: ModelAnswer['usage']): Run => {
    const answer = { ...asks([aCall(0)], usage), reasoning: [{ signature: 'x'.repeat(900) }] } as ModelAnswer
    return after(aRun(), answered(answer, [aCall(0)]))
  }
  const tokens = (run: Run): number => run.context.transcript.at(-1)?.tokens ?? 0

  it('T1 C6 what goes back with the calls is counted as the provider says, else as its text, and never as more than an answer', () => {
    const without = tokens(after(aRun(), answered(asks([aCall(0)]), [aCall(0)])))
    expect(tokens(thought({ input: 100, output: 20, reasoning: 12 })) - without).toBe(12)
    expect(tokens(thought({ input: 100, output: 20 })) - without).toBeGreaterThan(100)
    expect(tokens(thought({ input: 100, output: 20, reasoning: 50_000 })) - without).toBe(aRun().rules.maxOutputTokens)
  })
})
