/**
 * Each guard of a transition alone, as a probe: everything else about the call is in order, so only this guard can
 * refuse it, and a refusal leaves every row of every table as it was. The mutation suite runs the same probes on
 * damaged functions, where one of them must fail.
 */
import { expect } from 'vitest'
import { dropWorkSession } from '../../src/run/errand.sql.ts'
import { openSession } from '../../src/run/run.sql.ts'
import { closeSession } from '../../src/session/session.sql.ts'
import type { TestStore } from './engines.ts'
import { change, rowsWhere } from './rows.ts'
import {
  cancel,
  commit,
  EPOCH,
  insert,
  keyText,
  ms,
  picture,
  runOf,
  seedConfirmation,
  seedEffect,
  seedRun,
  seedWorker,
  submission,
  submit,
  transition,
  unique,
  VERSION,
} from './seed.ts'

type Fields = Readonly<Record<string, unknown>>
export interface Guard {
  readonly name: string
  readonly run: (store: TestStore) => Promise<void>
}

export const guard = (name: string, run: Guard['run']): Guard => ({ name, run })

export async function unchanged(store: TestStore, work: () => Promise<void>): Promise<void> {
  const before = await picture(store)
  await work()
  expect(await picture(store)).toEqual(before)
}

// ── commits ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Refusal {
  readonly run?: Fields
  readonly sent?: Fields
  readonly worker?: string
}

/** The row and the evidence name the same run, so the policy lets it through: the guard has to refuse it. */
const refusesCommit = (name: string, { run, sent, worker }: Refusal): Guard =>
  guard(name, async (store) => {
    const key = await seedRun(store, run)
    await unchanged(store, async () => {
      expect(await commit(store.db, [transition(key, sent)], { worker: worker ?? key.worker })).toEqual([])
    })
  })

export const WAITING = {
  status: 'waiting_confirmation',
  wait_reason: 'confirmation',
  worker_id: null,
  due_at: ms(60_000),
}
export const QUEUED = { status: 'queued', worker_id: null }
const FULL = { max_tokens: 100, used_tokens: 40, reserved_tokens: 20, max_cost: 100, used_cost: 40, reserved_cost: 20 }
// 40 used + 15 now + 20 held - 20 released = 55: 45 are left
const RELEASE = { released_tokens: 20, released_cost: 20 }

