/**
 * Where vectors come from, and how near two of them are. Exact: every vector that may count is compared, since a filter
 * behind an approximate index loses most of what it should return.
 */
import { Fault } from '../../kernel/fault.ts'

export interface Embedder {
  /** Names the model for good: vectors of another id are never compared with these. */
  readonly id: string
  readonly dimensions: number
  /** One vector for each text, in their order. @throws Fault with a code of `model_…` */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>
  /**
   * How much the leg counts beside the words, which count 1, as measured for this model; default 0.5: max-normalised sums
   * of half a dictionary's vectors helped, while a leg of equal rights that is weaker than the words costs a fifth of recall.
   */
  readonly weight?: number
  /** The cosine from which a memory is near enough to be injected, as measured; without it only words let one in. */
  readonly floor?: number
}

export const DEFAULT_WEIGHT = 0.5

/** Little endian, as every machine of ours is. */
export const bytesOf = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** @throws Fault `content_damaged` when the bytes are no vector of this length */
export function vectorOf(bytes: Uint8Array, dimensions: number): Float32Array {
  if (bytes.byteLength !== dimensions * 4)
    throw new Fault('content_damaged', 'A vector has another length than its row says.')
  // a copy: the bytes of a driver begin anywhere in a larger buffer, and `slice` of a Buffer is none
  return new Float32Array(new Uint8Array(bytes).buffer)
}

/** 0 for a vector without a direction. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  let left = 0
  let right = 0
  for (let i = 0; i < a.length; i++) {
    const x = a[i] ?? 0
    const y = b[i] ?? 0
    dot += x * y
    left += x * x
    right += y * y
  }
  return left === 0 || right === 0 ? 0 : dot / Math.sqrt(left * right)
}
