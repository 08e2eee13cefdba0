/**
 * The relay: takes events from the log to endpoints and sinks. It lives beside the worker of its process and claims under
 * that worker's lease; nothing of the database is open while a message is on its way.
 *
 * J9  at least once: an event is marked after it has been taken; a crash between the two repeats it under the same id
 * P6  a relay that stops takes nothing new, and gives what is under way a while
 */
import { bell } from '../kernel/bell.shell.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Random } from '../kernel/random.ts'
import { timely } from '../kernel/timely.shell.ts'
import type { Egress } from '../tool/egress/egress.shell.ts'
import { carriedAs, type Claim, type Closed, type OutboxStore, type Parcel, type Target } from './outbox.store.ts'
import type { OutboxMessage, Sink } from './sink.ts'
import { DISABLE, MOST_ATTEMPTS, pauseOf, payloadOf, sinkWaitOf, waitOf } from './webhook.ts'
import { type Answered, isGone, post } from './webhook.shell.ts'

export interface RelayParts {
  readonly outbox: OutboxStore
  readonly egress: Egress
  readonly sinks: readonly Sink[]
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly fault: FaultHook
  /** Faults of the store, and of what it keeps; values never reach it. */
  readonly onError: (error: unknown) => void
}

export interface Relay {
  /** Takes nothing new and resolves when nothing is under way; what is not taken by then comes again. */
  stop(): Promise<void>
}

/** Deliveries at a time in this process: a quarter of them is what one tenant may have (`outbox_take`). */
const ROOM = 16
/** Of one endpoint over all processes; less than that quarter, so that a slow one leaves a place to the others of its tenant. */
const EACH = 3
/** Events of one run in one go, so that a long run does not hold its place for ever. */
const MOST_MESSAGES = 20
/** Longer than any transaction of ours can last: 10 s of a statement and 5 s of silence. */
const BACK_MS = 30_000
/** Once an hour a look over a day, for a commit that a server held up for longer than it should. */
const LONG_BACK_MS = 86_400_000
const HOUR_MS = 3_600_000
/** After a fault of the store, or of ours, a delivery is taken up again, but not in a tight loop. */
const AGAIN_MS = 5_000
/** What is on its way when the worker stops has this long. */
const GRACE_MS = 5_000
/** A sink that says nothing for so long has failed: its place is one of few. */
const SINK_MS = 60_000

/** `worker`: whose lease holds the claims. `everyMs`: between two looks, over all relays. */
export function startRelay(parts: RelayParts, worker: () => string, everyMs: number): Relay {
  const { outbox, clock, onError } = parts
  const sinks = new Map(parts.sinks.map((sink) => [sink.name, sink]))
  const names = [...sinks.keys()]
  const stopping = new AbortController()
  const left = new AbortController()
  /** By endpoint and run. */
  const under = new Map<string, Promise<void>>()
  let lookedFar = clock.monotonic()
  const { ring: wake, rest } = bell(clock)

  async function look(): Promise<number> {
    const isFar = clock.monotonic() - lookedFar >= HOUR_MS
    if (isFar) lookedFar = clock.monotonic()
    return outbox.look(names, everyMs, isFar ? LONG_BACK_MS : BACK_MS)
  }

  async function take(): Promise<void> {
    const room = ROOM - under.size
    if (room <= 0 || (await look()) === 0) return
    for (const claim of await outbox.claim(worker(), names, { limit: room, each: EACH }, [...under.keys()])) {
      const key = carriedAs(claim)
      // a worker that lost its lease and goes on under a new name may be handed what it has on its way: in order, not beside
      const work: Promise<void> = (under.get(key) ?? Promise.resolve())
        .then(() => deliver(parts, sinks, claim, { stopping: stopping.signal, left: left.signal }))
        .catch((error: unknown) => {
          onError(error)
          // the store still believes that it is carried: it comes again, but not at once
          return clock.sleep(AGAIN_MS, stopping.signal).catch(() => {})
        })
        .finally(() => {
          if (under.get(key) === work) under.delete(key)
          wake()
        })
      under.set(key, work)
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await take().catch(onError)
      if (!stopping.signal.aborted) await rest(everyMs)
    }
  }

  const looping = loop()
  return {
    async stop() {
      stopping.abort(new Fault('worker_stopping'))
      wake()
      await looping
      const cancel = clock.after(GRACE_MS, () => left.abort(new Fault('worker_stopping')))
      await Promise.allSettled(under.values())
      cancel()
    },
  }
}

