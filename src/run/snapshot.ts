/**
 * A run out of its rows. Pure: what the store returned, the agent's release, and the opener of sealed bodies.
 *
 * L3  nothing but rows is needed to go on
 */
import { type Context, promptTokens } from '../context/assemble.ts'
import type { MessageBody, TranscriptMessage } from '../context/message.ts'
import { bodyOf, summariesFor } from '../context/summary.ts'
import { tokensOf } from '../context/tokens.ts'
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Labels } from '../kernel/labels.ts'
import { openRule, type Rule, ruleText, type SealedRule } from '../memory/procedure.ts'
import type { Contract, ToolOutcome } from '../tool/contract.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import type { Agent } from './agent.ts'
import { DEFAULT_BREAKER, pastOf } from './breaker.ts'
import { hashBody } from './encode.ts'
import type { Call, CallConfirmation, PastCall, Run, RunKey } from './state.ts'

/** Rows as `plimsoll.load` gives them. */
export interface SnapshotRows {
  readonly run: RunRow
  readonly deadline_ms: number
  /** Nobody follows the run any more, and its agent parks it then (K2). */
  readonly alone: boolean
  readonly messages: readonly MessageRow[]
  readonly effects: readonly EffectRow[]
  readonly confirmations: readonly ConfirmationRow[]
  /** Verified when the run was made. */
  readonly summaries: readonly SummaryRow[]
  /** Those that stood when the run was made and still have their text; absent: none did. */
  readonly rules?: readonly SealedRule[]
}

interface RunRow {
  readonly session_id: string
  readonly branch: string
  readonly generation: number
  readonly user_id: string
  readonly subject_id: string
  readonly permissions: readonly string[]
  readonly agent: string
  readonly release: string
  readonly status: Run['status']
  readonly wait_reason: Run['wait']
  readonly phase: Run['phase']
  readonly step: number
  readonly version: number
  readonly commits: number
  readonly event_seq: number
  readonly message_seq: number
  readonly epoch: number
  readonly attempts: number
  readonly max_steps: number
  readonly max_tool_calls: number
  readonly max_tokens: number
  readonly max_cost: number
  readonly max_attempts: number
  readonly used_tool_calls: number
  readonly used_tokens: number
  readonly used_cost: number
  readonly reserved_tokens: number
  readonly reserved_cost: number
  readonly cancel_cause: Run['cancel']
  readonly integrity: Run['integrity']
  readonly confidentiality: Run['confidentiality']
  readonly watermark_from: string | null
  readonly end_reason: Run['end']
  /** Ids of the procedures that stood when the run was made. */
  readonly procedures: readonly string[]
}

interface MessageRow extends Labels {
  readonly run: string
  readonly seq: number
  readonly step: number
  readonly body: string
  readonly hash: string
  readonly partial: boolean
  readonly tokens: number
}

interface EffectRow {
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly tool: string
  readonly toolVersion: number
  readonly level: Call['level']
  readonly approval: Call['approval']
  readonly argumentsHash: string
  readonly fingerprint: string
  readonly key: string
  readonly status: Call['status']
  readonly errorCode: string | null
  readonly attempt: number
  readonly again: boolean
  readonly compensates: string | null
  readonly startedMs: number | null
  /** Of a call that waits outside; `body` is what was told, when somebody has. */
  readonly wait: {
    readonly signal: string | null
    readonly leftMs: number
    readonly count: number
    readonly body: string | null
  } | null
  readonly arguments: string | null
  readonly result: string | null
}

interface ConfirmationRow {
  readonly id: string
  readonly position: number
  readonly status: CallConfirmation['status']
  readonly resourceVersion: string | null
  readonly leftMs: number
  readonly executeMs: number | null
}

interface SummaryRow {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly through: string
  readonly body: string
}

export interface Snapshot {
  readonly run: Run
  /** Milliseconds until the deadline, when it was read. */
  readonly leftMs: number
  readonly isAlone: boolean
}

