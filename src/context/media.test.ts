import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MEDIA_LIMITS, type MediaFacts, type MediaKind } from '../kernel/media.ts'
import { assemble, type Assembled, type Context, messagesOf, promptTokens } from './assemble.ts'
import { explain } from './explain.ts'
import { contextLimits } from './limits.ts'
import { mediaTokens, partName, partsIn, REQUEST_MEDIA_BYTES } from './media.ts'
import type { MediaPart, MessageBody, TranscriptMessage } from './message.ts'
import { tokensOf } from './tokens.ts'

const count = (text: string): number => Math.ceil(text.length / 3)
const picture = (bytes = 1_000, tokens = 500, place = 1): MediaPart => ({
  kind: 'image',
  mediaType: 'image/png',
  bytes,
  pixels: null,
  place,
  artifact: `art_${place}_${bytes}`,
  tokens,
})
const message = (seq: number, body: MessageBody): TranscriptMessage => {
  const asked = body.role === 'assistant' ? body.calls.map((c) => c.name + c.arguments).join('') : ''
  const parts = partsIn({ body }).reduce((sum, part) => sum + part.tokens, 0)
  return { run: 'run_1', seq, step: 0, body, partial: false, tokens: tokensOf(body.text + asked, count) + parts }
}
const history = (...bodies: readonly MessageBody[]) => bodies.map((body, i) => message(i + 1, body))
const user = (text: string, ...parts: readonly MediaPart[]): MessageBody => ({
  role: 'user',
  text,
  ...(parts.length > 0 && { parts }),
})
const says = (text: string): MessageBody => ({ role: 'assistant', text, calls: [], reasoning: null })
const asks = (id: string): MessageBody => ({
  role: 'assistant',
  text: '',
  calls: [{ id, name: 'screen', arguments: '{}' }],
  reasoning: null,
})
const shows = (callId: string, ...parts: readonly MediaPart[]): MessageBody => ({
  role: 'tool',
  callId,
  name: 'screen',
  text: 'A picture.',
  parts,
})
const ALL: readonly MediaKind[] = ['image', 'pdf', 'audio']
const context = (transcript: readonly TranscriptMessage[], most: number, accepts = ALL): Context => ({
  limits: contextLimits({ tokens: most }, { window: most + 400, maxOutput: 400, leastOutput: 16 }, { count, accepts }),
  fixedTokens: 30,
  transcript,
  memory: [],
  memoryTokens: 0,
  summaries: [],
})
const texts = (of: Assembled) => of.parts.map((p) => p.message.text)
const sent = (of: Assembled) =>
  of.parts.flatMap((p) => (p.from ? (p.media ?? []).map((one) => partName(p.from!, one)) : []))

