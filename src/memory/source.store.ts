/** What memories are made from, as the application's own records have it: what was said, what calls returned, what stands. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MemoryId } from './entry.ts'
import { latestTexts, neighboursOf, saidMessage, settledCall, toIndex, turnsBefore } from './source.sql.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

/** A message as evidence. */
export interface Said {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly user: string
  readonly subject: string
  readonly session: string
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** It was deleted, or never finished. */
  readonly gone: boolean
}

export interface Settled {
  readonly tool: string
  readonly session: string
  readonly subject: string
  readonly result: Json
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What an index entry is made of. */
export interface ToIndex {
  readonly id: MemoryId
  readonly version: number
  readonly key: string
  readonly value: Json
  readonly validFrom: number
  /** The nearest first. */
  readonly before: readonly { readonly text: string; readonly at: number }[]
}

export interface SourceStore {
  /** The message `run.seq`; null when there is none. */
  said(scope: Scope, id: string): Promise<Said | null>
  /** What the call `run/step/position` returned; null when it has not, failed, or was forgotten. */
  settled(scope: Scope, ref: string): Promise<Settled | null>
  /** Ids of what was said just before a message, the nearest first. */
  turnsBefore(scope: Scope, id: string, limit: number): Promise<readonly string[]>
  /** Values of the subject that were stored last, as texts. */
  latestTexts(scope: Scope, subject: string, limit: number): Promise<readonly string[]>
  toIndex(scope: Walls, ids: readonly string[]): Promise<readonly ToIndex[]>
}

export function sourceStore(db: Db, keys: ContentKeys): SourceStore {
  const walls = ({ tenant, environment }: Walls) => ({ tenant, environment })
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(keys.open(tenant, sealed)).toString()
  const textOf = (tenant: string, body: Uint8Array): string => (JSON.parse(open(tenant, body)) as { text: string }).text
  return {
    async said(scope, id) {
      const [run = '', seq = ''] = id.split('.')
      if (!/^[0-9]{1,9}$/.test(seq)) return null
      const [row] = await db.read(scope, saidMessage, { tenant: scope.tenant, run, seq: Number(seq) })
      if (!row) return null
      const { role, user, subject, session, at, gone, partial, body } = row
      return {
        role: role as Said['role'],
        user,
        subject,
        session,
        at,
        gone: gone || partial,
        text: textOf(scope.tenant, body),
      }
    },
    async settled(scope, ref) {
      const [run = '', step = '', position = ''] = ref.split('/')
      if (!/^[0-9]{1,9}$/.test(step) || !/^[0-9]{1,9}$/.test(position)) return null
      const at = { tenant: scope.tenant, run, step: Number(step), position: Number(position) }
      const [row] = await db.read(scope, settledCall, at)
      if (!row?.result) return null
      const { result } = JSON.parse(open(scope.tenant, row.result)) as { result?: Json }
      return { tool: row.tool, session: row.session, subject: row.subject, at: row.at, result: result ?? null }
    },
    async turnsBefore(scope, id, limit) {
      const [run = '', seq = ''] = id.split('.')
      const rows = await db.read(scope, turnsBefore, { tenant: scope.tenant, run, seq: Number(seq), limit })
      return rows.map((row) => row.id)
    },
    async latestTexts(scope, subject, limit) {
      const rows = await db.read(scope, latestTexts, { ...walls(scope), subject, limit })
      const values = rows.map((row) => JSON.parse(open(scope.tenant, row.value)) as Json)
      return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    },
    async toIndex(scope, ids) {
      const rows = await db.read(scope, toIndex, { ...walls(scope), ids })
      if (rows.length === 0) return []
      const around = await db.read(scope, neighboursOf, { tenant: scope.tenant, ids })
      return rows.map(({ value, ...row }) => ({
        ...row,
        id: row.id as MemoryId,
        value: JSON.parse(open(scope.tenant, value)) as Json,
        before: around
          .filter((one) => one.memory === row.id)
          .map((one) => ({ text: textOf(scope.tenant, one.body), at: one.at })),
      }))
    },
  }
}
