/** Conversations as things of their own: opened before their first message, and closed for good. */
import { Fault } from '../kernel/fault.ts'
import type { Ids, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import type { SessionStore } from '../session/session.store.ts'
import type { Agent } from './agent.ts'
import type { Reads } from './reads.shell.ts'
import type { RunStore } from './run.store.ts'

interface Talking {
  readonly runs: RunStore
  readonly sessions: SessionStore
  readonly ids: Ids
  readonly agents: ReadonlyMap<string, Agent>
  readonly reads: Reads
}

export async function openConversation(parts: Talking, actor: Actor, agent: string): Promise<SessionId> {
  if (!parts.agents.has(agent)) throw new Fault('not_found', 'There is no such agent.')
  const session = parts.ids.next('ses')
  if (!(await parts.runs.openSession(scopeOf(actor), session, agent))) throw new Fault('conflict')
  return session
}

/** A12: nothing is said in it any more; its runs end by themselves (A5). @throws Fault 404, 409 when closed before, 412 */
export async function closeConversation(
  parts: Talking,
  actor: Actor,
  session: SessionId,
  version: number | null,
): Promise<number> {
  const seen = await parts.reads.conversation(actor, session)
  const closed = await parts.sessions.close(scopeOf(actor), session, version)
  if (closed !== null) return closed
  const now = await parts.reads.conversation(actor, session)
  if (seen.closedAt !== null || now.closedAt !== null)
    throw new Fault('refused_transition', 'The conversation is closed.')
  throw new Fault('precondition_failed', undefined, { facts: { currentVersion: now.version } })
}
