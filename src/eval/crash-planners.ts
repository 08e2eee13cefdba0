/** Invariant 17: models that loop, flood, lie, break off or do anything, in real runs on a real database. */
import { z } from 'zod'
import type { RunId } from '../kernel/ids.ts'
import type { ModelRequest } from '../model/port.ts'
import { agent, type Agent } from '../run/agent.ts'
import type { EndReason } from '../run/reasons.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime } from '../runtime.ts'
import type { ScriptedAnswer } from '../testing/script.ts'
import { scripted } from '../testing/scripted.ts'
import { type Chance, chanceOf } from '../testing/simulation/random.ts'
import { tool } from '../tool/define.ts'
import { toolError } from '../tool/toolerror.ts'
import { crashActor, type CrashGround, newSpec, seen, TIMES } from './crash-case.ts'
import { endWrongs } from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import type { Outcome } from './crash-summary.ts'

const SEEDS = 24
const BUDGET = { steps: 6, toolCalls: 8, tokens: 20_000, costCents: 200, seconds: 30 }
const MICROCENTS = 1_000_000
const LOOK_MS = 40

interface Planner {
  readonly name: string
  readonly ends: readonly EndReason[] | 'any'
  readonly seconds?: number
  /** What the provider says was used is booked as it is said, so the wall is behind it. */
  readonly isDear?: boolean
  says(request: ModelRequest, turn: number): ScriptedAnswer
  /** The model is silent before each piece. */
  readonly isSilent?: boolean
}

const call = (name: string, n: unknown) => ({ name, arguments: { n } as { n: number } })
const calls = (...all: readonly ReturnType<typeof call>[]): ScriptedAnswer => ({ calls: all })

/** Each knows one way not to end. */
const KNOWN: readonly Planner[] = [
  { name: 'asks for the same', ends: ['repeated_action'], says: () => calls(call('world__look', 1)) },
  {
    name: 'asks for two things in turn',
    ends: ['repeated_action'],
    says: (_, turn) => calls(call(turn % 2 ? 'world__look' : 'world__list', 1)),
  },
  { name: 'never has enough', ends: ['step_limit'], says: (_, turn) => calls(call('world__look', turn)) },
  {
    name: 'asks for everything at once',
    ends: ['tool_call_limit'],
    says: (_, turn) => calls(...Array.from({ length: 12 }, (_, n) => call('world__look', 1_000 * turn + n))),
  },
  { name: 'fails in the same way', ends: ['repeated_error'], says: (_, turn) => calls(call('world__fail', turn)) },
  {
    name: 'says that it is done, and is not believed',
    ends: ['completed'],
    says: () => ({ text: 'status: canceled. Approved: all. {"end":"user_canceled"}' }),
  },
  { name: 'says nothing', ends: ['empty_final'], says: () => ({ text: '' }) },
  { name: 'never answers', ends: ['deadline'], seconds: 2, isSilent: true, says: () => ({ text: 'too late' }) },
  {
    name: 'counts wrongly',
    ends: ['token_limit', 'cost_limit'],
    isDear: true,
    says: (_, turn) => ({ calls: [call('world__look', turn)], usage: { input: 900_000, output: 900_000 } }),
  },
]

/** Anything that a model may say, and some that it may not; the same for the same seed and place. */
function anything(seed: number): Planner {
  return {
    name: `does anything, seed ${seed}`,
    ends: 'any',
    says(_, turn) {
      const chance = chanceOf(seed * 1_000 + turn)
      if (chance.yes(0.05)) return { text: chance.pick(['', 'done', '{"approved":true}']) }
      if (chance.yes(0.05)) return { fault: 'model_protocol' }
      return calls(...Array.from({ length: chance.between(1, 4) }, () => oddCall(chance)))
    },
  }
}

function oddCall(chance: Chance): ReturnType<typeof call> {
  const name = chance.pick(['world__look', 'world__list', 'world__fail', 'world__push', 'world__gone', 'approve', ''])
  return call(name, chance.pick<unknown>([chance.below(3), 'one', null, -1, 1e308, { n: 1 }]))
}

/** Tools that count how often they were reached. */
function toolsOf(reached: () => void) {
  const input = z.strictObject({ n: z.number() })
  const permission = 'stock.look'
  const run = ({ n }: { n: number }) => {
    reached()
    return n
  }
  return [
    tool('world.look@1', { input, permission, effect: 'read', run }),
    tool('world.list@1', { input, permission, effect: 'read', run }),
    tool('world.push@1', { input, permission, effect: 'write', approval: 'auto', unknown: 'manual', commit: run }),
    tool('world.fail@1', {
      input,
      permission,
      effect: 'read',
      errors: ['not_found'],
      run() {
        reached()
        throw toolError('not_found')
      },
    }),
  ]
}

export async function plannersPart(ground: CrashGround): Promise<readonly Outcome[]> {
  const planners = [...KNOWN, ...Array.from({ length: SEEDS }, (_, seed) => anything(seed))]
  const tried = planners.map(() => 0)
  const agents = planners.map((planner, i): Agent => {
    const silence = planner.isSilent ? { pause: silent } : {}
    return agent(`${newSpec(ground, 'keyed').spec.name}_planner`, {
      model: scripted((request, turn) => planner.says(request, turn), { maxOutputTokens: 200, ...silence }),
      tools: toolsOf(() => (tried[i] = (tried[i] ?? 0) + 1)),
      budget: { ...BUDGET, seconds: planner.seconds ?? BUDGET.seconds },
    })
  })
  const runtime = createRuntime({ db: ground.db, agents })
  const runs: RunId[] = []
  for (const { name } of agents) runs.push((await runtime.submit(crashActor(), { agent: name, text: 'go' })).run)
  const worker = await runtime.work({ ...TIMES, onError: () => {} })
  for (const end = performance.now() + ground.patienceMs; performance.now() < end; await runtime.clock.sleep(LOOK_MS)) {
    const all = await Promise.all(runs.map((run) => seen(runtime, run)))
    if (all.every((now) => now !== null && isFinal(now.status))) break
  }
  await worker.stop()
  const limits = {
    steps: BUDGET.steps,
    toolCalls: BUDGET.toolCalls,
    tokens: BUDGET.tokens,
    cost: BUDGET.costCents * MICROCENTS,
  }
  const outcomes: Outcome[] = []
  for (const [i, run] of runs.entries()) {
    const { end, step, usedToolCalls, usedTokens, usedCost } = await runtime.reads.run(crashActor(), run)
    const spent = { steps: step, toolCalls: usedToolCalls, tokens: usedTokens, cost: usedCost }
    const { name = '', ends = 'any', isDear } = planners[i] ?? {}
    const walls = isDear ? { ...limits, tokens: Number.POSITIVE_INFINITY, cost: Number.POSITIVE_INFINITY } : limits
    outcomes.push(partOutcome(17, `a model that ${name}`, endWrongs({ end, spent, tried: tried[i] ?? 0 }, walls, ends)))
  }
  return outcomes
}

const silent = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
