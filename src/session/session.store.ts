/** Conversations, read under the tenant. An empty `user` is a caller who sees the whole tenant. */
import { createHash } from 'node:crypto'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { Fault } from '../kernel/fault.ts'
import type { SessionId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MediaPart, MessageBody } from '../context/message.ts'
import type { Phase, Status, WaitReason } from '../run/state.ts'
import { closeSession, sessionDetail, type SessionListRow, sessionList, sessionMessages } from './session.sql.ts'

export interface ActiveRun {
  readonly run: string
  readonly status: Status
  readonly phase: Phase
  readonly wait: WaitReason | null
}

export interface SessionView extends Omit<SessionListRow, 'active'> {
  readonly active: readonly ActiveRun[]
  /** The last message that people see. */
  readonly head: string | null
}

export interface MessageView {
  /** `run_….seq` */
  readonly id: string
  readonly run: string
  readonly seq: number
  readonly generation: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Pictures, documents and sounds that came with it: references. */
  readonly parts: readonly MediaPart[]
  readonly parent: string | null
  readonly partial: boolean
  readonly at: number
}

export interface SessionStore {
  get(scope: Scope, user: string, session: SessionId): Promise<SessionView | null>
  /** Newest first, before the id `after`. */
  list(
    scope: Scope,
    filter: { readonly user: string; readonly agent: string; readonly after: string; readonly limit: number },
  ): Promise<readonly Omit<SessionView, 'head'>[]>
  /** Oldest first, after the place of the last one seen. */
  messages(
    scope: Scope,
    session: SessionId,
    page: { readonly generation: number; readonly seq: number; readonly limit: number },
  ): Promise<readonly MessageView[]>
  /** The new version; null when it was closed before or is at another version. */
  close(scope: Scope, session: SessionId, version: number | null): Promise<number | null>
}

export function sessionStore(db: Db, keys: ContentKeys): SessionStore {
  const bodyOf = (
    tenant: string,
    row: { readonly body: Uint8Array; readonly hash: string; readonly run: string },
  ): MessageBody => {
    const plain = Buffer.from(keys.open(tenant, row.body))
    const hash = createHash('sha256').update(plain).digest('hex')
    if (hash !== keys.unveil(tenant, row.hash))
      throw new Fault('content_damaged', `A message of run ${row.run} does not match its hash.`)
    return JSON.parse(plain.toString()) as MessageBody
  }
  return {
    async get(scope, user, session) {
      const [row] = await db.read(scope, sessionDetail, { tenant: scope.tenant, session, user })
      return row ? { ...row, active: row.active as readonly ActiveRun[] } : null
    },
    async list(scope, filter) {
      const rows = await db.read(scope, sessionList, { tenant: scope.tenant, ...filter })
      return rows.map((row) => ({ ...row, active: row.active as readonly ActiveRun[] }))
    },
    async messages(scope, session, page) {
      const rows = await db.read(scope, sessionMessages, { tenant: scope.tenant, session, ...page })
      return rows.map(({ body, hash, role, ...row }) => {
        const said = bodyOf(scope.tenant, { body, hash, run: row.run })
        return {
          ...row,
          id: `${row.run}.${row.seq}`,
          role: role as MessageView['role'],
          text: said.text,
          parts: said.role === 'user' ? (said.parts ?? []) : [],
        }
      })
    },
    async close(scope, session, version) {
      const row = { tenant: scope.tenant, environment: scope.environment, session, version }
      const keys = [`${scope.tenant}/${scope.environment}/${session}`]
      const [done] = await db.call(closeSession, { sessions: JSON.stringify([row]), keys })
      return done?.version ?? null
    },
  }
}
