/** Summaries as statements. Bodies are sealed; what was rejected or forgotten has none. */
import { createHash } from 'node:crypto'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import { Fault } from '../kernel/fault.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MessageBody } from './message.ts'
import type { Action, SummaryBody, Turn } from './summary.ts'
import {
  noteRecheck,
  residueSummaries,
  runsOfSources,
  staleSummaries,
  summariesOf,
  summaryActions,
  summaryAt,
  summaryReport,
  summarySource,
  summaryTurns,
  writeSummary,
} from './summary.sql.ts'

export type Walls = Pick<Scope, 'tenant' | 'environment'>

/** Whole runs of a conversation. */
export interface RangeOf {
  readonly session: string
  readonly from: number
  readonly to: number
}

export interface TurnRow extends Turn {
  readonly agent: string
  readonly user: string
  readonly subject: string
}

export interface SourceRow {
  readonly run: string
  readonly seq: number
  readonly body: MessageBody
  readonly partial: boolean
}

export interface NewSummary {
  /** Of its errand, which must be under way. */
  readonly id: string
  readonly fromMessage: string
  readonly model: string
  readonly prompt: number
  readonly state: 'verified' | 'rejected'
  readonly reason: string | null
  readonly body: SummaryBody | null
}

/** What became of the summaries of one model and prompt. */
export interface SummaryCount {
  readonly model: string
  readonly prompt: number
  readonly made: number
  readonly verified: number
  /** By reason. */
  readonly rejected: Readonly<Record<string, number>>
  /** Checked again later, and how many did not hold then. */
  readonly rechecked: number
  readonly failed: number
}

export interface SummaryStore {
  turns(scope: Walls, session: string): Promise<readonly TurnRow[]>
  summaries(
    scope: Walls,
    session: string,
  ): Promise<readonly { readonly id: string; readonly from: number; readonly to: number; readonly state: string }[]>
  /** @throws Fault `content_damaged` */
  source(scope: Walls, range: RangeOf): Promise<readonly SourceRow[]>
  actions(scope: Walls, range: RangeOf): Promise<readonly Action[]>
  write(scope: Walls, summary: NewSummary): Promise<void>
  /** The verified one of a range. */
  at(scope: Walls, range: RangeOf): Promise<{ readonly id: string; readonly body: SummaryBody } | null>
  /** `reason` null: it holds. Otherwise it is stale from now on. */
  rechecked(scope: Walls, id: string, reason: string | null): Promise<void>
  /** Marks and empties every summary that covers one of the runs or belongs to one of the conversations; names their conversations. */
  markStale(
    scope: Walls,
    of: { readonly runs: readonly string[]; readonly sessions: readonly string[] },
  ): Promise<readonly string[]>
  /** The runs that memories came from. */
  runsOf(scope: Walls, memories: readonly string[]): Promise<readonly string[]>
  /** Messages with a tombstone that a summary from before it still stands for. */
  residue(scope: Walls): Promise<readonly string[]>
  report(scope: Walls): Promise<readonly SummaryCount[]>
}

const walls = ({ tenant, environment }: Walls): Walls => ({ tenant, environment })

export function summaryStore(db: Db, keys: ContentKeys): SummaryStore {
  const read = (tenant: string, row: { body: Uint8Array; hash: string; run: string }): MessageBody => {
    const plain = Buffer.from(keys.open(tenant, row.body))
    if (createHash('sha256').update(plain).digest('hex') !== keys.unveil(tenant, row.hash))
      throw new Fault('content_damaged', `A message of run ${row.run} does not match its hash.`)
    return JSON.parse(plain.toString()) as MessageBody
  }
  return {
    turns: (scope, session) => db.read(scope, summaryTurns, { tenant: scope.tenant, session }),
    summaries: (scope, session) => db.read(scope, summariesOf, { tenant: scope.tenant, session }),
    async source(scope, range) {
      const rows = await db.read(scope, summarySource, { tenant: scope.tenant, ...range })
      return rows.map((row) => ({ run: row.run, seq: row.seq, partial: row.partial, body: read(scope.tenant, row) }))
    },
    actions(scope, range) {
      return db.read(scope, summaryActions, { tenant: scope.tenant, ...range })
    },
    async write(scope, { body, ...summary }) {
      const sealed = body === null ? new Uint8Array() : keys.seal(scope.tenant, Buffer.from(JSON.stringify(body)))
      await db.write(scope, writeSummary, { ...walls(scope), ...summary, body: sealed })
    },
    async at(scope, range) {
      const [row] = await db.read(scope, summaryAt, { tenant: scope.tenant, ...range })
      if (!row) return null
      return {
        id: row.id,
        body: openJson(keys, scope.tenant, row.body) as unknown as SummaryBody,
      }
    },
    rechecked: async (scope, id, reason) =>
      void (await db.write(scope, noteRecheck, { tenant: scope.tenant, id, reason })),
    async markStale(scope, of) {
      const rows = await db.write(scope, staleSummaries, { ...walls(scope), ...of })
      return rows.map((row) => row.session)
    },
    runsOf: async (scope, memories) =>
      (await db.read(scope, runsOfSources, { ...walls(scope), memories })).map((row) => row.run),
    residue: async (scope) => (await db.read(scope, residueSummaries, walls(scope))).map((row) => row.message),
    report: async (scope) =>
      (await db.read(scope, summaryReport, { tenant: scope.tenant })) as unknown as readonly SummaryCount[],
  }
}
