/** Reads an artifact back: the frames that hold a range, opened one at a time, as fast as they are taken. */
import { createHash } from 'node:crypto'
import { Fault } from '../../kernel/fault.ts'
import type { Sealer } from '../../db/seal.ts'
import { frameLength, openFrame, PIECE, type Sealing, type Span, spanOf } from './frames.ts'
import type { ByteRange, ObjectStore } from './objects.ts'

export interface FetchParts {
  readonly objects: ObjectStore
  readonly sealer: Sealer
}

/** What a row says of its object. */
export interface Fetched {
  readonly objectKey: string
  readonly bytes: number
  readonly sha256: string
  readonly frame: number
}

/**
 * The plain bytes from `from` up to `to`. Whoever stops reading closes the object. Read whole, they are held against
 * their hash before the last of them is given out.
 * @throws Fault `content_damaged` when the object is gone or not what was written
 */
export async function* fetchArtifact(
  { objects, sealer }: FetchParts,
  tenant: string,
  artifact: Fetched,
  { from, to }: ByteRange,
): AsyncGenerator<Uint8Array> {
  const span = spanOf(artifact.bytes, from, to)
  const isWhole = from === 0 && to >= artifact.bytes
  const stored = isWhole
    ? await objects.get(artifact.objectKey)
    : await objects.get(artifact.objectKey, storedRange(artifact, span))
  if (!stored) throw new Fault('content_damaged', 'The object of an artifact is not there.')
  const hash = createHash('sha256')
  let at = span.first * PIECE
  let left = to - from
  for await (const bytes of opened(frames(stored), span, (sealed) => sealer.open(tenant, sealed))) {
    if (isWhole) hash.update(bytes)
    if (isWhole && at + bytes.byteLength >= artifact.bytes && hash.digest('hex') !== artifact.sha256)
      throw new Fault('content_damaged', 'The object of an artifact does not match its hash.')
    const skipped = Math.max(0, from - at)
    const piece = bytes.subarray(skipped, skipped + left)
    at += bytes.byteLength
    left -= piece.byteLength
    if (piece.byteLength > 0) yield piece
  }
  if (left > 0) throw new Fault('content_damaged', 'The object of an artifact is shorter than it was.')
}

const storedRange = ({ frame }: Fetched, { first, last, end }: Span): ByteRange => ({
  from: first * frame,
  // nothing says how long the last frame is: what is beyond the end of an object does not come
  to: last === end ? Number.MAX_SAFE_INTEGER : (last + 1) * frame,
})

async function* opened(
  source: AsyncIterable<Uint8Array>,
  { first, last, end }: Span,
  open: Sealing,
): AsyncGenerator<Uint8Array> {
  let index = first
  for await (const frame of source) {
    yield openFrame(frame, { index, isLast: index === end }, open)
    index += 1
    if (index > last) return
  }
}

/** Copied only when it came in parts. */
const whole = (parts: readonly Buffer[]): Buffer => (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts))

/** Frames as they were written, from chunks of any size. */
async function* frames(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Buffer[] = []
  let size = 0
  let wanted: number | null = null
  for await (const chunk of source) {
    held.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    size += chunk.byteLength
    for (;;) {
      if (wanted === null && size >= 4) {
        held = [whole(held)]
        wanted = frameLength(held[0] as Buffer)
      }
      if (wanted === null || size < wanted) break
      const joined = whole(held)
      yield joined.subarray(0, wanted)
      held = [joined.subarray(wanted)]
      size -= wanted
      wanted = null
    }
  }
  if (size > 0) throw new Fault('content_damaged', 'A stored object ends in the middle.')
}
