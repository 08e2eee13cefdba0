/** The queue and its leases, as `plimsoll.claim`, `driven` and `reap` keep them. */
import { abandon, claim, driven, enlist, forgetWorkers, layDown, reap, renew, retire } from '../../journal/lease.sql.ts'
import type { RunRow, WorkerRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { type Guards, isActive, on, passes, type Verbs } from './verb.ts'

const DAY_MS = 86_400_000
const LONGEST_MS = 300_000

export interface Claiming {
  readonly tables: Tables
  readonly now: number
  readonly agents: readonly (string | null)[]
  readonly worker: WorkerRow | undefined
}

/** The conditions under which a worker takes a run. */
export const CLAIM: Guards<readonly [RunRow, Claiming]> = {
  idle: (q) => q.status === 'queued' || q.status === 'waiting_confirmation',
  due: (q, { now }) => q.due_at <= now,
  agent: (q, { agents, now }) => agents.includes(q.agent) || q.deadline_at <= now,
  oldest: (q, { tables }) => {
    for (const older of tables.run.all()) if (isOlderActive(older, q)) return false
    return true
  },
  lease: (_q, { worker, now }) => worker !== undefined && worker.lease_until > now,
}

const isOlderActive = (older: RunRow, q: RunRow): boolean =>
  older.generation < q.generation &&
  older.tenant_id === q.tenant_id &&
  older.session_id === q.session_id &&
  older.branch === q.branch &&
  isActive(older.status)

export const isAlive = (worker: WorkerRow | undefined, now: number): boolean =>
  worker !== undefined && worker.lease_until > now

/** The conditions under which a run goes back into the queue. */
export const REAP: Guards<readonly [RunRow, Tables]> = {
  running: (q) => q.status === 'running',
  lost: (q, tables) => !isAlive(tables.worker.get(q.worker_id ?? ''), tables.now()) || hangs(q, tables.now()),
}

/** A worker that lives may hang with a run (L8). */
const hangs = (q: RunRow, now: number): boolean => (q.progress_at ?? Number.POSITIVE_INFINITY) + q.progress_ms <= now

const isAlone = (q: RunRow, now: number): boolean => q.followed_until !== null && q.followed_until < now

/** The conditions under which a run ends because nobody follows it any more. */
export const ABANDON: Guards<readonly [RunRow, number]> = {
  followed: (q) => q.followed_until !== null,
  alone: (q, now) => (q.followed_until ?? now) < now,
  ends: (q) => !q.parks_alone,
  active: (q) => isActive(q.status),
  first: (q) => q.cancel_cause === null,
}

export interface QueueGuards {
  readonly claim: typeof CLAIM
  readonly reap: typeof REAP
  readonly abandon: typeof ABANDON
}

export function addQueue(verbs: Verbs, guards: QueueGuards): void {
  on(verbs, claim, (tables, { worker: id, agents, limit }) => {
    const now = tables.now()
    const claiming: Claiming = { tables, now, agents, worker: tables.worker.get(id) }
    const due = [...tables.run.all()].filter((q) => passes(guards.claim, q, claiming))
    return due
      .sort((a, b) => a.due_at - b.due_at)
      .slice(0, limit)
      .map((q) => {
        tables.run.change(q, {
          status: 'running',
          wait_reason: null,
          worker_id: id,
          epoch: q.epoch + 1,
          version: q.version + 1,
          started_at: q.started_at ?? now,
          progress_at: now,
        })
        return { tenant: q.tenant_id, environment: q.environment, run: q.id, epoch: q.epoch }
      })
  })
  on(verbs, reap, (tables, { limit }) => {
    const lost = [...tables.run.all()].filter((q) => passes(guards.reap, q, tables)).slice(0, limit)
    for (const q of lost)
      tables.run.change(q, {
        status: 'queued',
        worker_id: null,
        due_at: tables.now(),
        version: q.version + 1,
        attempts: q.attempts + 1,
      })
    return [{ taken: lost.length }]
  })
  on(verbs, layDown, (tables, { ofTenant, ofEnvironment, run: id, worker, epoch }) => {
    const mine = [...tables.run.all()].find(
      (r) => r.tenant_id === ofTenant && r.environment === ofEnvironment && r.id === id && r.worker_id === worker,
    )
    if (mine?.status !== 'running' || mine.epoch !== epoch) return [{ taken: 0 }]
    tables.run.change(mine, {
      status: 'queued',
      wait_reason: null,
      worker_id: null,
      due_at: tables.now() + Math.min(1_000 * 2 ** mine.attempts, LONGEST_MS),
      version: mine.version + 1,
      attempts: mine.attempts + 1,
    })
    return [{ taken: 1 }]
  })
  on(verbs, abandon, (tables, { limit }) => {
    const now = tables.now()
    const alone = [...tables.run.all()].filter((q) => passes(guards.abandon, q, now)).slice(0, limit)
    for (const q of alone) {
      const rests = q.status === 'running' || q.wait_reason === 'unknown_effect'
      tables.run.change(q, {
        cancel_cause: 'disconnect',
        version: q.version + 1,
        ...(rests ? {} : { due_at: now }),
      })
    }
    return [{ taken: alone.length }]
  })
  on(verbs, driven, (tables, { worker }) =>
    [...tables.run.all()]
      .filter((r) => r.worker_id === worker && r.status === 'running')
      .map((r) => ({
        tenant: r.tenant_id,
        environment: r.environment,
        run: r.id,
        epoch: r.epoch,
        canceled: r.cancel_cause !== null,
        alone: r.parks_alone && isAlone(r, tables.now()),
      })),
  )
  on(verbs, enlist, (tables, { worker, host, pid, leaseMs }) => {
    const now = tables.now()
    tables.worker.insert({ id: worker, host, pid, started_at: now, lease_until: now + leaseMs })
    return []
  })
  on(verbs, renew, (tables, { worker, leaseMs }) => {
    const row = tables.worker.get(worker)
    if (!row || !isAlive(row, tables.now())) return []
    tables.worker.change(row, { lease_until: tables.now() + leaseMs })
    return [{ id: worker }]
  })
  on(verbs, retire, (tables, { worker }) => {
    const row = tables.worker.get(worker)
    if (row) tables.worker.remove(row)
    return []
  })
  on(verbs, forgetWorkers, (tables) => {
    for (const row of [...tables.worker.all()]) if (row.lease_until < tables.now() - DAY_MS) tables.worker.remove(row)
    return []
  })
}
