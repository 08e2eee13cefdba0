/**
 * One crash case: a run, the processes that fail while they drive it, and who finishes it. The log of the provider is
 * the judge of what happened, and the witness in the database of how; see crash-judge.ts.
 */
import { setTimeout } from 'node:timers/promises'
import { failure } from '../cli/output.ts'
import type { Db } from '../db/port.ts'
import type { FaultHook, FaultPoint } from '../kernel/faultpoint.ts'
import type { RunId, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { actorFrom, scopeOf } from '../request/actor.ts'
import { isFinal, type Run } from '../run/state.ts'
import type { Worker, WorkerOptions } from '../run/worker.shell.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import type { EffectProvider, ProviderMode, Trouble } from '../testing/effect-provider.ts'
import { crashAgent, type CrashAgentSpec } from './crash-agent.ts'
import { type Held, type PoliteEnd, SECRET, whileHeld } from './crash-held.ts'
import { type CrashWorker, spawnCrashWorker, type WrongClock } from './crash-process.ts'
import type { Evidence, Witness } from '../db/witness.ts'

/** Short, so that a takeover takes a second; 4 heartbeats in a lease. */
export const TIMES = { heartbeatMs: 200, leaseMs: 800, pollMs: 100 } as const
/** Where nobody is to take over: a busy machine must not lose a lease by itself. */
const CALM_TIMES = { heartbeatMs: 1_000, leaseMs: 4_000, pollMs: 100 } as const

/** Stands in every argument, result and error of a case, and nowhere else. */
export const CANARY = 'canary7f3a'

export interface CrashCase {
  readonly mode: ProviderMode
  /** The planted faults of each process that fails, in turn: `ext.replied:1:kill`. */
  readonly victims: readonly string[]
  readonly held?: Held
  /** The one who finishes lives beside the victims, and claims when the last of them is struck; default: it comes then. */
  readonly beside?: boolean
  /** A second run, which every victim holds whatever becomes of the first. */
  readonly companion?: boolean
  readonly trouble?: Omit<Trouble, 'resource'>
  /** This tool kills the process of each victim. */
  readonly deadly?: 'read' | 'write'
  readonly attempts?: number
  /** The wall clock of the victims. */
  readonly clock?: WrongClock
  /** The n-th change of the run is refused by the database. */
  readonly refusal?: { readonly sqlstate: '40001' | '40P01'; readonly nth: number }
}

export interface CrashGround {
  readonly db: Db
  /** For the processes. */
  readonly url: string
  readonly provider: EffectProvider
  readonly witness: Witness
  /** The program of the processes, when it is not the source. */
  readonly program?: string
  /** How long a run may take before it counts as stuck. */
  readonly patienceMs: number
  /** Restarts the database; absent where nobody may. */
  readonly restart?: () => Promise<void>
}

export interface RunResult {
  readonly run: RunId
  readonly status: Run['status']
  readonly reason: string | null
  readonly effects: number
  /** The keys under which the provider was asked, and how often. */
  readonly keys: readonly string[]
  readonly requests: number
  readonly stuck: boolean
  readonly evidence: Evidence
}

export interface CrashResult extends RunResult {
  /** The planted faults that were met, by process. */
  readonly met: readonly (readonly string[])[]
  /** Kills whose victims held a run at that moment. */
  readonly kills: readonly string[]
  readonly companion: RunResult | null
  readonly politeEnd: PoliteEnd | null
  /** When the one who finished came, on the server's clock, in milliseconds; null when it had been there all the time. */
  readonly finisherSince: number | null
  /** Everything that the processes and the one who finished have logged. */
  readonly said: string
  readonly session: SessionId
  readonly sessionVersion: number
  readonly spec: CrashAgentSpec
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

/** A new agent and the resource that its run is about. */
export function newSpec(ground: CrashGround, mode: ProviderMode): { spec: CrashAgentSpec; resource: string } {
  made += 1
  const spec = { name: `crash_${process.pid}_${made}`, mode, provider: ground.provider.url, timeoutMs: 1_500 }
  return { spec, resource: `${CANARY}-${process.pid}x${made}` }
}

export async function runCrashCase(ground: CrashGround, wanted: CrashCase): Promise<CrashResult> {
  const { witness, provider } = ground
  const { spec: plain, resource } = newSpec(ground, wanted.mode)
  const spec = wanted.attempts === undefined ? plain : { ...plain, attempts: wanted.attempts }
  const beside = `${resource}b`
  if (wanted.trouble) await provider.trouble({ ...wanted.trouble, resource })
  if (wanted.companion) await provider.trouble({ resource: beside, kind: 'hold_read', times: wanted.victims.length })
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const say = (text: string) => runtime.submit(crashActor(), { agent: spec.name, text })
  const second = wanted.companion ? await say(beside) : null
  const { run, session, sessionVersion } = await say(resource)
  if (wanted.refusal) await witness.refuse(run, wanted.refusal.nth, wanted.refusal.sqlstate)
  const watched: Watched = { runtime, run, until: performance.now() + ground.patienceMs }
  const victims: CrashWorker[] = []
  const kills: string[] = []
  let said = ''
  const working = {
    ...timesOf(wanted),
    onError(error: unknown) {
      said += `${failure(error).line}\n`
      if (process.env['PLIMSOLL_DEBUG']) console.error(error)
    },
  }
  const struck = gate()
  if (wanted.victims.length === 0) struck.open()
  const survivor = wanted.beside ? await survive(ground, spec, working, struck.opened) : null
  let later: Worker | null = null
  let finisherSince: number | null = null
  let politeEnd: PoliteEnd | null = null
  try {
    for (const [at, faults] of wanted.victims.entries()) {
      const victim = spawnCrashWorker(workerSpec(ground, wanted, spec), faults)
      victims.push(victim)
      await until(watched, (found) => found === null || rests(found), victim.struck)
      const isLast = at === wanted.victims.length - 1
      if (isLast) struck.open()
      // the run may be seen at its end before the place after it is heard of
      if (isLast && wanted.held && victim.met.length === 0) await Promise.race([victim.struck, setTimeout(HEAR_MS)])
      if (isLast && wanted.held && victim.met.length > 0) {
        const done = await whileHeld(ground, wanted.held, { runtime, actor: crashActor(), run, victim })
        politeEnd ??= done
      }
      if (victim.met.length > 0 && (faults.endsWith(':kill') || (isLast && wanted.held === 'cancel_kill'))) {
        kills.push(...(await killsOf(witness, victim)))
      }
    }
    if (survivor === null && failsForGood(wanted)) {
      finisherSince = await witness.now()
      later = await survive(ground, spec, working, struck.opened)
    }
    const last = await until(watched, rests)
    if (last !== null && rests(last)) await letZombiesEnd(victims)
    const look = { ground, runtime }
    const other = second ? await finishOther(look, { run: second.run, resource: beside }, watched) : null
    return {
      ...(await resultOf(look, { run, resource }, last)),
      met: victims.map((v) => v.met),
      kills,
      companion: other,
      politeEnd,
      finisherSince,
      said: said + victims.map((v) => v.said()).join(''),
      session,
      sessionVersion,
      spec,
    }
  } finally {
    for (const victim of victims) victim.signal('SIGKILL')
    await Promise.all(victims.map((v) => v.gone))
    struck.open()
    await Promise.all([survivor?.stop(), later?.stop()])
  }
}

/** The places of a process that is dead, if it held a run there. */
async function killsOf(witness: Witness, victim: CrashWorker): Promise<readonly string[]> {
  await victim.gone
  return (await witness.heldBy(victim.pid)) > 0 ? victim.met : []
}

/** A worker of this process that claims nothing before it may. */
async function survive(
  ground: CrashGround,
  spec: CrashAgentSpec,
  working: Omit<WorkerOptions, 'db' | 'driving'>,
  may: Promise<void>,
): Promise<Worker> {
  const fault: FaultHook = (point) => (point === 'claim.before' ? may : undefined)
  return createRuntime({ db: ground.db, agents: [crashAgent(spec)], fault }).work(working)
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const timesOf = ({ held }: CrashCase) => (held === undefined || held === 'cancel_kill' ? TIMES : CALM_TIMES)

function workerSpec(ground: CrashGround, wanted: CrashCase, spec: CrashAgentSpec) {
  const { deadly, clock, held } = wanted
  return {
    db: ground.url,
    // as `plimsoll start` does, so that its readiness can be asked for
    ...(held === 'term' ? { secret: SECRET } : {}),
    agents: [deadly === undefined ? spec : { ...spec, deadly }],
    ...timesOf(wanted),
    ...(clock === undefined ? {} : { clock }),
    ...(ground.program === undefined ? {} : { program: ground.program }),
  }
}

/** Whether the last victim leaves its work to others. */
const failsForGood = ({ victims, held, deadly }: CrashCase): boolean =>
  victims.length === 0 ||
  deadly !== undefined ||
  held === 'term' ||
  held === 'cancel_kill' ||
  /:(kill|stop)$/.test(victims.at(-1) ?? '')

/** A process that was stopped goes on, writes what it still wants to write, and ends politely; it may stop on its way there. */
async function letZombiesEnd(victims: readonly CrashWorker[]): Promise<void> {
  let left = victims.length
  for (const victim of victims) {
    victim.signal('SIGTERM')
    void victim.gone.then(() => (left -= 1))
  }
  while (left > 0) {
    for (const victim of victims) {
      victim.signal('SIGCONT')
      victim.go()
    }
    await Promise.race([setTimeout(100), Promise.all(victims.map((v) => v.gone))])
  }
}

const rests = (run: Seen | null): boolean => run !== null && (isFinal(run.status) || run.wait === 'unknown_effect')

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
    // the database may be restarting
    const now = await seen(runtime, run).catch(() => undefined)
    if (now !== undefined) {
      found = now
      if (done(found)) break
      if (found?.wait === 'confirmation') await approve(runtime, run).catch(() => {})
    }
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

interface Look {
  readonly ground: CrashGround
  readonly runtime: Runtime
}

interface About {
  readonly run: RunId
  readonly resource: string
}

async function finishOther(look: Look, about: About, watched: Watched): Promise<RunResult> {
  let isOver = false
  // whoever has taken it over may begin its read only now
  const releasing = (async () => {
    for (; !isOver; await setTimeout(RELEASE_MS)) await look.ground.provider.release(about.resource)
  })()
  const last = await until({ ...watched, run: about.run }, rests)
  isOver = true
  await releasing
  return resultOf(look, about, last)
}

const RELEASE_MS = 100
/** A line of a process that was held a moment ago. */
const HEAR_MS = 2_000

/** What is known of a run in the end; `last` as it was seen. */
export async function resultOf({ ground }: Look, { run, resource }: About, last: Seen | null): Promise<RunResult> {
  const asked = ground.provider.requests().filter((r) => r.resource === resource)
  return {
    run,
    status: last?.status ?? 'queued',
    reason: last?.end ?? last?.wait ?? null,
    effects: ground.provider.effects().filter((e) => e.resource === resource).length,
    keys: [...new Set(asked.map((r) => r.key))],
    requests: asked.length,
    stuck: !rests(last),
    evidence: await ground.witness.evidence(run),
  }
}

/** What leads to a place that a run without trouble does not pass. */
const LEADS: Partial<Record<FaultPoint, CrashCase>> = {
  'ledger.before': { mode: 'keyed', victims: ['model.sent:1:kill'] },
  'ledger.after': { mode: 'keyed', victims: ['model.sent:1:kill'] },
  'park.before': { mode: 'manual', victims: ['ext.before:1:kill'] },
  'park.after': { mode: 'manual', victims: ['ext.before:1:kill'] },
}

/** Here the run of the case is not held: there is another one, so that the victim is no idle process. */
const ALONE: ReadonlySet<FaultPoint> = new Set(['claim.before', 'park.after', 'final.after'])

/** The case that strikes at a place, and there for the n-th time. */
export function caseAt(
  point: FaultPoint,
  action: 'throw' | 'kill' | 'stop' | 'cut_before' | 'cut_after' | Held,
  mode: ProviderMode = 'keyed',
  pass = point === 'claim.before' && action === 'kill' ? 2 : 1,
): CrashCase {
  const lead = LEADS[point] ?? { mode, victims: [] }
  const held = action === 'restart' || action === 'term' || action === 'cancel' || action === 'cancel_kill'
  return {
    mode: lead.mode,
    victims: [...lead.victims, `${point}:${pass}:${held ? 'hold' : action}`],
    ...(held ? { held: action } : {}),
    ...(action === 'kill' && ALONE.has(point) ? { companion: true } : {}),
  }
}
