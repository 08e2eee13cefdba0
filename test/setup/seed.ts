/** Rows and payloads for tests of the store: everything has a plain default, a test names only what it is about. */
import type { Db } from '../../src/db/port.ts'
import { start as startStatement } from '../../src/journal/effect.sql.ts'
import { decide as decideStatement } from '../../src/gate/confirmation.sql.ts'
import {
  cancel as cancelStatement,
  step,
  submit as submitStatement,
  tell as tellStatement,
} from '../../src/run/run.sql.ts'
import type { TestStore } from './engines.ts'
import { insert, ms, pictureOf, rowsWhere } from './rows.ts'

export interface Key {
  readonly tenant: string
  readonly environment: string
  readonly run: string
}
type Fields = Readonly<Record<string, unknown>>

export { insert, ms } from './rows.ts'

let made = 0
export const unique = (prefix: string): string => `${prefix}_${++made}`
export const keyText = (key: Key): string => `${key.tenant}/${key.environment}/${key.run}`
export const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** A worker with a live lease, or with one that ended `leaseMs` ago. */
export async function seedWorker(store: TestStore, id = unique('wrk'), leaseMs = 600_000): Promise<string> {
  await insert(store, 'worker', { id, host: 'here', pid: 1, lease_until: ms(leaseMs) })
  return id
}

export const VERSION = 7
export const EPOCH = 3

/** A run with its session, at VERSION and EPOCH, driven by a live worker unless its status says that nobody drives it. */
export async function seedRun(store: TestStore, over: Fields = {}): Promise<Key & { worker: string; session: string }> {
  const driven = (over.status ?? 'running') === 'running'
  const session = (over.session_id as string | undefined) ?? unique('ses')
  const owner = { tenant_id: 'acme', environment: 'production', user_id: 'ann', subject_id: 'ann' }
  const run = {
    ...owner,
    id: unique('run'),
    session_id: session,
    generation: 1,
    agent: 'support',
    release: 'r1',
    status: 'running',
    worker_id: driven ? ((over.worker_id as string | undefined) ?? (await seedWorker(store))) : null,
    epoch: EPOCH,
    version: VERSION,
    event_seq: 1,
    message_seq: 1,
    deadline_at: ms(600_000),
    due_at: ms(-1000),
    progress_at: ms(0),
    progress_ms: 600_000,
    max_steps: 8,
    max_tool_calls: 4,
    max_tokens: 1000,
    max_cost: 1000,
    max_attempts: 3,
    ...over,
  }
  if (over.session_id === undefined) {
    await insert(store, 'session', {
      tenant_id: run.tenant_id,
      environment: run.environment,
      id: session,
      user_id: run.user_id,
      subject_id: run.subject_id,
      agent: run.agent,
      version: 2,
      generation: 1,
    })
  }
  await insert(store, 'run', run)
  return { tenant: run.tenant_id, environment: run.environment, run: run.id, worker: run.worker_id ?? '', session }
}

const placeOf = (key: Key) => ({
  tenant_id: key.tenant,
  environment: key.environment,
  run_id: key.run,
  session_id: 'ses',
  user_id: 'ann',
  subject_id: 'ann',
  step: 1,
  position: 0,
})

/** An irreversible call of step 1 that needs a confirmation. */
export const seedEffect = (store: TestStore, key: Key, over: Fields = {}) =>
  insert(store, 'effect', {
    ...placeOf(key),
    call_id: 'call',
    tool: 'orders.refund',
    tool_version: 1,
    level: 'irreversible',
    approval: 'confirm',
    arguments: Buffer.from('{}'),
    arguments_hash: 'hash',
    fingerprint: 'print',
    idempotency_key: unique('key'),
    status: 'intended',
    ...over,
  })

export async function seedConfirmation(store: TestStore, key: Key, over: Fields = {}): Promise<string> {
  const id = unique('cnf')
  await insert(store, 'confirmation', {
    ...placeOf(key),
    id,
    generation: 1,
    tool: 'orders.refund',
    tool_version: 1,
    params_hash: 'hash',
    resource: 'order/1',
    resource_version: 'v1',
    plan: Buffer.from('{}'),
    level: 'confirm',
    confirmers: ['ann', 'bob'],
    nonce: unique('nonce'),
    expires_at: ms(600_000),
    ...over,
  })
  return id
}

/** A commit that says something, intends a read, spends and tells: children in four tables, unless it is refused. */
export const transition = (key: Key, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  run: key.run,
  epoch: EPOCH,
  version: VERSION,
  from: 'running',
  to: 'running',
  wait: null,
  phase: 'tool_running',
  step: 1,
  attempts: 0,
  due_ms: null,
  cancel: null,
  end_reason: null,
  message_seq: 2,
  event_seq: 2,
  tool_calls: 1,
  kind: 'model',
  input_tokens: 10,
  output_tokens: 5,
  spent_cost: 15,
  known: true,
  suspect: false,
  reserved_tokens: 0,
  reserved_cost: 0,
  released_tokens: 0,
  released_cost: 0,
  integrity: 'user',
  confidentiality: 'public',
  watermark_from: null,
  messages: [
    {
      seq: 2,
      step: 1,
      position: null,
      role: 'assistant',
      body: base64('said'),
      hash: 'h',
      visibility: 'user',
      integrity: 'user',
      confidentiality: 'public',
      origin: { kind: 'model' },
      partial: false,
      tokens: 5,
    },
  ],
  effects: [
    {
      step: 1,
      position: 0,
      call_id: 'c',
      tool: 'orders.get',
      tool_version: 1,
      level: 'read',
      approval: 'auto',
      arguments: base64('{}'),
      arguments_hash: 'h',
      fingerprint: 'f',
      key: 'k',
      status: 'intended',
    },
  ],
  settled: [],
  confirmations: [],
  closed: [],
  events: [{ seq: 2, type: 'model_answered', visibility: 'user', body: base64('{}') }],
  ...over,
})

