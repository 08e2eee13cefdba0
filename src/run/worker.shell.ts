/**
 * A worker: keeps one lease, claims runs, drives them, and lets go of all of them the moment the lease is in doubt.
 *
 * L2  lease = 3 to 5 heartbeats; a failed renewal stops new steps at once   L4  a run that loses its workers ends
 */
import os from 'node:os'
import type { Db } from '../db/port.ts'
import { Fault } from '../kernel/fault.ts'
import type { WorkerId } from '../kernel/ids.ts'
import { canceledRuns, claimRuns, enlistWorker, forgetOldWorkers, type Lease, reapRuns, renewLease, retireWorker } from '../journal/lease.store.ts'
import { type Driving, drive } from './loop.shell.ts'

export interface WorkerOptions {
  readonly db: Db
  readonly driving: Omit<Driving, 'leaseUntil'>
  /** Runs at the same time; a run that waits for people takes no place. */
  readonly concurrency?: number
  readonly heartbeatMs?: number
  readonly leaseMs?: number
  /** The longest time between a run becoming due and somebody looking, when nothing wakes the worker. */
  readonly pollMs?: number
  /** Runs a worker lost through a fault of the database or of ours; values never reach it. */
  readonly onError?: (error: unknown, where: { readonly tenant: string; readonly run: string } | null) => void
}

export interface Worker {
  readonly id: () => WorkerId
  /** Something became due: look now. */
  wake(): void
  /** A run of this process was canceled: reach its calls without waiting for the next look. */
  cancel(run: string): void
  /** Stops claiming, hands back what has not ended, and resolves when nothing is driven any more. */
  stop(): Promise<void>
  readonly driven: () => number
}

export const HEARTBEAT_MS = 2_000
export const LEASE_MS = 8_000
const POLL_MS = 250
const REAP_LIMIT = 100
/** After a fault of the database a run is taken up again, but not in a tight loop. */
const RETRY_MS = 500

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { db, driving } = options
  const { clock } = driving
  const heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
  const leaseMs = options.leaseMs ?? LEASE_MS
  const pollMs = options.pollMs ?? POLL_MS
  const concurrency = options.concurrency ?? 16
  if (leaseMs < 3 * heartbeatMs || leaseMs > 5 * heartbeatMs)
    throw new Fault('invalid_definition', `A lease of ${leaseMs} ms does not fit a heartbeat of ${heartbeatMs} ms: it must be 3 to 5 times as long.`)
  // a worker that fails in silence looks like one that has nothing to do
  const onError = options.onError ?? ((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
  const agents = [...driving.agents.keys()]
  const driven = new Map<string, { readonly lease: Lease; readonly abort: AbortController; readonly done: Promise<void> }>()
  const stopping = new AbortController()
  let worker = '' as WorkerId
  let leaseUntil = 0
  let waker: () => void = () => {}
  let woken = false

  async function enlist(): Promise<void> {
    const id = driving.ids.next('wrk')
    const asked = clock.monotonic()
    await enlistWorker(db, id, leaseMs, { host: os.hostname(), pid: process.pid })
    worker = id
    // counted from before the statement left, so it is over earlier than the database's
    leaseUntil = asked + leaseMs
  }

  function loseAll(): void {
    for (const one of driven.values()) one.abort.abort(new Fault('lease_lost'))
  }

  async function beat(): Promise<void> {
    const asked = clock.monotonic()
    try {
      if (await renewLease(db, worker, leaseMs)) {
        leaseUntil = asked + leaseMs
        return
      }
    } catch (error) {
      onError(error, null)
      if (clock.monotonic() < leaseUntil) return
    }
    // others may have our runs by now: a new name, so that nothing of the old one can be confused with it
    loseAll()
    await enlist()
  }

  function take(lease: Lease): void {
    const abort = new AbortController()
    const done = driveOne(lease, abort).finally(() => {
      driven.delete(lease.run)
      waker()
    })
    driven.set(lease.run, { lease, abort, done })
  }

  async function driveOne(lease: Lease, abort: AbortController): Promise<void> {
    const parts: Driving = { ...driving, leaseUntil: () => leaseUntil }
    while (!abort.signal.aborted) {
      try {
        return await drive(parts, lease, abort.signal)
      } catch (error) {
        if (abort.signal.aborted || (Fault.is(error) && error.code === 'lease_lost')) return
        onError(error, { tenant: lease.tenant, run: lease.run })
        // the run is still ours and nothing is lost: what is stored says where to go on
        await clock.sleep(RETRY_MS, AbortSignal.any([stopping.signal, abort.signal])).catch(() => {})
      }
    }
  }

  async function look(): Promise<void> {
    const room = concurrency - driven.size
    if (room <= 0) return
    for (const lease of await claimRuns(db, worker, agents, room)) {
      await driving.fault('claim.after')
      take(lease)
    }
  }

  async function watch(): Promise<void> {
    if (driven.size === 0) return
    for (const key of await canceledRuns(db, worker)) driven.get(key.run)?.abort.abort(new Fault('canceled'))
  }

  async function rest(ms: number): Promise<void> {
    if (woken || stopping.signal.aborted) {
      woken = false
      return
    }
    const wakeup = new AbortController()
    waker = () => wakeup.abort()
    await clock.sleep(ms, AbortSignal.any([wakeup.signal, stopping.signal])).catch(() => {})
    woken = false
  }

  async function every(ms: number, job: () => Promise<unknown>): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(ms, stopping.signal).catch(() => {})
      if (!stopping.signal.aborted) await job().catch((error: unknown) => onError(error, null))
    }
  }

  async function claimLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await driving.fault('claim.before')
      await look().catch((error: unknown) => onError(error, null))
      await rest(pollMs)
    }
  }

  await enlist()
  const loops = [
    claimLoop(),
    every(heartbeatMs, beat),
    every(pollMs * 2, watch),
    every(heartbeatMs, async () => {
      if ((await reapRuns(db, REAP_LIMIT)) > 0) waker()
    }),
    every(3_600_000, () => forgetOldWorkers(db)),
  ]
  return {
    id: () => worker,
    wake() {
      woken = true
      waker()
    },
    cancel: (run) => driven.get(run)?.abort.abort(new Fault('canceled')),
    driven: () => driven.size,
    async stop() {
      stopping.abort()
      loseAll()
      await Promise.all(loops)
      await Promise.allSettled([...driven.values()].map((d) => d.done))
      await retireWorker(db, worker)
      await reapRuns(db, REAP_LIMIT)
    },
  }
}
