/** The guards of the functions that cross tenants: claim, canceled and reap. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import type { TestStore } from './engines.ts'
import type { WorkerId } from '../../src/kernel/ids.ts'
import { claimRuns, drivenRuns, type Lease, layDownRun, reapRuns } from '../../src/journal/lease.store.ts'
import { type Guard, guard } from './guards.ts'
import { change } from './rows.ts'
import { commit, EPOCH, ms, runOf, seedRun, seedWorker, transition, unique, VERSION } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>

export const claim = async (store: TestStore, worker: string, agent: string, limit = 100): Promise<string[]> =>
  (await claimRuns(store.db, worker as WorkerId, [agent], limit)).map((lease) => lease.run).sort()

const due = { status: 'queued', worker_id: null, due_at: ms(-1000) }

/** A run of an agent that only this probe knows, which a living worker does not take. */
const refusesClaim = (name: string, run: Fields, worker?: { id?: string; leaseMs: number }): Guard =>
  guard(name, async (store) => {
    const agent = unique('agent')
    const key = await seedRun(store, { ...due, agent, ...run })
    const id = await seedWorker(store, unique('wrk'), worker?.leaseMs)
    const before = await runOf(store, key)
    expect(await claim(store, worker?.id ?? id, agent)).not.toContain(key.run)
    expect(await runOf(store, key)).toEqual(before)
  })

/** The run has made no progress for so long that whoever drives it hangs, though its lease lives. */
const hung = { progress_at: ms(-2_000), progress_ms: 1_000 }

export const CLAIM: readonly Guard[] = [
  refusesClaim('a worker whose lease is over', {}, { leaseMs: -1 }),
  refusesClaim('a worker that nobody knows', {}, { id: 'wrk_unknown', leaseMs: 60_000 }),
  refusesClaim('what is not due', { due_at: ms(60_000) }),
  refusesClaim('a wait that is not over', {
    status: 'waiting_confirmation',
    wait_reason: 'confirmation',
    due_at: ms(60_000),
  }),
  refusesClaim('a wait without an end', {
    status: 'waiting_confirmation',
    wait_reason: 'unknown_effect',
    due_at: 'infinity',
  }),
  refusesClaim('what another drives', { status: 'running', worker_id: 'wrk_other' }),
  refusesClaim('what has ended', { status: 'canceled', end_reason: 'user_canceled' }),
  guard('the agent of another worker, unless its time is over', async (store) => {
    const [mine, other] = [unique('agent'), unique('agent')]
    const key = await seedRun(store, { ...due, agent: other })
    const late = await seedRun(store, { ...due, agent: other, deadline_at: ms(-1) })
    const claimed = await claim(store, await seedWorker(store), mine)
    expect(claimed).not.toContain(key.run)
    expect(claimed).toContain(late.run)
  }),
  guard('a younger run of a branch while an older one is active', async (store) => {
    const agent = unique('agent')
    const older = await seedRun(store, { ...due, agent })
    const younger = await seedRun(store, { ...due, agent, session_id: older.session, generation: 2, due_at: ms(-5000) })
    const branch = { session_id: older.session, generation: 3, branch: 'other' }
    const beside = await seedRun(store, { ...due, agent, ...branch })
    const stranger = await seedRun(store, {
      ...due,
      agent,
      tenant_id: 'birch',
      session_id: older.session,
      generation: 9,
    })
    const worker = await seedWorker(store)
    expect(await claim(store, worker, agent)).toEqual([older.run, beside.run, stranger.run].sort())
    await change(store, 'run', { id: older.run }, { status: 'failed', end_reason: 'deadline', worker_id: null })
    expect(await claim(store, worker, agent)).toEqual([younger.run])
  }),
  guard('more than it asked for, and the longest waiting first', async (store) => {
    const agent = unique('agent')
    const keys: Awaited<ReturnType<typeof seedRun>>[] = []
    for (let i = 0; i < 6; i++) keys.push(await seedRun(store, { ...due, agent, due_at: ms(-1000 * (i + 1)) }))
    const worker = await seedWorker(store)
    const ids = keys.map((key) => key.run)
    expect(await claim(store, worker, agent, 2)).toEqual(ids.slice(4).sort())
    expect(await claim(store, worker, agent, 3)).toEqual(ids.slice(1, 4).sort())
  }),
  guard('a claim is progress', async (store) => {
    const agent = unique('agent')
    const key = await seedRun(store, { ...due, agent, ...hung })
    await claim(store, await seedWorker(store), agent)
    await reapRuns(store.db, 1000)
    expect(await runOf(store, key)).toMatchObject({ status: 'running', attempts: 0 })
  }),
  guard('a claim raises the epoch and takes the wait away, also from what nobody may retry again', async (store) => {
    const agent = unique('agent')
    const run = { ...due, status: 'waiting_confirmation', wait_reason: 'timer', agent, attempts: 9 }
    const key = await seedRun(store, run)
    const worker = await seedWorker(store)
    expect(await claimRuns(store.db, worker as WorkerId, [agent], 1)).toMatchObject([
      { run: key.run, epoch: EPOCH + 1 },
    ])
    const claimed = { status: 'running', worker_id: worker, wait_reason: null, version: VERSION + 1, attempts: 9 }
    expect(await runOf(store, key)).toMatchObject(claimed)
  }),
]

