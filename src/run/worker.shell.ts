/**
 * A worker: keeps one lease, claims runs, drives them, and lets go of all of them the moment the lease is in doubt.
 *
 * L2  lease = 3 to 5 heartbeats; a failed renewal stops new steps at once   L4  a run that loses its workers ends
 */
import os from 'node:os'
import type { Db } from '../db/port.ts'
import { bell } from '../kernel/bell.shell.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import type { WorkerId } from '../kernel/ids.ts'
import {
  abandonRuns,
  claimRuns,
  drivenRuns,
  enlistWorker,
  forgetOldWorkers,
  layDownRun,
  type Lease,
  reapRuns,
  renewLease,
  retireWorker,
} from '../journal/lease.store.ts'
import { leavesRun } from './handback.ts'
import { type Driving, drive, handBack, type Memory, noMemory, parkAlone, surrender } from './loop.shell.ts'

export interface WorkerOptions {
  readonly db: Db
  readonly driving: Omit<Driving, 'leaseUntil' | 'leaving'>
  /** Runs at the same time; a run that waits for people takes no place. */
  readonly concurrency?: number
  readonly heartbeatMs?: number
  readonly leaseMs?: number
  /** The longest time between a run becoming due and somebody looking, when nothing wakes the worker. */
  readonly pollMs?: number
  /** How long effects that have started may go on when the worker stops; default 10 s, the default time of a tool. */
  readonly graceMs?: number
  /** Works beside the claims, under the lease of this worker, and ends with it: the relay of events. */
  readonly beside?: (worker: () => WorkerId, everyMs: number) => { stop(): Promise<void> }
  /** Runs a worker lost through a fault of the database or of ours; values never reach it. */
  readonly onError?: (error: unknown, where: { readonly tenant: string; readonly run: string } | null) => void
}

export interface Worker {
  readonly id: () => WorkerId
  /** Something became due: look now. */
  wake(): void
  /** A run of this process was canceled: reach its calls without waiting for the next look. */
  cancel(run: string): void
  /** Runs of this process may have been replaced by a newer message: look for marks now. */
  recheck(): void
  /** Stops claiming, hands back what has not ended, and resolves when nothing is driven any more. */
  stop(): Promise<void>
  readonly driven: () => number
}

export const HEARTBEAT_MS = 2_000
export const LEASE_MS = 8_000
const POLL_MS = 250
const GRACE_MS = 10_000
/** The relay looks once while the worker looks so often: nobody waits for an event as for an answer. */
const LOOKS_OF_RELAY = 4
const REAP_LIMIT = 100
/** After a fault of the database a run is taken up again, but not in a tight loop. */
const RETRY_MS = 500

interface Held {
  readonly lease: Lease
  readonly signal: AbortController
  readonly firm: AbortController
  readonly patient: AbortController
  readonly owned: AbortController
  readonly done: Promise<void>
}