interface Signals {
  /** After the message that is under way, no other. */
  readonly stopping: AbortSignal
  /** The message that is under way is left. */
  readonly left: AbortSignal
}

async function deliver(
  parts: RelayParts,
  sinks: ReadonlyMap<string, Sink>,
  claim: Claim,
  signals: Signals,
): Promise<void> {
  const { outbox, fault } = parts
  const parcel = await read(parts, claim)
  if (!parcel) return
  for (const [i, message] of parcel.messages.entries()) {
    if (signals.stopping.aborted) break
    await fault('outbox.beforePublish')
    const answered = await publish(parts, sinks.get(claim.endpoint), parcel.target, message, signals.left)
    await fault('outbox.afterPublish')
    // nobody knows whether it was taken, and that is no failure of the endpoint
    if (signals.left.aborted && !answered.ok) break
    if (!answered.ok) return fail(parts, claim, parcel, message, i === 0 ? parcel.attempt : 0, answered)
    if (!(await outbox.sent(claim, message.seq, answered.status, answered.millis))) return
  }
  if (parcel.closed && !signals.stopping.aborted) return skip(parts, claim, parcel, parcel.closed)
  await outbox.release(claim, parcel.messages.length === 0 && !parcel.closed ? parcel.head : null)
}

/** Null when there is nothing to send now. What cannot be read is told, and moves on: it must not be the oldest for ever. */
async function read({ outbox, onError }: RelayParts, claim: Claim): Promise<Parcel | null> {
  try {
    return await outbox.parcel(claim, MOST_MESSAGES)
  } catch (error) {
    if (isUnreachable(error)) throw error
    onError(error)
    await outbox.putOff(claim, AGAIN_MS)
    return null
  }
}

async function publish(
  parts: RelayParts,
  sink: Sink | undefined,
  target: Target | null,
  message: OutboxMessage,
  signal: AbortSignal,
): Promise<Answered> {
  if (target !== null) return post(parts, target, { id: message.id, body: payloadOf(message) }, signal)
  const from = parts.clock.monotonic()
  const ended = (ok: boolean): Answered => ({
    ok,
    status: null,
    fault: 'egress_failed',
    waitMs: null,
    millis: Math.round(parts.clock.monotonic() - from),
  })
  try {
    if (!sink) return ended(false)
    // a sink is code of the program: whether it listens to its signal or not, nobody waits longer for it
    const time = { ms: SINK_MS, late: () => new Fault('egress_failed') }
    await timely(parts.clock, signal, time, (within) => sink.publish(message, within))
    return ended(true)
  } catch {
    return ended(false)
  }
}

async function fail(
  { outbox, random, ids }: RelayParts,
  claim: Claim,
  { target, failures }: Parcel,
  { seq }: OutboxMessage,
  before: number,
  { status, fault, millis, waitMs, ...answered }: Answered,
): Promise<void> {
  const attempts = before + 1
  const gone = isGone({ status, fault, millis, waitMs, ...answered })
  const wait = target === null ? sinkWaitOf(attempts, random.fraction()) : waitOf(attempts, random.fraction(), waitMs)
  const failure = {
    seq,
    status,
    fault,
    millis,
    delayMs: wait ?? 0,
    pauseMs: pauseOf(failures + 1, random.fraction()),
    giveUp: target !== null && attempts >= MOST_ATTEMPTS,
    blame: true,
    gone,
    audit: ids.next('aud'),
  }
  await outbox.failed(claim, failure, DISABLE)
}

/** A failed attempt at what cannot be opened; with the tenant's content all that waits of the run is over. */
async function skip(
  { outbox, random, ids, onError }: RelayParts,
  claim: Claim,
  { messages, attempt, head, failures, target }: Parcel,
  { seq, fault, isTarget }: Closed,
): Promise<void> {
  onError(fault)
  const isOver = fault.code === 'content_destroyed'
  const isSink = target === null && !isTarget
  const attempts = (messages.length === 0 ? attempt : 0) + 1
  const wait = isSink ? sinkWaitOf(attempts, random.fraction()) : waitOf(attempts, random.fraction(), null)
  const failure = {
    seq: isOver ? head : seq,
    status: null,
    fault: fault.code,
    millis: 0,
    delayMs: wait ?? 0,
    pauseMs: pauseOf(failures + 1, random.fraction()),
    giveUp: isOver || (!isSink && attempts >= MOST_ATTEMPTS),
    blame: isTarget,
    gone: false,
    audit: ids.next('aud'),
  }
  await outbox.failed(claim, failure, DISABLE)
}
