/**
 * One model call of a step, with the only retry layer of the system.
 *
 * B5  adapters ask once; whatever is repeated is repeated here
 * K1  every wait ends at once when the signal aborts
 * K3  each attempt has its own buffer: late parts of a dropped attempt are counted and go nowhere (BR-037, BR-048)
 * N1  only transient failures and rate limits are repeated, only before any output, only while there is time
 */
import type { Bulkhead } from '../kernel/bulkhead.shell.ts'
import type { Showed } from '../kernel/circuit.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Random } from '../kernel/random.ts'
import { absorb, close, openAnswer } from './assembly.ts'
import { failureOfThrown, retryDelay, type Failure, type ModelFaultCode } from './failure.ts'
import type { Model, ModelAnswer, ModelPart, ModelRequest, Usage } from './port.ts'

export interface AttemptOptions {
  readonly model: Model
  readonly request: ModelRequest
  /** Its reason is the cause that the result preserves: a `Fault` is returned as it is, anything else as `canceled`. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly random: Random
  /** The places of this model; default: as many as are asked for. */
  readonly bulkhead?: Bulkhead
  /** On `clock.now()`: nothing is waited for beyond it. */
  readonly deadlineMs: number
  /** Default 3. */
  readonly maxAttempts?: number
  /** Whether the budget covers another attempt after these; default: always. */
  readonly mayRepeat?: (dropped: readonly DroppedAttempt[]) => boolean
  /** The longest silence within an attempt; default 60 s. */
  readonly idleMs?: number
  /** Each part of the current attempt, at once and in order; never called after the signal has aborted. */
  readonly onPart?: (attempt: number, part: ModelPart) => void
  readonly fault?: FaultHook
}

/** A failed attempt: what the ledger settles besides the answer. */
export interface DroppedAttempt {
  readonly code: Fault['code']
  readonly usage: Usage
}

interface Report {
  /** Requests that were sent. */
  readonly attempts: number
  /** From the start of the last attempt to its first part of output; `null` when there was none. */
  readonly firstPartMs: number | null
  readonly dropped: readonly DroppedAttempt[]
  /** Grows while a dropped attempt goes on delivering, even after the result is there. */
  readonly late: { readonly parts: number }
}

export type AttemptResult =
  | (Report & { readonly answer: ModelAnswer })
  /** `partial` holds the text that was let out before the failure; it is never joined with another attempt's. */
  | (Report & { readonly fault: Fault; readonly partial: ModelAnswer })

const DEFAULT_ATTEMPTS = 3
/** Slow reasoning models are silent for tens of seconds. */
const DEFAULT_IDLE_MS = 60_000
/** How long an adapter may take to close its connection before the result is returned without it. */
const GRACE_MS = 1_000
/** A dropped stream that goes on longer than this is not even counted further. */
const MOST_LATE_PARTS = 10_000

export async function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const late = { parts: 0 }
  const dropped: DroppedAttempt[] = []
  const maxAttempts = options.maxAttempts ?? DEFAULT_ATTEMPTS
  for (let number = 1; ; number += 1) {
    const one = await runInPlace(options, number, late)
    const report = { attempts: number, firstPartMs: one.firstPartMs, dropped, late }
    if (one.fault === null) return { ...report, answer: one.answer }
    dropped.push({ code: one.fault.code, usage: one.answer.usage })
    const failed = { ...report, fault: one.fault, partial: one.answer }
    const mayRepeat = number < maxAttempts && (options.mayRepeat?.(dropped) ?? true)
    const delay = mayRepeat ? delayAfter(number, one, options) : null
    if (delay === null) return failed
    try {
      await options.clock.sleep(delay, options.signal)
    } catch (error) {
      return { ...failed, fault: options.signal.aborted ? abortFault(options.signal) : asFault(error, options) }
    }
    if (options.signal.aborted) return { ...failed, fault: abortFault(options.signal) }
  }
}

function delayAfter(number: number, one: Once, { clock, random, deadlineMs }: AttemptOptions): number | null {
  if (one.fault === null || !isModelFault(one.fault.code)) return null
  const time = one.fault.retryAfterMs === null ? {} : { retryAfterMs: one.fault.retryAfterMs }
  const failure: Failure = { code: one.fault.code, ...time }
  const delay = retryDelay(number, { ...failure, hadOutput: one.firstPartMs !== null }, random)
  return delay !== null && clock.now() + delay < deadlineMs ? delay : null
}

const isModelFault = (code: Fault['code']): code is ModelFaultCode => code.startsWith('model_')

interface Once {
  readonly answer: ModelAnswer
  readonly fault: Fault | null
  readonly firstPartMs: number | null
}

/** One request in one place. A model that is not asked was not used. */
async function runInPlace(options: AttemptOptions, number: number, late: { parts: number }): Promise<Once> {
  if (!options.bulkhead || options.signal.aborted) return runOnce(options, number, late)
  try {
    const place = await options.bulkhead.enter(options.signal)
    const one = await runOnce(options, number, late)
    place.leave(showedBy(one))
    return one
  } catch (error) {
    const fault = options.signal.aborted ? abortFault(options.signal) : asFault(error, options)
    return { answer: close(openAnswer(), { aborted: true }), fault, firstPartMs: null }
  }
}

function showedBy({ fault }: Once): Showed {
  if (fault === null) return 'answered'
  if (fault.code === 'model_transient') return 'failed'
  return isModelFault(fault.code) ? 'answered' : 'nothing'
}

