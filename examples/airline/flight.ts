/** One replay of recorded conversations, from an empty store to the judgement. */
import { agentOf } from './agents.ts'
import { assess, TENANT } from './assess.ts'
import { type Caller, callerWith } from './caller.ts'
import type { Breaker } from './contracts.ts'
import type { Conversation } from './conversations.ts'
import { readConversations } from './data.ts'
import { complaints, type Figures } from './figures.ts'
import { indexHistories } from './history.ts'
import { planKills } from './kills.ts'
import { type Ground, groundFor, planRestarts, type Restarts } from './restarts.ts'
import { isWrite } from './rules/tools.ts'
import { openStage, type Stage } from './stage.ts'
import { type Talk, talk, textOf } from './talk.ts'

export type FlightOptions = {
  readonly data: string
  readonly transcripts: string
  readonly tasks?: string
  readonly db?: string
  readonly workers: number
  readonly crash: number
  /** How often the database goes down and comes back. */
  readonly restarts: number
  /** The share of writes that the airline carries out and does not answer. */
  readonly timeouts: number
  readonly breaker: Breaker
  /** Conversations at the same time. */
  readonly parallel: number
  readonly keep: boolean
  /** Ids; default: all. */
  readonly only?: readonly string[]
  readonly say: (line: string) => void
}

export type Flight = { readonly figures: Figures; readonly complaints: readonly string[] }

/** For one run, its confirmations and the takeovers from dead workers included. */
const PATIENCE_MS = 120_000

export async function fly(options: FlightOptions): Promise<Flight> {
  const begun = performance.now()
  const recorded = readConversations(options.transcripts)
  const conversations = recorded.filter(({ id }) => options.only?.includes(id) ?? true)
  const ground = await groundFor(options.db, options.restarts)
  try {
    return await flyOn(ground, options, { recorded, conversations, begun })
  } finally {
    await ground.stop()
  }
}

type Recorded = {
  readonly recorded: readonly Conversation[]
  readonly conversations: readonly Conversation[]
  readonly begun: number
}

async function flyOn(
  ground: Ground,
  options: FlightOptions,
  { recorded, conversations, begun }: Recorded,
): Promise<Flight> {
  const { db: _, ...others } = options
  const stage = await openStage({
    ...others,
    ...(ground.db !== undefined && { db: ground.db }),
    sharing: indexHistories(recorded).sharing,
    kills: killsFor(options.crash, conversations),
  })
  try {
    options.say(`the app plane at ${stage.url}, the store is ${stage.database}`)
    const restarts = planRestarts(options.restarts, conversations.length, ground.restart)
    const talks = await talkAll(stage, conversations, options, restarts)
    await stage.fleet?.stop()
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    const { data, tasks } = options
    const figures = await assess(stage, { talks, conversations, seconds, data, tasks, restarts: restarts.count() })
    return {
      figures,
      complaints: complaints(figures, {
        conversations,
        kills: options.crash,
        restarts: options.restarts,
        timeouts: options.timeouts,
        tasks: options.tasks !== undefined,
        breaker: options.breaker,
      }),
    }
  } finally {
    await stage.close()
  }
}

function killsFor(count: number, conversations: readonly Conversation[]) {
  const turns = conversations.flatMap((conversation) => conversation.turns)
  const calls = turns.flatMap((turn) => turn.calls)
  return planKills(count, calls.filter(({ name }) => isWrite(name)).length, turns.length + calls.length)
}

/** Each conversation has its own end user, whose token a service of the product has asked for. */
async function talkAll(
  stage: Stage,
  conversations: readonly Conversation[],
  { parallel, say }: FlightOptions,
  restarts: Restarts,
): Promise<readonly Talk[]> {
  const { key } = await stage.runtime.createKey({ ...TENANT, kind: 'service', user: 'desk', permissions: ['*'] })
  const service = callerWith(key, stage.url)
  const talks: Talk[] = []
  const waiting = [...conversations]
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const user = await endUser(service, stage.url, next.id)
      talks.push(await talk(user, agentOf(stage.setup, next.id), next, PATIENCE_MS))
      await restarts.talked(talks.length)
      if (talks.length % 10 === 0) say(`${talks.length} of ${conversations.length} conversations`)
    }
  }
  const lanes = Promise.all(Array.from({ length: parallel }, lane))
  await (stage.fleet ? Promise.race([lanes, stage.fleet.failed]) : lanes)
  return talks
}

async function endUser(service: Caller, url: string, id: string): Promise<Caller> {
  const { body } = await service.post('/v1/tokens', { user: id })
  return callerWith(textOf(body, 'token'), url)
}
