/** A transition as the store takes it: flat names, sealed bodies in base64. Pure, given the sealer. */
import { hashBytes } from '../kernel/canonical.ts'
import { EVENTS } from '../kernel/events.ts'
import type { Json } from '../kernel/json.ts'
import type { ToolOutcome } from '../tool/contract.ts'
import type { ContentKeys } from '../db/seal.ts'
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

/** How content of one tenant is stored. */
export interface Cover {
  /** A value: JSON text, sealed, in base64. */
  readonly seal: (value: unknown) => string
  /** A text that the store compares. */
  readonly veil: (text: string) => string
}
export const coverOf = (keys: ContentKeys, tenant: string): Cover => ({
  seal: (value) => base64(keys.seal(tenant, Buffer.from(JSON.stringify(value)))),
  veil: (text) => keys.veil(tenant, text),
})

/** The same for what may be absent. */
export const veiled = ({ veil }: Pick<Cover, 'veil'>, text: string | null | undefined): string | null =>
  text === null || text === undefined ? null : veil(text)

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

export function encodeStep(before: Run, moved: Moved, cover: Cover): Readonly<Record<string, unknown>> {
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
    messages: writes.messages.map((m) => message(m, cover)),
    effects: writes.intents.map((c) => effect(run.step, c, cover)),
    settled: writes.settled.map((s) => settled(s, cover)),
    waiting: writes.waiting.map((w) => ({ ...w, signal: veiled(cover, w.signal) })),
    listens: listens(moved).map((signal) => cover.veil(signal)),
    confirmations: writes.confirmations.map((c) => confirmation(run.step, c, cover)),
    closed: writes.closed,
    events: writes.events.map((e) => ({
      seq: e.seq,
      type: e.type,
      visibility: EVENTS[e.type].visibility,
      body: cover.seal(e.body),
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

function message(m: NewMessage, { seal, veil }: Cover) {
  return {
    seq: m.seq,
    step: m.step,
    position: m.position,
    role: m.body.role,
    body: seal(m.body),
    hash: veil(hashBody(m.body)),
    visibility: m.visibility,
    integrity: m.integrity,
    confidentiality: m.confidentiality,
    origin: m.origin,
    partial: m.partial,
    tokens: m.tokens,
  }
}

function effect(step: number, c: Call, cover: Cover) {
  return {
    step,
    position: c.position,
    call_id: c.callId,
    tool: c.tool,
    tool_version: c.toolVersion,
    level: c.level,
    approval: c.approval,
    arguments: cover.seal({ raw: c.raw, canonical: c.canonical, exposedName: c.exposedName }),
    arguments_hash: cover.veil(c.argumentsHash),
    fingerprint: cover.veil(c.fingerprint),
    key: c.key,
    status: c.status,
    ...(c.compensates && { compensates: c.compensates.key, compensated_tool: c.compensates.tool }),
    ...outcome(c.outcome, cover),
  }
}

const settled = (s: SettledCall, cover: Cover) => ({
  position: s.position,
  status: s.status,
  ...outcome(s.outcome, cover),
})

function outcome(o: ToolOutcome | null, { seal, veil }: Cover) {
  if (!o) return {}
  return {
    outcome: o.ok ? 'ok' : 'error',
    error_code: o.ok ? null : o.error.code,
    result: seal(o),
    result_hash: veil(hashBody(o)),
  }
}

function confirmation(step: number, c: NewConfirmation, cover: Cover) {
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
    params_hash: cover.veil(c.call.argumentsHash),
    resource: veiled(cover, plan.resource),
    resource_version: veiled(cover, c.resourceVersion),
    plan: cover.seal(shown),
    level: c.level,
    confirmers: c.confirmers,
    nonce: c.nonce,
    open_ms: c.openMs,
  }
}
