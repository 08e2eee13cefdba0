/**
 * Processes that serve callers and die around the one commit of a request. The caller does what clients do: it sends the
 * same request with the same key to another process.
 */
import { randomBytes } from 'node:crypto'
import { createHttpServer } from '../http/server.ts'
import { CALLER_POINTS, type FaultPoint } from '../kernel/faultpoint.ts'
import { scopeOf } from '../request/actor.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import type { ProviderMode } from '../testing/effect-provider.ts'
import { crashAgent } from './crash-agent.ts'
import { CANARY, type CrashGround, crashActor, newSpec, resultOf, TIMES } from './crash-case.ts'
import { drive } from './crash-drive.ts'
import { type Answer, bearerOf, codeOf, type Request, send } from './crash-http.ts'
import type { Invariant } from './crash-invariants.ts'
import { judge, runVerdicts } from './crash-judge.ts'
import { spawnCrashWorker } from './crash-process.ts'
import type { Outcome } from './crash-summary.ts'

type Verb = 'submit' | 'decide' | 'cancel' | 'resolve'

/** What stands ready for one case: a run in the state that the request is about, and the request. */
interface Scene {
  readonly runtime: Runtime
  readonly resource: string
  readonly mode: ProviderMode
  request(url: string): Promise<Request>
  /** Null when the request makes the run. */
  readonly run: string | null
}

const ACTIONS = ['kill', 'cut_before', 'cut_after'] as const

export function callerTasks(ground: CrashGround): readonly (() => Promise<Outcome>)[] {
  const secret = randomBytes(32).toString('hex')
  const struck = CALLER_POINTS.flatMap((point) =>
    ACTIONS.map((action) => () => strike(ground, secret, { point, action })),
  )
  return [...struck, () => wrongRequests(ground, secret)]
}

async function strike(
  ground: CrashGround,
  secret: string,
  { point, action }: { point: FaultPoint; action: (typeof ACTIONS)[number] },
): Promise<Outcome> {
  const verb = point.split('.')[0] as Verb
  const { spec, resource } = newSpec(ground, verb === 'resolve' ? 'manual' : 'keyed')
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const scene = await sceneOf(ground, runtime, { verb, resource, mode: spec.mode, agent: spec.name })
  const program = ground.program === undefined ? {} : { program: ground.program }
  const victim = spawnCrashWorker(
    { db: ground.url, agents: [spec], ...TIMES, secret, works: false, ...program },
    `${point}:1:${action}`,
  )
  const other = await createHttpServer(runtime, { secret })
  const answers: Answer[] = []
  let isHeard = false
  try {
    const url = await victim.ready
    if (url === null) throw new Error('the process that serves ended before it listened')
    const request = await scene.request(url)
    const key = randomBytes(8).toString('hex')
    const first = await send(url, request, key)
    if (first) answers.push(first)
    isHeard = first !== null && first.status < 300
    // the repetition: what the first has left behind is taken over at once and not in half a minute
    await ground.witness.ageKeys()
    const second = await send(other.url, request, key)
    if (second) answers.push(second)
    const isAnswered = second !== null && second.status < 300
    const run = scene.run ?? runOf(second)
    const outcome = await finishRun(ground, scene, run)
    const holds = isAnswered && outcome.isOnce
    const quiet = ![...answers.filter((a) => a.status >= 400).map((a) => a.text), victim.said()].join().includes(CANARY)
    const proves = new Map<Invariant, boolean>(outcome.proves)
    if (action !== 'cut_before') proves.set(8, holds)
    proves.set(25, quiet && (proves.get(25) ?? true))
    const isFine = holds && outcome.verdict === 'ok' && victim.met.length > 0 && [...proves.values()].every(Boolean)
    const codes = answers.map((a) => `${a.status} ${codeOf(a)}`).join(', ')
    return {
      verdict: outcome.verdict,
      proves,
      kills: [],
      strikes: victim.met,
      takeovers: [],
      trouble: isFine
        ? null
        : `${outcome.verdict}: ${point}:${action} of a caller (${codes}; once: ${outcome.isOnce}, heard: ${isHeard})`,
    }
  } finally {
    victim.signal('SIGKILL')
    await Promise.all([victim.gone, other.close()])
  }
}