describe('media in a context', () => {
  it('C6 T2 a part costs rather too much than too little, and what the port knows better counts', () => {
    const image = (width: number, height: number): MediaFacts => ({
      kind: 'image',
      mediaType: 'image/png',
      bytes: 1,
      pixels: { width, height },
    })
    expect(mediaTokens(image(512, 512))).toBe(Math.max(85 + 170, Math.ceil((512 * 512) / 750)))
    // OpenAI makes a shorter side of 768 pixels first and counts 765; Anthropic counts 1 400
    expect(mediaTokens(image(1_024, 1_024))).toBeGreaterThanOrEqual(1_398)
    expect(mediaTokens(image(60_000, 60_000))).toBe(mediaTokens(image(2_048, 2_048)))
    const unknown: MediaFacts = { ...image(1, 1), pixels: null } as MediaFacts
    expect(mediaTokens(unknown)).toBe(mediaTokens(image(2_048, 2_048)))
    const pages = (n: number | null): MediaFacts => ({
      kind: 'pdf',
      mediaType: 'application/pdf',
      bytes: 100_000,
      pages: n,
    })
    expect([mediaTokens(pages(2)), mediaTokens(pages(null))]).toEqual([5_000, 12_500])
    const sound = (seconds: number | null): MediaFacts => ({
      kind: 'audio',
      mediaType: 'audio/wav',
      bytes: 8_000,
      seconds,
    })
    expect([mediaTokens(sound(10)), mediaTokens(sound(null))]).toEqual([320, 64])
    expect(mediaTokens(sound(10), () => 7)).toBe(7)
    for (const odd of [-1, 0.5, Number.NaN, Infinity]) expect(mediaTokens(sound(10), () => odd)).toBe(320)
    // more than any window, and of eight parts together still a count of the store
    for (const most of [mediaTokens(pages(500_000)), mediaTokens(sound(1), () => Number.MAX_SAFE_INTEGER)])
      expect(most).toBe(100_000_000)
    expect(8 * mediaTokens(pages(500_000))).toBeLessThan(2 ** 31)
  })

  it('C3 T2 an old picture goes before the words of its message, under a note that names it', () => {
    const said = history(
      user('Look.', picture()),
      says('A cat.'),
      user('And this?', picture(1_000, 500, 1)),
      says('A dog.'),
      user('Which is older?'),
    )
    const all = assemble(context(said, 2_000))
    expect(sent(all)).toEqual(['run_1.1/1', 'run_1.3/1'])
    const cut = assemble(context(said, 1_000))
    expect(sent(cut)).toEqual(['run_1.3/1'])
    expect(texts(cut)).toEqual([
      'Look.\n[image left out: run_1.1/1]',
      'A cat.',
      'And this?',
      'A dog.',
      'Which is older?',
    ])
    expect(cut.tokens).toBeLessThan(1_000)
    const narrow = assemble(context(said, 560))
    expect(sent(narrow)).toEqual([])
    expect(texts(narrow)).toContain('And this?\n[image left out: run_1.3/1]')
  })

  it('C1 T2 the picture of the question is sent whole, or nothing is', () => {
    const said = [
      ...history(...Array.from({ length: 20 }, (_, i) => user(`${i} ${'x'.repeat(200)}`))),
      message(21, user('Look.', picture())),
    ]
    const of = assemble(context(said, 1_000))
    expect(sent(of)).toEqual(['run_1.21/1'])
    expect(of.overflows).toBe(false)
    const tooLarge = context(history(user('Look.', picture(1_000, 5_000))), 1_000)
    expect(assemble(tooLarge).overflows).toBe(true)
    expect(promptTokens(tooLarge)).toBeGreaterThanOrEqual(5_000)
  })

  it('C3 T2 of many pictures that calls have shown the latest stay, and the pairs of calls and results all do', () => {
    const steps = Array.from({ length: 12 }, (_, i) => [asks(`c${i}`), shows(`c${i}`, picture(1_000, 300))]).flat()
    const of = assemble(context(history(user('Click.'), ...steps), 2_000))
    const names = sent(of)
    expect(names.length).toBeGreaterThan(0)
    expect(names.length).toBeLessThan(12)
    expect(names.at(-1)).toBe('run_1.25/1')
    const kept = of.parts.flatMap((p) => (p.message.role === 'tool' ? [p.message.callId] : []))
    const asked = of.parts.flatMap((p) => (p.message.role === 'assistant' ? p.message.calls.map((c) => c.id) : []))
    expect(kept).toEqual(asked)
    expect(of.tokens).toBeLessThanOrEqual(2_000)
  })

  it('T2 a request never refers to more bytes than its limit, however few tokens they cost', () => {
    const large = MEDIA_LIMITS.partBytes
    const said = history(
      ...Array.from({ length: 9 }, (_, i) => [user(`Look ${i}.`, picture(large, 10)), says('Seen.')]).flat(),
      user('Which?'),
    )
    const of = assemble(context(said, 100_000))
    const bytes = of.parts.flatMap((p) => p.media ?? []).reduce((sum, part) => sum + part.bytes, 0)
    expect(bytes).toBeLessThanOrEqual(REQUEST_MEDIA_BYTES)
    expect(bytes).toBeGreaterThan(0)
    expect(texts(of).filter((text) => text.includes('left out')).length).toBeGreaterThan(0)
    expect(texts(of)).toContain('Look 0.\n[image left out: run_1.1/1]')
  })

  it('T2 a kind that the agent does not accept any more is a note, and costs no more than that', () => {
    const said = history(
      user('Look.', picture(), {
        ...picture(1, 9_000, 2),
        kind: 'pdf',
        mediaType: 'application/pdf',
        pages: 1,
      }),
      says('A cat.'),
      user('And?'),
    )
    const of = assemble(context(said, 2_000, ['image']))
    expect(sent(of)).toEqual(['run_1.1/1'])
    expect(texts(of)[0]).toBe('Look.\n[pdf left out: run_1.1/2]')
    expect(of.tokens).toBeLessThan(700)
    expect(sent(assemble(context(said, 2_000, [])))).toEqual([])
  })

  it('C7 T2 the explanation names each part, what it costs and whether it was sent', () => {
    const said = history(user('Look.', picture()), says('A cat.'), user('And this?', picture(1_000, 500)))
    const of = explain(context(said, 1_000), 'run_1', 1)
    expect(of.media).toEqual([
      { part: 'run_1.1/1', kind: 'image', tokens: 500, sent: false },
      { part: 'run_1.3/1', kind: 'image', tokens: 500, sent: true },
    ])
    expect(of.sent[0]).toMatchObject({ message: 'run_1.1', of: said[0]?.tokens })
  })

  it('T2 bytes that are gone leave a note in their place, and the others go with their message', () => {
    const said = history(user('Look.', picture(1_000, 10, 1), picture(2_000, 10, 2)))
    const data = Buffer.from('pixels')
    const [only] = messagesOf('', assemble(context(said, 1_000)), new Map([['art_2_2000', data]]))
    expect(only).toEqual({
      role: 'user',
      text: 'Look.\n[image left out: run_1.1/1]',
      media: [{ kind: 'image', mediaType: 'image/png', name: 'image-2.png', data }],
    })
  })

  it('C1 C3 C8 T2 whatever is said and shown, a context keeps its budget, its question and its beginning', () => {
    const parts = fc.array(fc.tuple(fc.integer({ min: 0, max: 6_000_000 }), fc.integer({ min: 0, max: 400 })), {
      maxLength: 3,
    })
    const said = fc.array(fc.tuple(fc.boolean(), fc.string({ maxLength: 400 }), parts), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(said, fc.integer({ min: 800, max: 3_000 }), (turns, most) => {
        const shown = (list: readonly (readonly [number, number])[]) => list.map(([b, t], i) => picture(b, t, i + 1))
        const bodies = turns.flatMap(([isCall, text, list], i): MessageBody[] =>
          isCall ? [asks(`c${i}`), shows(`c${i}`, ...shown(list))] : [user(`${text}.`, ...shown(list)), says('Yes.')],
        )
        const of = assemble(context(history(...bodies, user('Now?', picture(10, 100))), most))
        expect(of.overflows || of.tokens <= most).toBe(true)
        expect(sent(of)).toContain(`run_1.${bodies.length + 1}/1`)
        expect(of.tokens).toBe(30 + of.parts.reduce((sum, p) => sum + p.tokens, 0))
        const bytes = of.parts.flatMap((p) => p.media ?? []).reduce((sum, part) => sum + part.bytes, 0)
        expect(bytes).toBeLessThanOrEqual(REQUEST_MEDIA_BYTES)
      }),
      { numRuns: 300 },
    )
  })
})
