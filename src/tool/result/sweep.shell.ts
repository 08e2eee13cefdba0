/** Removes objects that nobody may read: expired ones, and those whose call was never committed. */
import type { Clock } from '../../kernel/clock.ts'
import type { ArtifactStore } from './artifact.store.ts'
import type { ObjectStore } from './objects.ts'

export interface SweepParts {
  readonly objects: ObjectStore
  readonly artifacts: Pick<ArtifactStore, 'drop'>
  readonly clock: Clock
  /** What of one tenant could not be swept now; the others are. */
  readonly onError: (error: unknown) => void
}

/**
 * A younger object may belong to a step that is under way. A call takes an hour at most, and a step a handful of calls;
 * a day is beyond all of them.
 */
export const SWEEP_AFTER_MS = 24 * 3_600_000
const BATCH = 200

/** How many objects were removed. Two sweeps at once do no harm: what is removed is removed once. */
export async function sweepObjects(parts: SweepParts, afterMs = SWEEP_AFTER_MS): Promise<number> {
  const waiting = new Map<string, string[]>()
  let removed = 0
  for await (const { key, at } of parts.objects.list()) {
    if (parts.clock.now() - at < afterMs) continue
    const walls = key.split('/', 2).join('/')
    const keys = waiting.get(walls) ?? []
    waiting.set(walls, [...keys, key])
    if (keys.length + 1 < BATCH) continue
    waiting.delete(walls)
    removed += await drop(parts, walls, [...keys, key])
  }
  for (const [walls, keys] of waiting) removed += await drop(parts, walls, keys)
  return removed
}

async function drop(
  { objects, artifacts, onError }: SweepParts,
  walls: string,
  keys: readonly string[],
): Promise<number> {
  const [tenant = '', environment = ''] = walls.split('/')
  const dropped = await artifacts.drop({ tenant, environment }, keys).catch((error: unknown) => {
    onError(error)
    return []
  })
  for (const key of dropped) await objects.delete(key)
  return dropped.length
}
