/**
 * The rows of the memory store, with the names of the columns of `migrations/0001_runs.sql`. Times are milliseconds on the
 * store's clock, `Infinity` where SQL says so; bytes are base64 text, as the transitions carry them.
 */
export interface Owner {
  tenant_id: string
  environment: string
}

export interface WorkerRow {
  id: string
  host: string
  pid: number
  started_at: number
  lease_until: number
}

export interface SessionRow extends Owner {
  id: string
  user_id: string
  subject_id: string
  agent: string
  version: number
  generation: number
  closed_at: number | null
  created_at: number
}

export interface RunRow extends Owner {
  id: string
  session_id: string
  branch: string
  generation: number
  user_id: string
  subject_id: string
  permissions: readonly string[]
  agent: string
  release: string
  state_version: number
  parent_run_id: string | null
  status: string
  wait_reason: string | null
  phase: string
  step: number
  version: number
  event_seq: number
  message_seq: number
  commits: number
  worker_id: string | null
  epoch: number
  attempts: number
  due_at: number
  progress_at: number | null
  progress_ms: number
  followed_until: number | null
  parks_alone: boolean
  procedures: readonly string[]
  deadline_at: number
  max_steps: number
  max_tool_calls: number
  max_tokens: number
  max_cost: number
  max_attempts: number
  used_tool_calls: number
  used_tokens: number
  used_cost: number
  reserved_tokens: number
  reserved_cost: number
  cancel_cause: string | null
  integrity: string
  confidentiality: string
  watermark_from: string | null
  end_reason: string | null
  created_at: number
  started_at: number | null
  ended_at: number | null
}

interface OfRun extends Owner {
  run_id: string
}
interface OfSession extends OfRun {
  session_id: string
  user_id: string
  subject_id: string
}

export interface MessageRow extends OfSession {
  seq: number
  step: number
  position: number | null
  role: string
  parent_message: string | null
  body: string
  content_hash: string
  visibility: string
  integrity: string
  confidentiality: string
  origin: unknown
  partial: boolean
  tokens: number
  created_at: number
}

export interface EffectRow extends OfSession {
  step: number
  position: number
  kind: string
  call_id: string
  tool: string
  tool_version: number
  level: string
  approval: string
  arguments: string
  arguments_hash: string
  fingerprint: string
  idempotency_key: string
  status: string
  outcome: string | null
  error_code: string | null
  result: string | null
  result_hash: string | null
  attempt: number
  again: boolean
  compensates: string | null
  wait_signal: string | null
  wait_until: number | null
  waits: number
  created_at: number
  started_at: number | null
  settled_at: number | null
}

export interface ConfirmationRow extends OfSession {
  id: string
  step: number
  position: number
  generation: number
  tool: string
  tool_version: number
  params_hash: string
  resource: string | null
  resource_version: string | null
  plan: string
  level: string
  confirmers: readonly string[]
  nonce: string
  status: string
  version: number
  expires_at: number
  execute_by: number | null
  decided_by: string | null
  decided_at: number | null
  consumed_at: number | null
  created_at: number
}

export interface LedgerRow extends OfRun {
  seq: number
  level: string
  parent_run_id: string | null
  step: number
  kind: string
  input_tokens: number
  output_tokens: number
  spent_cost: number
  tool_calls: number
  known: boolean
  suspect: boolean
  reserved_tokens: number
  reserved_cost: number
  released_tokens: number
  released_cost: number
  created_at: number
}

export interface EventRow extends OfRun {
  seq: number
  type: string
  visibility: string
  body: string
  created_at: number
}

export interface DeltaRow extends OfRun {
  seq: number
  generation: number
  step: number
  attempt: number
  body: string
  created_at: number
}

export interface IdempotencyRow extends OfRun {
  caller: string
  key: string
  operation: string
  body_hash: string
  status: number | null
  response: string | null
  created_at: number
  expires_at: number
}

export interface SignalRow extends Owner {
  key: string
  waiters: readonly string[]
  body: string | null
  body_hash: string | null
  created_at: number
  told_at: number | null
}

export interface SinkRow {
  name: string
  starts_at: number
  seen_at: number
}

export interface DeliveryRow extends OfRun {
  endpoint_id: string
  sent: number
  head: number
  attempt: number
  due_at: number
  worker_id: string | null
  epoch: number
}

export interface ToolCallsRow extends Owner {
  tool: string
  starts: readonly number[]
}

export interface RetentionRow extends Owner {
  class: string
  days: number | null
  after_at: number
  after_run: string
  kept_at: number | null
  swept_at: number
}

export interface AuditRow extends Owner {
  id: string
  run_id: string | null
  actor_kind: string
  actor: string
  action: string
  target: string
  outcome: string
  reason: string | null
  created_at: number
}

export interface Rows {
  worker: WorkerRow
  session: SessionRow
  run: RunRow
  message: MessageRow
  effect: EffectRow
  confirmation: ConfirmationRow
  ledger: LedgerRow
  event: EventRow
  delta: DeltaRow
  idempotency: IdempotencyRow
  signal: SignalRow
  sink: SinkRow
  delivery: DeliveryRow
  tool_calls: ToolCallsRow
  retention: RetentionRow
  audit: AuditRow
}

export type TableName = keyof Rows

/** What a column holds when an INSERT does not name it; `created_at` is the store's now, everything else null. */
export const DEFAULTS: { readonly [T in TableName]: Partial<Rows[T]> } = {
  worker: {},
  session: { version: 1, generation: 0, closed_at: null },
  run: {
    branch: 'main',
    permissions: [],
    state_version: 1,
    parent_run_id: null,
    wait_reason: null,
    phase: 'planning',
    step: 0,
    version: 1,
    event_seq: 0,
    message_seq: 0,
    commits: 0,
    worker_id: null,
    epoch: 0,
    attempts: 0,
    progress_at: null,
    followed_until: null,
    parks_alone: false,
    procedures: [],
    used_tool_calls: 0,
    used_tokens: 0,
    used_cost: 0,
    reserved_tokens: 0,
    reserved_cost: 0,
    cancel_cause: null,
    integrity: 'user',
    confidentiality: 'public',
    watermark_from: null,
    end_reason: null,
    started_at: null,
    ended_at: null,
  },
  message: { position: null, parent_message: null, partial: false },
  effect: {
    kind: 'tool',
    outcome: null,
    error_code: null,
    result: null,
    result_hash: null,
    attempt: 0,
    again: false,
    compensates: null,
    wait_signal: null,
    wait_until: null,
    waits: 0,
    started_at: null,
    settled_at: null,
  },
  confirmation: {
    resource: null,
    resource_version: null,
    status: 'pending',
    version: 1,
    execute_by: null,
    decided_by: null,
    decided_at: null,
    consumed_at: null,
  },
  ledger: {
    level: 'run',
    parent_run_id: null,
    input_tokens: 0,
    output_tokens: 0,
    spent_cost: 0,
    tool_calls: 0,
    known: true,
    suspect: false,
    reserved_tokens: 0,
    reserved_cost: 0,
    released_tokens: 0,
    released_cost: 0,
  },
  event: {},
  delta: {},
  idempotency: { status: null, response: null },
  signal: { waiters: [], body: null, body_hash: null, told_at: null },
  sink: {},
  delivery: { attempt: 0, worker_id: null, epoch: 0 },
  tool_calls: {},
  retention: {
    after_at: Number.NEGATIVE_INFINITY,
    after_run: '',
    kept_at: null,
    swept_at: Number.NEGATIVE_INFINITY,
  },
  audit: { run_id: null, reason: null },
}
