/** Invariant 22: processes that relay what their own runs tell, killed around a message, beside each other, and with one that nobody takes. */
import { EVENTS, type EventType } from '../kernel/events.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import { actorFrom } from '../request/actor.ts'
import { openReceiver, type Receiver } from '../testing/receiver.ts'
import { crashAgent, type CrashAgentSpec } from './crash-agent.ts'
import { approve, crashActor, type CrashGround, newSpec, seen, TIMES } from './crash-case.ts'
import { besideGround } from './crash-ground.ts'
import { outboxWrongs } from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import { type CrashWorker, spawnCrashWorker } from './crash-process.ts'
import type { Outcome } from './crash-summary.ts'

/** Of the runs of the two relays. */
const RUNS = 6
const POISONED = 2
const LOOK_MS = 50

interface Scene {
  readonly ground: CrashGround
  readonly receiver: Receiver
  readonly runtime: Runtime
  readonly spec: CrashAgentSpec
}

export async function outboxPart(around: CrashGround): Promise<readonly Outcome[]> {
  // a relay hears of every run of its database
  const ground = await besideGround(around)
  const receiver = await openReceiver()
  try {
    const { spec } = newSpec(ground, 'keyed')
    const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)], developmentOrigins: [receiver.url] })
    const olga = { tenant: 'acme', environment: 'production', user: 'olga', subject: 'olga', permissions: ['*'] }
    await runtime.endpoints.create(actorFrom({ kind: 'operator', ...olga }), { url: receiver.url, types: null })
    const scene: Scene = { ground, receiver, runtime, spec }
    return [
      await killed(scene, 'outbox.afterPublish:2:kill'),
      await killed(scene, 'outbox.beforePublish:3:kill'),
      await beside(scene, false),
      await beside(scene, true),
    ]
  } finally {
    await receiver.close()
    await ground.close()
  }
}

const relay = ({ ground, spec, receiver }: Scene, faults = ''): CrashWorker => {
  const program = ground.program === undefined ? {} : { program: ground.program }
  return spawnCrashWorker({ db: ground.url, agents: [spec], ...TIMES, origins: [receiver.url], ...program }, faults)
}

const submit = async ({ ground, runtime, spec }: Scene): Promise<string> =>
  (await runtime.submit(crashActor(), { agent: spec.name, text: newSpec(ground, spec.mode).resource })).run

/** What of a run goes out, by number. */
async function storyOf({ ground }: Scene, run: string): Promise<readonly number[]> {
  const { events } = await ground.witness.evidence(run)
  return events.filter((e) => EVENTS[e.type as EventType].visibility === 'user').map((e) => e.seq)
}

/** Approves until all have ended and `isDone`, or the patience is over. */
async function finish(scene: Scene, runs: readonly string[], isDone: () => Promise<boolean>): Promise<void> {
  const { runtime, ground } = scene
  for (const until = performance.now() + ground.patienceMs; performance.now() < until; ) {
    const all = await Promise.all(runs.map((run) => seen(runtime, run as `run_${string}`)))
    await Promise.all(
      runs.filter((_, i) => all[i]?.wait === 'confirmation').map((run) => approve(runtime, run as `run_${string}`)),
    )
    if (all.every((now) => now !== null && isFinal(now.status)) && (await isDone())) return
    await runtime.clock.sleep(LOOK_MS)
  }
}

const gotOf = ({ receiver }: Scene, run: string): number =>
  new Set(receiver.got.filter((m) => m.run === run).map((m) => m.seq)).size

async function killed(scene: Scene, faults: string): Promise<Outcome> {
  const run = await submit(scene)
  const victim = relay(scene, faults)
  let isGone = false
  void victim.gone.then(() => (isGone = true))
  await Promise.race([victim.gone, finish(scene, [run], () => Promise.resolve(isGone))])
  const next = relay(scene)
  await finish(scene, [run], async () => gotOf(scene, run) === (await storyOf(scene, run)).length)
  next.signal('SIGTERM')
  await next.gone
  const runs = new Map([[run, await storyOf(scene, run)]])
  const got = scene.receiver.got.filter((m) => m.run === run)
  const repeats = faults.startsWith('outbox.afterPublish')
  const wrongs = [...outboxWrongs({ runs, got, repeats }), ...(victim.met.length > 0 ? [] : ['the place was not met'])]
  return partOutcome(22, `a relay killed at ${faults}`, wrongs, victim.met)
}

async function beside(scene: Scene, isPoisoned: boolean): Promise<Outcome> {
  const runs: string[] = []
  for (let n = 0; n < RUNS; n++) runs.push(await submit(scene))
  const [first = ''] = runs
  const poison = isPoisoned ? { run: first, seq: POISONED } : null
  scene.receiver.answer = (m) => (m.run === poison?.run && m.seq === poison.seq ? 500 : 204)
  const relays = [relay(scene), relay(scene)]
  const free = runs.filter((run) => run !== poison?.run)
  await finish(scene, runs, async () => {
    const stories = await Promise.all(free.map((run) => storyOf(scene, run)))
    const isTried = poison === null || gotOf(scene, poison.run) >= poison.seq
    return isTried && stories.every((story, i) => gotOf(scene, free[i] ?? '') === story.length)
  })
  for (const one of relays) one.signal('SIGTERM')
  await Promise.all(relays.map((one) => one.gone))
  scene.receiver.answer = () => 204
  const stories = new Map<string, readonly number[]>()
  for (const run of runs) stories.set(run, await storyOf(scene, run))
  const got = scene.receiver.got.filter((m) => stories.has(m.run))
  const wrongs = outboxWrongs({ runs: stories, got, ...(poison && { poison }), repeats: false })
  return partOutcome(22, isPoisoned ? 'a message that nobody takes, beside others' : 'two relays', wrongs)
}
