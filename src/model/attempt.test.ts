import { describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import type { Random } from '../kernel/random.ts'
import { scripted } from '../testing/scripted.ts'
import type { Script } from '../testing/script.ts'
import { virtualClock, type VirtualClock } from '../testing/virtual-clock.ts'
import { attempt, type AttemptOptions, type AttemptResult } from './attempt.shell.ts'
import type { Model, ModelPart } from './port.ts'

const random: Random = { bytes: (n) => new Uint8Array(n), fraction: () => 0.5 }
const text = (delta: string): ModelPart => ({ kind: 'text', delta })
const stop: ModelPart = { kind: 'finish', reason: 'stop' }
const transient = { fault: 'model_transient' } as const

interface Scene {
  readonly clock: VirtualClock
  readonly abort: AbortController
  readonly seen: [number, ModelPart][]
  readonly result: Promise<AttemptResult>
}

function begin(model: Model, options: Partial<AttemptOptions> = {}): Scene {
  const clock = virtualClock()
  const abort = new AbortController()
  const seen: [number, ModelPart][] = []
  const request = { messages: [{ role: 'user', text: 'hi' }], tools: [], maxOutputTokens: 10 } as const
  const base = { model, request, signal: abort.signal, clock, random, deadlineMs: clock.now() + 600_000 }
  const result = attempt({ ...base, onPart: (n, part) => seen.push([n, part]), ...options })
  return { clock, abort, seen, result }
}

/** An adapter that gives each request its own stream of parts, and does not care about its signal. */
function deaf(streams: readonly ((release: (part: ModelPart) => void, end: () => void) => void)[]): Model {
  let requests = 0
  const stream = async function* (): AsyncGenerator<ModelPart> {
    const waiting: (ModelPart | null)[] = []
    let wake = (): void => {}
    const push = (item: ModelPart | null): void => {
      waiting.push(item)
      wake()
    }
    streams[requests++]?.(push, () => {
      push(null)
    })
    for (;;) {
      const next = waiting.shift()
      if (next === null) return
      if (next === undefined) await new Promise<void>((resolve) => (wake = resolve))
      else yield next
    }
  }
  return { id: 'deaf', contextTokens: 1000, maxOutputTokens: 100, price: null, stream }
}

const seenText = (scene: Scene): string =>
  scene.seen.map(([, part]) => (part.kind === 'text' ? part.delta : '')).join('')
const codeOf = (result: AttemptResult): string => ('fault' in result ? result.fault.code : result.answer.kind)

describe('repeating an attempt', () => {
  it('N1 a rate limit is waited out in full, and then the call succeeds', async () => {
    const scene = begin(scripted([{ fault: 'model_rate_limited', retryAfterMs: 30_000 }, { text: 'Hello' }]))
    await scene.clock.advance(30_249)
    expect(scene.seen).toEqual([])
    await scene.clock.advance(1)
    expect(await scene.result).toMatchObject({
      attempts: 2,
      answer: { kind: 'final', text: 'Hello' },
      dropped: [{ code: 'model_rate_limited' }],
    })
    expect(scene.seen.every(([n]) => n === 2)).toBe(true)
  })

  it('N1 attempts are bounded, and the last failure is the result', async () => {
    const scene = begin(scripted([transient, transient, transient, { text: 'never' }]))
    await scene.clock.advance(60_000)
    expect(await scene.result).toMatchObject({ attempts: 3, fault: { code: 'model_transient' } })
  })

  it.each([
    'model_auth',
    'model_invalid_request',
    'model_protocol',
    'model_content_policy',
    'model_context_overflow',
    'model_unclassified',
  ] as const)('N1 %s is not repeated', async (fault) => {
    const scene = begin(scripted([{ fault }, { text: 'never' }]))
    expect(await scene.result).toMatchObject({ attempts: 1, fault: { code: fault } })
  })

  it.each<[string, ModelPart]>([
    ['text', text('He')],
    ['reasoning', { kind: 'reasoning', delta: 'hm' }],
    ['a call', { kind: 'call_open', key: '0', id: 'a', name: 'q' }],
  ])('N1 nothing is repeated after %s has been let out', async (_, part) => {
    const scene = begin(scripted([{ fault: 'model_transient', after: [part] }, { text: 'never' }]))
    expect(await scene.result).toMatchObject({ attempts: 1, fault: { code: 'model_transient' } })
  })

  it('N1 announcements and empty deltas are no output', async () => {
    const scene = begin(
      scripted([{ fault: 'model_transient', after: [{ kind: 'response', model: 'm' }, text('')] }, { text: 'Hello' }]),
    )
    await scene.clock.advance(500)
    expect(codeOf(await scene.result)).toBe('final')
  })

  it('N1 there is no repeat when the deadline would be over', async () => {
    const clock = virtualClock()
    const scene = begin(scripted([{ fault: 'model_rate_limited', retryAfterMs: 30_000 }, { text: 'never' }]), {
      clock,
      deadlineMs: clock.now() + 30_000,
    })
    expect(await scene.result).toMatchObject({
      attempts: 1,
      fault: { code: 'model_rate_limited', retryAfterMs: 30_000 },
    })
  })

  it('B3 damage is not repeated and not shown', async () => {
    const scene = begin(
      scripted([{ parts: [text('a'), { kind: 'damaged', detail: 'x' }, text('b'), stop] }, { text: 'never' }]),
    )
    expect(await scene.result).toMatchObject({
      attempts: 1,
      answer: { kind: 'bad', reason: 'protocol_error', text: 'a' },
    })
    expect(seenText(scene)).toBe('a')
  })

  it('K3 BR-037 the arguments of a broken attempt never meet those of the next', async () => {
    const open: ModelPart = { kind: 'call_open', key: '0', id: 'a', name: 'run' }
    const delta = (piece: string): ModelPart => ({ kind: 'call_delta', key: '0', delta: piece })
    const script: Script = [
      { fault: 'model_transient', after: [open, delta('{"cmd":"ec')] },
      { parts: [open, delta('{"cmd":"echo hi"}'), { kind: 'finish', reason: 'tool_calls' }] },
    ]
    const model = scripted(script)
    expect(await begin(model).result).toMatchObject({ fault: { code: 'model_transient' }, attempts: 1 })
    expect(await begin(model).result).toMatchObject({
      answer: { kind: 'calls', calls: [{ arguments: '{"cmd":"echo hi"}' }] },
    })
  })

  it('K3 BR-048 late parts of a dropped attempt are counted and go nowhere', async () => {
    let late: (part: ModelPart) => void = () => {}
    let end = (): void => {}
    const first = (release: (part: ModelPart) => void, close: () => void): void =>
      void ((late = release), (end = close))
    const second = (release: (part: ModelPart) => void, close: () => void): void => {
      release(text('Hel'))
      late(text('He'))
      release(text('lo'))
      late(text('llo wor'))
      release(stop)
      close()
    }
    const scene = begin(deaf([first, second]), { idleMs: 1000 })
    await scene.clock.advance(5000)
    const result = await scene.result
    expect(result).toMatchObject({ attempts: 2, answer: { kind: 'final', text: 'Hello' } })
    expect(seenText(scene)).toBe('Hello')
    expect(result.late.parts).toBe(2)
    late(text('ld'))
    end()
    await scene.clock.advance(1)
    expect(result.late.parts).toBe(3)
    expect(seenText(scene)).toBe('Hello')
  })
})

describe('time', () => {
  it('K1 a silent attempt is left and repeated', async () => {
    const scene = begin(
      deaf([
        () => {},
        (release, end) => {
          release(text('Hi'))
          release(stop)
          end()
        },
      ]),
      {
        idleMs: 1000,
      },
    )
    await scene.clock.advance(999)
    expect(scene.seen).toEqual([])
    await scene.clock.advance(2000)
    expect(await scene.result).toMatchObject({
      attempts: 2,
      dropped: [{ code: 'model_transient' }],
      answer: { text: 'Hi' },
    })
  })

  it('K1 each part begins the silence anew, and silence after output is not repeated', async () => {
    let speak: (part: ModelPart) => void = () => {}
    const scene = begin(deaf([(release) => void (speak = release)]), { idleMs: 1000 })
    for (let n = 0; n < 5; n += 1) {
      await scene.clock.advance(900)
      speak(text('.'))
    }
    await scene.clock.advance(999)
    expect(seenText(scene)).toBe('.....')
    await scene.clock.advance(2000)
    expect(await scene.result).toMatchObject({
      attempts: 1,
      firstPartMs: 900,
      fault: { code: 'model_transient' },
      partial: { text: '.....' },
    })
  })

  it('K1 the deadline ends a stream that goes on', async () => {
    const clock = virtualClock()
    const scene = begin(
      deaf([
        (release) => {
          release(text('a'))
        },
      ]),
      { clock, deadlineMs: clock.now() + 5000 },
    )
    await clock.advance(7000)
    expect(await scene.result).toMatchObject({ fault: { code: 'budget_exceeded' }, partial: { text: 'a' } })
  })
})

describe('the end of a stream', () => {
  it.each<[string, () => Promise<never>]>([
    ['throws', () => Promise.reject(new Error('closed twice'))],
    ['never ends', () => new Promise(() => {})],
  ])('N1 an adapter whose clean-up %s has given its answer all the same', async (_, close) => {
    const said: ModelPart[] = [text('Hello'), stop]
    const iterator = (): AsyncIterator<ModelPart> => ({
      next: () => Promise.resolve(said.length > 0 ? { value: said.shift()! } : { done: true, value: undefined }),
      return: close,
    })
    const stream = () => ({ [Symbol.asyncIterator]: iterator })
    const model = { id: 'm', contextTokens: 1000, maxOutputTokens: 100, price: null, stream } as unknown as Model
    expect(await begin(model).result).toMatchObject({ answer: { kind: 'final', text: 'Hello' } })
  })

  it('B3 a damaged stream is left within a second, even when its clean-up never ends', async () => {
    const iterator = (): AsyncIterator<ModelPart> => ({
      next: () => Promise.resolve({ value: { kind: 'damaged', detail: 'cut' } }),
      return: () => new Promise(() => {}),
    })
    const stream = () => ({ [Symbol.asyncIterator]: iterator })
    const model = { id: 'm', contextTokens: 1000, maxOutputTokens: 100, price: null, stream } as unknown as Model
    const scene = begin(model)
    await scene.clock.advance(1_000)
    expect(await scene.result).toMatchObject({ answer: { kind: 'bad', reason: 'protocol_error' } })
  })
})

describe('an abort', () => {
  it('K1 ends the wait before a repeat at once and keeps its cause', async () => {
    const scene = begin(scripted([{ fault: 'model_rate_limited', retryAfterMs: 60_000 }, { text: 'never' }]))
    await scene.clock.advance(1)
    const cause = new Fault('lease_lost')
    scene.abort.abort(cause)
    const result = await scene.result
    expect('fault' in result && result.fault).toBe(cause)
    expect(scene.clock.sleepers()).toBe(0)
  })

  it('K3 another reason than a fault becomes the cause of a canceled one, and nothing is let out after it', async () => {
    let speak: (part: ModelPart) => void = () => {}
    const scene = begin(deaf([(release) => void (speak = release)]))
    await scene.clock.advance(1)
    speak(text('He'))
    await scene.clock.advance(1)
    scene.abort.abort('superseded')
    speak(text('llo'))
    await scene.clock.advance(1000)
    expect(await scene.result).toMatchObject({
      fault: { code: 'canceled', cause: 'superseded' },
      partial: { kind: 'bad', text: 'He' },
      late: { parts: 1 },
    })
    expect(seenText(scene)).toBe('He')
  })

  it('K1 before the first request sends none', async () => {
    const abort = new AbortController()
    abort.abort('early')
    let asked = 0
    const scene = begin(
      scripted(() => ({ text: `${++asked}` })),
      { signal: abort.signal },
    )
    expect(codeOf(await scene.result)).toBe('canceled')
    expect(asked).toBe(0)
  })

  it('K1 leaves no sleeper behind after a normal end', async () => {
    const scene = begin(scripted([{ text: 'Hello' }]))
    await scene.result
    await scene.clock.advance(0)
    expect(scene.clock.sleepers()).toBe(0)
  })

  it('N1 a failure of the reader of parts is not taken for one of the provider', async () => {
    const onPart = (): never => {
      throw Object.assign(new Error('redis'), { code: 'ECONNRESET' })
    }
    expect(await begin(scripted([{ text: 'a' }]), { onPart }).result).toMatchObject({
      attempts: 1,
      fault: { code: 'internal' },
    })
  })
})
