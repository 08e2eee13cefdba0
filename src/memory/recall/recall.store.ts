/**
 * The index of memories and the statement that ranks them.
 *
 * F1  the order is total and repeatable   F2  the filter comes before the ranking   F3  the index decides nothing
 */
import type { Db } from '../../db/port.ts'
import type { ContentKeys } from '../../db/seal.ts'
import { openJson } from '../../kernel/sealed.ts'
import type { Json } from '../../kernel/json.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { MemoryId, MemoryKind, MemoryLayer } from '../entry.ts'
import { isIdentifier } from '../lex/lex.ts'
import { type Asking, boundsOf } from './filter.ts'
import { type Indexed, questionOf } from './index-text.ts'
import {
  forgetVectors,
  indexMemory,
  recall,
  type RecallRow,
  stillThere,
  sweepIndex,
  unindexed,
  unindexMemory,
  vectors,
  writeVector,
} from './recall.sql.ts'
import { hashedTerm } from './terms.ts'

/** With a hundred thousand memories of others one plan for all questions took five times as long in a large place. */
const ranked = { ...recall, isPlannedAnew: true } as const

type Walls = Pick<Scope, 'tenant' | 'environment'>

/** A memory that was found, as the record has it. */
export interface Recalled extends Omit<RecallRow, 'value' | 'eligible' | 'layer' | 'kind' | 'id'> {
  readonly id: MemoryId
  readonly layer: MemoryLayer
  readonly kind: MemoryKind
  readonly value: Json
}

export interface Answer {
  /** min(k, eligible) of them, best first. */
  readonly memories: readonly Recalled[]
  /** How many memories the filter lets through. */
  readonly eligible: number
}

/** What the vector leg has found: cosines by memory, and how much the leg counts beside the words, which count 1. */
export interface Cosines {
  readonly of: ReadonlyMap<string, number>
  readonly weight: number
}

export interface StoredVector {
  readonly id: string
  readonly model: string
  readonly dimensions: number
  /** Float32, little endian. */
  readonly bytes: Uint8Array
}

/** `gone`: deleted, or never there. `stale`: the memory has another version by now. */
export type IndexOutcome = 'indexed' | 'stale' | 'gone'

export interface RecallStore {
  /** Puts the entry of this version in place of the one before. */
  index(scope: Walls, memory: { readonly id: string; readonly version: number }, entry: Indexed): Promise<IndexOutcome>
  /** Rows that were removed, of words and vectors. */
  unindex(scope: Walls, id: string): Promise<number>
  /** Removes what no memory stands behind; how much that was. */
  sweep(scope: Walls): Promise<{ readonly terms: number; readonly vectors: number; readonly entries: number }>
  /** Removes vectors of these memories, or of all, as far as the memories are gone; how many. */
  forgetVectors(scope: Walls, only: readonly string[] | null): Promise<number>
  /** Memories without an entry of their version and of this lexer, at most `limit`. */
  unindexed(scope: Walls, limit: number): Promise<readonly { readonly id: string; readonly version: number }[]>
  /** @throws Fault `invalid_request` when something that decides who sees what is missing */
  recall(scope: Scope, asking: Asking, cosines?: Cosines): Promise<Answer>
  /** The memories of these keys, under the same filter; most trusted first. */
  byKeys(scope: Scope, keys: readonly string[], asking: Omit<Asking, 'text' | 'keys'>): Promise<Answer>
  /** Which of these may be used at this moment, as ids. */
  stillThere(
    scope: Scope,
    memories: readonly { readonly id: string; readonly version: number }[],
  ): Promise<ReadonlySet<string>>
  vectors(scope: Scope, asking: Omit<Asking, 'text'>, limit: number): Promise<readonly StoredVector[]>
  /** False when the memory is gone or has another version. */
  writeVector(
    scope: Walls,
    memory: { readonly id: string; readonly version: number },
    vector: Omit<StoredVector, 'id'>,
  ): Promise<boolean>
}

/** @param lexer from `lexVersion` */
export function recallStore(db: Db, keys: ContentKeys, lexer: string): RecallStore {
  const hashed = (tenant: string, terms: readonly { readonly term: string }[]) =>
    terms.map(({ term }) => hashedTerm(keys, tenant, term))
  const answerOf = (tenant: string, rows: readonly RecallRow[]): Answer => ({
    memories: rows.map(({ value, eligible: _, ...row }) => ({
      ...(row as unknown as Omit<Recalled, 'value'>),
      value: openJson(keys, tenant, value),
    })),
    eligible: rows[0]?.eligible ?? 0,
  })
  const none = { terms: [], weights: [], names: [], ids: [], cosines: [], semantic: 0, only: null, keys: [] }
  return {
    async index(scope, { id, version }, { terms, length }) {
      const { tenant } = scope
      const entry = { terms: hashed(tenant, terms), tfs: terms.map(({ tf }) => tf), length, lexer }
      const [row] = await db.write(scope, indexMemory, { tenant, id, version, ...entry })
      return (row?.outcome ?? 'gone') as IndexOutcome
    },
    async unindex({ tenant, environment }, id) {
      const [row] = await db.write({ tenant, environment }, unindexMemory, { tenant, environment, id })
      return row?.removed ?? 0
    },
    async sweep({ tenant, environment }) {
      const [row] = await db.write({ tenant, environment }, sweepIndex, { tenant, environment })
      return row ?? { terms: 0, vectors: 0, entries: 0 }
    },
    async forgetVectors({ tenant, environment }, only) {
      return (await db.write({ tenant, environment }, forgetVectors, { tenant, environment, only })).length
    },
    unindexed: ({ tenant, environment }, limit) =>
      db.read({ tenant, environment }, unindexed, { tenant, environment, lexer, limit }),
    async recall(scope, asking, cosines) {
      const { tenant } = scope
      const terms = questionOf(asking.text, asking.today)
      const semantic = cosines
        ? { ids: [...cosines.of.keys()], cosines: [...cosines.of.values()], semantic: cosines.weight }
        : {}
      const rows = await db.read(scope, ranked, {
        ...none,
        ...boundsOf(scope, asking),
        ...semantic,
        keys: asking.keys ?? [],
        terms: hashed(tenant, terms),
        weights: terms.map(({ tf }) => tf),
        names: hashed(
          tenant,
          terms.filter(({ term }) => isIdentifier(term)),
        ),
      })
      return answerOf(tenant, rows)
    },
    async byKeys(scope, keysAsked, asking) {
      const named = { only: keysAsked, keys: keysAsked }
      return answerOf(scope.tenant, await db.read(scope, ranked, { ...none, ...boundsOf(scope, asking), ...named }))
    },
    async stillThere(scope, memories) {
      const { tenant, environment, user } = scope
      const [ids, versions] = [memories.map((one) => one.id), memories.map((one) => String(one.version))]
      const rows = await db.read(scope, stillThere, { tenant, environment, user, ids, versions })
      return new Set(rows.map((row) => row.id))
    },
    async vectors(scope, asking, limit) {
      const { tenant, environment, subject, user, places, scopes, purposes } = boundsOf(scope, asking)
      const who = { tenant, environment, subject, user, places, scopes, purposes }
      const rows = await db.read(scope, vectors, { ...who, limit })
      return rows.map(({ body, ...row }) => ({ ...row, bytes: keys.open(tenant, body) }))
    },
    async writeVector(scope, { id, version }, { model, dimensions, bytes }) {
      const { tenant } = scope
      const body = keys.seal(tenant, bytes)
      return (await db.write(scope, writeVector, { tenant, id, version, model, dimensions, body })).length > 0
    },
  }
}
