/** The program of `spawnCrashWorker`: drives the agents of `PLIMSOLL_CRASH_WORKER` until SIGTERM, with the faults of `PLIMSOLL_FAULT`. */
import { setTimeout } from 'node:timers/promises'
import { openPostgres } from '../db/postgres.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import { createRuntime } from '../runtime.ts'
import { faultsFromEnv } from '../testing/faults.ts'
import { crashAgent } from './crash-agent.ts'
import type { CrashWorkerSpec } from './crash-process.ts'

const spec = JSON.parse(process.env['PLIMSOLL_CRASH_WORKER'] ?? '') as CrashWorkerSpec
const db = await openPostgres({ url: spec.db, connections: 2 })

/** A run does not end before the relay has passed its places, so that a fault planted there is met. */
const LONGEST_WAIT_MS = 3_000
const planted = faultsFromEnv()
let relayed = (): void => {}
const relay = new Promise<void>((resolve) => (relayed = resolve))
const fault: FaultHook = async (point) => {
  if (point === 'final.before') await Promise.race([relay, setTimeout(LONGEST_WAIT_MS)])
  await planted(point)
  if (point === 'outbox.afterPublish') relayed()
}
const sinks = [{ name: 'crash', publish: () => Promise.resolve() }]
const runtime = createRuntime({ db, agents: spec.agents.map(crashAgent), fault, sinks })
const { heartbeatMs, leaseMs, pollMs } = spec
const worker = await runtime.work({
  heartbeatMs,
  leaseMs,
  pollMs,
  onError: process.env['PLIMSOLL_DEBUG'] ? (error, where) => console.error(process.pid, where, error) : () => {},
})
process.once('SIGTERM', () => {
  void worker
    .stop()
    .then(() => db.close())
    .then(() => process.exit(0))
})
// whoever started it is gone, and nobody would end it
process.stdin.once('end', () => process.exit(1)).resume()
console.log(JSON.stringify({ ready: true }))
