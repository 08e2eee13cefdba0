/** Programs whose users are listened to: an agent with keys, a scripted model that talks, and one that reads for memories. */
import { z } from 'zod'
import type { RunId, SessionId } from '../../src/kernel/ids.ts'
import type { Actor, ActorKind } from '../../src/kernel/scope.ts'
import { memory } from '../../src/memory/key.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { agent, type AgentSpec } from '../../src/run/agent.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { TestStore } from './engines.ts'
import { unique } from './seed.ts'

const BUDGET = { steps: 6, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
export const keys = memory({
  tone: { kind: 'preference', value: z.string().max(80), purpose: 'To answer in the way that is liked.' },
  home_city: { kind: 'fact', value: z.string().max(200) },
  note: { kind: 'fact', value: z.string().max(400), cardinality: 'many', deletion: 'with_source' },
  nickname: { kind: 'fact', value: z.string(), confirm: 'ask' },
  house_rule: { kind: 'fact', value: z.string(), scopes: ['group'], sensitivity: 'none' },
})
export const page = { after: '', limit: 50 }
export const SAID = 'By the way, I like my answers short. What is seven times eight?'
export const TONE = { key: 'tone', value: 'short', message: 'm1', quote: 'I like my answers short' }
export const json = (...memories: readonly object[]): ScriptedAnswer => ({ text: JSON.stringify({ memories }) })
export const told = (request: ModelRequest | undefined): string => request?.messages.map((m) => m.text).join('\n') ?? ''

export type Proposes = (request: ModelRequest) => ScriptedAnswer
interface Errand {
  readonly id: string
  readonly state: string
  readonly outcome: string | null
  readonly attempts: number
  readonly work_session: string
  readonly run_id: RunId
}

export const someone = (kind: ActorKind = 'end_user', user = unique('ann')): Actor =>
  actorFrom({ kind, tenant: 'acme', environment: 'production', user, subject: user, permissions: ['*'] })

export interface Scene {
  readonly more?: Partial<RuntimeOptions>
  readonly spec?: Partial<AgentSpec>
  readonly name?: string
  readonly talks?: Proposes
  readonly pause?: () => Promise<void>
  /** Stopped by whom it serves, and not by the end of the test. */
  readonly kept?: true
}
const stops: (() => Promise<void>)[] = []
/** A program holds the errands of agents that it does not know for a while: after each test it stops. */
export async function stopPrograms(): Promise<void> {
  for (const stop of stops.splice(0)) await stop()
}

export async function program(
  store: TestStore,
  proposes: Proposes,
  { more = {}, spec = {}, name = unique('agent'), ...scene }: Scene = {},
) {
  const asked: ModelRequest[] = []
  const talked: ModelRequest[] = []
  const errors: unknown[] = []
  const talker = scripted((request) => {
    talked.push(request)
    return scene.talks?.(request) ?? { text: 'Fifty-six.' }
  })
  const reader = scripted(
    (request) => {
      asked.push(request)
      return proposes(request)
    },
    { id: 'reader', ...(scene.pause && { pause: scene.pause }) },
  )
  const acting = agent(name, { budget: BUDGET, memory: keys, model: talker, extract: { model: reader }, ...spec })
  const runtime = createRuntime({ db: store.db, agents: [acting], onToolError: () => {}, ...more })
  const worker = await runtime.work({ pollMs: 20, onError: (error) => void errors.push(error) })
  const stop = () => worker.stop()
  if (!scene.kept) stops.push(stop)
  async function say(actor: Actor, text: string, before?: { session: SessionId; sessionVersion: number }) {
    const made = await runtime.submit(actor, { agent: name, text, ...before })
    for (;;) {
      const { end } = await runtime.reads.run(actor, made.run)
      if (end) return { ...made, end, session: made.session, sessionVersion: made.sessionVersion }
      await runtime.clock.sleep(15)
    }
  }
  return {
    ...{ runtime, name, asked, talked, errors, say, stop },
    values: async (actor: Actor) => (await runtime.memory.list(actor, page)).items.map((m) => m.value),
    /** Until so many errands of the conversation are done, and none is under way. */
    async errands(session: string, count = 1): Promise<readonly Errand[]> {
      for (;;) {
        const all = await errandsOf(store, session)
        if (all.length >= count && all.every((one) => one.state === 'done')) return all
        // nobody waits for the time between two attempts
        await store.admin(
          `update plimsoll.errand set due_at = now() where session_id = $1 and done_at is null and (tries > 0 or state = 'due')
             and due_at > now() + interval '2.5 seconds'`,
          [session],
        )
        await runtime.clock.sleep(15)
      }
    },
  }
}
export type Stage = Awaited<ReturnType<typeof program>>

const errandsOf = async (store: TestStore, session: string): Promise<readonly Errand[]> =>
  (await store.admin(
    `select id, state, outcome, attempts, work_session, run_id from plimsoll.errand where session_id = $1 and kind = 'extract'
     order by from_generation, created_at`,
    [session],
  )) as unknown as Errand[]