/** @throws Fault `content_damaged` · `content_destroyed` */
export function readSnapshot(rows: SnapshotRows, key: RunKey, agent: Agent, keys: ContentKeys): Snapshot {
  const open = (sealed: string): unknown => openJson(keys, key.tenant, Buffer.from(sealed, 'base64'))
  const unveil = (text: string): string => keys.unveil(key.tenant, text)
  const { run: r } = rows
  const transcript = rows.messages.map((m): TranscriptMessage => {
    const body = open(m.body) as MessageBody
    if (hashBody(body) !== unveil(m.hash))
      throw new Fault('content_damaged', `A message of run ${m.run} does not match its hash.`)
    return { run: m.run, seq: m.seq, step: m.step, body, tokens: m.tokens, partial: m.partial }
  })
  const rules = (rows.rules ?? []).map((sealed) => openRule(keys, key.tenant, sealed))
  const context: Context = {
    limits: agent.context,
    rules,
    fixedTokens: agent.fixedTokens + tokensOfRules(rules, agent),
    transcript,
    memory: [],
    memoryTokens: agent.memory ? agent.context.memory : 0,
    summaries: summariesFor(
      agent.context,
      rows.summaries.map((s) => ({ ...s, body: bodyOf(open(s.body) as Json) })),
    ),
  }
  // the step is open as long as its calls are not answered in the transcript
  const answered = r.phase === 'planning' || r.phase === 'finalizing'
  const openRows = answered ? [] : rows.effects.filter((e) => e.step === r.step)
  const run: Run = {
    key,
    session: r.session_id as Run['session'],
    branch: r.branch,
    generation: r.generation,
    user: r.user_id,
    subject: r.subject_id,
    permissions: r.permissions,
    agent: r.agent,
    release: r.release,
    status: r.status,
    wait: r.wait_reason,
    phase: r.phase,
    step: r.step,
    version: r.version,
    commits: r.commits,
    eventSeq: r.event_seq,
    messageSeq: r.message_seq,
    epoch: r.epoch,
    attempts: r.attempts,
    lost: r.attempts > 0 && openRows.length === 0,
    limits: {
      steps: r.max_steps,
      toolCalls: r.max_tool_calls,
      tokens: r.max_tokens,
      cost: r.max_cost,
      attempts: r.max_attempts,
    },
    used: { toolCalls: r.used_tool_calls, tokens: r.used_tokens, cost: r.used_cost },
    reserved: { tokens: r.reserved_tokens, cost: r.reserved_cost },
    cancel: r.cancel_cause,
    integrity: r.integrity,
    confidentiality: r.confidentiality,
    watermarkFrom: r.watermark_from,
    calls: openRows.map((e) => readCall(e, rows.confirmations, agent, { open, unveil })),
    past: rows.effects.map((e) => readPast(e, { open, unveil })),
    context,
    promptTokens: promptTokens(context),
    end: r.end_reason,
    rules: agent.rules,
  }
  return { run, leftMs: rows.deadline_ms, isAlone: rows.alone }
}

/** Of what a run has besides the texts of its agent in every request. */
export const tokensOfRules = (rules: readonly Rule[], { context }: Pick<Agent, 'context'>): number =>
  rules.reduce((all, rule) => all + tokensOf(ruleText(rule), context.count), 0)

interface Opener {
  readonly open: (sealed: string) => unknown
  readonly unveil: (text: string) => string
}

function readCall(
  e: EffectRow,
  confirmations: readonly ConfirmationRow[],
  agent: Agent,
  { open, unveil }: Opener,
): Call {
  const contract: Contract | undefined = agent.tools.contracts.find(
    (t) => t.name === e.tool && t.version === e.toolVersion,
  )
  const args = open(e.arguments ?? '') as { raw: string; canonical: string; exposedName: string }
  const opened = ({ resourceVersion: version }: ConfirmationRow) => (version === null ? null : unveil(version))
  const asked = confirmations.filter((c) => c.position === e.position).at(-1)
  return {
    position: e.position,
    callId: e.callId,
    tool: e.tool,
    toolVersion: e.toolVersion,
    exposedName: args.exposedName,
    level: e.level,
    approval: e.approval,
    raw: args.raw,
    canonical: args.canonical,
    argumentsHash: unveil(e.argumentsHash),
    fingerprint: unveil(e.fingerprint),
    key: e.key,
    ends: contract?.ends ?? null,
    stops: stopsOf(contract),
    breaker: contract?.breaker ?? DEFAULT_BREAKER,
    retryByKey: contract?.unknown === 'key',
    compensates: e.compensates === null ? null : { key: e.compensates, tool: contract?.compensates ?? '' },
    status: e.status,
    attempt: e.attempt,
    again: e.again,
    startedMs: e.startedMs,
    confirmation: asked
      ? { id: asked.id, status: statusNow(asked), leftMs: asked.leftMs, resourceVersion: opened(asked) }
      : null,
    wait: e.wait && {
      signal: e.wait.signal === null ? null : unveil(e.wait.signal),
      leftMs: e.wait.leftMs,
      count: e.wait.count,
      arrived: e.wait.body === null ? null : { body: open(e.wait.body) as Json },
    },
    outcome: e.result === null ? null : (open(e.result) as ToolOutcome),
  }
}

/** Late consent is stale consent: an approval that was not used in time counts as expired. */
const statusNow = (c: ConfirmationRow): CallConfirmation['status'] =>
  c.status === 'approved' && c.executeMs !== null && c.executeMs <= 0 ? 'expired' : c.status

export const stopsOf = (contract: Contract | undefined): readonly string[] =>
  Object.entries(contract?.errors ?? {}).flatMap(([code, row]) => (row.reaction === 'stop' ? [code] : []))

function readPast(e: EffectRow, { open, unveil }: Opener): PastCall {
  const outcome = e.result !== null && e.errorCode !== null ? (open(e.result) as ToolOutcome) : null
  return pastOf(e.step, { ...e, fingerprint: unveil(e.fingerprint), outcome })
}