/** The worker has no claim to its runs any more: everything of them ends now. */
const lose = (held: Held): void => {
  for (const one of [held.signal, held.firm, held.patient, held.owned]) one.abort(new Fault('lease_lost'))
}
/** The run was canceled: what has started is still asked for. */
const cancel = (held: Held): void => {
  for (const one of [held.signal, held.firm, held.patient]) one.abort(new Fault('canceled'))
}
/** Nobody follows the run: what can be repeated is left, what has started is not (K2). */
const leaveAlone = (held: Held): void => held.signal.abort(new Fault('client_gone'))
const stop = (held: Pick<Held, 'signal' | 'firm'>): void => {
  for (const one of [held.signal, held.firm]) one.abort(new Fault('worker_stopping'))
}

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { db, driving } = options
  const { clock } = driving
  const heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
  const leaseMs = options.leaseMs ?? LEASE_MS
  const pollMs = options.pollMs ?? POLL_MS
  const concurrency = options.concurrency ?? 16
  if (leaseMs < 3 * heartbeatMs || leaseMs > 5 * heartbeatMs)
    throw new Fault(
      'invalid_definition',
      `A lease of ${leaseMs} ms does not fit a heartbeat of ${heartbeatMs} ms: it must be 3 to 5 times as long.`,
    )
  // a worker that fails in silence looks like one that has nothing to do
  const onError =
    options.onError ?? ((error: unknown) => process.emitWarning(Fault.is(error) ? error : new Fault('internal')))
  const agents = [...driving.agents.keys()]
  const minds = [...driving.agents.values()].some((a) => a.absence !== null)
  const held = new Map<string, Held>()
  /** Those of the held that are being stored for the last time. */
  const leaving = new Set<string>()
  const stopping = new AbortController()
  const stopped = new AbortController()
  let worker = '' as WorkerId
  let leaseUntil = 0
  /** The store may say that a run is ours which nobody here drives: after a claim without a reply, or a run that was left. */
  let inDoubt = false
  const { ring: wake, rest } = bell(clock)

  async function enlist(): Promise<void> {
    const id = driving.ids.next('wrk')
    const asked = clock.monotonic()
    await enlistWorker(db, id, leaseMs, { host: os.hostname(), pid: process.pid })
    worker = id
    // counted from before the statement left, so it is over earlier than the database's
    leaseUntil = asked + leaseMs
  }

  /** Rejects when the database is silent for as long as the lease lasts, in which others may take the runs. */
  const renewed = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const silence = (): void => reject(new Fault('store_unavailable'))
      const cancel = clock.after(Math.max(0, leaseUntil - clock.monotonic()), silence)
      void renewLease(db, worker, leaseMs).then(resolve, reject).finally(cancel)
    })

  async function beat(): Promise<void> {
    const asked = clock.monotonic()
    try {
      if (await renewed()) {
        leaseUntil = asked + leaseMs
        return
      }
    } catch (error) {
      onError(error, null)
      if (clock.monotonic() < leaseUntil) return
    }
    // others may have our runs by now: a new name, so that nothing of the old one can be confused with it
    for (const one of held.values()) lose(one)
    await enlist()
  }

  function take(lease: Lease): void {
    const known = held.get(lease.run)
    // what was read before a later claim is no news
    if (known && known.lease.epoch >= lease.epoch) return
    if (known) lose(known)
    const controllers = {
      signal: new AbortController(),
      firm: new AbortController(),
      patient: new AbortController(),
      owned: new AbortController(),
    }
    const done = driveOne(lease, controllers).finally(() => {
      if (held.get(lease.run) === mine) {
        held.delete(lease.run)
        leaving.delete(lease.run)
      }
      wake()
    })
    const mine: Held = { lease, ...controllers, done }
    held.set(lease.run, mine)
    if (stopping.signal.aborted) stop(controllers)
  }

  async function driveOne(lease: Lease, controllers: Omit<Held, 'lease' | 'done'>): Promise<void> {
    const { signal, firm, patient, owned } = controllers
    const signals = { signal: signal.signal, firm: firm.signal, patient: patient.signal, owned: owned.signal }
    const where = { tenant: lease.tenant, run: lease.run }
    /** Since when nothing of the run could be read or stored. */
    let silentSince: number | null = null
    const parts: Driving = {
      ...driving,
      leaseUntil: () => (lease.worker === worker ? leaseUntil : 0),
      leaving(isLast) {
        silentSince = null
        if (!isLast) leaving.delete(lease.run)
        else {
          leaving.add(lease.run)
          wake()
        }
      },
    }
    const memory = noMemory()
    let broken = false
    while (!owned.signal.aborted) {
      try {
        return await (broken ? surrender(parts, lease) : drive(parts, lease, signals, memory))
      } catch (error) {
        // lost to another, or handed to one: without a word the next would count it as a loss
        if (leavesRun(error)) {
          // we count a lease as over earlier than the store does: it may be renewed, and then the run is still ours
          inDoubt = true
          return await leave(parts, lease, memory, error.code)
        }
        leaving.delete(lease.run)
        onError(error, where)
        if (isUnreachable(error)) silentSince ??= clock.monotonic()
        else silentSince = null
        // a store that renews the lease is there: what is out of reach for so long are the keys of this tenant alone
        const isSilent = silentSince !== null && clock.monotonic() - silentSince > leaseMs && believesInLease()
        const isStuck = isSilent || (broken && !isUnreachable(error))
        if (isStuck && (await layDown(lease, where))) return
        // a database that was away changes nothing: the run is still ours, and what is stored says where to go on
        broken ||= !isUnreachable(error)
        await clock.sleep(RETRY_MS, owned.signal).catch(() => {})
        if (stopping.signal.aborted) return
      }
    }
  }

  /** Nobody can drive it or end it now: its place is for others, and it is looked at again later. */
  const layDown = async (lease: Lease, where: { readonly tenant: string; readonly run: string }): Promise<boolean> => {
    try {
      await layDownRun(db, lease)
      return true
    } catch (error) {
      onError(error, where)
      return false
    }
  }

  /** A database that is away frees the run by time, and counts it as a loss. */
  const leave = async (parts: Driving, lease: Lease, memory: Memory, why: string): Promise<void> => {
    if (why === 'lease_lost') return
    const left = why === 'client_gone' ? parkAlone(parts, lease, memory) : handBack(parts, lease, memory)
    await left.catch((error: unknown) => onError(error, lease))
  }

  /** What is begun without it is given up at the first effect. */
  const believesInLease = (): boolean => clock.monotonic() < leaseUntil

  async function look(): Promise<void> {
    const room = concurrency - held.size + leaving.size
    if (room <= 0 || !believesInLease()) return
    try {
      await driving.fault('claim.before')
      if (stopping.signal.aborted) return
      const leases = await claimRuns(db, worker, agents, room)
      await driving.fault('claim.after')
      leases.forEach(take)
    } catch (error) {
      inDoubt = true
      onError(error, null)
    }
  }

  /** Takes the marks of cancellations to the runs, and takes up what is ours and not driven. */
  async function watch(): Promise<void> {
    if (held.size === 0 && !inDoubt) return
    inDoubt = false
    const before = [...held.values()]
    const driven = await drivenRuns(db, worker).catch((error: unknown) => {
      inDoubt = true
      throw error
    })
    // held all the time, and not ours any more: it ended in this moment, or it hung and was taken over (L8)
    const ours = new Set(driven.map(({ lease }) => `${lease.run} ${lease.epoch}`))
    for (const one of before)
      if (held.get(one.lease.run) === one && !ours.has(`${one.lease.run} ${one.lease.epoch}`)) lose(one)
    for (const { lease, canceled, alone } of driven) {
      if (believesInLease()) take(lease)
      else inDoubt = true
      const one = held.get(lease.run)
      if (canceled && one) cancel(one)
      else if (alone && one) leaveAlone(one)
    }
  }

  async function every(ms: number, until: AbortSignal, job: () => Promise<unknown>): Promise<void> {
    while (!until.aborted) {
      await clock.sleep(ms, until).catch(() => {})
      if (!until.aborted) await job().catch((error: unknown) => onError(error, null))
    }
  }

  async function claimLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look()
      if (!stopping.signal.aborted) await rest(pollMs)
    }
  }

  /** P6: reads and model calls end now, effects that have started get their time, and the lease is kept until then. */
  async function drain(): Promise<void> {
    stopping.abort()
    wake()
    for (const one of held.values()) stop(one)
    const drained = new AbortController()
    const over = clock.sleep(options.graceMs ?? GRACE_MS, drained.signal).then(
      () => {
        for (const one of held.values()) for (const c of [one.patient, one.owned]) c.abort(new Fault('worker_stopping'))
      },
      () => {},
    )
    await claiming
    while (held.size > 0) await Promise.allSettled([...held.values()].map((h) => h.done))
    drained.abort()
    await over
  }

  await enlist()
  const claiming = claimLoop()
  const beside = options.beside?.(() => worker, pollMs * LOOKS_OF_RELAY)
  const loops = [
    every(heartbeatMs, stopped.signal, beat),
    every(pollMs * 2, stopped.signal, watch),
    every(heartbeatMs, stopping.signal, async () => {
      if ((await reapRuns(db, REAP_LIMIT)) > 0) wake()
    }),
    ...(minds ? [every(heartbeatMs, stopping.signal, () => abandonRuns(db, REAP_LIMIT))] : []),
    every(3_600_000, stopping.signal, () => forgetOldWorkers(db)),
  ]
  return {
    id: () => worker,
    wake,
    cancel(run) {
      const one = held.get(run)
      if (one) cancel(one)
    },
    recheck() {
      watch().catch((error: unknown) => onError(error, null))
    },
    driven: () => held.size,
    async stop() {
      await Promise.all([drain(), beside?.stop()])
      stopped.abort()
      await Promise.all(loops)
      // the runs that were handed back are free as soon as the name is gone; a database that is away frees them by time
      await retireWorker(db, worker)
        .then(() => reapRuns(db, REAP_LIMIT))
        .catch((error: unknown) => onError(error, null))
    },
  }
}
