/**
 * The index of a memory, made from its record and the neighbours that it lists, and from nothing else: right after a write,
 * and again by whoever finds an entry missing or old. It decides nothing, so a failure here costs rank and no more (F3).
 */
import type { Json } from '../kernel/json.ts'
import { leaves } from './candidate.ts'
import type { Walls } from './keeping.store.ts'
import { indexOf } from './recall/index-text.ts'
import type { RecallStore } from './recall/recall.store.ts'
import type { SourceStore, ToIndex } from './source.store.ts'

export interface Indexing {
  readonly sources: Pick<SourceStore, 'toIndex'>
  readonly recall: RecallStore
}

/** What a memory is found by: its key is a word of the question as often as its value. */
export function findableText(key: string, value: Json): string {
  const parts = [key.replaceAll(/[._-]+/g, ' ')]
  leaves(value, '', (name, text) => parts.push(name === '' ? text : `${name.replaceAll(/[._-]+/g, ' ')} ${text}`))
  return parts.join('\n')
}

const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

const entryOf = ({ key, value, validFrom, before }: ToIndex) =>
  indexOf({
    text: findableText(key, value),
    at: dayText(validFrom),
    before: before.map(({ text, at }) => ({ text, at: dayText(at) })),
  })

/** How many have an entry of their version now. */
export async function indexMemories(
  { sources, recall }: Indexing,
  scope: Walls,
  ids: readonly string[],
): Promise<number> {
  let made = 0
  for (const memory of await sources.toIndex(scope, ids))
    if ((await recall.index(scope, memory, entryOf(memory))) === 'indexed') made += 1
  return made
}

const BATCH = 100

/** Memories whose entry is missing, or of an older version or lexer: at most a batch. */
export async function indexMissing(parts: Indexing, scope: Walls): Promise<number> {
  const missing = await parts.recall.unindexed(scope, BATCH)
  return missing.length === 0
    ? 0
    : indexMemories(
        parts,
        scope,
        missing.map((one) => one.id),
      )
}
