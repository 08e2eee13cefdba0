/**
 * A message opens a run, or is refused before anything is stored.
 *
 * A3  the conversation's version decides between two tabs   A4  what a newer message does to an active run is the agent's policy
 * A13 the answer to the caller's key is stored with the run, or neither is   Q1  the first model call is paid for here
 * T2  what comes with a message is kept before it, and counts only with it
 */
import type { MessageBody } from '../context/message.ts'
import { tokensOf } from '../context/tokens.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Ids, RunId, SessionId } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import type { Agent } from './agent.ts'
import { reserve } from './budget.ts'
import { hashBody } from './encode.ts'
import { tokensOfRules } from './snapshot.ts'
import type { RunStore, SessionBefore, Submission, Submitted } from './run.store.ts'
import type { ToolServices } from './services.shell.ts'
import { dropUploads, type GivenPart, keepUploads } from './uploads.shell.ts'

export interface SubmitRequest {
  /** Not needed in a conversation, which belongs to one agent. */
  readonly agent?: string
  readonly text: string
  /** Pictures, documents and sounds beside the text; the agent must accept their kinds. */
  readonly parts?: readonly GivenPart[]
  /** Absent: a new conversation. */
  readonly session?: SessionId
  /** What the caller has seen of the conversation: its version, or the id of its last message. One of them decides. */
  readonly sessionVersion?: number
  readonly parentMessage?: string
  /** Chosen before, so that whoever comes after a crash finds it. */
  readonly chosenRun?: RunId
  /** The run that the caller's idempotency key has claimed. */
  readonly claimed?: { readonly run: RunId; readonly status: number }
}

export interface SubmitResult {
  readonly run: RunId
  readonly session: SessionId
  readonly sessionVersion: number
  readonly generation: number
  /** Id of the user's message. */
  readonly message: string
}

export interface Submitting {
  readonly runs: RunStore
  readonly ids: Ids
  readonly agents: ReadonlyMap<string, Agent>
  readonly fault: FaultHook
  /** Where what comes with a message is kept. */
  readonly services?: ToolServices
}

/** A message longer than this is a document, and belongs into an artifact. */
const MOST_CHARACTERS = 100_000

export async function submitMessage(parts: Submitting, actor: Actor, request: SubmitRequest): Promise<SubmitResult> {
  const scope = scopeOf(actor)
  checkText(request.text)
  const before = request.session ? await parts.runs.before(scope, request.session) : null
  if (request.session) checkOwner(actor, before)
  const name = request.agent ?? before?.agent ?? ''
  const agent = parts.agents.get(name)
  if (!agent) throw new Fault('not_found', 'There is no such agent.')
  if (before) checkConversation(agent, request, before)

  const run = request.claimed?.run ?? request.chosenRun ?? parts.ids.next('run')
  const session = request.session ?? parts.ids.next('ses')
  const keeping = parts.services?.keeping ?? null
  const uploads = await keepUploads(keeping, actor, agent, { run, parts: request.parts ?? [] })
  const media = uploads.parts
  const body: MessageBody = { role: 'user', text: request.text, ...(media.length > 0 && { parts: media }) }
  const tokens = media.reduce((sum, part) => sum + part.tokens, tokensOf(request.text, agent.context.count))
  const rules = agent.procedures.length > 0 ? await parts.runs.rulesNow(scope, agent.procedures) : []
  const fixedTokens = agent.fixedTokens + tokensOfRules(rules, agent)
  const paid = reserve(
    { limits: agent.limits, rules: agent.rules },
    { tokens: 0, cost: 0 },
    // a longer conversation is cut before it is sent
    Math.min(
      fixedTokens + (agent.memory ? agent.context.memory : 0) + (before?.tokens ?? 0) + tokens,
      agent.context.most,
    ),
  )
  // a run that cannot even ask once is made all the same: it ends with its reason, where everybody looks for it
  const reservation = paid.ok ? paid.reservation : { tokens: 0, cost: 0 }
  const message = `${run}.1`
  // known before it is stored: if it is not so, nothing is stored
  const result: SubmitResult = {
    run,
    session,
    message,
    sessionVersion: (before?.version ?? 1) + 1,
    generation: (before?.generation ?? 0) + 1,
  }
  if (keeping && uploads.kept.length > 0)
    await keeping.artifacts.recordUploads(scope, { run, session }, uploads.kept, hashBody(body))
  await parts.fault('submit.before')
  const done = await submitOnce(parts, scope, {
    key: { tenant: scope.tenant, environment: scope.environment, run },
    session,
    sessionVersion: before ? before.version : null,
    replaced: agent.onMessage === 'replace' ? (before?.active ?? []).map((r) => r.run) : [],
    resting: (before?.active ?? []).filter((r) => r.wait === 'follower').map((r) => r.run),
    body,
    event: { message: 1 },
    response: request.claimed ? { status: request.claimed.status, body: result } : null,
    fields: {
      permissions: actor.permissions,
      agent: agent.name,
      release: agent.release,
      parent_message: before?.head ?? null,
      max_steps: agent.limits.steps,
      max_tool_calls: agent.limits.toolCalls,
      max_tokens: agent.limits.tokens,
      max_cost: agent.limits.cost,
      max_attempts: agent.limits.attempts,
      deadline_ms: Math.round(agent.seconds * 1000),
      progress_ms: agent.progressMs,
      reserved_tokens: reservation.tokens,
      reserved_cost: reservation.cost,
      tokens,
      procedures: rules.map((rule) => rule.id),
    },
  })
  await parts.fault('submit.after')
  if (done.outcome === 'created') return result
  await dropUploads(keeping, scope, uploads)
  if (done.outcome === 'not_found') throw new Fault('not_found')
  throw done.outcome === 'closed' ? new Fault('refused_transition') : movedOn(done.sessionVersion)
}