interface Sent {
  /** What the caller's evidence names; by default what the rows name. */
  readonly keys?: readonly string[] | null
  readonly worker?: string
}
const keysOf = (rows: readonly Fields[], sent: Sent) =>
  (sent.keys === undefined ? rows.map((r) => keyText(r as unknown as Key)) : sent.keys) as readonly string[]

/** The ordinals that were applied. */
export async function commit(db: Db, rows: readonly Fields[], sent: Sent): Promise<number[]> {
  const params = { transitions: JSON.stringify(rows), keys: keysOf(rows, sent), worker: sent.worker ?? '' }
  return (await db.call(step, params)).map((row) => row.n).sort((a, b) => a - b)
}

/** COMMIT S of the call that `seedEffect` made. */
export const starting = (key: Key, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  run: key.run,
  epoch: EPOCH,
  version: VERSION,
  step: 1,
  position: 0,
  arguments_hash: 'hash',
  confirmation: null,
  resource_version: 'v1',
  again: false,
  event: base64('{}'),
  ...over,
})

export const start = (db: Db, rows: readonly Fields[], sent: Sent) =>
  db.call(startStatement, { starts: JSON.stringify(rows), keys: keysOf(rows, sent), worker: sent.worker ?? '' })

/** What `signal` is told, in the form of the store. */
export const telling = (key: Pick<Key, 'tenant' | 'environment'>, signal: string, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  signal,
  body: base64('"news"'),
  hash: 'h1',
  ...over,
})

export async function tell(db: Db, rows: readonly ReturnType<typeof telling>[], sent: Sent = {}) {
  const keys = rows.map((r) => `${r.tenant}/${r.environment}/signal:${r.signal}`)
  const done = await db.call(tellStatement, { told: JSON.stringify(rows), keys: sent.keys ?? keys })
  return done.sort((a, b) => a.n - b.n).map((row) => row.outcome)
}

export const decision = (key: Key, confirmation: string, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  run: key.run,
  confirmation,
  version: 1,
  params_hash: 'hash',
  actor: 'ann',
  actor_kind: 'end_user',
  approve: true,
  execute_ms: 60_000,
  audit: unique('aud'),
  reason: null,
  event: base64('{}'),
  ...over,
})

export const decide = (db: Db, rows: readonly Fields[], sent: Sent = {}) =>
  db.call(decideStatement, { decisions: JSON.stringify(rows), keys: keysOf(rows, sent) })

export const cancel = (db: Db, rows: readonly Fields[], sent: Sent = {}) =>
  db.call(cancelStatement, { cancels: JSON.stringify(rows), keys: keysOf(rows, sent) })

export const submission = (key: Key, session: string, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  session,
  session_version: null,
  user_id: 'ann',
  subject: 'ann',
  permissions: [],
  agent: 'support',
  release: 'r1',
  run: key.run,
  parent_run: null,
  parent_message: null,
  max_steps: 8,
  max_tool_calls: 4,
  max_tokens: 1000,
  max_cost: 1000,
  max_attempts: 3,
  deadline_ms: 600_000,
  progress_ms: 600_000,
  reserved_tokens: 10,
  reserved_cost: 10,
  body: base64('hello'),
  hash: 'h',
  tokens: 2,
  replaced: [],
  event: base64('{}'),
  response: null,
  status: null,
  ...over,
})

/** The outcomes in order; the keys are the runs, the sessions and the replaced runs of the rows. */
export async function submit(db: Db, rows: readonly ReturnType<typeof submission>[], sent: Sent = {}) {
  const keys = rows.flatMap((r) =>
    [r.run, r.session, ...(r.replaced as string[])].map((id) => `${r.tenant}/${r.environment}/${id}`),
  )
  const params = { submissions: JSON.stringify(rows), keys: sent.keys ?? keys }
  return (await db.call(submitStatement, params)).sort((a, b) => a.n - b.n)
}

export const TENANT_TABLES = [
  'artifact',
  'audit',
  'confirmation',
  'consent',
  'deletion',
  'deletion_part',
  'delivery',
  'delivery_attempt',
  'delta',
  'effect',
  'endpoint',
  'errand',
  'event',
  'idempotency',
  'ledger',
  'legal_hold',
  'member',
  'memory',
  'memory_candidate',
  'memory_entry',
  'memory_source',
  'memory_term',
  'memory_use',
  'memory_vector',
  'memory_version',
  'message',
  'procedure',
  'retention',
  'run',
  'session',
  'signal',
  'summary',
  'tenant_key',
  'tombstone',
  'tool_calls',
] as const

/** Every row of every tenant: what a refusal must leave as it was. */
export const picture = (store: TestStore): Promise<Record<string, unknown>> => pictureOf(store, TENANT_TABLES)

export async function runOf(store: TestStore, key: Key): Promise<Record<string, unknown>> {
  const [row] = await rowsWhere(store, 'run', { tenant_id: key.tenant, id: key.run })
  return row ?? {}
}
