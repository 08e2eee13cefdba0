/** Many runs at once: eight workers that race for them, and a database that is restarted under load. */
import type { RunId } from '../kernel/ids.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import { crashAgent } from './crash-agent.ts'
import {
  approve,
  type CrashCase,
  crashActor,
  type CrashGround,
  newSpec,
  resultOf,
  type RunResult,
  seen,
  TIMES,
} from './crash-case.ts'
import type { Invariant } from './crash-invariants.ts'
import { judge, runVerdicts, type Verdict } from './crash-judge.ts'
import { spawnCrashWorker } from './crash-process.ts'
import type { Outcome } from './crash-summary.ts'

const RACERS = 8
const RACED = 12
const LOADED = 20
/** The database goes down when so many effects have happened: progress, and no clock, says when. */
const RESTARTS_AT = [2, 7, 13] as const
const LOOK_MS = 50

const PLAIN: CrashCase = { mode: 'state', victims: [] }

interface Submitted {
  readonly run: RunId
  readonly resource: string
}

async function submitMany(ground: CrashGround, count: number) {
  const { spec, resource } = newSpec(ground, PLAIN.mode)
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const submitted: Submitted[] = []
  for (let n = 0; n < count; n++) {
    const text = `${resource}n${n}`
    submitted.push({ run: (await runtime.submit(crashActor(), { agent: spec.name, text })).run, resource: text })
  }
  return { spec, runtime, submitted }
}

/** Approves until all have ended; `look` is called between. */
async function finish(
  ground: CrashGround,
  runtime: Runtime,
  submitted: readonly Submitted[],
  look: () => Promise<void> = async () => {},
): Promise<readonly RunResult[]> {
  const left = new Map(submitted.map((one) => [one.run, one]))
  const results: RunResult[] = []
  for (const until = performance.now() + ground.patienceMs; left.size > 0 && performance.now() < until; ) {
    await look()
    for (const [run, one] of left) {
      const now = await seen(runtime, run).catch(() => null)
      if (now?.wait === 'confirmation') await approve(runtime, run).catch(() => {})
      if (!now?.end) continue
      left.delete(run)
      results.push(await resultOf({ ground, runtime }, one, now))
    }
    await runtime.clock.sleep(LOOK_MS)
  }
  for (const one of left.values()) results.push(await resultOf({ ground, runtime }, one, null))
  return results
}

function outcomeOf(what: string, results: readonly RunResult[], also: readonly Invariant[]): Outcome {
  const worst = results.map((r) => judge(PLAIN, r)).find((v) => v !== 'ok')
  const verdict: Verdict = worst ?? 'ok'
  const proves = new Map<Invariant, boolean>(also.map((n) => [n, worst === undefined]))
  for (const result of results)
    for (const [n, holds] of runVerdicts(PLAIN, result)) proves.set(n, holds && (proves.get(n) ?? true))
  const broken = [...proves].filter(([, holds]) => !holds).map(([n]) => n)
  const isFine = verdict === 'ok' && broken.length === 0
  const trouble = isFine ? null : `${verdict}: ${what} (broken: ${broken.join(', ')})`
  return { verdict, proves, kills: [], strikes: [], takeovers: [], trouble }
}

/** Invariant 4: whoever claims first drives, and nobody else writes. */
export const raceTask = (ground: CrashGround) => async (): Promise<Outcome> => {
  const { spec, runtime, submitted } = await submitMany(ground, RACED)
  const agents = [crashAgent(spec)]
  const workers = await Promise.all(
    Array.from({ length: RACERS }, () =>
      createRuntime({ db: ground.db, agents }).work({ ...TIMES, onError: () => {} }),
    ),
  )
  const results = await finish(ground, runtime, submitted)
  await Promise.all(workers.map((worker) => worker.stop()))
  return outcomeOf(`${RACERS} workers race for ${RACED} runs`, results, [])
}

/** Invariant 7: two worker processes, and a database that is restarted while they work. */
export const loadTask = (ground: CrashGround) => async (): Promise<Outcome> => {
  const { spec, runtime, submitted } = await submitMany(ground, LOADED)
  const program = ground.program === undefined ? {} : { program: ground.program }
  const workers = Array.from({ length: 2 }, () =>
    spawnCrashWorker({ db: ground.url, agents: [spec], ...TIMES, ...program }, ''),
  )
  const names = new Set(submitted.map((one) => one.resource))
  const restarts: number[] = [...RESTARTS_AT]
  try {
    const results = await finish(ground, runtime, submitted, async () => {
      const happened = ground.provider.effects().filter((e) => names.has(e.resource)).length
      if (happened < (restarts[0] ?? Number.POSITIVE_INFINITY)) return
      restarts.shift()
      await ground.restart?.()
    })
    return outcomeOf(`${LOADED} runs under ${RESTARTS_AT.length} restarts`, results, [7])
  } finally {
    for (const worker of workers) worker.signal('SIGTERM')
    await Promise.all(workers.map((w) => w.gone))
  }
}