export const COMMIT_STATE: readonly Guard[] = [
  refusesCommit('an older version', { sent: { version: VERSION - 1 } }),
  refusesCommit('a version not reached yet', { sent: { version: VERSION + 1 } }),
  refusesCommit('a run back in the queue', { run: QUEUED }),
  refusesCommit('a driven run, by somebody who believes it idle', {
    sent: { from: 'queued', to: 'queued' },
    worker: '',
  }),
  refusesCommit('a finished run', {
    run: { status: 'succeeded', worker_id: null, end_reason: 'completed' },
    sent: { from: 'succeeded', to: 'queued' },
  }),
  guard('an honest commit writes the run and all its children, once', async (store) => {
    const key = await seedRun(store)
    const settled = [{ step: 1, position: 3, status: 'settled', outcome: 'error', error_code: 'tool_failed' }]
    await seedEffect(store, key, { position: 3 })
    const sent = transition(key, { settled, step: 8, tool_calls: 4 })
    expect(await commit(store.db, [sent], { worker: key.worker })).toEqual([1])
    const count = (table: string) => rowsWhere(store, table, { run_id: key.run }).then((rows) => rows.length)
    expect(await Promise.all(['message', 'effect', 'ledger', 'event'].map(count))).toEqual([1, 2, 1, 1])
    expect(await runOf(store, key)).toMatchObject({
      version: VERSION + 1,
      commits: 1,
      used_tokens: 15,
      used_cost: 15,
      used_tool_calls: 4,
      step: 8,
      epoch: EPOCH,
    })
    await unchanged(store, async () => {
      expect(await commit(store.db, [sent], { worker: key.worker })).toEqual([])
    })
  }),
  guard('a commit is progress: a run that gets on is not taken for hung', async (store) => {
    const key = await seedRun(store, { progress_at: ms(-2_000), progress_ms: 60_000 })
    const before = Number((await runOf(store, key)).progress_at)
    expect(await commit(store.db, [transition(key)], { worker: key.worker })).toEqual([1])
    expect(Number((await runOf(store, key)).progress_at)).toBeGreaterThan(before + 1_000)
  }),
  guard('a result that is stored is not replaced', async (store) => {
    const key = await seedRun(store)
    await seedEffect(store, key, { status: 'settled', outcome: 'error', error_code: 'first' })
    const settled = [{ step: 1, position: 0, status: 'settled', outcome: 'error', error_code: 'second' }]
    await commit(store.db, [transition(key, { effects: [], settled })], { worker: key.worker })
    expect(await rowsWhere(store, 'effect', { run_id: key.run })).toMatchObject([{ error_code: 'first' }])
  }),
  guard('a result settles the call of its own step', async (store) => {
    const key = await seedRun(store)
    for (const step of [1, 2]) await seedEffect(store, key, { step })
    const settled = [{ step: 1, position: 0, status: 'settled', outcome: 'error', error_code: 'tool_failed' }]
    await commit(store.db, [transition(key, { effects: [], settled })], { worker: key.worker })
    for (const [step, status] of [
      [1, 'settled'],
      [2, 'intended'],
    ] as const)
      expect(await rowsWhere(store, 'effect', { run_id: key.run, step })).toMatchObject([{ status }])
  }),
  guard('a confirmation that has its outcome keeps it', async (store) => {
    const key = await seedRun(store)
    for (const status of ['consumed', 'rejected', 'expired']) {
      const id = await seedConfirmation(store, key, { status })
      const sent = { effects: [], messages: [], events: [], closed: [{ id, status: 'superseded' }] }
      const { version } = await runOf(store, key)
      await commit(store.db, [transition(key, { ...sent, version })], { worker: key.worker })
      expect(await rowsWhere(store, 'confirmation', { id })).toMatchObject([{ status }])
    }
  }),
  guard('a cancel mark stays until the run ends', async (store) => {
    for (const later of [null, 'superseded']) {
      const key = await seedRun(store, { cancel_cause: 'user' })
      expect(await commit(store.db, [transition(key, { cancel: later })], { worker: key.worker })).toEqual([1])
      expect(await runOf(store, key)).toMatchObject({ cancel_cause: 'user' })
    }
  }),
]

export const COMMIT_LEASE: readonly Guard[] = [
  refusesCommit('the epoch of an earlier claim', { sent: { epoch: EPOCH - 1 } }),
  refusesCommit('the epoch of nobody', { sent: { epoch: null } }),
  refusesCommit('another worker', { worker: 'wrk_zombie' }),
  refusesCommit('no worker', { worker: '' }),
]

export const COMMIT_BUDGET: readonly Guard[] = [
  refusesCommit('a step beyond the limit', { sent: { step: 9 } }),
  refusesCommit('a tool call beyond the limit', { run: { used_tool_calls: 3 }, sent: { tool_calls: 2 } }),
  refusesCommit('a token beyond the limit', { run: FULL, sent: { ...RELEASE, reserved_tokens: 46 } }),
  refusesCommit('a micro-cent beyond the limit', { run: FULL, sent: { ...RELEASE, reserved_cost: 46 } }),
  refusesCommit('tokens that another reservation holds', { run: FULL, sent: { reserved_tokens: 26 } }),
  refusesCommit('money that another reservation holds', { run: FULL, sent: { reserved_cost: 26 } }),
  guard('what fits exactly is reserved', async (store) => {
    const key = await seedRun(store, FULL)
    const sent = transition(key, { ...RELEASE, reserved_tokens: 45, reserved_cost: 45 })
    expect(await commit(store.db, [sent], { worker: key.worker })).toEqual([1])
    expect(await runOf(store, key)).toMatchObject({ used_tokens: 55, reserved_tokens: 45, reserved_cost: 45 })
  }),
  guard('what was spent beyond the limit is booked all the same, when nothing more is reserved', async (store) => {
    const key = await seedRun(store, FULL)
    const sent = transition(key, { ...RELEASE, input_tokens: 500, spent_cost: 500 })
    expect(await commit(store.db, [sent], { worker: key.worker })).toEqual([1])
    expect(await runOf(store, key)).toMatchObject({ used_tokens: 545, used_cost: 540, reserved_tokens: 0 })
  }),
]

