/**
 * Words and vectors together: the vectors give each memory a cosine, and the one statement that filters and ranks adds it
 * to the words. Without an embedder the words rank alone.
 */
import { Fault } from '../../kernel/fault.ts'
import type { Scope } from '../../kernel/scope.ts'
import { bytesOf, cosine, DEFAULT_WEIGHT, type Embedder, vectorOf } from './embedder.ts'
import type { Asking } from './filter.ts'
import type { Answer, RecallStore } from './recall.store.ts'

/** Vectors that one question is compared with: 20 000 of 1 536 numbers are 120 MB for a moment. The newest come first. */
const MOST_VECTORS = 20_000

/** @throws Fault `invalid_request`; `recall_mixed` when the vectors there are of another model; what the embedder throws */
export async function recallHybrid(
  store: RecallStore,
  embedder: Embedder | null,
  scope: Scope,
  asking: Asking,
  signal: AbortSignal,
): Promise<Answer> {
  if (embedder === null || asking.text.trim() === '') return store.recall(scope, asking)
  const stored = await store.vectors(scope, asking, MOST_VECTORS)
  if (stored.length === 0) return store.recall(scope, asking)
  if (stored.some(({ model, dimensions }) => model !== embedder.id || dimensions !== embedder.dimensions))
    throw new Fault('recall_mixed')
  const [asked] = await embedder.embed([asking.text], signal)
  const of = new Map<string, number>()
  for (const { id, bytes, dimensions } of stored) of.set(id, asked ? cosine(asked, vectorOf(bytes, dimensions)) : 0)
  return store.recall(scope, asking, { of, weight: embedder.weight ?? DEFAULT_WEIGHT })
}

/** Embeds and stores; those that have another version by now are passed over. Nothing of the store is held meanwhile. */
export async function writeVectors(
  store: RecallStore,
  embedder: Embedder,
  scope: Pick<Scope, 'tenant' | 'environment'>,
  memories: readonly { readonly id: string; readonly version: number; readonly text: string }[],
  signal: AbortSignal,
): Promise<number> {
  const made = await embedder.embed(
    memories.map(({ text }) => text),
    signal,
  )
  let written = 0
  for (const [at, memory] of memories.entries()) {
    const vector = made[at]
    if (!vector) continue
    const row = { model: embedder.id, dimensions: embedder.dimensions, bytes: bytesOf(vector) }
    if (await store.writeVector(scope, memory, row)) written++
  }
  return written
}
