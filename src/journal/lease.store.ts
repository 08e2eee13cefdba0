/**
 * Leases: one row per worker, renewed as one; each run carries the worker and an epoch that rises with every claim.
 *
 * L2  a takeover has a higher epoch; a failed renewal means that nothing new may start
 * The only clock of a lease is the database's.
 */
import type { Db } from '../db/port.ts'
import type { RunId, WorkerId } from '../kernel/ids.ts'
import type { RunKey } from '../run/state.ts'
import { abandon, claim, driven, enlist, forgetWorkers, layDown, reap, renew, retire } from './lease.sql.ts'

declare const leaseBrand: unique symbol

/** The right to write to a run: minted by a claim, checked by every commit. */
export interface Lease extends RunKey {
  readonly [leaseBrand]: true
  readonly worker: WorkerId
  readonly epoch: number
}

export async function claimRuns(db: Db, worker: WorkerId, agents: readonly string[], limit: number): Promise<Lease[]> {
  const rows = await db.call(claim, { worker, agents, limit })
  return rows.map((r) => leaseOf(r, worker))
}

/** Puts runs of dead workers back into the queue. Returns how many. */
export async function reapRuns(db: Db, limit: number): Promise<number> {
  const [row] = await db.call(reap, { limit })
  return row?.taken ?? 0
}

/**
 * Lets go of a run that can be neither driven nor ended here: counted as an attempt, and due later each time, after one second
 * to five minutes. Needs no key of its tenant. False when it is not this worker's any more.
 */
export async function layDownRun(db: Db, { tenant, environment, run, worker, epoch }: Lease): Promise<boolean> {
  const [row] = await db.call(layDown, { ofTenant: tenant, ofEnvironment: environment, run, worker, epoch })
  return (row?.taken ?? 0) > 0
}

/** Marks runs that nobody follows any more, where their agents say that this ends them. Returns how many. */
export async function abandonRuns(db: Db, limit: number): Promise<number> {
  const [row] = await db.call(abandon, { limit })
  return row?.taken ?? 0
}

export async function enlistWorker(
  db: Db,
  worker: WorkerId,
  leaseMs: number,
  at: { host: string; pid: number },
): Promise<void> {
  await db.call(enlist, { worker, leaseMs, ...at })
}

/** False when the lease was over already: the runs may belong to another by now. */
export async function renewLease(db: Db, worker: WorkerId, leaseMs: number): Promise<boolean> {
  return (await db.call(renew, { worker, leaseMs })).length > 0
}

/** A polite end: the lease is given up, and its runs are free for the next claim at once. */
export async function retireWorker(db: Db, worker: WorkerId): Promise<void> {
  await db.call(retire, { worker })
}

export async function forgetOldWorkers(db: Db): Promise<void> {
  await db.call(forgetWorkers, {})
}

export interface Driven {
  readonly lease: Lease
  readonly canceled: boolean
  /** Nobody follows it any more, and its agent parks it then. */
  readonly alone: boolean
}

/**
 * What the store says this worker drives: how a cancel of another process reaches a call in flight, and how a worker
 * finds the runs of a claim whose reply was lost.
 */
export async function drivenRuns(db: Db, worker: WorkerId): Promise<Driven[]> {
  const rows = await db.call(driven, { worker })
  return rows.map((r) => ({ lease: leaseOf(r, worker), canceled: r.canceled, alone: r.alone }))
}

const leaseOf = (
  row: { readonly tenant: string; readonly environment: string; readonly run: string; readonly epoch: number },
  worker: WorkerId,
): Lease =>
  ({ tenant: row.tenant, environment: row.environment, run: row.run as RunId, worker, epoch: row.epoch }) as Lease
