/** Everything of long-term memory that a program has, put together. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import { candidateStore, type CandidateStore } from './candidate.store.ts'
import { type Centre, centreOf, type CentreParts } from './centre.shell.ts'
import type { Forgetting } from './derivatives.shell.ts'
import { forgetDue } from './forget.shell.ts'
import { forgetStore } from './forget.store.ts'
import { memoryStore, type MemoryStore } from './memory.store.ts'

export interface MemoryParts
  extends Pick<CentreParts, 'ids' | 'scopeOf' | 'mayExport' | 'subjectOf'>,
    Omit<Forgetting, 'store' | 'ids'> {
  readonly db: Db
  readonly keys: ContentKeys
  readonly clock: Clock
  readonly ids: Ids
}

export interface Memory {
  readonly memories: MemoryStore
  readonly candidates: CandidateStore
  readonly centre: Centre
  /** Carries on with what was to be forgotten and is not yet, in this process, until it is stopped. */
  forgetting(onError: (error: unknown) => void): { stop(): Promise<void> }
}

/** What a request has left undone is rare, and hidden already. */
const LOOK_MS = 5_000

export function memoryOf(parts: MemoryParts): Memory {
  const { db, keys, clock } = parts
  const memories = memoryStore(db, keys)
  const candidates = candidateStore(db, keys)
  const forgetting: Forgetting = { ...parts, store: forgetStore(db, keys) }
  return {
    memories,
    candidates,
    centre: centreOf({ ...parts, memories, candidates, forgetting }),
    forgetting(onError) {
      const stopping = new AbortController()
      const { signal } = stopping
      async function loop(): Promise<void> {
        for (;;) {
          await clock.sleep(LOOK_MS, signal).catch(() => {})
          if (signal.aborted) return
          await forgetDue(forgetting, signal).catch(onError)
        }
      }
      const looping = loop()
      return {
        async stop() {
          stopping.abort()
          await looping
        },
      }
    },
  }
}
