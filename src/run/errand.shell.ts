/** Does errands: beside the runs of a worker, one look after the other, each step found again by whoever comes next. */
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Ids, RunId, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { actorFrom, scopeOf } from '../request/actor.ts'
import type { SessionStore } from '../session/session.store.ts'
import type { Agent } from './agent.ts'
import {
  delayMs,
  errandAgent,
  type ErrandId,
  type ErrandFinal,
  type ErrandKind,
  type ErrandSource,
  MOST_ATTEMPTS,
  MOST_TRIES,
} from './errand.ts'
import type { Errand, ErrandStore, Walls } from './errand.store.ts'
import type { RunStore } from './run.store.ts'
import { isFinal, type Status } from './state.ts'
import { submitMessage } from './submit.shell.ts'

export interface Errands {
  readonly store: ErrandStore
  readonly sessions: SessionStore
  readonly runs: RunStore
  /** Those that do errands, by `agent/kind`. */
  readonly agents: ReadonlyMap<string, Agent>
  readonly kinds: Readonly<Record<string, ErrandKind<Walls>>>
  readonly ids: Ids
  readonly clock: Clock
  readonly fault: FaultHook
  /** What stands for arguments and plans that are no more. */
  readonly blank: { readonly arguments: string; readonly plan: string }
  /** Ends the run of an errand that is to be forgotten. */
  readonly cancel: (scope: Walls, run: RunId) => Promise<void>
  /** There is a run to claim. */
  readonly submitted: () => void
  readonly onError: (error: unknown) => void
}
/** The longest time that a process needs for one step of an errand; then somebody else may try. */
const HOLD_MS = 30_000
/** When the run works in another process: nobody waits for an errand. */
const REST_MS = 2_000
const BATCH = 20
const MOST_LOOKS = 10
/** More than the two messages that the session of an attempt has. */
const MOST_MESSAGES = 10

/** One look at what is due. */
export async function doErrands(parts: Errands, signal: AbortSignal): Promise<number> {
  const due = await parts.store.due(BATCH)
  for (const { id, ...scope } of due) {
    if (signal.aborted) break
    const next = { workSession: parts.ids.next('ses'), run: parts.ids.next('run'), holdMs: HOLD_MS }
    const errand = await parts.store.take(scope, id, next).catch((error: unknown) => notTaken(parts, scope, id, error))
    if (!errand) continue
    await goOn(parts, scope, errand)
      .catch((error: unknown) => stopped(parts, scope, errand, error))
      .catch(parts.onError)
  }
  return due.length
}

/** The keys of its tenant cannot be had: the errands of others wait for nobody. @throws Fault when the store is away */
async function notTaken(parts: Errands, scope: Walls, id: ErrandId, error: unknown): Promise<null> {
  await parts.store.failed(scope, id)
  parts.onError(new Fault(Fault.is(error) ? error.code : 'internal', `The errand ${id} cannot be taken.`))
  return null
}

/**
 * What was thrown is told by its code alone: it comes from where content is read. A tenant whose keys are gone has nothing to
 * do any more, and must not hold up the others.
 */
async function stopped(parts: Errands, scope: Walls, { id, run }: Errand, error: unknown): Promise<void> {
  if (!Fault.is(error) || error.code !== 'content_destroyed')
    return parts.onError(new Fault(Fault.is(error) ? error.code : 'internal', `The errand ${id} has stopped.`))
  await parts.store.end(scope, { id, run, outcome: 'content_destroyed' })
  await parts.store.close(scope, id, 0)
}

async function goOn(parts: Errands, scope: Walls, errand: Errand): Promise<void> {
  if (errand.state === 'clearing') return clear(parts, scope, errand)
  const kind = parts.kinds[errand.kind]
  // of a release that knows more than this one, or of an agent that is no more: another process may come for it
  if (!kind?.knows(errand.agent))
    return errand.tries > MOST_TRIES ? endWith(parts, scope, errand, 'unknown_agent') : undefined
  // who threw, or died, at the same place so often does so again
  if (errand.tries > MOST_TRIES) return endWith(parts, scope, errand, 'failed')
  const seen = await parts.store.run(scope, errand.run)
  if (seen === null) return begin(parts, scope, kind, errand)
  if (!isFinal(seen.status as Status)) return void (await parts.store.rest(scope, errand, REST_MS))
  const final = seen.end === 'completed' ? await answerOf(parts, scope, errand) : { end: seen.end ?? 'protocol_error' }
  await conclude(parts, scope, kind, { errand, final })
}

