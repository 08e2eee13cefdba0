/**
 * Takes what a tool returns piece by piece to the object store, as it comes: counted, hashed, sealed and summarised on
 * the way, never whole in memory (I5). No row is written here, and nothing of the database is held.
 */
import { createHash } from 'node:crypto'
import { Fault } from '../../kernel/fault.ts'
import type { ArtifactId, Ids } from '../../kernel/ids.ts'
import { type Json, mendText } from '../../kernel/json.ts'
import { MEDIA_HEAD, mediaFacts } from '../../kernel/media.ts'
import type { Sealer } from '../../db/seal.ts'
import { type ArtifactKind, type Kept, nameOf } from './artifact.ts'
import { frameOf, PIECE, pieceBuffer, type Sealing } from './frames.ts'
import { objectKey, type ObjectStore } from './objects.ts'
import { encoded, type Encoding, iterated, peeked } from './pieces.shell.ts'
import type { Raw } from './raw.ts'
import type { Scrub } from './scrub.ts'
import { type RowsSummary, summing } from './summary.ts'

export interface KeepParts {
  readonly objects: ObjectStore
  readonly sealer: Sealer
  readonly ids: Ids
}

/** Where the call stands, for the key of the object and the name of the result. */
export interface KeepPlace {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly step: number
  readonly position: number
  readonly tool: string
}

export interface KeepLimits {
  /** What the model may read: what fits is not kept, but returned. */
  readonly maxResultBytes: number
  /** What may be stored. */
  readonly maxRawBytes: number
  readonly signal: AbortSignal
  readonly scrub: Scrub
}

/** `head`: the beginning of a text, as much as the model may read. */
export type Taken =
  | { readonly is: 'value'; readonly value: unknown }
  | { readonly is: 'kept'; readonly kept: Kept; readonly head: string | null }

/**
 * Reads a source to its end. What fits and has no name of its own comes back as a value.
 * @throws Fault `result_too_large`, `result_not_serialisable`, `result_not_kept`; whatever the source throws
 */
export async function takeRaw(parts: KeepParts, place: KeepPlace, raw: Raw, limits: KeepLimits): Promise<Taken> {
  const iterator = iterated(raw.source, limits.signal)
  const isNamed = raw.name !== null || raw.mediaType !== null
  const { early, isWhole, form } = await peeked(iterator, isNamed ? 0 : limits.maxResultBytes, limits.scrub)
  if (isWhole && !isNamed && form !== 'bytes') return { is: 'value', value: form === 'text' ? early.join('') : early }
  const encoding: Encoding = {
    form,
    early,
    rest: iterator,
    scrub: limits.scrub,
    summary: form === 'rows' ? summing() : null,
    head: { most: HEAD[form](limits.maxResultBytes), bytes: [], size: 0 },
  }
  const mediaType = raw.mediaType ?? MEDIA_TYPES[form]
  const content = { source: encoded(encoding), mediaType, name: raw.name ?? nameOf(place.tool, place, mediaType) }
  // a store that fails at once has read nothing: the source is told all the same
  const stored = await keep(parts, place, content, { ...limits, kind: 'result' }).finally(() =>
    iterator.return(undefined),
  )
  const beginning = Buffer.concat(encoding.head.bytes)
  const head = form === 'text' ? mendText(new TextDecoder().decode(beginning)) : null
  // by its own bytes: the type that a tool says is its word
  const media = form === 'bytes' ? mediaFacts(beginning, stored.bytes) : null
  const kept = { ...stored, summary: encoding.summary?.result() ?? null, ...(media && { media }) }
  return { is: 'kept', kept, head }
}

/** How much of a source is looked at besides being stored. */
const HEAD = {
  rows: () => 0,
  text: (readable: number) => readable,
  bytes: () => MEDIA_HEAD,
} as const

const MEDIA_TYPES = {
  rows: 'application/x-ndjson',
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
} as const

/** A value that is in memory anyway, and too large to be read: kept as its JSON, a text as its bytes. */
export async function keepValue(parts: KeepParts, place: KeepPlace, value: Json, limits: KeepLimits): Promise<Kept> {
  const mediaType = typeof value === 'string' ? MEDIA_TYPES.text : 'application/json'
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  const content = { source: once(bytes), mediaType, name: nameOf(place.tool, place, mediaType) }
  const stored = await keep(parts, place, content, { ...limits, kind: 'result' })
  return { ...stored, summary: Array.isArray(value) ? rowsOf(value as readonly Json[]) : null }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function rowsOf(rows: readonly Json[]): RowsSummary {
  const summary = summing()
  for (const row of rows) summary.add(row, JSON.stringify(row).length)
  return summary.result()
}

export interface Content {
  readonly source: AsyncIterable<Uint8Array>
  readonly name: string
  readonly mediaType: string
}

/** Stores bytes as one object. What the source throws passes; a store that fails is `result_not_kept`. */
export async function keep(
  { objects, sealer, ids }: KeepParts,
  place: KeepPlace,
  content: Content,
  limits: Pick<KeepLimits, 'maxRawBytes'> & { readonly kind: ArtifactKind },
): Promise<Kept> {
  const id: ArtifactId = ids.next('art')
  const key = objectKey(place, id)
  const tally: Tally = { bytes: 0, frame: 0, most: limits.maxRawBytes, hash: createHash('sha256'), failure: null }
  try {
    await objects.put(
      key,
      framed(content.source, (bytes) => sealer.seal(place.tenant, bytes), tally),
    )
  } catch (cause) {
    throw tally.failure ? tally.failure.error : new Fault('result_not_kept', undefined, { cause })
  }
  return {
    id,
    kind: limits.kind,
    name: content.name,
    mediaType: content.mediaType,
    bytes: tally.bytes,
    sha256: tally.hash.digest('hex'),
    objectKey: key,
    frame: tally.frame,
    summary: null,
  }
}

interface Tally {
  bytes: number
  /** Stored bytes of a full frame. */
  frame: number
  readonly most: number
  readonly hash: ReturnType<typeof createHash>
  /** What the source threw, as opposed to the store. */
  failure: { readonly error: unknown } | null
}

async function* framed(source: AsyncIterable<Uint8Array>, seal: Sealing, tally: Tally): AsyncGenerator<Uint8Array> {
  const { whole, bytes: piece } = pieceBuffer()
  let used = 0
  let index = 0
  const full = () => {
    const frame = frameOf(whole, { used, index: index++, isLast: false }, seal)
    const size = frame[0].byteLength + frame[1].byteLength
    if (tally.frame !== 0 && tally.frame !== size)
      throw new Fault('internal', 'A sealer must make pieces of one size equally long.')
    tally.frame = size
    used = 0
    return frame
  }
  try {
    for await (const bytes of source) {
      tally.bytes += bytes.byteLength
      if (tally.bytes > tally.most) throw new Fault('result_too_large')
      tally.hash.update(bytes)
      for (let at = 0; at < bytes.byteLength; ) {
        yield* used === PIECE ? full() : []
        const taken = Math.min(PIECE - used, bytes.byteLength - at)
        piece.set(bytes.subarray(at, at + taken), used)
        used += taken
        at += taken
      }
    }
    yield* frameOf(whole, { used, index, isLast: true }, seal)
  } catch (error) {
    tally.failure = { error }
    throw error
  }
}
