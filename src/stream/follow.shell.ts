/**
 * One reader of one run: durable events in order, each once, and between them the text in progress. Nothing is buffered
 * for a reader but its place: who reads slowly gets more at a time.
 *
 * K4  the place is the sequence of the last durable event, good on every instance and after every restart
 */
import type { Clock } from '../kernel/clock.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Deltas } from './deltas.shell.ts'
import type { EventStore, StoredEvent, Tail } from './event.store.ts'
import type { Hub } from './hub.ts'

/** `text` is the answer that the event committed, where people may see it. */
export type EventItem = StoredEvent & { readonly kind: 'event'; readonly text?: string; readonly partial?: boolean }

export type StreamItem =
  | EventItem
  /** What was shown of an earlier attempt of this step is void (K3). */
  | { readonly kind: 'attempt_opened'; readonly after: number; readonly step: number; readonly attempt: number }
  | {
      readonly kind: 'delta'
      readonly after: number
      readonly step: number
      readonly attempt: number
      readonly offset: number
      readonly text: string
    }

export interface Following {
  readonly events: EventStore
  readonly hub: Hub
  readonly deltas: Deltas
  readonly clock: Clock
}

export interface FollowRequest {
  readonly run: string
  /** The last durable event that the reader has; 0 for none. */
  readonly after: number
  readonly operator: boolean
  readonly signal: AbortSignal
}

const POLL_MS = 250
const MOST_EVENTS = 200
const FINAL = new Set(['succeeded', 'failed', 'canceled'])

/** Where the reader is in the text in progress. */
interface Place {
  step: number
  attempt: number
  offset: number
  piece: number
}

interface Reader {
  /** The last durable event that was given out. */
  after: number
  isOver: boolean
  /** The last step whose message is in the store: this process may hear of its commit later than the reader does. */
  settled: number
  readonly place: Place
}

/** Ends after the last event of an ended run, or when `signal` aborts. */
export async function* follow(parts: Following, scope: Scope, request: FollowRequest): AsyncGenerator<StreamItem> {
  const { run, signal } = request
  const place: Place = { step: 0, attempt: 0, offset: 0, piece: 0 }
  const reader: Reader = { after: request.after, isOver: false, settled: 0, place }
  const ear = listen(parts.hub, run, signal)
  try {
    while (!signal.aborted) {
      if (ear.look()) yield* stored(parts, scope, { ...request, ear, reader })
      if (reader.isOver) return
      // a commit that was heard meanwhile comes first: its event belongs before the text that follows it
      if (!ear.isDue()) yield* local(parts.deltas, run, reader)
      await ear.wait(parts.clock, POLL_MS)
    }
  } finally {
    ear.close()
  }
}

/** What the store holds beyond the reader's place. */
async function* stored(
  { events, deltas }: Following,
  scope: Scope,
  { run, operator, ear, reader }: FollowRequest & { readonly ear: Ear; readonly reader: Reader },
): AsyncGenerator<StreamItem> {
  const { after, place } = reader
  const tail = await events.tail(scope, { run, after, piece: place.piece, limit: MOST_EVENTS, operator })
  for (const item of await hydrated(events, scope, run, tail.events)) {
    reader.after = item.seq
    yield item
  }
  if (tail.events.length === MOST_EVENTS) return ear.again()
  reader.settled = tail.state?.step ?? 0
  reader.isOver = tail.state === null || FINAL.has(tail.state.status)
  if (!reader.isOver && !deltas.partial(run)) yield* remote(tail, reader)
}

/** The same durable events, once. */
export async function eventsAfter(
  events: EventStore,
  scope: Scope,
  request: { readonly run: string; readonly after: number; readonly limit: number; readonly operator: boolean },
): Promise<readonly EventItem[]> {
  const tail = await events.tail(scope, { ...request, piece: Number.MAX_SAFE_INTEGER })
  return hydrated(events, scope, request.run, tail.events)
}

/** The text that this process itself receives from the model. */
function* local(deltas: Deltas, run: string, { place, after, settled }: Reader): Generator<StreamItem> {
  const partial = deltas.partial(run)
  if (!partial || partial.attempt.step <= settled) return
  const { step, number: attempt } = partial.attempt
  if (attempt !== place.attempt || step !== place.step) yield opened(place, step, attempt, after)
  const text = partial.text.slice(place.offset)
  if (text === '') return
  yield { kind: 'delta', after, step, attempt, offset: place.offset, text }
  place.offset += text.length
}

/** The text that another process has flushed: only the newest attempt counts. */
function* remote(tail: Tail, { place, after }: Reader): Generator<StreamItem> {
  const newest = tail.pieces.at(-1)
  if (!newest) return
  place.piece = newest.seq
  const { step, attempt } = newest
  if (attempt !== place.attempt || step !== place.step) yield opened(place, step, attempt, after)
  for (const piece of tail.pieces) {
    if (piece.attempt !== attempt || piece.offset !== place.offset) continue
    yield { kind: 'delta', after, step, attempt, offset: piece.offset, text: piece.text }
    place.offset += piece.text.length
  }
}

function opened(place: Place, step: number, attempt: number, after: number): StreamItem {
  Object.assign(place, { step, attempt, offset: 0 })
  return { kind: 'attempt_opened', after, step, attempt }
}

/** The answers themselves are in the messages, where they can be deleted; the stream brings them along. */
async function hydrated(events: EventStore, scope: Scope, run: string, some: readonly StoredEvent[]) {
  const messageOf = (e: StoredEvent): Json | undefined =>
    e.type === 'step_planned' || e.type === 'run_ended' ? e.body['message'] : undefined
  const seqs = some.map(messageOf).filter((seq) => typeof seq === 'number')
  const texts = await events.texts(scope, run, seqs)
  return some.map((e): EventItem => {
    const said = texts.get(Number(messageOf(e)))
    return { kind: 'event', ...e, ...(said ? { text: said.text, ...(said.partial ? { partial: true } : {}) } : {}) }
  })
}

interface Ear {
  isDue(): boolean
  /** Whether the store must be read: something was committed, or nothing was heard for a while. */
  look(): boolean
  again(): void
  wait(clock: Clock, ms: number): Promise<void>
  close(): void
}

function listen(hub: Hub, run: string, signal: AbortSignal): Ear {
  let due = true
  let heard = false
  let wake: () => void = () => {}
  const deaf = hub.listen(run, (hint) => {
    if (hint === 'committed') due = true
    heard = true
    wake()
  })
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort, { once: true })
  return {
    isDue: () => due,
    look() {
      const now = due
      due = false
      return now
    },
    again() {
      due = true
    },
    async wait(clock, ms) {
      if (!due && !heard && !signal.aborted) {
        const woken = new AbortController()
        wake = () => woken.abort()
        await clock.sleep(ms, woken.signal).catch(() => {})
        if (!woken.signal.aborted) due = true
      }
      heard = false
    },
    close() {
      deaf()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