async function begin(parts: Errands, scope: Walls, kind: ErrandKind<Walls>, errand: Errand): Promise<void> {
  const asked = await kind.request(scope, errand)
  if ('outcome' in asked) return endWith(parts, scope, errand, asked.outcome)
  const name = errandAgent(errand.agent, errand.kind)
  const { workSession: session, run } = errand
  const actor = actorOfErrand(scope, errand)
  await parts.runs.openSession(scopeOf(actor), session, name)
  const before = await parts.runs.before(scopeOf(actor), session)
  // who died after this has submitted it under the same names, and it is found by them
  if (before?.version === 1)
    await submitMessage(parts, actor, {
      session,
      sessionVersion: 1,
      text: asked.text,
      chosenRun: run,
    })
  // left meanwhile, and cleared before anything was there: nobody else would come for this
  if (!(await parts.store.rest(scope, errand, REST_MS))) return takeBack(parts, scope, session, run)
  parts.submitted()
}

/** What is asked already ends first, as far as the time of a few looks goes. */
async function takeBack(parts: Errands, scope: Walls, session: SessionId, run: RunId): Promise<void> {
  for (let looks = MOST_LOOKS; ; looks--) {
    try {
      return void (await emptied(parts, scope, session, run))
    } catch (error) {
      if (looks === 0 || !Fault.is(error) || error.code !== 'conflict') throw error
    }
    await parts.clock.sleep(REST_MS)
  }
}

/** Who it is done for, without any of their rights. */
export const actorOfErrand = (
  { tenant, environment }: Walls,
  { user, subject }: Pick<ErrandSource, 'user' | 'subject'>,
): Actor => actorFrom({ kind: 'service', tenant, environment, user, subject, permissions: [] })

/** The final answer of the attempt. */
async function answerOf(parts: Errands, scope: Walls, errand: Errand): Promise<ErrandFinal> {
  const page = { generation: 0, seq: 0, limit: MOST_MESSAGES }
  const said = await parts.sessions.messages(scopeOf(actorOfErrand(scope, errand)), errand.workSession, page)
  const answer = said.findLast((m) => m.role === 'assistant' && m.run === errand.run && !m.partial)
  return answer ? { text: answer.text } : { end: 'empty_final' }
}

async function conclude(
  parts: Errands,
  scope: Walls,
  kind: ErrandKind<Walls>,
  { errand, final }: { readonly errand: Errand; readonly final: ErrandFinal },
): Promise<void> {
  if ('end' in final && errand.attempts < MOST_ATTEMPTS) return endWith(parts, scope, errand, null)
  await parts.fault('errand.answered')
  await endWith(parts, scope, errand, await kind.handle(scope, errand, final))
}

async function endWith(parts: Errands, scope: Walls, errand: Errand, outcome: string | null): Promise<void> {
  await parts.store.end(scope, { id: errand.id, run: errand.run, outcome })
  await clear(parts, scope, { ...errand, outcome })
}

async function clear(parts: Errands, scope: Walls, errand: Errand): Promise<void> {
  // null when it was forgotten before anything was asked
  const { active } = errand.workSession
    ? await parts.store.clear(scope, errand.workSession, parts.blank)
    : { active: 0 }
  // left while it worked: it ends first, and is looked at again when the hold is over
  if (active > 0) return parts.cancel(scope, errand.run)
  if (errand.workSession) await parts.store.drop(scope, errand.workSession)
  await parts.store.close(scope, errand.id, errand.outcome === null ? delayMs(errand.attempts) : 0)
}

/**
 * Ends what is under way about these runs and conversations, and takes away what it was told. Counts the messages.
 * @throws Fault `conflict` while a run of it has not ended: the caller comes again
 */
export async function forgetErrands(
  parts: Errands,
  scope: Walls,
  of: { readonly runs: readonly string[]; readonly sessions: readonly string[] },
): Promise<number> {
  await parts.store.leave(scope, of)
  let removed = 0
  for (const { id, workSession, run } of await parts.store.toClear(scope)) {
    if (workSession !== null && run !== null) removed += await emptied(parts, scope, workSession, run)
    await parts.store.close(scope, id, 0)
  }
  return removed
}

function unlessEnded(error: unknown): void {
  if (!Fault.is(error) || error.code !== 'refused_transition') throw error
}

async function emptied(parts: Errands, scope: Walls, session: SessionId, run: RunId): Promise<number> {
  const first = await parts.store.clear(scope, session, parts.blank)
  let { removed } = first
  if (first.active > 0) {
    // one that has ended meanwhile is no longer active
    await parts.cancel(scope, run).catch(unlessEnded)
    const again = await parts.store.clear(scope, session, parts.blank)
    if (again.active > 0) throw new Fault('conflict', 'A run of an errand has not ended yet.')
    removed += again.removed
  }
  await parts.store.drop(scope, session)
  return removed
}

/** Looks until it is stopped. `noted`: what the process itself has just seen, done before each look. */
export function startErrands(parts: Errands, everyMs: number, noted: () => Promise<void>): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  async function loop(): Promise<void> {
    for (;;) {
      await parts.clock.sleep(everyMs, signal).catch(() => {})
      if (signal.aborted) return
      await noted().catch(parts.onError)
      await doErrands(parts, signal).catch(parts.onError)
    }
  }
  const looping = loop()
  return {
    async stop() {
      stopping.abort(new Fault('worker_stopping'))
      await looping
    },
  }
}
