/** Values of the runtime as JSON of the app plane: snake case, times in ISO 8601, money in cents as decimal text. */
import type { ContextView } from '../run/explain.shell.ts'
import type { ConfirmationView } from '../gate/confirmation.ts'
import type { DeliveryAttempt, Endpoint } from '../journal/endpoint.store.ts'
import type { ConversationView } from '../run/reads.shell.ts'
import type { SubmitResult } from '../run/submit.shell.ts'
import type { RunEffectsRow, RunLedgerRow, RunListRow } from '../run/view.sql.ts'
import type { Json } from '../kernel/json.ts'
import type { Runtime } from '../runtime.ts'
import type { RunView } from '../run/view.store.ts'
import type { ArtifactView } from '../tool/result/artifact.store.ts'
import type { MessageView } from '../session/session.store.ts'
import type { StreamItem } from '../stream/follow.shell.ts'

const MICROCENTS = 1_000_000

export const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** Exact: a number with a fraction could not hold it. */
export function cents(micro: number): string {
  const sign = micro < 0 ? '-' : ''
  const size = Math.abs(micro)
  const fraction = String(size % MICROCENTS)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${sign}${Math.floor(size / MICROCENTS)}${fraction === '' ? '' : `.${fraction}`}`
}

export const action = (e: RunEffectsRow) => ({
  step: e.step,
  position: e.position,
  tool: e.tool,
  tool_version: e.toolVersion,
  level: e.level,
  status: e.status,
  outcome: e.outcome,
  error_code: e.errorCode,
  compensates: e.compensates,
  compensation: e.compensation as Json,
  started_at: time(e.startedAt),
  settled_at: time(e.settledAt),
})

export const effect = (e: RunEffectsRow) => ({
  ...action(e),
  kind: e.kind,
  approval: e.approval,
  attempt: e.attempt,
  idempotency_key: e.key,
  params_hash: e.argumentsHash,
  result_hash: e.resultHash,
})

export const unknownEffect = (e: Awaited<ReturnType<Runtime['unknownEffects']>>[number]) => ({
  run_id: e.run,
  step: e.step,
  position: e.position,
  tool: e.tool,
  tool_version: e.toolVersion,
  attempt: e.attempt,
  idempotency_key: e.key,
  params_hash: e.argumentsHash,
  started_at: time(e.startedAt),
})

export function run(r: RunView) {
  return {
    id: r.id,
    conversation_id: r.session,
    branch: r.branch,
    generation: r.generation,
    agent: r.agent,
    release: r.release,
    user: r.user,
    subject: r.subject,
    status: r.status,
    wait_reason: r.wait,
    phase: r.phase,
    step: r.step,
    version: r.version,
    last_event: r.eventSeq,
    cancel_cause: r.cancel,
    end_reason: r.end,
    pending_confirmations: r.confirmations,
    actions: r.done.map(action),
    budget: {
      steps: { limit: r.maxSteps, used: r.step },
      tool_calls: { limit: r.maxToolCalls, used: r.usedToolCalls },
      tokens: { limit: r.maxTokens, used: r.usedTokens, reserved: r.reservedTokens },
      cost_cents: { limit: cents(r.maxCost), used: cents(r.usedCost), reserved: cents(r.reservedCost) },
    },
    created_at: time(r.createdAt),
    started_at: time(r.startedAt),
    ended_at: time(r.endedAt),
    deadline_at: time(r.deadlineAt),
  }
}

export const runInList = (r: RunListRow) => ({
  id: r.id,
  conversation_id: r.session,
  generation: r.generation,
  agent: r.agent,
  user: r.user,
  subject: r.subject,
  status: r.status,
  wait_reason: r.wait,
  phase: r.phase,
  step: r.step,
  version: r.version,
  end_reason: r.end,
  cost_cents: { limit: cents(r.maxCost), used: cents(r.usedCost) },
  created_at: time(r.createdAt),
  ended_at: time(r.endedAt),
})

/** What a program reads of it without the bytes. */
export const artifact = ({ summary, ...a }: ArtifactView) => ({
  id: a.id,
  run_id: a.run,
  step: a.step,
  position: a.position,
  call_id: a.callId,
  kind: a.kind,
  name: a.name,
  media_type: a.mediaType,
  bytes: a.bytes,
  sha256: a.sha256,
  integrity: a.integrity,
  confidentiality: a.confidentiality,
  summary: summary && {
    rows: summary.rows,
    columns: summary.columns,
    more_columns: summary.moreColumns,
    outliers: summary.outliers,
    first: summary.first,
  },
  created_at: time(a.createdAt),
  expires_at: time(a.expiresAt),
})

/** Names and counts, no values. */
export const context = (x: ContextView) => ({
  run_id: x.run,
  step: x.step,
  release: x.release,
  own_release: x.isOwnRelease,
  tokens: x.tokens,
  limit: x.limit,
  overflows: x.overflows,
  cuts: x.cuts,
  sections: x.sections,
  sent: x.sent.map(({ message, section, role, tokens, of }) => ({
    message_id: message,
    section,
    role,
    tokens,
    cut_from: of,
  })),
  media: x.media.map(({ part, kind, tokens, sent }) => ({ part, type: kind, tokens, sent })),
  left_out: x.left.map(({ message, tokens, why }) => ({ message_id: message, tokens, why })),
  memories: x.remembered,
  summaries: x.summaries,
  procedures: x.procedures,
  shared_prefix: x.prefix,
})

export const ledgerEntry = (l: RunLedgerRow) => ({
  seq: l.seq,
  level: l.level,
  step: l.step,
  kind: l.kind,
  input_tokens: l.inputTokens,
  output_tokens: l.outputTokens,
  tool_calls: l.toolCalls,
  /** False: the provider did not say, and the conservative estimate was settled. */
  usage_known: l.known,
  /** True: what the provider reported cannot be true, and was not believed. */
  usage_suspect: l.suspect,
  spent_cents: cents(l.spentCost),
  reserved: { tokens: l.reservedTokens, cents: cents(l.reservedCost) },
  released: { tokens: l.releasedTokens, cents: cents(l.releasedCost) },
  at: time(l.at),
})

export const conversation = (s: ConversationView & { readonly head?: string | null }) => ({
  id: s.id,
  agent: s.agent,
  user: s.user,
  subject: s.subject,
  state: s.state,
  version: s.version,
  generation: s.generation,
  active_runs: s.active.map((r) => ({ id: r.run, status: r.status, wait_reason: r.wait, phase: r.phase })),
  ...(s.head !== undefined && { last_message_id: s.head }),
  created_at: time(s.createdAt),
  closed_at: time(s.closedAt),
})

export const message = (m: MessageView) => ({
  id: m.id,
  run_id: m.run,
  parent_message_id: m.parent,
  role: m.role,
  text: m.text,
  parts: m.parts.map((p) => ({ type: p.kind, artifact_id: p.artifact, media_type: p.mediaType, bytes: p.bytes })),
  partial: m.partial,
  created_at: time(m.at),
})

export const submitted = (s: SubmitResult) => ({
  id: s.run,
  status: 'queued',
  conversation_id: s.session,
  conversation_version: s.sessionVersion,
  generation: s.generation,
  message_id: s.message,
})

export const confirmation = (c: ConfirmationView) => ({
  id: c.id,
  run_id: c.run,
  conversation_id: c.session,
  step: c.step,
  position: c.position,
  tool: c.tool,
  tool_version: c.toolVersion,
  level: c.level,
  status: c.status,
  version: c.version,
  summary: c.summary,
  params: JSON.parse(c.params) as unknown,
  /** Exactly what will be sent; `params_hash` covers these bytes, the tool, its version and the tenant. */
  params_text: c.params,
  params_hash: c.paramsHash,
  before: c.before,
  after: c.after,
  resource: c.resource,
  resource_version: c.resourceVersion,
  repeats: c.repeats,
  compensates: c.compensates && {
    idempotency_key: c.compensates.key,
    tool: c.compensates.tool,
    tool_version: c.compensates.version,
    params: c.compensates.input,
  },
  other_plans: c.others,
  confirmers: c.confirmers,
  decided_by: c.decidedBy,
  created_at: time(c.createdAt),
  expires_at: time(c.expiresAt),
})

/** Without its secret, which is shown once. */
export const endpoint = (e: Endpoint) => ({
  id: e.id,
  url: e.url,
  types: e.types,
  state: e.state,
  reason: e.reason,
  failures: e.failures,
  failing_since: time(e.failingSince),
  previous_secret_until: time(e.previousUntil),
  waiting_runs: e.waiting,
  created_at: time(e.createdAt),
})

export const deliveryAttempt = (a: DeliveryAttempt) => ({
  run_id: a.run,
  seq: a.seq,
  message_id: a.message,
  outcome: a.outcome,
  status: a.status,
  fault: a.fault,
  millis: a.millis,
  at: time(a.at),
})

/** The data of a stream event. A durable one has its id beside it; the others say after which one they belong. */
export function streamData(item: StreamItem): Readonly<Record<string, unknown>> {
  if (item.kind !== 'event') {
    const { kind: _, ...data } = item
    return data
  }
  const { kind: _, seq, at, type, body, text, partial } = item
  return { id: seq, type, at: time(at), ...body, ...(text !== undefined && { text }), ...(partial && { partial }) }
}
