/** The guards of COMMIT S and of decisions. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import type { TestStore } from './engines.ts'
import { type Guard, guard, QUEUED, unchanged, WAITING } from './guards.ts'
import { change, rowsWhere } from './rows.ts'
import {
  decide,
  decision,
  EPOCH,
  keyText,
  ms,
  runOf,
  seedConfirmation,
  seedEffect,
  seedRun,
  seedWorker,
  start,
  starting,
  unique,
  VERSION,
} from './seed.ts'

type Fields = Readonly<Record<string, unknown>>

// ── COMMIT S ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Start {
  readonly outcome: string
  readonly run?: Fields
  readonly lease?: number
  readonly effect?: Fields
  readonly confirmation?: Fields | null
  readonly sent?: Fields
  readonly worker?: string
}

const APPROVED = { status: 'approved', execute_by: ms(60_000), version: 2 }

async function seedStart(store: TestStore, over: Omit<Start, 'outcome'>) {
  const worker = await seedWorker(store, unique('wrk'), over.lease)
  const key = await seedRun(store, { worker_id: worker, ...over.run })
  await seedEffect(store, key, over.effect)
  const confirmation =
    over.confirmation === null ? null : await seedConfirmation(store, key, { ...APPROVED, ...over.confirmation })
  return { key, worker, confirmation }
}

const refusesStart = (name: string, over: Start): Guard =>
  guard(name, async (store) => {
    const { key, worker, confirmation } = await seedStart(store, over)
    await unchanged(store, async () => {
      const sent = starting(key, { confirmation, ...over.sent })
      const rows = await start(store.db, [sent], { worker: over.worker ?? worker })
      expect(rows.map((r) => r.outcome)).toEqual([over.outcome])
    })
  })

export const START_LEASE: readonly Guard[] = [
  refusesStart('a lease that is over', { outcome: 'lease_lost', lease: -1 }),
  refusesStart('a worker that is not the driver', { outcome: 'lease_lost', worker: 'wrk_zombie' }),
  guard('a living worker that is not the driver', async (store) => {
    const { key, confirmation } = await seedStart(store, {})
    const worker = await seedWorker(store)
    await unchanged(store, async () => {
      expect(await start(store.db, [starting(key, { confirmation })], { worker })).toMatchObject([
        { outcome: 'lease_lost' },
      ])
    })
  }),
  refusesStart('an earlier epoch', { outcome: 'lease_lost', sent: { epoch: EPOCH - 1 } }),
  refusesStart('a run back in the queue', { outcome: 'lease_lost', run: QUEUED }),
  refusesStart('an older version', { outcome: 'conflict', sent: { version: VERSION - 1 } }),
  refusesStart('a cancel mark', { outcome: 'canceled', run: { cancel_cause: 'superseded' } }),
  refusesStart('a deadline that is over', { outcome: 'deadline', run: { deadline_at: ms(-1) } }),
  refusesStart('another tenant', { outcome: 'lease_lost', sent: { tenant: 'birch' } }),
  refusesStart('another environment', { outcome: 'lease_lost', sent: { environment: 'test' } }),
  guard('a start is progress: the whole time of the tool comes after it', async (store) => {
    const { key, confirmation } = await seedStart(store, { run: { progress_at: ms(-2_000), progress_ms: 60_000 } })
    const before = Number((await runOf(store, key)).progress_at)
    expect(await start(store.db, [starting(key, { confirmation })], { worker: key.worker })).toMatchObject([
      { outcome: 'started' },
    ])
    expect(Number((await runOf(store, key)).progress_at)).toBeGreaterThan(before + 1_000)
  }),
]

export const START_CONSENT: readonly Guard[] = [
  refusesStart('other arguments than the stored ones', { outcome: 'not_approved', sent: { arguments_hash: 'other' } }),
  ...[{ arguments_hash: 'other' }, { step: 2 }, { position: 2 }].map((sent) =>
    refusesStart(`an automatic call under another ${Object.keys(sent).join()}`, {
      outcome: 'not_approved',
      effect: { approval: 'auto' },
      sent,
    }),
  ),
  refusesStart('arguments that were not the confirmed ones', {
    outcome: 'not_approved',
    confirmation: { params_hash: 'other' },
  }),
  ...['pending', 'rejected', 'superseded', 'expired', 'consumed'].map((status) =>
    refusesStart(`a confirmation that is ${status}`, { outcome: 'not_approved', confirmation: { status } }),
  ),
  refusesStart('an approval that was not used in time', { outcome: 'expired', confirmation: { execute_by: ms(-1) } }),
  refusesStart('an approval without a time', { outcome: 'not_approved', confirmation: { execute_by: null } }),
  refusesStart('another version of the resource', { outcome: 'not_approved', sent: { resource_version: 'v2' } }),
  refusesStart('a resource without a version', { outcome: 'not_approved', sent: { resource_version: null } }),
  refusesStart('no confirmation named', { outcome: 'not_approved', sent: { confirmation: null } }),
  refusesStart('no confirmation there', { outcome: 'not_approved', confirmation: null }),
  refusesStart('the confirmation of a sibling', { outcome: 'not_approved', confirmation: { position: 1 } }),
  refusesStart('the confirmation of an earlier step', { outcome: 'not_approved', confirmation: { step: 0 } }),
  refusesStart('a call of another step', { outcome: 'not_approved', sent: { step: 2 } }),
  refusesStart('a call of another position', { outcome: 'not_approved', sent: { position: 2 } }),
  refusesStart('a call that has started', { outcome: 'not_approved', effect: { status: 'started' } }),
  refusesStart('a call whose outcome is unknown', { outcome: 'not_approved', effect: { status: 'unknown' } }),
  refusesStart('a call that is settled, even as a repeat', {
    outcome: 'not_approved',
    effect: { status: 'settled', outcome: 'error' },
    sent: { again: true },
  }),
  refusesStart('a call that has not started, as a repeat', {
    outcome: 'not_approved',
    confirmation: { status: 'pending' },
    sent: { again: true },
  }),
  guard('the confirmation of another run of the same conversation', async (store) => {
    const { key, worker } = await seedStart(store, { confirmation: null })
    const other = await seedRun(store, { session_id: key.session, generation: 2 })
    const confirmation = await seedConfirmation(store, other, APPROVED)
    const keys = [keyText(key), keyText(other)]
    await unchanged(store, async () => {
      const rows = await start(store.db, [starting(key, { confirmation })], { worker, keys })
      expect(rows).toMatchObject([{ outcome: 'not_approved' }])
    })
  }),
  guard('an approved call starts and uses the approval up, once', async (store) => {
    const { key, worker, confirmation } = await seedStart(store, {})
    const sent = starting(key, { confirmation })
    expect(await start(store.db, [sent], { worker })).toEqual([{ n: 1, outcome: 'started', version: VERSION + 1 }])
    expect(await rowsWhere(store, 'effect', { run_id: key.run })).toMatchObject([{ status: 'started', attempt: 1 }])
    expect(await rowsWhere(store, 'confirmation', { id: confirmation })).toMatchObject([{ status: 'consumed' }])
    expect(await runOf(store, key)).toMatchObject({ phase: 'tool_running', commits: 1, event_seq: 2 })
    await unchanged(store, async () => {
      const rows = [sent, { ...sent, version: VERSION + 1 }]
      for (const [i, outcome] of ['conflict', 'not_approved'].entries())
        expect(await start(store.db, rows.slice(i, i + 1), { worker })).toMatchObject([{ outcome }])
    })
  }),
  guard('a second call cannot use the approval of the first again', async (store) => {
    const { key, worker, confirmation } = await seedStart(store, {})
    await start(store.db, [starting(key, { confirmation })], { worker })
    await change(store, 'effect', { run_id: key.run }, { status: 'intended' })
    await unchanged(store, async () => {
      const sent = starting(key, { confirmation, version: VERSION + 1 })
      expect(await start(store.db, [sent], { worker })).toMatchObject([{ outcome: 'not_approved' }])
    })
  }),
  guard('the approval of a sibling is not used up with it', async (store) => {
    const { key, worker, confirmation } = await seedStart(store, {})
    const sibling = await seedConfirmation(store, key, { ...APPROVED, position: 1 })
    expect(await start(store.db, [starting(key, { confirmation })], { worker })).toMatchObject([{ outcome: 'started' }])
    expect(await rowsWhere(store, 'confirmation', { id: sibling })).toMatchObject([{ status: 'approved' }])
  }),
  guard('an automatic call needs no approval, and a repeat by key counts its attempt', async (store) => {
    const { key, worker } = await seedStart(store, { effect: { approval: 'auto' }, confirmation: null })
    expect(await start(store.db, [starting(key)], { worker })).toMatchObject([{ outcome: 'started' }])
    const again = starting(key, { version: VERSION + 1, again: true })
    expect(await start(store.db, [again], { worker })).toMatchObject([{ outcome: 'started' }])
    expect(await rowsWhere(store, 'effect', { run_id: key.run })).toMatchObject([{ attempt: 2 }])
  }),
]

// ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Decision {
  readonly outcome: string
  readonly run?: Fields
  readonly confirmation?: Fields
  readonly sent?: Fields
}

const refusesDecision = (name: string, over: Decision): Guard =>
  guard(name, async (store) => {
    const key = await seedRun(store, { ...WAITING, ...over.run })
    const confirmation = await seedConfirmation(store, key, over.confirmation)
    await unchanged(store, async () => {
      const rows = await decide(store.db, [decision(key, confirmation, over.sent)])
      expect(rows.map((r) => r.outcome)).toEqual([over.outcome])
    })
  })

export const DECIDE: readonly Guard[] = [
  refusesDecision('another tenant', { outcome: 'not_found', sent: { tenant: 'birch' } }),
  refusesDecision('another environment', { outcome: 'not_found', sent: { environment: 'test' } }),
  refusesDecision('another id', { outcome: 'not_found', sent: { confirmation: 'cnf_other' } }),
  refusesDecision('who is not named', { outcome: 'not_permitted', sent: { actor: 'eve' } }),
  refusesDecision('who is not named, after the decision', {
    outcome: 'not_permitted',
    confirmation: { status: 'approved' },
    sent: { actor: 'eve' },
  }),
  refusesDecision('a plan that was replaced', { outcome: 'superseded', confirmation: { status: 'superseded' } }),
  refusesDecision('what has expired', { outcome: 'expired', confirmation: { status: 'expired' } }),
  refusesDecision('what nobody has marked as expired yet', {
    outcome: 'expired',
    confirmation: { expires_at: ms(-1) },
  }),
  ...['approved', 'rejected', 'consumed'].map((status) =>
    refusesDecision(`what is ${status}`, { outcome: 'already_decided', confirmation: { status } }),
  ),
  refusesDecision('another version of the card', { outcome: 'version', sent: { version: 2 } }),
  refusesDecision('other arguments', { outcome: 'hash', sent: { params_hash: 'other' } }),
  refusesDecision('a run that has ended', {
    outcome: 'run_closed',
    run: { status: 'canceled', end_reason: 'user_canceled', wait_reason: null },
  }),
  refusesDecision('a run that is canceled', { outcome: 'run_closed', run: { cancel_cause: 'superseded' } }),
  refusesDecision('a run whose deadline is over', { outcome: 'run_closed', run: { deadline_at: ms(-1) } }),
  refusesDecision('a run that waits for something else', {
    outcome: 'run_closed',
    run: { wait_reason: 'unknown_effect' },
  }),
  guard('a decision is recorded once, with its decider, and wakes the run', async (store) => {
    for (const approve of [true, false]) {
      const key = await seedRun(store, WAITING)
      const confirmation = await seedConfirmation(store, key)
      const status = approve ? 'approved' : 'rejected'
      const rows = await decide(store.db, [decision(key, confirmation, { approve })])
      expect(rows).toEqual([{ n: 1, outcome: 'decided', status, version: 2 }])
      expect(await runOf(store, key)).toMatchObject({ status: 'queued', wait_reason: null, version: VERSION + 1 })
      const second = await decide(store.db, [
        decision(key, confirmation, { approve: !approve, actor: 'bob', version: 2 }),
      ])
      expect(second).toEqual([{ n: 1, outcome: 'already_decided', status, version: 2 }])
      expect(await rowsWhere(store, 'confirmation', { id: confirmation })).toMatchObject([{ decided_by: 'ann' }])
      const audit = await rowsWhere(store, 'audit', { target: confirmation })
      expect(audit).toMatchObject([{ actor: 'ann', outcome: status }])
    }
  }),
]
