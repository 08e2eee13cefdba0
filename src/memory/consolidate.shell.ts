/**
 * Episodes become knowledge: where enough runs say the same, what they say is proposed as a memory of its own, with each of
 * them as its source. It is judged like any other candidate, and asked about where its key asks.
 *
 * E12  with lineage to each source, which all stay   E1  never from one success   E9  it is believed as the least of them
 */
import type { SessionId } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { type Consolidators, type Draft, draftsOf } from './consolidate.ts'
import type { ConsolidateStore, RipePlace } from './consolidate.store.ts'
import type { MemoryKey, MemoryKeys } from './key.ts'
import { remember, type Remembering } from './remember.shell.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface Consolidating {
  readonly store: ConsolidateStore
  readonly remembering: Remembering
  readonly registry: MemoryKeys
  readonly consolidators: Consolidators
  /** Who writes for a subject where nobody has asked; for nobody where it is empty. */
  readonly writerFor: (scope: Walls, subject: string) => Actor
  readonly scopeOf: (actor: Actor) => Scope
  /** IANA name of the zone of a subject. */
  readonly zoneOf: (actor: Actor) => string
}

const PAGE = 100
/** A sentence is not better for more. */
const MOST_EPISODES = 500

/**
 * Looks at every place of the walls once. It may run again and in many processes: what is drawn already is drawn once.
 * @throws what a consolidator of the product throws, after everything else was looked at
 */
export async function consolidate(parts: Consolidating, scope: Walls, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = []
  for (const key of parts.registry.keys)
    for await (const at of ripePlaces(parts, scope, key)) {
      if (signal.aborted) return
      await drawAt(parts, scope, key, at).catch((error: unknown) => failures.push(error))
    }
  if (failures.length > 0) throw failures[0]
}

async function* ripePlaces({ store }: Consolidating, scope: Walls, key: MemoryKey): AsyncGenerator<RipePlace> {
  if (key.consolidates === null) return
  const of = { key: key.name, ...key.consolidates }
  let after = { afterPlace: '', afterSubject: '' }
  for (;;) {
    const page = await store.ripe(scope, of, after, PAGE)
    yield* page
    after = page.at(-1)?.after ?? after
    if (page.length < PAGE) return
  }
}

async function drawAt(parts: Consolidating, scope: Walls, key: MemoryKey, at: RipePlace): Promise<void> {
  const { name, cardinality, consolidates } = key
  if (consolidates === null || !key.scopes.includes(at.place.scope)) return
  const episodes = await parts.store.episodes(scope, { key: name, from: consolidates.from }, at, MOST_EPISODES)
  const consolidator = Object.hasOwn(parts.consolidators, name) ? (parts.consolidators[name] ?? null) : null
  for (const draft of draftsOf(episodes, { atLeast: consolidates.atLeast, cardinality }, consolidator))
    await propose(parts, scope, key, at, draft)
}

async function propose(
  parts: Consolidating,
  walls: Walls,
  { kind, name }: MemoryKey,
  { place, subject }: RipePlace,
  draft: Draft,
): Promise<void> {
  const actor = parts.writerFor(walls, subject)
  const on = {
    actor,
    scope: parts.scopeOf(actor),
    keys: parts.registry,
    zone: parts.zoneOf(actor),
    session: place.scope === 'conversation' ? (place.id as SessionId) : null,
    placeId: place.id,
    run: null,
    call: null,
    saidAt: draft.saidAt,
    drawnFrom: draft.of,
  }
  const evidence = { kind: 'memory', ids: [...draft.of.keys()] } as const
  await remember(parts.remembering, on, { kind, key: name, value: draft.value, scope: place.scope, evidence })
}
