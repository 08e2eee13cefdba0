/** Invariant 26: a model that fails over real HTTP, and a tool that fails, are asked as often as one layer says. */
import { z } from 'zod'
import { openAICompatible } from '../model/openai.shell.ts'
import { agent, type AgentSpec } from '../run/agent.ts'
import type { EndReason } from '../run/reasons.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime } from '../runtime.ts'
import { type Behaviour, MISBEHAVIOUR } from '../testing/misbehaviour.ts'
import { fakeProvider } from '../testing/provider.ts'
import { scripted } from '../testing/scripted.ts'
import { tool } from '../tool/define.ts'
import { toolError } from '../tool/toolerror.ts'
import { crashActor, type CrashGround, newSpec, seen, TIMES } from './crash-case.ts'
import { type Asked, retryWrongs } from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import type { Outcome } from './crash-summary.ts'

const BUDGET = { steps: 4, toolCalls: 4, tokens: 50_000, costCents: 1_000, seconds: 30 }
const LOOK_MS = 40

type Wanted = Omit<Asked, 'at' | 'end'>
const wanted = (least: number, most: number, end: EndReason, retryAfterMs = 0): Wanted => ({
  least,
  most,
  retryAfterMs,
  ends: [end],
})

const status =
  (code: number, headers: Record<string, string> = {}): Behaviour =>
  ({ response }) =>
    void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end('{"error":{"message":"no"}}')

/** Three attempts are the contract of a model; nobody above or below adds to them. */
const MODELS: Readonly<Record<string, readonly [Behaviour, Wanted]>> = {
  unavailable: [status(503), wanted(3, 3, 'model_unavailable')],
  overloaded: [status(529), wanted(1, 3, 'model_unavailable')],
  limited: [status(429, { 'retry-after': '1' }), wanted(3, 3, 'model_unavailable', 1_000)],
  // longer than the run may take: the wait would be charged to its time, so it is not waited
  limited_for_long: [status(429, { 'retry-after': '600' }), wanted(1, 1, 'model_unavailable')],
  unauthorized: [status(401), wanted(1, 1, 'model_unavailable')],
  refused: [status(400), wanted(1, 1, 'model_unavailable')],
  moved: [MISBEHAVIOUR.redirect, wanted(1, 1, 'model_unavailable')],
  fails_once: [MISBEHAVIOUR.fails_once, wanted(2, 2, 'completed')],
  reset: [MISBEHAVIOUR.reset_before_output, wanted(3, 3, 'model_unavailable')],
  reset_late: [MISBEHAVIOUR.reset_after_text, wanted(1, 1, 'model_unavailable')],
  malformed: [MISBEHAVIOUR.malformed_chunk, wanted(1, 1, 'protocol_error')],
}

type Failing = 'read' | 'write'
const input = z.strictObject({ n: z.int() })
const permission = 'stock.look'
const RETRY_MS = 300

/** A read is repeated as its contract says, after the time that its provider names; a write never. */
const failing = (kind: Failing, asked: () => void) => {
  const fail = (): never => {
    asked()
    throw toolError('provider_timeout', '', { afterMs: RETRY_MS })
  }
  return kind === 'read'
    ? tool('world.look@1', {
        input,
        permission,
        effect: 'read',
        errors: ['provider_timeout'],
        retry: { attempts: 3 },
        run: fail,
      })
    : tool('world.push@1', {
        input,
        permission,
        effect: 'write',
        approval: 'auto',
        unknown: 'manual',
        errors: ['conflict'],
        commit: failsWith(asked),
      })
}

const failsWith = (asked: () => void) => (): never => {
  asked()
  throw toolError('conflict')
}

export async function retriesPart(ground: CrashGround): Promise<readonly Outcome[]> {
  const at = new Map<string, number[]>()
  const note = (name: string): void => void at.set(name, [...(at.get(name) ?? []), performance.now()])
  const behaviours = Object.fromEntries(
    Object.entries(MODELS).map(([name, [behaviour]]): [string, Behaviour] => [
      name,
      (exchange) => {
        note(name)
        return behaviour(exchange)
      },
    ]),
  )
  const provider = await fakeProvider({ behaviours })
  const named = (): string => `${newSpec(ground, 'keyed').spec.name}_retry`
  const scenes = new Map<string, { readonly agent: ReturnType<typeof agent>; readonly wanted: Wanted }>()
  const add = (name: string, spec: Omit<AgentSpec, 'budget'>, expected: Wanted): void =>
    void scenes.set(name, { agent: agent(named(), { ...spec, budget: BUDGET }), wanted: expected })
  for (const [name, [, expected]] of Object.entries(MODELS))
    add(name, { model: openAICompatible({ baseUrl: provider.baseUrl, model: name, maxOutputTokens: 200 }) }, expected)
  for (const kind of ['read', 'write'] as const) {
    const contract = failing(kind, () => note(kind))
    const model = scripted([
      { calls: [{ name: contract.exposedName, arguments: { n: 1 } }] },
      { text: 'it did not work' },
    ])
    add(
      kind,
      { model, tools: [contract] },
      kind === 'read' ? wanted(3, 3, 'completed', RETRY_MS) : wanted(1, 1, 'completed'),
    )
  }
  const runtime = createRuntime({ db: ground.db, agents: [...scenes.values()].map((s) => s.agent) })
  const runs = new Map<string, `run_${string}`>()
  for (const [name, one] of scenes)
    runs.set(name, (await runtime.submit(crashActor(), { agent: one.agent.name, text: 'go' })).run)
  const worker = await runtime.work({ ...TIMES, onError: () => {} })
  for (const end = performance.now() + ground.patienceMs; performance.now() < end; await runtime.clock.sleep(LOOK_MS)) {
    const all = await Promise.all([...runs.values()].map((run) => seen(runtime, run)))
    if (all.every((now) => now !== null && isFinal(now.status))) break
  }
  await worker.stop()
  await provider.close()
  const outcomes: Outcome[] = []
  for (const [name, run] of runs) {
    const { end = null } = (await seen(runtime, run)) ?? {}
    const expected = scenes.get(name)?.wanted ?? wanted(0, 0, 'completed')
    outcomes.push(partOutcome(26, `a failure: ${name}`, retryWrongs({ ...expected, at: at.get(name) ?? [], end })))
  }
  return outcomes
}
