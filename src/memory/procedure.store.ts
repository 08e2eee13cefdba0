/** Procedures as statements. Texts are sealed, and read back only when they are what their hash says. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Id } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MemoryId } from './entry.ts'
import {
  hashOfProcedure,
  LEAST_OCCASIONS,
  openRule,
  type Procedure,
  type ProcedureFacts,
  type ProcedureId,
  type ProcedureStatus,
  type Proposal,
  type Rule,
  type SealedRule,
} from './procedure.ts'
import {
  approveProcedure,
  endProcedure,
  evaluateProcedure,
  forgetProcedures,
  keptProcedures,
  procedures,
  type ProceduresRow,
  proposeProcedure,
  standingProcedures,
} from './procedure.sql.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

/** The operator who does it. */
export interface Operator {
  readonly audit: Id<'aud'>
  readonly actor: string
}

export interface Verdict {
  readonly evaluation: string
  readonly score: number
  readonly passed: boolean
}

/** `sources`: one is no experience that may be used. `occasions`: it happened too seldom. `raced`: another version came first. */
export type NotProposed = 'sources' | 'occasions' | 'raced'

interface Filter {
  readonly name: string
  readonly after: string
  readonly limit: number
}

export interface ProcedureStore {
  propose(scope: Walls, id: ProcedureId, proposal: Proposal, by: Operator): Promise<NotProposed | null>
  /** Newest first; an empty `name` is every name. */
  list(scope: Walls, filter: Filter): Promise<readonly ProcedureFacts[]>
  /** @throws Fault `content_damaged` */
  get(scope: Walls, id: ProcedureId): Promise<Procedure | null>
  /** False when it is not `proposed` any more. */
  evaluated(scope: Walls, at: At, verdict: Verdict, by: Operator): Promise<boolean>
  /** False when it has no passed evaluation, its hash differs, or a memory that it comes from is another by now. */
  approve(scope: Walls, at: At, by: Operator & { readonly reason: string }): Promise<boolean>
  /** False when it is in none of these states. */
  end(
    scope: Walls,
    at: { readonly id: ProcedureId; readonly standing: readonly ProcedureStatus[] },
    by: Operator & { readonly reason: string },
  ): Promise<boolean>
  /** The rules of these names as they stand now, in the order of the names. @throws Fault `content_damaged` */
  standing(scope: Walls, names: readonly string[]): Promise<readonly Rule[]>
  /** Those of a run that still have their text, in the order that it keeps; sealed. */
  kept(scope: Walls, ids: readonly string[]): Promise<readonly SealedRule[]>
  stillKept(scope: Walls, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Empties and ends what comes from memories that are gone: these, or any. */
  forget(scope: Walls, only: readonly string[] | null): Promise<number>
}

interface At {
  readonly id: ProcedureId
  readonly hash: string
}

/** Versions of one name that are approved at one moment: who comes second ends the rule of the first. */
const MOST_TURNS = 10

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  for (let left = MOST_TURNS; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left === 0 || (error as { readonly constraint?: unknown }).constraint !== 'procedure_standing') throw error
    }
  }
}

export function procedureStore(db: Db, keys: ContentKeys): ProcedureStore {
  const walls = ({ tenant, environment }: Walls): Walls => ({ tenant, environment })
  const veiled = <T extends { readonly reason: string }>(tenant: string, by: T): T => ({
    ...by,
    reason: keys.veil(tenant, by.reason),
  })
  return {
    async propose(scope, id, { name, text, sources, reason }, by) {
      const { tenant } = scope
      const [done] = await db.write(scope, proposeProcedure, {
        ...walls(scope),
        ...veiled(tenant, { ...by, reason }),
        id,
        name,
        sources,
        body: keys.seal(tenant, Buffer.from(text)),
        hash: keys.veil(tenant, hashOfProcedure({ name, text })),
        occasions: LEAST_OCCASIONS,
      })
      if (!done?.complete) return 'sources'
      if (!done.often) return 'occasions'
      return done.id === '' ? 'raced' : null
    },
    async list(scope, filter) {
      const rows = await db.read(scope, procedures, { ...walls(scope), id: '', ...filter, body: false })
      return rows.map((row) => factsOf(row, row.forgottenAt === null ? keys.unveil(scope.tenant, row.hash) : ''))
    },
    async get(scope, id) {
      const [row] = await db.read(scope, procedures, { ...walls(scope), id, name: '', after: '', limit: 1, body: true })
      if (!row) return null
      if (row.forgottenAt !== null) return { ...factsOf(row, ''), text: null }
      return { ...factsOf(row, keys.unveil(scope.tenant, row.hash)), text: openRule(keys, scope.tenant, row).text }
    },
    async evaluated(scope, { id, hash }, verdict, by) {
      const at = { ...walls(scope), id, hash: keys.veil(scope.tenant, hash) }
      return (await db.write(scope, evaluateProcedure, { ...at, ...verdict, ...by })).length > 0
    },
    async approve(scope, { id, hash }, by) {
      const at = { ...walls(scope), id, hash: keys.veil(scope.tenant, hash) }
      const params = { ...at, ...veiled(scope.tenant, by) }
      return (await inTurn(() => db.write(scope, approveProcedure, params))).length > 0
    },
    async end(scope, at, by) {
      return (await db.write(scope, endProcedure, { ...walls(scope), ...at, ...veiled(scope.tenant, by) })).length > 0
    },
    async standing(scope, names) {
      const rows = await db.read(scope, standingProcedures, { ...walls(scope), names })
      return rows.map((row) => openRule(keys, scope.tenant, row))
    },
    kept: (scope, ids) => db.read(scope, keptProcedures, { ...walls(scope), ids, body: true }),
    async stillKept(scope, ids) {
      const rows = await db.read(scope, keptProcedures, { ...walls(scope), ids, body: false })
      return new Set(rows.map((row) => row.id))
    },
    forget: async (scope, only) => (await db.write(scope, forgetProcedures, { ...walls(scope), only })).length,
  }
}

function factsOf(row: ProceduresRow, hash: string): ProcedureFacts {
  const { evaluation: name, score, passed, evaluatedAt: at } = row
  return {
    id: row.id as ProcedureId,
    name: row.name,
    version: row.version,
    hash,
    status: row.status as ProcedureStatus,
    sources: row.sources.map((memory, i) => ({
      memory: memory as MemoryId,
      version: (row.sourceVersions as readonly number[])[i] ?? 0,
    })),
    evaluation: name === null || score === null || passed === null || at === null ? null : { name, score, passed, at },
    proposedBy: row.proposedBy,
    createdAt: row.createdAt,
    approvedBy: row.approvedBy,
    approvedAt: row.approvedAt,
    endedAt: row.endedAt,
    forgottenAt: row.forgottenAt,
  }
}