const movedOn = (version: number | null): Fault =>
  new Fault(
    'precondition_failed',
    'The conversation went on meanwhile.',
    version === null ? {} : { facts: { currentVersion: version } },
  )

/** When the reply is lost, the run itself says whether it was made. */
async function submitOnce(parts: Submitting, scope: Scope, submission: Submission): Promise<Submitted> {
  try {
    return await parts.runs.submit(scope, submission)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    const made = await parts.runs.load(submission.key)
    if (made === null) throw error
    return { outcome: 'created', sessionVersion: null, generation: null }
  }
}

function checkText(text: string): void {
  if (text.length > MOST_CHARACTERS)
    throw new Fault('input_too_large', `A message has at most ${MOST_CHARACTERS} characters.`)
  if (text.trim() === '') throw invalid('The message is empty.')
  if (text.includes('\0') || !text.isWellFormed())
    throw invalid('The message holds a NUL character or half a surrogate pair.')
}

const invalid = (message: string): Fault =>
  new Fault('invalid_request', message, { errors: [{ path: '/text', message }] })

function checkOwner(actor: Actor, before: SessionBefore | null): asserts before is SessionBefore {
  // an end user of another conversation learns nothing, not even that it exists
  if (!before || (actor.kind === 'end_user' && before.user !== actor.user)) throw new Fault('not_found')
}

function checkConversation(agent: Agent, request: SubmitRequest, before: SessionBefore): void {
  if (before.closed) throw new Fault('refused_transition', 'The conversation is closed.')
  if (before.agent !== agent.name)
    throw new Fault('conflict', `The conversation belongs to the agent "${before.agent}".`)
  if (request.sessionVersion === undefined && request.parentMessage === undefined && before.head !== null)
    throw new Fault(
      'precondition_required',
      'Send `If-Match` with the version of the conversation, or `parent_message_id`.',
    )
  if (request.sessionVersion !== undefined && request.sessionVersion !== before.version) throw movedOn(before.version)
  if (request.parentMessage !== undefined && request.parentMessage !== before.head) throw movedOn(before.version)
  if (before.active.length > 0 && agent.onMessage === 'reject')
    throw new Fault(
      'conflict',
      'A run of this conversation is still active, and the agent takes one message at a time.',
    )
}
