/** The pieces of a source, from whatever a tool gives to bytes: read one at a time, left at once when nobody waits. */
import { Fault } from '../../kernel/fault.ts'
import { type Json, utf8Length } from '../../kernel/json.ts'
import { checkJson, RESULT_LIMITS } from '../../kernel/plain.ts'
import type { Raw } from './raw.ts'
import { type Scrub, scrubJson } from './scrub.ts'
import type { Summing } from './summary.ts'

export type Form = 'rows' | 'text' | 'bytes'

/** Lines are written together: a call of the hash and of the store for each of 200 000 rows would cost more than the rows. */
const LINES_BYTES = 64 * 1024

/** The elements of a source; a wait for the next one ends when the signal aborts. */
export async function* iterated(source: Raw['source'], signal: AbortSignal): AsyncGenerator {
  if (!(Symbol.asyncIterator in source)) {
    for (const element of source) {
      signal.throwIfAborted()
      yield element
    }
    return
  }
  const iterator = source[Symbol.asyncIterator]()
  let isOver = false
  try {
    for (;;) {
      const next = await orAbort(iterator, signal)
      if (next.done === true) {
        isOver = true
        return
      }
      yield next.value
    }
  } finally {
    // not awaited: a source that hangs would hold the call
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/** Whatever the source throws is passed on as it is. */
function orAbort(iterator: AsyncIterator<unknown>, signal: AbortSignal): Promise<IteratorResult<unknown>> {
  let left = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    left = () => signal.removeEventListener('abort', stop)
  })
  return Promise.race([aborted, iterator.next()]).finally(left)
}

export interface Peeked {
  readonly form: Form
  /** Read already; rows are plain and scrubbed. */
  readonly early: readonly unknown[]
  /** Nothing comes after it. */
  readonly isWhole: boolean
}

/** Reads until more than `most` bytes are there; always one element, which says what kind of source this is. */
export async function peeked(source: AsyncGenerator, most: number, scrub: Scrub): Promise<Peeked> {
  const early: unknown[] = []
  let form: Form = 'rows'
  let bytes = 0
  for (;;) {
    const next = await source.next()
    if (next.done === true) return { form, early, isWhole: true }
    if (early.length === 0) form = formOf(next.value)
    const element = form === 'rows' ? rowOf(next.value, scrub) : next.value
    early.push(element)
    if (form === 'bytes') return { form, early, isWhole: false }
    bytes += form === 'text' ? utf8Length(String(element)) : utf8Length(JSON.stringify(element)) + 1
    if (bytes > most) return { form, early, isWhole: false }
  }
}

function formOf(element: unknown): Form {
  if (element instanceof Uint8Array) return 'bytes'
  return typeof element === 'string' ? 'text' : 'rows'
}

function rowOf(element: unknown, scrub: Scrub): Json {
  const checked = checkJson(element, { ...RESULT_LIMITS, text: 'mend' })
  if (!checked.ok) throw new Fault('result_not_serialisable')
  return scrubJson(checked.value, scrub)
}

export interface Encoding {
  readonly form: Form
  readonly early: readonly unknown[]
  readonly rest: AsyncGenerator
  readonly scrub: Scrub
  readonly summary: Summing | null
  /** The beginning of a text, or of bytes. */
  readonly head: { readonly most: number; readonly bytes: Uint8Array[]; size: number }
}

/** The source as bytes, without any credential of the call. */
export async function* encoded(encoding: Encoding): AsyncGenerator<Uint8Array> {
  const { form, head } = encoding
  if (form === 'rows') {
    yield* lines(encoding)
    return
  }
  for await (const bytes of scrubbed(chunks(encoding), encoding.scrub)) {
    if (head.size < head.most) {
      // a copy: the tool may use its buffer again
      const beginning = Uint8Array.prototype.slice.call(bytes, 0, head.most - head.size)
      head.bytes.push(beginning)
      head.size += beginning.byteLength
    }
    yield bytes
  }
}

async function* lines({ early, rest, scrub, summary }: Encoding): AsyncGenerator<Uint8Array> {
  let waiting: string[] = []
  let size = 0
  const add = (row: Json): void => {
    const line = JSON.stringify(row)
    summary?.add(row, line.length)
    waiting.push(line, '\n')
    size += line.length + 1
  }
  const taken = (): Uint8Array => {
    const bytes = Buffer.from(waiting.join(''))
    waiting = []
    size = 0
    return bytes
  }
  for (const row of early) add(row as Json)
  for await (const element of rest) {
    add(rowOf(element, scrub))
    if (size >= LINES_BYTES) yield taken()
  }
  yield taken()
}

async function* chunks({ form, early, rest }: Encoding): AsyncGenerator<Uint8Array> {
  const bytesOf = (element: unknown): Uint8Array => {
    if (formOf(element) !== form) throw new Fault('result_not_serialisable')
    return typeof element === 'string' ? Buffer.from(element) : (element as Uint8Array)
  }
  for (const element of early) yield bytesOf(element)
  for await (const element of rest) yield bytesOf(element)
}

/** A credential may lie across two pieces: the end of each waits for the next. */
export async function* scrubbed(source: AsyncIterable<Uint8Array>, scrub: Scrub): AsyncGenerator<Uint8Array> {
  const { bytes: clean, longest } = scrub
  if (clean === null) {
    yield* source
    return
  }
  let held: Uint8Array = new Uint8Array(0)
  for await (const bytes of source) {
    const joined = clean(Buffer.concat([held, bytes]))
    const safe = Math.max(0, joined.byteLength - (longest - 1))
    if (safe > 0) yield joined.subarray(0, safe)
    held = joined.subarray(safe)
  }
  yield held
}
