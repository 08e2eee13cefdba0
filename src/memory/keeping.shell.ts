/**
 * What time does to memories: each part is a small step that may run again, in any process, and leaves the rest to the next.
 *
 * E5   what was stored before the detectors learnt is read again, and barred
 * E12  what nobody uses goes cold   F3  an entry that is missing is made, and one that is surplus goes
 */
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { type Evidence, type Inspection, textsOf } from './candidate.ts'
import { consolidate, type Consolidating } from './consolidate.shell.ts'
import { DETECTORS } from './detect/finding.ts'
import { scan } from './detect/scan.ts'
import type { MemoryKind } from './entry.ts'
import { findableText, indexMissing, type Indexing } from './indexing.shell.ts'
import { isRefused } from './judge.ts'
import type { KeepingStore, Scanned, Unscanned, Walls } from './keeping.store.ts'
import type { MemoryKeys } from './key.ts'
import type { Embedder } from './recall/embedder.ts'
import { writeVectors } from './recall/hybrid.shell.ts'

export interface Keeping {
  readonly store: KeepingStore
  readonly indexing: Indexing
  readonly registry: MemoryKeys
  readonly inspect: (of: { key: string; value: Json; evidence: Evidence }) => Promise<Inspection>
  readonly embedder: Embedder | null
  readonly ids: Ids
  readonly growing: Consolidating
}

/** Days without use or word: about half of what the kind lives, and a season for what a person has said of themselves. */
export const COLD_AFTER_DAYS: Readonly<Record<MemoryKind, number>> = Object.freeze({
  task: 14,
  experience: 45,
  fact: 180,
  preference: 180,
})

const BATCH = 100
/** Of one wall before the next one has its turn. */
const MOST_BATCHES = 20

/** All that is due at one place, as far as one turn goes. `sweep`: also what the index has too much, which reads all of it. */
export async function keep(parts: Keeping, scope: Walls, sweep: boolean, signal: AbortSignal): Promise<void> {
  const steps = [
    // first what must not be seen
    () => rescan(parts, scope),
    () => indexMissing(parts.indexing, scope),
    () => embedMissing(parts, scope, signal),
    () => parts.store.cool(scope, COLD_AFTER_DAYS, BATCH),
    async () => (await parts.store.expire(scope), 0),
    // last: a consolidator of the product that fails keeps nothing else from its turn
    () => consolidate(parts.growing, scope, signal).then(() => 0),
  ]
  for (const step of steps)
    for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches++) if ((await step()) < BATCH) break
  if (sweep && !signal.aborted) await parts.indexing.recall.sweep(scope)
}

/**
 * What the detectors have not seen since they changed: at most a batch; how many were read.
 * @throws Fault `unavailable` when a detector failed: the memory waits for the next time
 */
export async function rescan(parts: Keeping, scope: Walls, detectors = DETECTORS): Promise<number> {
  const unseen = await parts.store.unscanned(scope, detectors, BATCH)
  for (const memory of unseen) {
    const scanned = await scannedOf(parts, memory)
    await parts.store.markScanned(scope, scanned, { audit: parts.ids.next('aud'), detectors })
  }
  return unseen.length
}

async function scannedOf(parts: Keeping, { id, version, key, value, past, quotes }: Unscanned): Promise<Scanned> {
  const versions: number[] = []
  const cited: string[] = []
  for (const one of past) if (await isHit(parts, key, one.value)) versions.push(one.version)
  for (const one of quotes) if (await isHit(parts, key, one.text)) cited.push(one.source)
  return { id, version, barred: await isHit(parts, key, value), versions, quotes: cited }
}

async function isHit({ registry, inspect }: Keeping, key: string, value: Json): Promise<boolean> {
  const read = { key, value, evidence: { kind: 'operator', ref: '' } } as const
  const inspection = await inspect(read)
  if (!inspection.ok) throw new Fault('unavailable', 'A detector failed; what it should have read is read again later.')
  const found = [...textsOf(read).flatMap(scan), ...inspection.findings]
  return found.some((finding) => isRefused(finding, registry.find(key)))
}

/** Vectors of the embedder of today, where they are missing. */
async function embedMissing(
  { store, indexing, embedder }: Keeping,
  scope: Walls,
  signal: AbortSignal,
): Promise<number> {
  if (embedder === null) return 0
  const ids = await store.unvectored(scope, embedder.id, BATCH)
  if (ids.length === 0) return 0
  const memories = await indexing.sources.toIndex(scope, ids)
  const texts = memories.map(({ id, version, key, value }) => ({ id, version, text: findableText(key, value) }))
  return writeVectors(indexing.recall, embedder, scope, texts, signal)
}

const WALLS = 20

/** Goes around all places that remember something; a turn is a page of them. One that fails keeps nobody else from theirs. */
export function rounds(
  parts: Keeping,
  onError: (error: unknown) => void,
): (sweep: boolean, signal: AbortSignal) => Promise<'more' | 'around'> {
  let after: Walls = { tenant: '', environment: '' }
  return async (sweep, signal) => {
    const page = await parts.store.walls(after, WALLS)
    const isLast = page.length < WALLS
    after = isLast ? { tenant: '', environment: '' } : (page.at(-1) ?? after)
    for (const scope of page) await keep(parts, scope, sweep, signal).catch(onError)
    return isLast ? 'around' : 'more'
  }
}