export const REAP: readonly Guard[] = [
  guard('a run that hangs is taken from a living worker, and its next claim fences that', async (store) => {
    const agent = unique('agent')
    const key = await seedRun(store, { agent, ...hung })
    const works = await seedRun(store, { agent, progress_at: ms(-2_000), progress_ms: 60_000, started_at: ms(-90_000) })
    await reapRuns(store.db, 1000)
    const back = { status: 'queued', worker_id: null, attempts: 1, version: VERSION + 1, epoch: EPOCH }
    expect(await runOf(store, key)).toMatchObject(back)
    expect(await runOf(store, works)).toMatchObject({ status: 'running', version: VERSION, attempts: 0 })
    const worker = await seedWorker(store)
    expect(await claimRuns(store.db, worker as WorkerId, [agent], 10)).toMatchObject([
      { run: key.run, epoch: EPOCH + 1 },
    ])
    // the claim is progress: it is not taken away again at once
    await reapRuns(store.db, 1000)
    expect(await runOf(store, key)).toMatchObject({ status: 'running', worker_id: worker })
    expect(await commit(store.db, [transition(key)], { worker: key.worker })).toEqual([])
  }),
  guard('a living worker keeps its run', async (store) => {
    const key = await seedRun(store)
    await reapRuns(store.db, 1000)
    expect(await runOf(store, key)).toMatchObject({ status: 'running', version: VERSION, attempts: 0 })
  }),
  guard('a run of a dead worker goes back, counted, and its next claim fences the dead', async (store) => {
    const agent = unique('agent')
    const dead = await seedRun(store, { agent, worker_id: await seedWorker(store, unique('wrk'), -1) })
    const gone = await seedRun(store, { agent, worker_id: unique('wrk_gone') })
    expect(await reapRuns(store.db, 1000)).toBeGreaterThanOrEqual(2)
    for (const key of [dead, gone]) {
      const back = { status: 'queued', worker_id: null, attempts: 1, version: VERSION + 1, epoch: EPOCH }
      expect(await runOf(store, key)).toMatchObject(back)
    }
    const claimed = await claimRuns(store.db, (await seedWorker(store)) as WorkerId, [agent], 10)
    expect(claimed.map((lease) => lease.epoch)).toEqual([EPOCH + 1, EPOCH + 1])
  }),
  guard('idle and finished runs stay', async (store) => {
    const queued = await seedRun(store, due)
    const waiting = await seedRun(store, { ...due, status: 'waiting_confirmation', wait_reason: 'question' })
    const ended = await seedRun(store, { status: 'failed', worker_id: null, end_reason: 'deadline' })
    await reapRuns(store.db, 1000)
    for (const key of [queued, waiting, ended])
      expect(await runOf(store, key)).toMatchObject({ version: VERSION, attempts: 0 })
  }),
  guard('no more than it asked for', async (store) => {
    await reapRuns(store.db, 1000)
    for (let i = 0; i < 3; i++) await seedRun(store, { worker_id: unique('wrk_gone') })
    expect(await reapRuns(store.db, 2)).toBe(2)
    expect(await reapRuns(store.db, 2)).toBe(1)
  }),
]

