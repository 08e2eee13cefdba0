/**
 * One crash case: a run, the processes that fail while they drive it, and who finishes it. The log of the provider is
 * the judge, never our tables.
 */
import { setTimeout } from 'node:timers/promises'
import type { Db } from '../db/port.ts'
import type { FaultPoint } from '../kernel/faultpoint.ts'
import type { RunId, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { actorFrom, scopeOf } from '../request/actor.ts'
import { isFinal, type Run } from '../run/state.ts'
import type { Worker } from '../run/worker.shell.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import type { EffectProvider, ProviderMode, Trouble } from '../testing/effect-provider.ts'
import { crashAgent, type CrashAgentSpec } from './crash-agent.ts'
import { type CrashWorker, spawnCrashWorker } from './crash-process.ts'

/** Short, so that a takeover takes a second; 4 heartbeats in a lease. */
export const TIMES = { heartbeatMs: 200, leaseMs: 800, pollMs: 100 } as const

export interface CrashCase {
  readonly mode: ProviderMode
  /** The planted faults of each process that fails, in turn: `ext.replied:1:kill`. */
  readonly victims: readonly string[]
  /** The one who finishes works beside the first victim from the moment at which that has a run; default: after the last failed. */
  readonly beside?: boolean
  readonly trouble?: Omit<Trouble, 'resource'>
  /** This tool kills the process of each victim. */
  readonly deadly?: 'read' | 'write'
  readonly attempts?: number
}

export interface CrashGround {
  readonly db: Db
  /** For the processes. */
  readonly url: string
  readonly provider: EffectProvider
  /** The program of the processes, when it is not the source. */
  readonly program?: string
  /** How long a run may take before it counts as stuck. */
  readonly patienceMs: number
}

export interface CrashResult {
  readonly status: Run['status']
  readonly reason: string | null
  readonly effects: number
  /** The keys under which the provider was asked. */
  readonly keys: readonly string[]
  /** The planted faults that were met, by process. */
  readonly met: readonly (readonly string[])[]
  readonly stuck: boolean
  readonly run: RunId
  readonly session: SessionId
  readonly sessionVersion: number
  readonly spec: CrashAgentSpec
}

const working = {
  ...TIMES,
  onError: (error: unknown) => {
    if (process.env['PLIMSOLL_DEBUG']) console.error(error)
  },
}

let made = 0

export const crashActor = (kind: 'end_user' | 'operator' = 'end_user'): Actor =>
  actorFrom({
    kind,
    tenant: 'acme',
    environment: 'production',
    user: kind === 'end_user' ? 'ann' : 'olga',
    subject: 'ann',
    permissions: ['stock.look', 'stock.change'],
  })

export async function runCrashCase(ground: CrashGround, wanted: CrashCase): Promise<CrashResult> {
  made += 1
  const resource = `r${process.pid}x${made}`
  const spec: CrashAgentSpec = {
    name: `crash_${process.pid}_${made}`,
    mode: wanted.mode,
    provider: ground.provider.url,
    timeoutMs: 1_500,
    ...(wanted.attempts === undefined ? {} : { attempts: wanted.attempts }),
  }
  if (wanted.trouble) await ground.provider.trouble({ ...wanted.trouble, resource })
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const deadly = wanted.deadly === undefined ? {} : { deadly: wanted.deadly }
  const { run, session, sessionVersion } = await runtime.submit(crashActor(), { agent: spec.name, text: resource })
  const watched: Watched = { ground, runtime, run, until: performance.now() + ground.patienceMs }
  const victims: CrashWorker[] = []
  let survivor: Worker | null = null
  try {
    for (const faults of wanted.victims) {
      const program = ground.program === undefined ? {} : { program: ground.program }
      const victim = spawnCrashWorker(
        { db: ground.url, agents: [{ ...spec, ...deadly }], ...TIMES, ...program },
        faults,
      )
      victims.push(victim)
      if (wanted.beside) {
        await until(watched, (found) => found?.status !== 'queued' || victim.met.length > 0, victim.gone)
        survivor ??= await runtime.work(working)
      }
      await until(watched, (found) => found === null || rests(found), victim.struck)
    }
    survivor ??= await runtime.work(working)
    const last = await until(watched, (found) => found !== null && rests(found))
    await letZombiesEnd(victims)
    const effects = ground.provider.effects().filter((e) => e.resource === resource)
    return {
      status: last?.status ?? 'queued',
      reason: last?.end ?? last?.wait ?? null,
      effects: effects.length,
      keys: [
        ...new Set(
          ground.provider
            .requests()
            .filter((r) => r.resource === resource)
            .map((r) => r.key),
        ),
      ],
      met: victims.map((v) => v.met),
      stuck: last === null || !rests(last),
      run,
      session,
      sessionVersion,
      spec,
    }
  } finally {
    for (const victim of victims) victim.signal('SIGKILL')
    await Promise.all(victims.map((v) => v.gone))
    await survivor?.stop()
  }
}

/** A process that was stopped goes on, writes what it still wants to write, and ends politely; it may stop on its way there. */
async function letZombiesEnd(victims: readonly CrashWorker[]): Promise<void> {
  let left = victims.length
  for (const victim of victims) {
    victim.signal('SIGTERM')
    void victim.gone.then(() => (left -= 1))
  }
  while (left > 0) {
    for (const victim of victims) victim.signal('SIGCONT')
    await Promise.race([setTimeout(100), Promise.all(victims.map((v) => v.gone))])
  }
}

const rests = (run: Seen): boolean => isFinal(run.status) || run.wait === 'unknown_effect'

export interface Seen {
  readonly status: Run['status']
  readonly wait: Run['wait']
  readonly end: Run['end']
}

/** The run as its row is now. */
export async function seen(runtime: Runtime, run: RunId): Promise<Seen | null> {
  const rows = await runtime.runs.load({ tenant: 'acme', environment: 'production', run })
  return rows && { status: rows.run.status, wait: rows.run.wait_reason, end: rows.run.end_reason }
}

interface Watched {
  readonly ground: CrashGround
  readonly runtime: Runtime
  readonly run: RunId
  readonly until: number
}

/** Approves what is asked, until `done`, `or` resolves, or the patience is over. The run as it was seen last. */
async function until(
  watched: Watched,
  done: (run: Seen | null) => boolean,
  or?: Promise<unknown>,
): Promise<Seen | null> {
  const { runtime, run } = watched
  let over = false
  void or?.then(() => {
    over = true
  })
  let found: Seen | null = null
  while (!over && performance.now() < watched.until) {
    found = await seen(runtime, run)
    if (done(found)) break
    if (found?.wait === 'confirmation') await approve(runtime, run)
    await runtime.clock.sleep(60)
  }
  return found
}

export async function approve(runtime: Runtime, run: RunId): Promise<void> {
  const actor = crashActor()
  const open = await runtime.confirmations.inbox(scopeOf(actor), { user: actor.user, run, after: '', limit: 10 })
  for (const { id, version, paramsHash } of open)
    await runtime.decide(actor, { confirmation: id, approve: true, version, paramsHash, reason: null }).catch(() => {})
}

/** What leads to a place that a run without trouble does not pass. */
const LEADS: Partial<Record<FaultPoint, CrashCase>> = {
  'ledger.before': { mode: 'keyed', victims: ['model.sent:1:kill'] },
  'ledger.after': { mode: 'keyed', victims: ['model.sent:1:kill'] },
  'park.before': { mode: 'manual', victims: ['ext.before:1:kill'] },
  'park.after': { mode: 'manual', victims: ['ext.before:1:kill'] },
}

/** The case that strikes at a place, and there for the n-th time. */
export function caseAt(point: FaultPoint, action: 'kill' | 'stop', mode: ProviderMode = 'keyed', pass = 1): CrashCase {
  const lead = LEADS[point] ?? { mode, victims: [] }
  return { mode: lead.mode, victims: [...lead.victims, `${point}:${pass}:${action}`] }
}

export type Verdict = 'ok' | 'duplicate' | 'lost' | 'stuck'

/**
 * What the promise says about a case: one effect where the provider has a key or can be asked; where it has neither, at
 * most one, and either the run knows of it or a person is asked.
 */
export function judge({ mode, deadly }: CrashCase, result: CrashResult): Verdict {
  if (result.stuck) return 'stuck'
  if (result.effects > 1 || result.keys.length > 1) return 'duplicate'
  if (deadly === 'read') return result.reason === 'attempts_exhausted' ? 'ok' : 'lost'
  const asksPerson = result.reason === 'unknown_effect'
  if (asksPerson) return mode === 'manual' || deadly ? 'ok' : 'lost'
  return result.status === 'succeeded' && result.effects === 1 ? 'ok' : 'lost'
}
