/** One run in this process, from the message to its rest, with whatever is broken meanwhile. */
import { crashAgent } from '../../src/eval/crash-agent.ts'
import { approve, crashActor, type Seen, seen } from '../../src/eval/crash-case.ts'
import type { Db } from '../../src/db/port.ts'
import type { FaultHook } from '../../src/kernel/faultpoint.ts'
import type { RunId } from '../../src/kernel/ids.ts'
import { isFinal } from '../../src/run/state.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import type { ProviderMode } from '../../src/testing/effect-provider.ts'
import type { Ground } from './ground.ts'

export interface Plot {
  readonly mode: ProviderMode
  /** What the worker and who decides use. */
  readonly db: Db
  /** Called when the worker is about to start. */
  readonly begin?: () => void
  readonly fault?: FaultHook
  readonly onError?: () => void
}

export interface Told {
  readonly run: RunId
  readonly end: Seen | null
  /** By the log of the provider. */
  readonly effects: number
}

let made = 0

export function newAgent(ground: Ground, mode: ProviderMode) {
  made += 1
  return crashAgent({ name: `story_${process.pid}_${made}`, mode, provider: ground.provider.url, timeoutMs: 1_000 })
}

export async function tell(ground: Ground, plot: Plot): Promise<Told> {
  const agent = newAgent(ground, plot.mode)
  const resource = agent.name
  // over the direct connection: what is broken is the worker's, and who decides'
  const watching = createRuntime({ db: ground.db, agents: [agent] })
  const runtime = createRuntime({ db: plot.db, agents: [agent], ...(plot.fault ? { fault: plot.fault } : {}) })
  const { run } = await watching.submit(crashActor(), { agent: agent.name, text: resource })
  plot.begin?.()
  const worker = await runtime.work({
    heartbeatMs: 400,
    leaseMs: 1_600,
    pollMs: 50,
    onError: plot.onError ?? (() => {}),
  })
  const end = await rest(watching, run, runtime)
  await worker.stop()
  return { run, end, effects: ground.provider.effects().filter((e) => e.resource === resource).length }
}

/** Approves what is asked until the run has ended or a person is needed; null when that takes too long. */
export async function rest(watching: Runtime, run: RunId, deciding: Runtime): Promise<Seen | null> {
  for (const until = performance.now() + 25_000; performance.now() < until; ) {
    // the connection that watches may be among those that are ended
    const found = await seen(watching, run).catch(() => null)
    if (found && (isFinal(found.status) || found.wait === 'unknown_effect')) return found
    if (found?.wait === 'confirmation') await approve(deciding, run)
    await watching.clock.sleep(30)
  }
  return null
}

export const COMPLETED: Seen = { status: 'succeeded', wait: null, end: 'completed' }