// ── commits across walls ────────────────────────────────────────────────────────────────────────────────────────────

export const COMMIT_WALL: readonly Guard[] = [
  guard('of five rows, only those that name their own run', async (store) => {
    const worker = await seedWorker(store)
    const [a, a2, b, c] = [
      await seedRun(store, { worker_id: worker }),
      await seedRun(store, { worker_id: worker }),
      await seedRun(store, { worker_id: worker, tenant_id: 'birch' }),
      await seedRun(store, { worker_id: worker, tenant_id: 'cedar' }),
    ]
    const rows = [a, { ...b, tenant: 'acme' }, { ...a2, tenant: 'birch' }, { ...b, tenant: 'nobody' }, c].map((key) =>
      transition(key),
    )
    expect(await commit(store.db, rows, { worker })).toEqual([1, 5])
    for (const other of [b, a2]) expect(await runOf(store, other)).toMatchObject({ version: VERSION, event_seq: 1 })
    for (const run_id of [b.run, a2.run]) expect(await rowsWhere(store, 'message', { run_id })).toEqual([])
  }),
  guard('a run of another tenant whose own row travels along', async (store) => {
    const worker = await seedWorker(store)
    const b = await seedRun(store, { worker_id: worker, tenant_id: 'birch' })
    // the honest row of birch is out of date, so whatever moved the run was the row of acme
    const rows = [transition({ ...b, tenant: 'acme' }), transition(b, { version: VERSION - 1 })]
    await unchanged(store, async () => {
      expect(await commit(store.db, rows, { worker })).toEqual([])
    })
  }),
  guard('a run of another environment whose own row travels along', async (store) => {
    const worker = await seedWorker(store)
    const b = await seedRun(store, { worker_id: worker })
    const rows = [transition({ ...b, environment: 'test' }), transition(b, { version: VERSION - 1 })]
    await unchanged(store, async () => {
      expect(await commit(store.db, rows, { worker })).toEqual([])
    })
  }),
  guard('keys that name one run admit no other, and no keys admit none', async (store) => {
    const worker = await seedWorker(store)
    const a = await seedRun(store, { worker_id: worker })
    const b = await seedRun(store, { worker_id: worker, tenant_id: 'birch' })
    const keys = [keyText(a)]
    await unchanged(store, async () => {
      for (const none of [[], null, [''], ['acme/production/'], ['%'], [keyText(a).toUpperCase()]])
        expect(await commit(store.db, [transition(a), transition(b)], { worker, keys: none })).toEqual([])
      expect(await commit(store.db, [transition(b)], { worker, keys })).toEqual([])
    })
    expect(await commit(store.db, [transition(a), transition(b)], { worker, keys })).toEqual([1])
  }),
  guard('names with comma, quote, brace and blank are names, not syntax', async (store) => {
    const key = await seedRun(store, { tenant_id: 'birch' })
    const names = [`a","${key.run}`, '}', '{', "x'y", 'NULL', 'birch"', 'birch ', 'birch,acme', 'birch/production']
    await unchanged(store, async () => {
      for (const tenant of names)
        expect(await commit(store.db, [transition({ ...key, tenant })], { worker: key.worker })).toEqual([])
      const keys = names.map((name) => `${name}/production/${key.run}`)
      expect(await commit(store.db, [transition(key)], { worker: key.worker, keys })).toEqual([])
    })
  }),
]

// ── cancel ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const canceling = (key: Awaited<ReturnType<typeof seedRun>>, over: Fields = {}) => ({
  tenant: key.tenant,
  environment: key.environment,
  run: key.run,
  version: VERSION,
  cause: 'user',
  event: Buffer.from('{}').toString('base64'),
  ...over,
})

const refusesCancel = (name: string, run: Fields, sent: Fields = {}): Guard =>
  guard(name, async (store) => {
    const key = await seedRun(store, run)
    await unchanged(store, async () => {
      expect(await cancel(store.db, [canceling(key, sent)])).toEqual([])
    })
  })

