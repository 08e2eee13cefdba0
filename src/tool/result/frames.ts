/**
 * The form of an object at rest: frames of one size, each sealed for its tenant, so that neither the whole object nor
 * anything before a place need be read to read from that place.
 *
 * A frame is four bytes of length, then the sealed piece. Inside the seal stands the number of the piece and whether it
 * is the last: frames that were swapped, repeated or cut off do not open.
 */
import { Fault } from '../../kernel/fault.ts'

/** Plain bytes of a piece. Two pieces in memory per stream; a hundred frames in 25 MB. */
export const PIECE = 256 * 1024
const LENGTH = 4
const HEAD = 5

/** Sealing, or its opposite, for one tenant. */
export type Sealing = (bytes: Uint8Array) => Uint8Array

/** A buffer for one piece, with room before it for what stands inside the seal, so that nothing is copied to be sealed. */
export const pieceBuffer = (): { readonly whole: Buffer; readonly bytes: Buffer } => {
  const whole = Buffer.allocUnsafe(HEAD + PIECE)
  return { whole, bytes: whole.subarray(HEAD) }
}

/** The two parts of a frame, its length and its seal, of the first `used` bytes of the piece in `whole`. */
export function frameOf(
  whole: Buffer,
  { used, index, isLast }: { readonly used: number; readonly index: number; readonly isLast: boolean },
  seal: Sealing,
): readonly [Uint8Array, Uint8Array] {
  whole.writeUInt32BE(index, 0)
  whole.writeUInt8(isLast ? 1 : 0, 4)
  const sealed = seal(whole.subarray(0, HEAD + used))
  const length = new Uint8Array(LENGTH)
  new DataView(length.buffer).setUint32(0, sealed.byteLength)
  return [length, sealed]
}

/** The length of the frame that begins here; null when fewer than its first four bytes are there. */
export function frameLength(bytes: Uint8Array): number | null {
  if (bytes.byteLength < LENGTH) return null
  return LENGTH + new DataView(bytes.buffer, bytes.byteOffset, LENGTH).getUint32(0)
}

/** The plain bytes of a whole frame. @throws Fault `content_damaged` when it is not the one that belongs here */
export function openFrame(
  frame: Uint8Array,
  expected: { readonly index: number; readonly isLast: boolean },
  open: Sealing,
): Uint8Array {
  const plain = open(frame.subarray(LENGTH))
  const view = new DataView(plain.buffer, plain.byteOffset, plain.byteLength)
  const isWanted =
    plain.byteLength >= HEAD && view.getUint32(0) === expected.index && (view.getUint8(4) === 1) === expected.isLast
  if (!isWanted) throw new Fault('content_damaged', 'A stored object does not have the form in which it was written.')
  return plain.subarray(HEAD)
}

export interface Span {
  /** The first piece that is needed, and the last. */
  readonly first: number
  readonly last: number
  /** The last piece of the object. */
  readonly end: number
}

/** The pieces that hold the bytes from `from` up to `to` of an object of `size` bytes. An empty object is one empty piece. */
export function spanOf(size: number, from: number, to: number): Span {
  const end = Math.max(0, Math.ceil(size / PIECE) - 1)
  const first = Math.min(end, Math.floor(from / PIECE))
  return { first, last: Math.min(end, Math.max(first, Math.ceil(to / PIECE) - 1)), end }
}
