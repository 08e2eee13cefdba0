/**
 * A recorded user: says every recorded message that was answered, waits until the run has ended, and agrees to whatever
 * is asked. Everything over HTTP with the user's own token.
 */
import type { JsonObject } from '../../src/kernel/json.ts'
import type { Caller, RunEvent } from './caller.ts'
import type { Conversation } from './conversations.ts'

export type RunEnd = {
  readonly run: string
  /** Null when the run had not ended when the patience was over, or waits for an operator. */
  readonly reason: string | null
  readonly toolCalls: number
}

export type Talk = { readonly conversation: string; readonly session: string; readonly runs: readonly RunEnd[] }

/** Ends after which a user goes on talking. */
const GOOD = new Set<string | null>(['completed', 'handed_over'])

/** `patienceMs`: for one run, its confirmations included. Stops early after a run that did not end well. */
export async function talk(user: Caller, agent: string, conversation: Conversation, patienceMs: number): Promise<Talk> {
  const opened = await user.post('/v1/conversations', { agent })
  const session = textOf(opened.body, 'id')
  const runs: RunEnd[] = []
  let version = opened.version
  for (const turn of conversation.turns) {
    const said = await user.post(`/v1/conversations/${session}/messages`, { text: turn.user }, version)
    version = said.version
    const end = await awaitRun(user, textOf(said.body, 'id'), patienceMs)
    runs.push(end)
    if (!GOOD.has(end.reason)) break
  }
  if (runs.every(({ reason }) => reason !== null)) {
    const { version } = await user.get(`/v1/conversations/${session}`)
    await user.post(`/v1/conversations/${session}/close`, {}, version)
  }
  return { conversation: conversation.id, session, runs }
}

async function awaitRun(user: Caller, run: string, patienceMs: number): Promise<RunEnd> {
  const signal = AbortSignal.timeout(patienceMs)
  let toolCalls = 0
  try {
    for await (const { type, data } of eventsOf(user, run, signal)) {
      if (type === 'calls_settled') toolCalls += (data.calls as readonly unknown[]).length
      if (type === 'run_parked' && data.reason === 'confirmation') await agree(user, run)
      if (type === 'run_parked' && data.reason === 'unknown_effect') break
      if (type === 'run_ended') return { run, reason: textOf(data, 'reason'), toolCalls }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return { run, reason: null, toolCalls }
}

/** The events of a run from its first on, over as many streams as it takes. */
async function* eventsOf(user: Caller, run: string, signal: AbortSignal): AsyncGenerator<RunEvent> {
  for (let after = 0; ; ) {
    for await (const event of user.events(run, after, signal)) {
      after = event.id
      yield event
    }
  }
}

/** Reads what is asked and agrees to exactly that. */
async function agree(user: Caller, run: string): Promise<void> {
  const open = await user.get(`/v1/confirmations?run_id=${run}`)
  for (const { id } of open.body.items as readonly { readonly id: string }[]) {
    const asked = await user.get(`/v1/confirmations/${id}`)
    const { params_hash } = asked.body
    if (params_hash !== undefined) await user.post(`/v1/confirmations/${id}/approve`, { params_hash }, asked.version)
  }
}

/** Throws when the answer has no text there. */
export function textOf(body: JsonObject, field: string): string {
  const value = body[field]
  if (typeof value !== 'string') throw new Error(`the answer has no ${field}`)
  return value
}