/** As the worker of the run does it, or with what is not true of it. */
const layDown = (store: TestStore, key: Awaited<ReturnType<typeof seedRun>>, other: Partial<Lease> = {}) =>
  layDownRun(store.db, { ...key, epoch: EPOCH, ...other } as unknown as Lease)
const dueIn = async (store: TestStore, run: string): Promise<number> => {
  const [row] = await store.admin(
    'select extract(epoch from due_at - now())::float8 as seconds from plimsoll.run where id = $1',
    [run],
  )
  return Number(row?.seconds)
}

export const LAY_DOWN: readonly Guard[] = [
  guard('a worker lets go of its own run, counted and due later', async (store) => {
    const key = await seedRun(store)
    expect(await layDown(store, key)).toBe(true)
    const back = { status: 'queued', worker_id: null, attempts: 1, version: VERSION + 1, epoch: EPOCH }
    expect(await runOf(store, key)).toMatchObject(back)
    expect(await dueIn(store, key.run)).toBeGreaterThan(0)
    expect(await dueIn(store, key.run)).toBeLessThanOrEqual(1)
    expect(await layDown(store, key)).toBe(false)
  }),
  guard('later each time, and never later than five minutes', async (store) => {
    for (const [attempts, least, most] of [
      [4, 10, 16],
      [40, 290, 300],
    ] as const) {
      const key = await seedRun(store, { attempts })
      expect(await layDown(store, key)).toBe(true)
      expect(await dueIn(store, key.run)).toBeGreaterThan(least)
      expect(await dueIn(store, key.run)).toBeLessThanOrEqual(most)
    }
  }),
  guard('what was taken over, or is of another, stays', async (store) => {
    const [key, other] = [await seedRun(store), await seedRun(store)]
    expect(await layDown(store, key, { epoch: EPOCH - 1 })).toBe(false)
    expect(await layDown(store, key, { worker: (await seedWorker(store)) as WorkerId })).toBe(false)
    expect(await layDown(store, key, { tenant: 'nobody' })).toBe(false)
    expect(await layDown(store, key, { environment: 'staging' })).toBe(false)
    for (const one of [key, other])
      expect(await runOf(store, one)).toMatchObject({ status: 'running', version: VERSION })
  }),
]

export const DRIVEN: readonly Guard[] = [
  guard('a worker hears of its own running runs, of any tenant, and of the marks on them', async (store) => {
    const worker = await seedWorker(store)
    const marked = await seedRun(store, { worker_id: worker, tenant_id: 'birch', cancel_cause: 'user', epoch: 7 })
    const plain = await seedRun(store, { worker_id: worker, epoch: 3 })
    await seedRun(store, { cancel_cause: 'user' })
    await seedRun(store, { ...due, cancel_cause: 'user' })
    const told = (key: typeof plain, epoch: number, canceled: boolean) => ({
      lease: { tenant: key.tenant, environment: 'production', run: key.run, worker, epoch },
      canceled,
      alone: false,
    })
    const rows = await drivenRuns(store.db, worker as WorkerId)
    expect(rows).toHaveLength(2)
    expect(rows).toEqual(expect.arrayContaining([told(marked, 7, true), told(plain, 3, false)]))
  }),
]

/** Only a second session can tell; on one session there is nothing to wait for. */
export const LOCKS: readonly Guard[] = [
  guard('a claim never waits for another claim', async (store) => {
    const agent = unique('agent')
    for (let i = 0; i < 4; i++) await seedRun(store, { ...due, agent })
    const worker = await seedWorker(store)
    if (store.engine === 'embedded') return
    const open = await store.hold(`select run from plimsoll.claim('${worker}', array['${agent}'], 2)`)
    try {
      // a wait would end as an error, not as a slow test
      const sql = `set local lock_timeout = '50ms'; select run from plimsoll.claim('${worker}', array['${agent}'], 4)`
      expect(await store.app(sql)).toHaveLength(2)
      expect(open.rows).toHaveLength(2)
    } finally {
      await open.release()
    }
  }),
]
