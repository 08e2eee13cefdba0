/**
 * A worker of the airline as its own process: `worker.ts SETTINGS`, which are JSON.
 *
 * Tells the process that started it `ready`, and where it stands when it has come to the place where it is to be killed:
 * the run that came there goes no further.
 */
import { openPostgres } from '../../src/db/postgres.ts'
import { type FaultHook, noFaults } from '../../src/kernel/faultpoint.ts'
import { createRuntime } from '../../src/runtime.ts'
import { airlineAgents, type AirlineSetup } from './agents.ts'
import { endWithParent } from './child.ts'
import type { KillPlan } from './kills.ts'

export type WorkerSettings = {
  readonly db: string
  readonly setup: AirlineSetup
  readonly times: { readonly heartbeatMs: number; readonly leaseMs: number; readonly pollMs: number }
  readonly kill: KillPlan | null
}
export type WorkerMessage = { readonly airline: 'ready' | 'reached' }

const tell = (airline: WorkerMessage['airline']) => process.send?.({ airline } satisfies WorkerMessage)

function trapAt(kill: KillPlan | null): FaultHook {
  if (!kill) return noFaults
  let left = kill.pass
  return (point) => {
    if (point !== kill.point) return
    left -= 1
    if (left !== 0) return
    tell('reached')
    return new Promise(() => {})
  }
}

endWithParent()
const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
const db = await openPostgres({ url: settings.db })
const agents = airlineAgents(settings.setup)
const runtime = createRuntime({ db, agents, fault: trapAt(settings.kill) })
const worker = await runtime.work({ ...settings.times, onError: (error) => console.error(error) })
process.once('SIGTERM', () => {
  void worker
    .stop()
    .then(() => db.close())
    .then(() => process.exit(0))
})
tell('ready')
