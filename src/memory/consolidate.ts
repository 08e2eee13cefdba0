/**
 * What episodes come to, when enough of them say it (E12): a draft of a memory, with all that it is drawn from.
 *
 * E1  one success is no rule: a draft needs different runs, and as many new ones after somebody has said no
 */
import { canonicalText } from '../kernel/canonical.ts'
import type { Json } from '../kernel/json.ts'
import type { MemoryId } from './entry.ts'

/** One memory as one run has said it: what several runs have said alike is one memory and several episodes. */
export interface Episode {
  readonly memory: MemoryId
  readonly version: number
  readonly run: string
  readonly value: Json
  /** When it was remembered that this run says so; milliseconds since the epoch. */
  readonly at: number
  /** It is part already of what stands there. */
  readonly isDrawn: boolean
}

/**
 * What episodes of one place come to; null: to nothing. Pure: the same episodes give the same value in every process. Newest
 * first; each is one memory in one run.
 */
export type Consolidator = (episodes: readonly Episode[]) => Json | null

/** By the key that consolidates. */
export type Consolidators = Readonly<Record<string, Consolidator>>

export interface Draft {
  readonly value: Json
  /** The memories that it is drawn from, with the version that was read. */
  readonly of: ReadonlyMap<MemoryId, number>
  /** Since when there are enough; milliseconds since the epoch. */
  readonly saidAt: number
}

/** Of the episodes at one place; `cardinality` is that of the key that they become. */
export function draftsOf(
  episodes: readonly Episode[],
  rule: { readonly atLeast: number; readonly cardinality: 'one' | 'many' },
  consolidator: Consolidator | null,
): readonly Draft[] {
  if (consolidator === null) return agreed(episodes, rule)
  if (runsOf(episodes.filter((one) => !one.isDrawn)).length < rule.atLeast) return []
  const value = consolidator(episodes)
  return value === null ? [] : [draft(value, episodes, rule.atLeast)]
}

/** The values that enough runs share. Of a key with one value it is that of the most runs; what stands there yields to more only. */
function agreed(
  episodes: readonly Episode[],
  { atLeast, cardinality }: { readonly atLeast: number; readonly cardinality: 'one' | 'many' },
): readonly Draft[] {
  const groups = [...groupedBy(episodes, (one) => canonicalText(one.value)).values()].filter(
    (group) => runsOf(group).length >= atLeast,
  )
  const best = cardinality === 'many' ? groups : groups.sort(bySupport).slice(0, 1)
  return best.flatMap((group) => {
    const [first] = group
    return first && group.some((one) => !one.isDrawn) ? [draft(first.value, group, atLeast)] : []
  })
}

function bySupport(a: readonly Episode[], b: readonly Episode[]): number {
  const stands = (group: readonly Episode[]): number => Number(group.some((one) => one.isDrawn))
  return runsOf(b).length - runsOf(a).length || stands(b) - stands(a) || newest(b) - newest(a)
}

const newest = (group: readonly Episode[]): number => Math.max(...group.map((one) => one.at))

const draft = (value: Json, episodes: readonly Episode[], atLeast: number): Draft => ({
  value,
  of: new Map(episodes.map((one) => [one.memory, one.version])),
  // the newest of each run: after a no it takes as many new runs as it took the first time
  saidAt: runsOf(episodes)[atLeast - 1] ?? 0,
})

/** When each run has last said it, the latest first. */
const runsOf = (episodes: readonly Episode[]): readonly number[] =>
  [...groupedBy(episodes, (one) => one.run).values()].map(newest).sort((a, b) => b - a)

function groupedBy<T>(list: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return groups
}
