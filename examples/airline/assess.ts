/** What a replay did, from its witnesses: the log and state of the airline, what the model was sent, what is stored. */
import { readFileSync } from 'node:fs'
import type { RunId } from '../../src/kernel/ids.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import { readSnapshot } from '../../src/run/snapshot.ts'
import type { MessageBody } from '../../src/context/message.ts'
import type { Runtime } from '../../src/runtime.ts'
import { agentOf } from './agents.ts'
import type { Conversation } from './conversations.ts'
import { readBase, readTasks } from './data.ts'
import { brokenOf, type Figures, figuresOf } from './figures.ts'
import { judge } from './judge.ts'
import { effectsOf, linesOf, totalsOf } from './ledger.ts'
import type { Seen } from './recording.ts'
import { type Results, resultsOf } from './results.ts'
import type { Changes } from './rules/world.ts'
import type { Stage } from './stage.ts'
import type { Talk } from './talk.ts'
import { sameResult } from './value.ts'

/** Where the conversations of a replay live. */
export const TENANT = { tenant: 'airline', environment: 'test' }
const OPERATOR = actorFrom({ ...TENANT, kind: 'operator', user: 'judge', subject: 'judge', permissions: ['*'] })

type Flown = {
  readonly talks: readonly Talk[]
  readonly conversations: readonly Conversation[]
  readonly seconds: number
  readonly data: string
  readonly tasks: string | undefined
  readonly restarts: number
}

/** Asks the airline, the recorded model and the store what became of the talks. */
export async function assess(stage: Stage, flown: Flown): Promise<Figures> {
  const { talks, conversations, seconds, data, tasks, restarts } = flown
  const broken = brokenOf(talks)
  const whole = conversations.filter(({ id }) => !broken.includes(id))
  const requests = (await (await fetch(new URL('/requests', stage.setup.recording))).json()) as readonly Seen[]
  const results = resultsOf(whole, requests)
  const log = linesOf(readFileSync(stage.log, 'utf8'))
  const effects = effectsOf(log)
  const judgement = judge({
    base: readBase(data),
    conversations,
    effects,
    stopped: broken,
    changes: await changesAt(stage.setup.provider),
    ...(tasks !== undefined && { tasks: readTasks(tasks) }),
  })
  const unknown = await stage.runtime.effects.unknown(scopeOf(OPERATOR), 1_000)
  return figuresOf({
    talks,
    broken,
    judgement,
    results,
    stored: await storedResults(stage, talks, whole, results),
    unknownEffects: unknown.length,
    kills: stage.fleet?.kills ?? [],
    restarts,
    unanswered: totalsOf(log).unanswered,
    seconds,
    clues: [...results.strays, ...(await failedCalls(stage, talks, judgement.differing))],
  })
}

/** Calls that did not come to a result, of conversations that are not as recorded. */
async function failedCalls(
  { runtime }: Stage,
  talks: readonly Talk[],
  differing: readonly string[],
): Promise<readonly string[]> {
  const runs = talks.flatMap((one) =>
    differing.includes(one.conversation) ? one.runs.map(({ run }) => ({ ...one, run })) : [],
  )
  const found = await Promise.all(
    runs.map(async ({ conversation, run }) => {
      const effects = await runtime.reads.effects(OPERATOR, run as RunId)
      const failed = effects.filter(({ outcome }) => outcome !== 'ok')
      return failed.map(
        ({ tool, status, errorCode, attempt }) =>
          `${conversation} ${run} ${tool} ${status} ${errorCode ?? ''} ${attempt}`,
      )
    }),
  )
  return found.flat()
}

async function changesAt(provider: string): Promise<ReadonlyMap<string, Changes>> {
  const ask = async (path: string) => (await fetch(`${provider}/worlds${path}`)).json()
  const ids = (await ask('')) as readonly string[]
  return new Map(
    await Promise.all(ids.map(async (id) => [id, (await ask(`/${encodeURIComponent(id)}/state`)) as Changes] as const)),
  )
}

/** What ended a run is in no later request: it is looked up in the stored conversation, at the same place. */
async function storedResults(
  { runtime, setup }: Stage,
  talks: readonly Talk[],
  conversations: readonly Conversation[],
  { unseen }: Results,
): Promise<{ readonly equal: number; readonly different: number }> {
  let [equal, different] = [0, 0]
  for (const { conversation: id, position } of unseen) {
    const run = talks.find(({ conversation }) => conversation === id)?.runs.at(-1)?.run
    const recorded = conversations.find((one) => one.id === id)?.messages[position]?.content ?? ''
    const message = run === undefined ? undefined : (await storedMessages(runtime, run, agentOf(setup, id)))[position]
    if (!message) continue
    if (message.role === 'tool' && sameResult(recorded, message.text)) equal += 1
    else different += 1
  }
  return { equal, different }
}

async function storedMessages(runtime: Runtime, run: string, name: string): Promise<readonly MessageBody[]> {
  const key = { ...TENANT, run: run as RunId }
  const [rows, agent] = [await runtime.runs.load(key), runtime.agents.get(name)]
  if (!rows || !agent) return []
  return readSnapshot(rows, key, agent, runtime.sealer).run.context.transcript.map(({ body }) => body)
}
