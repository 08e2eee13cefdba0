/** Invariant 15: clients that go from one server process to the other while a run speaks, and somebody dies, stops it or says something newer. */
import { randomBytes } from 'node:crypto'
import { createParser } from 'eventsource-parser'
import type { RunId } from '../kernel/ids.ts'
import type { EndReason } from '../run/reasons.ts'
import { isFinal, type Run } from '../run/state.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import { crashAgent, type CrashAgentSpec } from './crash-agent.ts'
import { approve, crashActor, type CrashGround, newSpec, seen, TIMES } from './crash-case.ts'
import { bearerOf } from './crash-http.ts'
import { type Frame, streamWrongs } from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import { spawnCrashWorker } from './crash-process.ts'
import type { Outcome } from './crash-summary.ts'

const PIECES = 20
/** A client goes to the other server after so many frames; the two go at different places. */
const HOPS = [5, 8] as const
/** What is done to the run waits until a client has so many pieces of the answer. */
const HEARD = 3
const LOOK_MS = 40

type What = 'killed' | 'stopped' | 'replaced'

const ENDS: Readonly<Record<What, readonly EndReason[]>> = {
  killed: ['completed'],
  stopped: ['user_canceled'],
  replaced: ['superseded'],
}

export const streamTasks = (ground: CrashGround): readonly (() => Promise<Outcome>)[] =>
  (['killed', 'stopped', 'replaced'] as const).map((what) => () => streamed(ground, what))

async function streamed(ground: CrashGround, what: What): Promise<Outcome> {
  const { spec: plain, resource } = newSpec(ground, 'keyed')
  const spec: CrashAgentSpec = { ...plain, pieces: PIECES, replaces: what === 'replaced' }
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const secret = randomBytes(32).toString('hex')
  const program = ground.program === undefined ? {} : { program: ground.program }
  const serve = (faults: string, works = true) =>
    spawnCrashWorker({ db: ground.url, agents: [spec], ...TIMES, secret, works, ...program }, faults)
  // the third answer is the long one: it is struck in the middle of it
  const speaking = serve(what === 'killed' ? 'model.firstDelta:3:kill' : '')
  const at = { tenant: 'acme', environment: 'production', permissions: ['*'] }
  const { key } = await runtime.createKey({ ...at, kind: 'service', user: 'desk' })
  const one = await speaking.ready
  if (one === null) throw new Error('a process that serves ended before it listened')
  const { run, session, sessionVersion } = await runtime.submit(crashActor(), { agent: spec.name, text: resource })
  // the first has the run before the second comes
  await until(runtime, async () => (await seen(runtime, run))?.wait === 'confirmation')
  // whoever is to die must be the one who speaks; another takes over when it is gone
  const other = serve('', what !== 'killed')
  const successor = what === 'killed' ? speaking.gone.then(() => runtime.work({ ...TIMES, onError: () => {} })) : null
  try {
    const two = await other.ready
    if (two === null) throw new Error('a process that serves ended before it listened')
    const bearer = await bearerOf(two, key, 'ann')
    let heard = 0
    const clients = HOPS.map((hop, n) => {
      const urls = n === 0 ? [one, two] : [two, one]
      return follow({ urls, bearer, run, hop, heard: () => (heard += 1), untilMs: ground.patienceMs })
    })
    await approve(runtime, run)
    if (what !== 'killed') {
      await until(runtime, () => Promise.resolve(heard >= HEARD))
      if (what === 'stopped') await runtime.cancel(crashActor(), run, 'user', null)
      else await runtime.submit(crashActor(), { agent: spec.name, text: `${resource}b`, session, sessionVersion })
    }
    const frames = await Promise.all(clients)
    const now = await seen(runtime, run)
    const isMet = what !== 'killed' || speaking.met.length > 0
    const wrongs = frames.flatMap((of) => streamWrongs(of, ENDS[what], now?.end ?? null))
    return partOutcome(
      15,
      `a stream whose run was ${what}`,
      [...wrongs, ...(isMet ? [] : ['the place was not met'])],
      speaking.met,
    )
  } finally {
    for (const process of [speaking, other]) process.signal('SIGKILL')
    await Promise.all([speaking.gone, other.gone])
    await successor?.then((worker) => worker.stop())
    await cancelRest(runtime, session)
  }
}

async function until(runtime: Runtime, isDone: () => Promise<boolean>): Promise<void> {
  for (let left = 60_000 / LOOK_MS; left > 0 && !(await isDone()); left--) await runtime.clock.sleep(LOOK_MS)
}

/** Nobody works on the newer message any more. */
async function cancelRest(runtime: Runtime, session: string): Promise<void> {
  const filter = { limit: 10, after: '', status: '', wait: '', session, agent: '' }
  const { items } = await runtime.reads.runs(crashActor(), filter)
  for (const { id, status } of items)
    if (!isFinal(status as Run['status'])) await runtime.cancel(crashActor(), id as RunId, 'user', null).catch(() => {})
}

interface Following {
  readonly urls: readonly string[]
  readonly bearer: string
  readonly run: string
  readonly hop: number
  readonly heard: () => void
  readonly untilMs: number
}

/** A client that leaves after some frames and goes on elsewhere from the last event that it has. */
async function follow({ urls, bearer, run, hop, heard, untilMs }: Following): Promise<readonly Frame[]> {
  const frames: Frame[] = []
  let last = 0
  const isOver = (): boolean => frames.some((f) => f.type === 'run_ended')
  for (let turn = 0, end = performance.now() + untilMs; !isOver() && performance.now() < end; turn++) {
    const leaving = new AbortController()
    const before = frames.length
    const parser = createParser({
      onEvent({ id, event = '', data }) {
        const body = JSON.parse(data) as Partial<Frame> & { readonly id?: number }
        if (id !== undefined) last = Number(id)
        const { step = 0, attempt = 0, offset = 0, text = '' } = body
        frames.push({ type: event, seq: id === undefined ? null : Number(id), step, attempt, offset, text })
        if (event === 'delta') heard()
        if (frames.length - before >= hop) leaving.abort()
      },
    })
    try {
      const reply = await fetch(`${urls[turn % urls.length]}/v1/runs/${run}/events`, {
        headers: { authorization: `Bearer ${bearer}`, accept: 'text/event-stream', 'last-event-id': String(last) },
        signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(untilMs)]),
      })
      if (reply.status === 204 || !reply.body) return frames
      await read(
        reply.body,
        (piece) => parser.feed(piece),
        () => isOver() || leaving.signal.aborted,
      )
    } catch {
      // this server is gone, or it was left: the next turn goes elsewhere
    }
  }
  return frames
}

async function read(
  body: AsyncIterable<Uint8Array>,
  feed: (piece: string) => void,
  isEnough: () => boolean,
): Promise<void> {
  const text = new TextDecoder()
  for await (const piece of body) {
    feed(text.decode(piece, { stream: true }))
    if (isEnough()) return
  }
}
