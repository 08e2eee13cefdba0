/**
 * The bytes of what a request refers to, fetched right before it leaves. What is not there any more, or does not come in time, is
 * a note in its place, and fails no run (T2).
 */
import type { Part } from '../context/assemble.ts'
import type { ArtifactId } from '../kernel/ids.ts'
import { scopeOf } from '../request/actor.ts'
import type { ActParts, Work } from './acting.ts'
import { throwIfHandedBack } from './handback.ts'
import { inTime } from './intime.shell.ts'
import { wholeOf } from './uploads.shell.ts'

/** Of all objects of a request together: a store that is slower is as good as away. */
const FETCH_MS = 15_000

/** By the id of the artifact. */
export type Attached = ReadonlyMap<string, Uint8Array>

export async function attachedTo(parts: ActParts, work: Work, sent: readonly Part[]): Promise<Attached> {
  const wanted = new Set(sent.flatMap(({ media = [] }) => media.map((part) => part.artifact)))
  const found = new Map<string, Uint8Array>()
  if (wanted.size === 0) return found
  const all = (async () => {
    for (const id of wanted) {
      const bytes = await bytesOf(parts, work, id)
      if (bytes) found.set(id, bytes)
    }
  })()
  await inTime(parts.clock, work.signal, { answer: all, ms: FETCH_MS })
  throwIfHandedBack(work.signal)
  // what comes later is not sent
  return new Map(found)
}

async function bytesOf({ services }: ActParts, { run, actor }: Work, id: string): Promise<Uint8Array | null> {
  const keeping = services?.keeping
  if (!keeping) return null
  try {
    const artifact = await keeping.artifacts.get(scopeOf(actor), '', id as ArtifactId)
    return artifact?.subject === run.subject ? await wholeOf(keeping, run.key.tenant, artifact) : null
  } catch {
    return null
  }
}
