/** The program of `spawnCrashWorker`: drives the agents of `PLIMSOLL_CRASH_WORKER` until SIGTERM, with the faults of `PLIMSOLL_FAULT`. */
import { openPostgres } from '../db/postgres.ts'
import { createRuntime } from '../runtime.ts'
import { faultsFromEnv } from '../testing/faults.ts'
import { crashAgent } from './crash-agent.ts'
import type { CrashWorkerSpec } from './crash-process.ts'

const spec = JSON.parse(process.env['PLIMSOLL_CRASH_WORKER'] ?? '') as CrashWorkerSpec
const db = await openPostgres({ url: spec.db, connections: 2 })
const runtime = createRuntime({ db, agents: spec.agents.map(crashAgent), fault: faultsFromEnv() })
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
