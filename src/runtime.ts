/**
 * The composition root: the one file that knows every part. Nothing is decided here.
 */
import type { Db } from './db/port.ts'
import { plainSealer, type Sealer } from './db/seal.ts'
import { type ConfirmationStore, confirmationStore } from './gate/confirmation.store.ts'
import type { ConfirmationView } from './gate/confirmation.ts'
import { type EffectStore, effectStore } from './journal/effect.store.ts'
import type { Clock } from './kernel/clock.ts'
import { type FaultHook, noFaults } from './kernel/faultpoint.ts'
import type { Ids, RunId } from './kernel/ids.ts'
import type { Random } from './kernel/random.ts'
import type { Actor } from './kernel/scope.ts'
import { systemClock, systemIds, systemRandom } from './kernel/system.shell.ts'
import type { Authorize } from './run/act.shell.ts'
import type { Agent } from './run/agent.ts'
import { cancelRun, type DecideRequest, decideConfirmation, resolveEffect } from './run/decide.shell.ts'
import type { CancelCause } from './run/reasons.ts'
import { type RunStore, runStore } from './run/run.store.ts'
import type { Run } from './run/state.ts'
import { type SubmitRequest, type SubmitResult, submitMessage } from './run/submit.shell.ts'
import { startWorker, type Worker, type WorkerOptions } from './run/worker.shell.ts'
import { type Hub, hub } from './stream/hub.ts'

export interface RuntimeOptions {
  readonly db: Db
  readonly agents: readonly Agent[]
  /** Whether an actor may use a tool now, asked at every use; default: what its credential carries. */
  readonly authorize?: Authorize
  readonly sealer?: Sealer
  readonly clock?: Clock
  readonly ids?: Ids
  readonly random?: Random
  readonly fault?: FaultHook
  /** Told of every run that a worker of this process has moved, after the commit. */
  readonly observe?: (run: Run) => void
}

export interface Runtime {
  readonly db: Db
  readonly agents: ReadonlyMap<string, Agent>
  readonly hub: Hub
  readonly sealer: Sealer
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly runs: RunStore
  readonly effects: EffectStore
  readonly confirmations: ConfirmationStore
  submit(actor: Actor, request: SubmitRequest): Promise<SubmitResult>
  decide(actor: Actor, request: DecideRequest): Promise<ConfirmationView>
  cancel(actor: Actor, run: RunId, cause: CancelCause, version: number | null): Promise<Run>
  resolve(actor: Actor, at: Parameters<typeof resolveEffect>[2], said: Parameters<typeof resolveEffect>[3]): Promise<Run>
  /** Starts a worker in this process. */
  work(options?: Omit<WorkerOptions, 'db' | 'driving'>): Promise<Worker>
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const { db } = options
  const sealer = options.sealer ?? plainSealer
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? systemIds
  const random = options.random ?? systemRandom
  const agents: ReadonlyMap<string, Agent> = new Map(options.agents.map((a) => [a.name, a]))
  const runs = runStore(db, sealer)
  const effects = effectStore(db, sealer)
  const confirmations = confirmationStore(db, sealer)
  const workers = new Set<Worker>()
  const listeners = hub()
  const outside = { runs, confirmations, sealer, ids, clock, agents }
  const wake = () => {
    for (const worker of workers) worker.wake()
  }

  return {
    db,
    agents,
    hub: listeners,
    sealer,
    clock,
    ids,
    random,
    runs,
    effects,
    confirmations,
    async submit(actor, request) {
      const done = await submitMessage(outside, actor, request)
      wake()
      return done
    },
    async decide(actor, request) {
      const done = await decideConfirmation(outside, actor, request)
      listeners.notify(done.run)
      wake()
      return done
    },
    async cancel(actor, run, cause, version) {
      const done = await cancelRun(outside, actor, run, cause, version)
      for (const worker of workers) worker.cancel(run)
      listeners.notify(run)
      wake()
      return done
    },
    async resolve(actor, at, said) {
      const done = await resolveEffect(outside, actor, at, said)
      listeners.notify(at.run)
      wake()
      return done
    },
    async work(how = {}) {
      const worker = await startWorker({
        ...how,
        db,
        driving: {
          agents,
          runs,
          effects,
          sealer,
          clock,
          ids,
          random,
          fault: options.fault ?? noFaults,
          authorize: options.authorize ?? (() => true),
          delta: () => {},
          committed: (run) => {
            listeners.notify(run.key.run)
            options.observe?.(run)
          },
        },
      })
      workers.add(worker)
      return { ...worker, stop: () => worker.stop().finally(() => workers.delete(worker)) }
    },
  }
}
