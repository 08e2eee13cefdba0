/**
 * The program of `spawnCrashWorker`: drives the agents of `PLIMSOLL_CRASH_WORKER`, serves callers, or both, until SIGTERM,
 * with the faults of `PLIMSOLL_FAULT`.
 */
import { openPostgres } from '../db/postgres.ts'
import { failure } from '../cli/output.ts'
import { stopPolitely } from '../cli/stop.ts'
import type { Clock } from '../kernel/clock.ts'
import { systemClock } from '../kernel/system.shell.ts'
import { createRuntime } from '../runtime.ts'
import { faultsFromEnv } from '../testing/faults.ts'
import { proxyTo } from '../testing/proxy.ts'
import { crashAgent } from './crash-agent.ts'
import type { CrashWorkerSpec, WrongClock } from './crash-process.ts'

/** The names of all statements that commit something of a run. */
const COMMITS = [
  'lease_claim',
  'run_step',
  'effect_start',
  'run_submit',
  'run_cancel',
  'confirmation_decide',
  'idempotency_completeKey',
]

const HOUR_MS = 3_600_000
const TEN_MINUTES_MS = 600_000

/** A wall clock that is wrong in one way, as clocks of machines are; durations stay true. */
function clockOf(wrong: WrongClock | undefined): Clock {
  const begun = Date.now()
  let steps = 0
  const now: Record<WrongClock, () => number> = {
    ahead: () => Date.now() + HOUR_MS,
    behind: () => Date.now() - HOUR_MS,
    frozen: () => begun,
    stepping: () => Date.now() - (steps++ % 2) * TEN_MINUTES_MS,
  }
  return wrong === undefined ? systemClock : { ...systemClock, now: now[wrong] }
}

/** Loaded when it is needed: a worker starts in half the time without it. */
async function serve(secret: string) {
  const { createHttpServer } = await import('../http/server.ts')
  return createHttpServer(runtime, { secret, onError: log })
}

const spec = JSON.parse(process.env['PLIMSOLL_CRASH_WORKER'] ?? '') as CrashWorkerSpec
const isCut = (process.env['PLIMSOLL_FAULT'] ?? '').includes(':cut_')
const proxy = isCut ? await proxyTo(spec.db) : null
const fault = faultsFromEnv(process.env, proxy ? { cut: (when) => proxy.cut(when, COMMITS) } : undefined)
const db = await openPostgres({ url: proxy?.url ?? spec.db, connections: 2 })
const agents = spec.agents.map((one) => crashAgent(one, fault))
const developmentOrigins = spec.origins ?? []
const runtime = createRuntime({ db, agents, fault, clock: clockOf(spec.clock), developmentOrigins })
// as the command line logs it
const log = (error: unknown): void => {
  console.error(failure(error).line)
  if (process.env['PLIMSOLL_DEBUG']) console.error(error)
}
const { heartbeatMs, leaseMs, pollMs } = spec
const server = spec.secret === undefined ? null : await serve(spec.secret)
const worker = spec.works === false ? null : await runtime.work({ heartbeatMs, leaseMs, pollMs, onError: log })
process.once('SIGTERM', () => {
  const ended = stopPolitely({ note: console.error }, { ...(server && { server }), ...(worker && { worker }), db })
  console.log(JSON.stringify({ stopping: true }))
  void ended.then((code) => proxy?.stop().then(() => code) ?? code).then((code) => process.exit(code))
})
// whoever started it is gone, and nobody would end it
process.stdin.once('end', () => process.exit(1)).resume()
console.log(JSON.stringify({ ready: true, url: server?.url ?? null }))
