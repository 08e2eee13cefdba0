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
import { inspect } from './detect/secretlint.shell.ts'
import { indexMemories, type Indexing } from './indexing.shell.ts'
import { lexVersion } from './lex/lex.ts'
import { memoryStore, type MemoryStore, type Quota } from './memory.store.ts'
import { recallStore, type RecallStore } from './recall/recall.store.ts'
import type { Remembering } from './remember.shell.ts'
import { sourceStore } from './source.store.ts'

export interface MemoryParts
  extends Pick<CentreParts, 'ids' | 'scopeOf' | 'mayExport' | 'subjectOf' | 'registry' | 'zoneOf'>,
    Omit<Forgetting, 'store' | 'ids'> {
  readonly db: Db
  readonly keys: ContentKeys
  readonly clock: Clock
  readonly ids: Ids
  readonly quota: Quota
  /** Of the Unicode data that words are cut by: part of the version of the index. */
  readonly icu: string
}

export interface Memory {
  readonly memories: MemoryStore
  readonly candidates: CandidateStore
  readonly recall: RecallStore
  readonly remembering: Remembering
  readonly indexing: Indexing
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
  const sources = sourceStore(db, keys)
  const recall = recallStore(db, keys, lexVersion(parts.icu))
  const indexing: Indexing = { sources, recall }
  const forgetting: Forgetting = { ...parts, store: forgetStore(db, keys) }
  const remembering: Remembering = {
    ...{ memories, candidates, sources, inspect, clock },
    content: keys,
    ids: parts.ids,
    quota: parts.quota,
    written: async (scope, id) => void (await indexMemories(indexing, scope, [id])),
  }
  return {
    memories,
    candidates,
    recall,
    remembering,
    indexing,
    centre: centreOf({ ...parts, memories, candidates, forgetting, remembering }),
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