export const CANCEL: readonly Guard[] = [
  refusesCancel('a stale stop', {}, { version: VERSION - 1 }),
  refusesCancel('a run that nobody drives', QUEUED),
  refusesCancel('a run that is canceled already', { cancel_cause: 'superseded' }),
  refusesCancel('another tenant', {}, { tenant: 'birch' }),
  refusesCancel('another environment', {}, { environment: 'test' }),
  guard('a stop marks the run and tells it, and leaves it to its worker', async (store) => {
    const key = await seedRun(store)
    expect(await cancel(store.db, [canceling(key)])).toEqual([{ n: 1, version: VERSION + 1 }])
    expect(await runOf(store, key)).toMatchObject({ status: 'running', cancel_cause: 'user', event_seq: 2 })
    const told = await rowsWhere(store, 'event', { run_id: key.run })
    expect(told).toMatchObject([{ type: 'cancel_requested', seq: 2 }])
  }),
]

// ── submissions ─────────────────────────────────────────────────────────────────────────────────────────────────────

const newKey = (tenant = 'acme', environment = 'production') => ({ tenant, environment, run: unique('run') })

async function refusesSubmission(store: TestStore, outcome: string, session: string, over: Fields): Promise<void> {
  const key = newKey(
    (over.tenant as string | undefined) ?? 'acme',
    (over.environment as string | undefined) ?? 'production',
  )
  await unchanged(store, async () => {
    expect(await submit(store.db, [submission(key, session, over)])).toMatchObject([{ outcome }])
  })
}

export const SUBMIT: readonly Guard[] = [
  guard('a version of the conversation that is not the current one', async (store) => {
    const { session } = await seedRun(store)
    for (const session_version of [1, 3, null]) await refusesSubmission(store, 'version', session, { session_version })
  }),
  guard('a conversation that is closed', async (store) => {
    const { session } = await seedRun(store)
    await change(store, 'session', { id: session }, { closed_at: ms(0) })
    await refusesSubmission(store, 'closed', session, { session_version: 2 })
  }),
  guard('a conversation of another tenant or environment', async (store) => {
    const { session } = await seedRun(store)
    await refusesSubmission(store, 'not_found', session, { session_version: 2, tenant: 'birch' })
    await refusesSubmission(store, 'not_found', session, { session_version: 2, environment: 'test' })
    await refusesSubmission(store, 'not_found', session, { session_version: null, environment: 'test' })
  }),
  guard('a message opens a run and replaces only what it names, in its own conversation', async (store) => {
    const mine = await seedRun(store)
    const waiting = await seedRun(store, { ...WAITING, session_id: mine.session, generation: 2 })
    const kept = await seedRun(store, { ...QUEUED, session_id: mine.session, generation: 3 })
    const ended = await seedRun(store, {
      status: 'failed',
      worker_id: null,
      end_reason: 'deadline',
      session_id: mine.session,
      generation: 4,
    })
    const stranger = await seedRun(store)
    await change(store, 'session', { id: mine.session }, { generation: 4 })
    const key = newKey()
    const replaced = [stranger, waiting, ended, mine].map((r) => r.run)
    const rows = await submit(store.db, [submission(key, mine.session, { session_version: 2, replaced })])
    expect(rows).toEqual([{ n: 1, outcome: 'created', sessionVersion: 3, generation: 5 }])
    const marks = await Promise.all([mine, waiting, kept, ended, stranger].map((r) => runOf(store, r)))
    expect(marks.map((r) => r.cancel_cause)).toEqual(['superseded', 'superseded', null, null, null])
    expect(marks.map((r) => r.version)).toEqual([VERSION + 1, VERSION + 1, VERSION, VERSION, VERSION])
    // what waits is looked at now, so that it can end
    expect(Number(marks[1]?.due_at)).toBeLessThanOrEqual(Date.now() + 1000)
    expect(await runOf(store, key)).toMatchObject({ status: 'queued', generation: 5, reserved_tokens: 10 })
  }),
  guard('the answer to the key is stored with the run, or neither is', async (store) => {
    const key = newKey()
    const row = { tenant_id: key.tenant, environment: key.environment, caller: 'ann', operation: 'runs.create' }
    const idempotency = { ...row, key: unique('idem'), body_hash: 'h', run_id: key.run, expires_at: ms(60_000) }
    await insert(store, 'idempotency', idempotency)
    const sent = submission(key, unique('ses'), { status: 201, response: Buffer.from('{}').toString('base64') })
    const taken = submission(newKey(), unique('ses'), { status: 201, response: sent.response })
    await unchanged(store, async () => {
      await expect(submit(store.db, [taken])).rejects.toThrow(/idempotency key taken over/)
    })
    expect(await submit(store.db, [sent])).toMatchObject([{ outcome: 'created' }])
    expect(await rowsWhere(store, 'idempotency', { run_id: key.run })).toMatchObject([{ status: 201 }])
    const answered = newKey()
    await insert(store, 'idempotency', { ...idempotency, key: unique('idem'), run_id: answered.run, status: 200 })
    const twice = submission(answered, unique('ses'), { status: 201, response: sent.response })
    await unchanged(store, async () => {
      await expect(submit(store.db, [twice])).rejects.toThrow(/idempotency key taken over/)
    })
  }),
]