/** Why an attempt was left: by its own end, by what it threw, or by us. */
type Left = { readonly fault: Fault | null }

async function runOnce(options: AttemptOptions, number: number, late: { parts: number }): Promise<Once> {
  const { signal, clock } = options
  if (signal.aborted)
    return { answer: close(openAnswer(), { aborted: true }), fault: abortFault(signal), firstPartMs: null }
  const connection = new AbortController()
  const started = clock.monotonic()
  let state = openAnswer()
  let isCurrent = true
  let firstPartMs: number | null = null
  let lastPartAt = started
  let lateParts = 0

  /** False when nothing more is wanted. */
  const take = (part: ModelPart): boolean => {
    if (!isCurrent) {
      late.parts += 1
      lateParts += 1
      return lateParts < MOST_LATE_PARTS
    }
    lastPartAt = clock.monotonic()
    if (isOutput(part)) firstPartMs ??= lastPartAt - started
    state = absorb(state, part)
    if (state.damage !== null) return false
    hand(options, number, part)
    return true
  }
  const leave = (reason: unknown): void => {
    isCurrent = false
    connection.abort(reason)
  }

  let ended = false
  const pumping = pump(options, connection.signal, take).then(
    (): Left => ({ fault: null }),
    (error: unknown): Left => ({ fault: asFault(error, options) }),
  )
  const left = await new Promise<Left>((resolve) => {
    const unwatch = watch(options, { lastPartAt: () => lastPartAt, leave, left: resolve })
    void pumping.then((how) => {
      ended = true
      unwatch()
      resolve(how)
    })
  })
  isCurrent = false
  if (!ended) await grace(clock, pumping)
  const fault = signal.aborted && left.fault !== null ? abortFault(signal) : left.fault
  return { answer: close(state, { aborted: fault !== null }), fault, firstPartMs }
}

/** Reads the stream to its end, or until `take` has enough. The hook sees the places where a process may die. */
async function pump(
  { model, request, clock, fault }: AttemptOptions,
  signal: AbortSignal,
  take: (part: ModelPart) => boolean,
): Promise<void> {
  const parts = model.stream(request, signal)[Symbol.asyncIterator]()
  let isOver = false
  const next = async (): Promise<IteratorResult<ModelPart>> => {
    try {
      const one = await parts.next()
      isOver = one.done === true
      return one
    } catch (error) {
      isOver = true
      throw error
    }
  }
  // asking for the first part sends the request
  const first = next()
  first.catch(() => {})
  try {
    await fault?.('model.sent')
    let one = await first
    await fault?.('model.firstDelta')
    while (!one.done && take(one.value)) one = await next()
  } finally {
    // what an adapter does after its last word changes no answer
    if (!isOver)
      await grace(
        clock,
        Promise.resolve(parts.return?.()).catch(() => {}),
      )
  }
}

/** A failure of our own reader is not one of the provider, so that it is never taken for a broken connection. */
function hand(options: AttemptOptions, number: number, part: ModelPart): void {
  try {
    options.onPart?.(number, part)
  } catch (error) {
    throw Fault.is(error) ? error : new Fault('internal', undefined, { cause: error })
  }
}

const NO_OUTPUT: ReadonlySet<ModelPart['kind']> = new Set(['response', 'usage', 'damaged', 'finish'])

/** What a reader could have seen. Announcements of the provider and counts are none. */
const isOutput = (part: ModelPart): boolean => ('delta' in part ? part.delta !== '' : !NO_OUTPUT.has(part.kind))

/**
 * Leaves when the signal aborts, within that event, so that no part slips through between; and when the attempt is silent
 * for too long or the time is over, with one timer per silence instead of one per part. What it returns ends the watch.
 */
function watch(
  { signal, clock, deadlineMs, idleMs = DEFAULT_IDLE_MS }: AttemptOptions,
  on: { lastPartAt(): number; leave(reason: unknown): void; left(how: Left): void },
): () => void {
  let cancel = (): void => {}
  const unwatch = (): void => {
    cancel()
    signal.removeEventListener('abort', abort)
  }
  const end = (fault: Fault, reason: unknown): void => {
    unwatch()
    on.leave(reason)
    on.left({ fault })
  }
  const abort = (): void => end(abortFault(signal), signal.reason)
  const look = (): void => {
    const idleLeft = on.lastPartAt() + idleMs - clock.monotonic()
    const timeLeft = deadlineMs - clock.now()
    if (timeLeft > 0 && idleLeft > 0) cancel = clock.after(Math.min(idleLeft, timeLeft), look)
    else {
      const fault =
        timeLeft <= 0
          ? new Fault('budget_exceeded', 'The time of the run is over.')
          : new Fault('model_transient', 'The model was silent for too long.')
      end(fault, fault)
    }
  }
  signal.addEventListener('abort', abort)
  look()
  return unwatch
}

/** Owned work is awaited, but an adapter that ignores its signal does not hold the run. */
const grace = (clock: Clock, pumping: Promise<unknown>): Promise<void> =>
  new Promise((resolve) => {
    const cancel = clock.after(GRACE_MS, resolve)
    void pumping.then(() => {
      cancel()
      resolve()
    })
  })

const abortFault = ({ reason }: AbortSignal): Fault =>
  Fault.is(reason) ? reason : new Fault('canceled', undefined, { cause: reason })

function asFault(error: unknown, { clock }: AttemptOptions): Fault {
  if (Fault.is(error)) return error
  const { code, ...time } = failureOfThrown(error, clock.now())
  return new Fault(code, undefined, time)
}
