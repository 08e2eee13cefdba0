/** A transition as the store takes it: flat names, sealed bodies in base64. Pure, given the sealer. */
import { hashBytes } from '../kernel/canonical.ts'
import { EVENTS } from '../kernel/events.ts'
import type { Json } from '../kernel/json.ts'
import type { ToolOutcome } from '../tool/contract.ts'
import type { Sealer } from '../db/seal.ts'
import type { Run, RunKey } from './state.ts'
import type { Moved, NewConfirmation, NewMessage, SettledCall } from './writes.ts'
import type { Call } from './state.ts'

export const keyOf = (key: RunKey): string => `${key.tenant}/${key.environment}/${key.run}`

/** No id holds a colon, so that a signal can never name a run. */
export const signalKey = (scope: Pick<RunKey, 'tenant' | 'environment'>, signal: string): string =>
  `${scope.tenant}/${scope.environment}/signal:${signal}`

/** What is answered lies in a run of its own: the batch names the effect, and nothing else of that run. */
export const answeredKey = (scope: Pick<RunKey, 'tenant' | 'environment'>, effect: string): string =>
  `${scope.tenant}/${scope.environment}/effect:${effect}`

/** Seals one value of a tenant: JSON text, sealed, in base64. */
export type Seal = (value: unknown) => string
export const sealWith =
  (sealer: Sealer, tenant: string): Seal =>
  (value) =>
    base64(sealer.seal(tenant, Buffer.from(JSON.stringify(value))))

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

export function encodeStep(before: Run, moved: Moved, seal: Seal): Readonly<Record<string, unknown>> {
  const { run, writes } = moved
  const { ledger } = writes
  return {
    tenant: run.key.tenant,
    environment: run.key.environment,
    run: run.key.run,
    epoch: before.epoch,
    version: before.version,
    from: before.status,
    to: run.status,
    wait: run.wait,
    phase: run.phase,
    step: run.step,
    attempts: run.attempts,
    due_ms: writes.dueMs,
    cancel: run.cancel,
    end_reason: run.end,
    message_seq: run.messageSeq,
    event_seq: run.eventSeq,
    tool_calls: ledger?.toolCalls ?? 0,
    kind: ledger?.kind ?? null,
    input_tokens: ledger?.inputTokens ?? 0,
    output_tokens: ledger?.outputTokens ?? 0,
    spent_cost: ledger?.cost ?? 0,
    known: ledger?.known ?? true,
    suspect: ledger?.suspect ?? false,
    reserved_tokens: ledger?.reserved.tokens ?? 0,
    reserved_cost: ledger?.reserved.cost ?? 0,
    released_tokens: ledger?.released.tokens ?? 0,
    released_cost: ledger?.released.cost ?? 0,
    integrity: run.integrity,
    confidentiality: run.confidentiality,
    watermark_from: run.watermarkFrom,
    messages: writes.messages.map((m) => message(m, seal)),
    effects: writes.intents.map((c) => effect(run.step, c, seal)),
    settled: writes.settled.map((s) => settled(s, seal)),
    waiting: writes.waiting,
    listens: listens(moved),
    confirmations: writes.confirmations.map((c) => confirmation(run.step, c, seal)),
    closed: writes.closed,
    events: writes.events.map((e) => ({
      seq: e.seq,
      type: e.type,
      visibility: EVENTS[e.type].visibility,
      body: seal(e.body),
    })),
  }
}

/** The signals that end the sleep of the run at once, when they are there already. */
function listens({ run, writes }: Moved): readonly string[] {
  const deaf = new Set(writes.waiting.flatMap((w) => (w.again ? [w.position] : [])))
  return run.calls.flatMap((c) =>
    c.status === 'waiting' && c.wait?.signal && !deaf.has(c.position) ? [c.wait.signal] : [],
  )
}

/** What the hash of a message covers; a mismatch on load is a fault (C5). */
export const hashBody = (body: unknown): string => hashBytes(JSON.stringify(body))

function message(m: NewMessage, seal: Seal) {
  return {
    seq: m.seq,
    step: m.step,
    position: m.position,
    role: m.body.role,
    body: seal(m.body),
    hash: hashBody(m.body),
    visibility: m.visibility,
    integrity: m.integrity,
    confidentiality: m.confidentiality,
    origin: m.origin,
    partial: m.partial,
    tokens: m.tokens,
  }
}

function effect(step: number, c: Call, seal: Seal) {
  return {
    step,
    position: c.position,
    call_id: c.callId,
    tool: c.tool,
    tool_version: c.toolVersion,
    level: c.level,
    approval: c.approval,
    arguments: seal({ raw: c.raw, canonical: c.canonical, exposedName: c.exposedName }),
    arguments_hash: c.argumentsHash,
    fingerprint: c.fingerprint,
    key: c.key,
    status: c.status,
    ...(c.compensates && { compensates: c.compensates.key, compensated_tool: c.compensates.tool }),
    ...outcome(c.outcome, seal),
  }
}

const settled = (s: SettledCall, seal: Seal) => ({
  position: s.position,
  status: s.status,
  ...outcome(s.outcome, seal),
})

function outcome(o: ToolOutcome | null, seal: Seal) {
  if (!o) return {}
  return {
    outcome: o.ok ? 'ok' : 'error',
    error_code: o.ok ? null : o.error.code,
    result: seal(o),
    result_hash: hashBody(o),
  }
}

function confirmation(step: number, c: NewConfirmation, seal: Seal) {
  const { plan } = c
  const shown: Json = {
    canonical: c.call.canonical,
    summary: plan.summary,
    before: plan.before ?? null,
    after: plan.after ?? null,
    repeats: c.repeats,
    compensates: c.answers && {
      key: c.answers.key,
      tool: c.answers.tool,
      version: c.answers.version,
      input: c.answers.input,
    },
  }
  return {
    id: c.id,
    step,
    position: c.position,
    tool: c.call.tool,
    tool_version: c.call.toolVersion,
    params_hash: c.call.argumentsHash,
    resource: plan.resource ?? null,
    resource_version: c.resourceVersion,
    plan: seal(shown),
    level: c.level,
    confirmers: c.confirmers,
    nonce: c.nonce,
    open_ms: c.openMs,
  }
}
