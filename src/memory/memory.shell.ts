/** Everything of long-term memory that a program has, put together. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { type By, candidateStore, type CandidateStore } from './candidate.store.ts'
import { type Centre, centreOf, type CentreParts } from './centre.shell.ts'
import type { Consolidating } from './consolidate.shell.ts'
import { consolidateStore } from './consolidate.store.ts'
import type { Consolidators } from './consolidate.ts'
import type { Forgetting } from './derivatives.shell.ts'
import type { MemoryId } from './entry.ts'
import { victimOf } from './evict.ts'
import { forgetDue, startForgetting } from './forget.shell.ts'
import { forgetStore } from './forget.store.ts'
import { inspect } from './detect/secretlint.shell.ts'
import { indexMemories, type Indexing } from './indexing.shell.ts'
import { type Keeping, rounds } from './keeping.shell.ts'
import { keepingStore } from './keeping.store.ts'
import { lexVersion } from './lex/lex.ts'
import { memoryStore, type MemoryStore, type Quota } from './memory.store.ts'
import { type Evaluators, type Procedures, proceduresOf } from './procedures.shell.ts'
import { procedureStore } from './procedure.store.ts'
import type { Embedder } from './recall/embedder.ts'
import { recallStore, type RecallStore } from './recall/recall.store.ts'
import type { Remembering } from './remember.shell.ts'
import { sourceStore } from './source.store.ts'

export interface MemoryParts
  extends Pick<
      CentreParts,
      | 'ids'
      | 'scopeOf'
      | 'mayExport'
      | 'mustSeeRun'
      | 'subjectOf'
      | 'registry'
      | 'zoneOf'
      | 'asking'
      | 'about'
      | 'outdated'
    >,
    Omit<Forgetting, 'store' | 'ids' | 'indexing' | 'rules'> {
  readonly db: Db
  readonly keys: ContentKeys
  readonly clock: Clock
  readonly ids: Ids
  readonly quota: Quota
  readonly consolidators: Consolidators
  readonly embedder: Embedder | null
  /** What tries procedures before they are approved. */
  readonly evaluators: Evaluators
  /** Who forgets where nobody has asked for it. */
  readonly systemOf: (scope: Pick<Scope, 'tenant' | 'environment'>) => Actor
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
  readonly procedures: Procedures
  /** Puts one memory out of use whose authority says something else. */
  readonly outdate: (
    scope: Scope,
    fact: { readonly name: string; readonly ref: string; readonly id: MemoryId },
    by: By,
  ) => Promise<void>
  /** Carries on with what was to be forgotten and is not yet, in this process, until it is stopped. */
  forgetting(everyMs: number, onError: (error: unknown) => void): { stop(): Promise<void> }
  /** Looks after what is remembered, in this process, until it is stopped. */
  keeping(everyMs: number, onError: (error: unknown) => void): { stop(): Promise<void> }
}

/** What a request has left undone is rare, and hidden already: one look while the relay has five. */
const LOOKS_OF_RELAY = 5
/** Between two rounds: a vector that is missing for a minute costs rank, and hardly that. */
const ROUND_MS = 60_000
/** A surplus entry costs time and takes no place, and looking for it reads the whole index. */
const SWEEP_MS = 86_400_000

export function memoryOf(parts: MemoryParts): Memory {
  const { db, keys, clock } = parts
  const memories = memoryStore(db, keys)
  const candidates = candidateStore(db, keys)
  const sources = sourceStore(db, keys)
  const recall = recallStore(db, keys, lexVersion(parts.icu))
  const indexing: Indexing = { sources, recall }
  const rules = procedureStore(db, keys)
  const forgetting: Forgetting = { ...parts, store: forgetStore(db, keys), indexing, rules }
  const { ids, registry, embedder } = parts
  const looked = keepingStore(db, keys)
  const remembering: Remembering = {
    ...{ memories, candidates, sources, inspect, clock },
    content: keys,
    ids,
    quota: parts.quota,
    written: async (scope, id) => void (await indexMemories(indexing, scope, [id])),
    async makeRoom(scope, { subject, kind }) {
      const victim = victimOf(await looked.evictable(scope, subject), kind)
      if (!victim) return false
      const { id } = victim
      const wanted = { subject, kind: 'memory', target: id, memories: [id], messages: [], sessions: [] } as const
      return (await startForgetting(forgetting, scope, parts.systemOf(scope), wanted)).parts.some((p) => p.removed > 0)
    },
  }
  const growing: Consolidating = {
    ...{ remembering, registry, consolidators: parts.consolidators, scopeOf: parts.scopeOf, zoneOf: parts.zoneOf },
    store: consolidateStore(db, keys),
    writerFor: (scope, subject) => {
      const system = parts.systemOf(scope)
      return subject === '' ? system : parts.about(system, subject)
    },
  }
  const kept: Keeping = { store: looked, indexing, registry, inspect, embedder, ids, growing }
  return {
    memories,
    candidates,
    recall,
    remembering,
    indexing,
    procedures: proceduresOf({ ...parts, store: rules, inspect }),
    centre: centreOf({ ...parts, memories, candidates, forgetting, remembering }),
    outdate: async (scope, fact, by) => parts.outdated(scope, await memories.authorityChanged(scope, fact, by)),
    forgetting: (everyMs, onError) =>
      looping(clock, everyMs * LOOKS_OF_RELAY, (signal) => forgetDue(forgetting, signal, onError), onError),
    keeping(everyMs, onError) {
      const turn = rounds(kept, onError)
      let nextAt = 0
      let sweepAt = 0
      let sweeps = true
      return looping(
        clock,
        everyMs * LOOKS_OF_RELAY,
        async (signal) => {
          const now = clock.monotonic()
          if (now < nextAt) return
          if ((await turn(sweeps, signal)) === 'more') return
          if (sweeps) sweepAt = now + SWEEP_MS
          nextAt = now + ROUND_MS
          sweeps = nextAt >= sweepAt
        },
        onError,
      )
    },
  }
}

/** Does `work` again and again, one at a time; what it throws is told. */
function looping(
  clock: Clock,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  async function loop(): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, signal).catch(() => {})
      if (signal.aborted) return
      await work(signal).catch(onError)
    }
  }
  const done = loop()
  return {
    async stop() {
      stopping.abort()
      await done
    },
  }
}