async function sceneOf(
  ground: CrashGround,
  runtime: Runtime,
  { verb, resource, mode, agent }: { verb: Verb; resource: string; mode: ProviderMode; agent: string },
): Promise<Scene> {
  const at = { tenant: 'acme', environment: 'production', permissions: ['*'] }
  const service = await runtime.createKey({ ...at, kind: 'service', user: 'desk' })
  const ann = (url: string) => bearerOf(url, service.key, 'ann')
  const scene = { runtime, resource, mode }
  if (verb === 'submit') {
    const request = async (url: string) => ({
      path: '/v1/runs',
      body: { agent, text: resource },
      bearer: await ann(url),
    })
    return { ...scene, run: null, request }
  }
  if (verb === 'resolve') await ground.provider.trouble({ resource, kind: 'no_reply' })
  const { run } = await runtime.submit(crashActor(), { agent, text: resource })
  await drive(ground, runtime, run, (now) => now.wait === (verb === 'resolve' ? 'unknown_effect' : 'confirmation'))
  if (verb === 'cancel')
    return {
      ...scene,
      run,
      request: async (url) => ({ path: `/v1/runs/${run}/cancel`, body: {}, bearer: await ann(url) }),
    }
  if (verb === 'resolve') {
    const operator = await runtime.createKey({ ...at, kind: 'operator', user: 'olga' })
    const body = { outcome: 'happened', reason: 'seen at the provider', result: { id: 'seen' } }
    const path = `/ops/v1/effects/${run}/2/0/resolve`
    return { ...scene, run, request: () => Promise.resolve({ path, body, bearer: operator.key }) }
  }
  const [card] = await runtime.confirmations.inbox(scopeOf(crashActor()), { user: 'ann', run, after: '', limit: 1 })
  if (!card) throw new Error('nothing waits for a person')
  const body = { params_hash: card.paramsHash }
  const path = `/v1/confirmations/${card.id}/approve`
  return { ...scene, run, request: async (url) => ({ path, body, version: card.version, bearer: await ann(url) }) }
}

interface Finished {
  readonly verdict: Outcome['verdict']
  readonly proves: ReadonlyMap<Invariant, boolean>
  /** The request has left one trace, however often it was sent. */
  readonly isOnce: boolean
}

async function finishRun(ground: CrashGround, { runtime, resource, mode }: Scene, run: string): Promise<Finished> {
  const id = run as `run_${string}`
  const last = run === '' ? null : await drive(ground, runtime, run, (now) => isFinal(now.status))
  if (last === null) return { verdict: 'lost', proves: new Map(), isOnce: false }
  const result = await resultOf({ ground, runtime }, { run: id, resource }, last)
  const one = { mode, victims: [], ...(last.end === 'user_canceled' ? { held: 'cancel' as const } : {}) }
  const { audit, messages } = result.evidence
  const runs = await runtime.reads.runs(crashActor(), {
    limit: 100,
    after: '',
    status: '',
    wait: '',
    session: '',
    agent: result.evidence.agent,
  })
  const isOnce =
    new Set(audit).size === audit.length &&
    runs.items.length === 1 &&
    messages.filter((m) => m.place === '0/user').length === 1
  return { verdict: judge(one, result), proves: runVerdicts(one, result), isOnce }
}

const runOf = (answer: Answer | null): string => (JSON.parse(answer?.text ?? '{}') as { id?: string }).id ?? ''

/** Invariant 25 over HTTP: whatever is wrong with a request, its values do not come back. */
async function wrongRequests(ground: CrashGround, secret: string): Promise<Outcome> {
  const { spec, resource } = newSpec(ground, 'keyed')
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const scene = await sceneOf(ground, runtime, { verb: 'decide', resource, mode: 'keyed', agent: spec.name })
  const logged: unknown[] = []
  const server = await createHttpServer(runtime, { secret, onError: (error) => void logged.push(error) })
  try {
    const right = await scene.request(server.url)
    const wrong: readonly Request[] = [
      { ...right, body: { params_hash: CANARY } },
      { ...right, body: { params_hash: 1, reason: [CANARY] } },
      { ...right, path: '/v1/runs', body: { agent: CANARY, text: CANARY } },
      { ...right, path: '/v1/runs', body: { agent: spec.name, text: `${CANARY}\0` } },
      { ...right, bearer: CANARY },
    ]
    const answers = await Promise.all(wrong.map((one, n) => send(server.url, one, `wrong${n}${spec.name}`)))
    const holds = answers.every((a) => a !== null && a.status >= 400 && a.status < 500 && !a.text.includes(CANARY))
    return {
      verdict: 'ok',
      proves: new Map([[25, holds]]),
      kills: [],
      strikes: [],
      takeovers: [],
      trouble: holds
        ? null
        : `ok: wrong requests are told their values (${answers.map((a) => `${a?.status}${a?.text.includes(CANARY) ? ' shows it' : ''}`).join(', ')})`,
    }
  } finally {
    await server.close()
    await drive(ground, runtime, scene.run ?? '', (now) => isFinal(now.status))
  }
}
