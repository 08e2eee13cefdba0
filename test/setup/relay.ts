/** Runs with events to send, and relays on one store. */
import type { KeyProvider } from '../../src/db/keyprovider.ts'
import type { Db } from '../../src/db/port.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import type { FaultHook } from '../../src/kernel/faultpoint.ts'
import type { Sink } from '../../src/journal/sink.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import type { Receiver } from '../../src/testing/receiver.ts'
import type { TestStore } from './engines.ts'
import { insert, ms, seedRun } from './seed.ts'

export const operator = (tenant = 'acme', environment = 'production') =>
  actorFrom({ kind: 'operator', tenant, environment, user: 'olga', subject: 'olga', permissions: ['*'] })

export { openReceiver, type Received, type Receiver } from '../../src/testing/receiver.ts'

export interface RelayScene {
  readonly receivers?: readonly Receiver[]
  readonly sinks?: readonly Sink[]
  readonly fault?: FaultHook
  readonly db?: Db
  readonly clock?: Clock
  readonly keys?: KeyProvider
  readonly onError?: (error: unknown) => void
}

export interface Relaying {
  readonly runtime: Runtime
  stop(): Promise<void>
}

/** A program without agents, whose worker has a relay that looks every 20 ms. */
export const runtimeFor = (
  store: TestStore,
  { receivers = [], sinks = [], fault, db, clock, keys }: RelayScene,
): Runtime =>
  createRuntime({
    db: db ?? store.db,
    agents: [],
    sinks,
    developmentOrigins: receivers.map((r) => r.url),
    ...(fault && { fault }),
    ...(clock && { clock }),
    ...(keys && { keys }),
  })

export async function relaying(store: TestStore, scene: RelayScene): Promise<Relaying> {
  const runtime = runtimeFor(store, scene)
  const worker = await runtime.work({ pollMs: 5, onError: scene.onError ?? (() => {}) })
  return { runtime, stop: () => worker.stop() }
}

type Place = { readonly tenant_id?: string; readonly environment?: string }

/** A run with these events, numbered from 1. */
export async function runWith(store: TestStore, types: readonly string[], place: Place = {}): Promise<string> {
  const { run } = await seedRun(store, { status: 'succeeded', worker_id: null, end_reason: 'completed', ...place })
  await addEvents(store, run, types, { from: 1, ...place })
  return run
}

export async function addEvents(
  store: TestStore,
  run: string,
  types: readonly string[],
  { from, at = 0, ...place }: Place & { readonly from: number; readonly at?: number },
): Promise<void> {
  for (const [i, type] of types.entries())
    await insert(store, 'event', {
      tenant_id: 'acme',
      environment: 'production',
      ...place,
      run_id: run,
      seq: from + i,
      type,
      visibility: type === 'attempt_lost' ? 'operator' : 'user',
      body: sealed({ step: i }),
      created_at: ms(at),
    })
}

/** As the plain sealer writes it. */
export const sealed = (value: unknown): Buffer =>
  Buffer.concat([Buffer.from([0]), Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))])