// ── conversations ───────────────────────────────────────────────────────────────────────────────────────────────────

/** The ordinals that were applied. */
async function onSession(store: TestStore, verb: 'open' | 'close', row: Fields): Promise<number[]> {
  const keys = [`${String(row.tenant)}/${String(row.environment)}/${String(row.session)}`]
  const sent = { sessions: JSON.stringify([row]), keys }
  const rows = await (verb === 'open' ? store.db.call(openSession, sent) : store.db.call(closeSession, sent))
  return rows.map((r) => r.n)
}

const refusesClosing = (name: string, sent: Fields, closed = false): Guard =>
  guard(name, async (store) => {
    const { tenant, environment, session } = await seedRun(store)
    if (closed) await change(store, 'session', { id: session }, { closed_at: ms(0) })
    await unchanged(store, async () => {
      expect(await onSession(store, 'close', { tenant, environment, session, version: 2, ...sent })).toEqual([])
    })
  })

export const CLOSE: readonly Guard[] = [
  refusesClosing('an older version', { version: 1 }),
  refusesClosing('what is closed already', {}, true),
  refusesClosing('another tenant', { tenant: 'birch' }),
  refusesClosing('another environment', { environment: 'test' }),
  guard('a conversation is closed and its run goes on', async (store) => {
    const key = await seedRun(store)
    const row = { tenant: key.tenant, environment: key.environment, session: key.session, version: 2 }
    expect(await onSession(store, 'close', row)).toEqual([1])
    expect(await runOf(store, key)).toMatchObject({ status: 'running', version: VERSION, cancel_cause: null })
  }),
]

const dropped = async (
  store: TestStore,
  { tenant, environment }: { tenant: string; environment: string },
  session: string,
) => (await store.db.call(dropWorkSession, { tenant, environment, session }))[0]?.n

export const DROP: readonly Guard[] = [
  guard('the conversation of an attempt is taken away, from its own place alone', async (store) => {
    const { tenant, environment, session } = await seedRun(store)
    await change(store, 'session', { id: session }, { agent: 'support/summary' })
    await unchanged(store, async () => {
      expect(await dropped(store, { tenant: 'birch', environment }, session)).toBe(0)
      expect(await dropped(store, { tenant, environment: 'test' }, session)).toBe(0)
    })
    const { session: other } = await seedRun(store)
    await change(store, 'session', { id: other }, { agent: 'support/summary' })
    expect(await dropped(store, { tenant, environment }, session)).toBe(1)
    expect(await rowsWhere(store, 'session', { id: session })).toEqual([])
    expect(await rowsWhere(store, 'session', { id: other })).toHaveLength(1)
  }),
  guard('the conversation of a user is never taken away', async (store) => {
    const key = await seedRun(store)
    await unchanged(store, async () => {
      expect(await dropped(store, key, key.session)).toBe(0)
    })
  }),
]

export const OPEN: readonly Guard[] = [
  guard('a conversation is opened once, and not over that of another', async (store) => {
    const row = { tenant: 'acme', environment: 'production', user_id: 'ann', subject: 'ann', agent: 'support' }
    const session = unique('ses')
    expect(await onSession(store, 'open', { ...row, session })).toEqual([1])
    await unchanged(store, async () => {
      for (const other of [{}, { user_id: 'eve' }, { environment: 'test' }])
        expect(await onSession(store, 'open', { ...row, session, ...other })).toEqual([])
    })
  }),
]
