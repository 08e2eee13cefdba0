/**
 * Everything that a caller may look at. An end user sees what is his own, a service its tenant; what he may not see does
 * not exist for him, and both are told in the same words (BR-090).
 */
import { Fault } from '../kernel/fault.ts'
import type { ArtifactId, ConfirmationId, RunId, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import type { ConfirmationStore } from '../gate/confirmation.store.ts'
import type { ConfirmationView } from '../gate/confirmation.ts'
import { scopeOf } from '../request/actor.ts'
import type { MessageView, SessionStore, SessionView } from '../session/session.store.ts'
import type { ArtifactStore, ArtifactView } from '../tool/result/artifact.store.ts'
import { isVisible } from './decide.shell.ts'
import { type SessionState, sessionState } from './state.ts'
import type { RunEffectsRow, RunLedgerRow, RunListRow } from './view.sql.ts'
import type { RunFilter, RunView, ViewStore } from './view.store.ts'

/** `next` goes into `after` of the following call; null at the end. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

/** A12: the state is derived from the runs, here and nowhere else. */
export type ConversationView = Omit<SessionView, 'head'> & { readonly state: SessionState }

export interface Reads {
  run(actor: Actor, run: RunId): Promise<RunView>
  runs(actor: Actor, filter: Omit<RunFilter, 'user'>): Promise<Page<RunListRow>>
  ledger(actor: Actor, run: RunId): Promise<readonly RunLedgerRow[]>
  effects(actor: Actor, run: RunId): Promise<readonly RunEffectsRow[]>
  /** What the calls of a run returned and nobody reads whole, in the order of the calls. */
  artifacts(actor: Actor, run: RunId): Promise<readonly ArtifactView[]>
  artifact(actor: Actor, id: ArtifactId): Promise<ArtifactView>
  conversation(actor: Actor, session: SessionId): Promise<ConversationView & { readonly head: string | null }>
  conversations(
    actor: Actor,
    page: { readonly agent: string; readonly after: string; readonly limit: number },
  ): Promise<Page<ConversationView>>
  messages(
    actor: Actor,
    session: SessionId,
    page: { readonly after: string; readonly limit: number },
  ): Promise<Page<MessageView>>
  confirmation(actor: Actor, id: ConfirmationId): Promise<ConfirmationView>
  confirmations(
    actor: Actor,
    page: { readonly run: string; readonly after: string; readonly limit: number },
  ): Promise<Page<ConfirmationView>>
}

interface Parts {
  readonly sessions: SessionStore
  readonly views: ViewStore
  readonly confirmations: ConfirmationStore
  readonly artifacts: ArtifactStore
}

const owner = (actor: Actor): string => (actor.kind === 'end_user' ? actor.user : '')

const withState = <T extends Omit<SessionView, 'head'>>(view: T): T & { readonly state: SessionState } => ({
  ...view,
  state: sessionState(view.closedAt !== null, view.active),
})

/** One more was asked for than is given out: if it came, there is a next page. */
function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => string): Page<T> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next: rows.length > limit && last !== undefined ? keyOf(last) : null }
}

export function readsOf({ sessions, views, confirmations, artifacts }: Parts): Reads {
  async function run(actor: Actor, id: RunId): Promise<RunView> {
    const found = await views.run(scopeOf(actor), owner(actor), id)
    if (!found) throw new Fault('not_found')
    return found
  }
  async function conversation(actor: Actor, id: SessionId) {
    const found = await sessions.get(scopeOf(actor), owner(actor), id)
    if (!found) throw new Fault('not_found')
    return withState(found)
  }
  return {
    run,
    conversation,
    async runs(actor, filter) {
      const rows = await views.runs(scopeOf(actor), { ...filter, user: owner(actor), limit: filter.limit + 1 })
      return pageOf(rows, filter.limit, (row) => row.id)
    },
    async ledger(actor, id) {
      await run(actor, id)
      return views.ledger(scopeOf(actor), id)
    },
    async effects(actor, id) {
      await run(actor, id)
      return views.effects(scopeOf(actor), id)
    },
    async artifacts(actor, id) {
      await run(actor, id)
      return artifacts.ofRun(scopeOf(actor), owner(actor), id)
    },
    async artifact(actor, id) {
      const found = await artifacts.get(scopeOf(actor), owner(actor), id)
      if (!found) throw new Fault('not_found')
      return found
    },
    async conversations(actor, page) {
      const rows = await sessions.list(scopeOf(actor), { ...page, user: owner(actor), limit: page.limit + 1 })
      return pageOf(rows.map(withState), page.limit, (row) => row.id)
    },
    async messages(actor, id, page) {
      await conversation(actor, id)
      const [generation = 0, seq = 0] = page.after.split('.').map(Number)
      const rows = await sessions.messages(scopeOf(actor), id, { generation, seq, limit: page.limit + 1 })
      return pageOf(rows, page.limit, (row) => `${row.generation}.${row.seq}`)
    },
    async confirmation(actor, id) {
      const found = await confirmations.get(scopeOf(actor), id)
      if (!found || !isVisible(actor, found)) throw new Fault('not_found')
      return found
    },
    async confirmations(actor, page) {
      const rows = await confirmations.inbox(scopeOf(actor), { ...page, user: owner(actor), limit: page.limit + 1 })
      return pageOf(rows, page.limit, (row) => row.id)
    },
  }
}
