/** What is looked after in the store, one tenant and environment at a time. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Id } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MemoryId, MemoryKind } from './entry.ts'
import type { Evictable } from './evict.ts'
import { expireQuestions } from './candidate.sql.ts'
import { cool, evictable, markScanned, pastOf, quotesOf, unscanned, unvectored, walls } from './keeping.sql.ts'

export type Walls = Pick<Scope, 'tenant' | 'environment'>

/** A memory with all texts that it holds. */
export interface Unscanned {
  readonly id: MemoryId
  readonly version: number
  readonly key: string
  readonly value: Json
  readonly past: readonly { readonly version: number; readonly value: Json }[]
  readonly quotes: readonly { readonly source: string; readonly text: string }[]
}

/** What a scan has found: in the memory itself, in versions before it, in words that it cites. */
export interface Scanned {
  readonly id: MemoryId
  readonly version: number
  readonly barred: boolean
  readonly versions: readonly number[]
  readonly quotes: readonly string[]
}

export interface KeepingStore {
  /** The tenants and environments behind `after` that remember something, in order. */
  walls(after: Walls, limit: number): Promise<readonly Walls[]>
  /** Memories that detectors below `detectors` have seen last. */
  unscanned(scope: Walls, detectors: number, limit: number): Promise<readonly Unscanned[]>
  /** False when the memory changed meanwhile. The audit says that something was found, and not what. */
  markScanned(scope: Walls, scanned: Scanned, by: { audit: Id<'aud'>; detectors: number }): Promise<boolean>
  /** Takes away the questions that nobody has answered in time; how many. */
  expire(scope: Walls): Promise<number>
  /** Puts aside what was neither used nor written for so many days of its kind; how many. */
  cool(scope: Walls, days: Readonly<Record<MemoryKind, number>>, limit: number): Promise<number>
  /** Ids of memories without a vector of this model. */
  unvectored(scope: Walls, model: string, limit: number): Promise<readonly string[]>
  evictable(scope: Walls, subject: string): Promise<readonly Evictable[]>
}

export function keepingStore(db: Db, keys: ContentKeys): KeepingStore {
  const at = ({ tenant, environment }: Walls) => ({ tenant, environment })
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(keys.open(tenant, sealed)).toString()
  return {
    walls: ({ tenant, environment }, limit) =>
      db.call(walls, { afterTenant: tenant, afterEnvironment: environment, limit }),
    async unscanned(scope, detectors, limit) {
      const rows = await db.read(scope, unscanned, { ...at(scope), detectors, limit })
      if (rows.length === 0) return []
      const ids = rows.map((row) => row.id)
      const [past, quotes] = await Promise.all([
        db.read(scope, pastOf, { ...at(scope), ids }),
        db.read(scope, quotesOf, { ...at(scope), ids }),
      ])
      const value = (sealed: Uint8Array): Json => JSON.parse(open(scope.tenant, sealed)) as Json
      return rows.map((row) => ({
        id: row.id as MemoryId,
        version: row.version,
        key: row.key,
        value: value(row.value),
        past: past
          .filter((one) => one.memory === row.id && one.version !== row.version)
          .map((one) => ({ version: one.version, value: value(one.value) })),
        quotes: quotes
          .filter((one) => one.memory === row.id)
          .map((one) => ({ source: `${one.kind} ${one.ref}`, text: open(scope.tenant, one.quote) })),
      }))
    },
    async markScanned(scope, { id, version, barred, versions, quotes }, { audit, detectors }) {
      const found = { id, version, barred, versions: versions.map(String), quotes }
      return (await db.write(scope, markScanned, { ...at(scope), ...found, audit, detectors })).length > 0
    },
    expire: async (scope) => (await db.write(scope, expireQuestions, { ...at(scope), place: null, key: null })).length,
    async cool(scope, days, limit) {
      const [kinds, lengths] = [Object.keys(days), Object.values(days).map(String)]
      return (await db.write(scope, cool, { ...at(scope), kinds, days: lengths, limit })).length
    },
    unvectored: async (scope, model, limit) =>
      (await db.read(scope, unvectored, { ...at(scope), model, limit })).map((row) => row.id),
    async evictable(scope, subject) {
      const rows = await db.read(scope, evictable, { ...at(scope), subject })
      return rows.map((row) => row as unknown as Evictable)
    },
  }
}
