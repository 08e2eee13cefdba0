/** A model by chance: honest, hostile, looping, obeying what tools say, or broken off. Nothing that it says is believed. */
import { Fault } from '../../kernel/fault.ts'
import type { FinishReason, ModelPart, ModelRequest } from '../../model/port.ts'
import { turnOf } from '../script.ts'
import type { Planner } from './scenario.ts'
import type { World } from './world.ts'

export async function* planner(world: World, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const { chance, sched, scenario } = world
  await sched.park('model')
  signal.throwIfAborted()
  const { outage } = scenario
  const isAway = outage?.of === 'model' && outage.from <= sched.now() && sched.now() < outage.to
  if (world.isStormy && isAway) throw new Fault('model_transient')
  if (world.isStormy && chance.yes(scenario.weather.model)) {
    const code = chance.pick(['model_transient', 'model_rate_limited', 'model_content_policy', 'model_auth'] as const)
    throw new Fault(code, undefined, chance.yes(0.5) ? { retryAfterMs: chance.below(1_500) } : {})
  }
  const parts = partsOf(world, request)
  const isSlow = chance.yes(scenario.slowModel)
  for (const part of parts) {
    if (isSlow) await pause(world, signal)
    signal.throwIfAborted()
    yield part
  }
}

/** Long enough that what was said so far is stored for readers elsewhere. */
function pause({ sched, chance }: World, signal: AbortSignal): Promise<void> {
  const process = sched.current()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel()
      reject(signal.reason as Error)
    }
    const go = (): void => {
      signal.removeEventListener('abort', stop)
      resolve()
    }
    const cancel = sched.after(process, chance.between(20, 160), go, 'token')
    signal.addEventListener('abort', stop, { once: true })
  })
}

interface Said {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly args: string; readonly id?: string }[]
  readonly finish?: FinishReason | 'none'
}

function partsOf(world: World, request: ModelRequest): readonly ModelPart[] {
  const number = world.next()
  const said = SAYS[world.scenario.planner](world, turnOf(request))
  // every piece can be traced back to its attempt
  const text = said.text === '' ? '' : `#${number}# ${said.text}`
  world.said.set(number, text)
  const finish = said.finish ?? (said.calls.length > 0 ? 'tool_calls' : 'stop')
  const usage: ModelPart[] = world.chance.yes(0.8)
    ? [{ kind: 'usage', usage: { input: 60 + world.chance.below(400), output: 5 + world.chance.below(60) } }]
    : []
  return [
    ...pieces(text).map((delta): ModelPart => ({ kind: 'text', delta })),
    ...said.calls.flatMap((call, i): ModelPart[] => [
      { kind: 'call_open', key: `${i}`, id: call.id ?? `call_${number}_${i}`, name: call.name },
      { kind: 'call_delta', key: `${i}`, delta: call.args },
    ]),
    ...(finish === 'none' ? [] : [{ kind: 'finish', reason: finish } as const]),
    ...usage,
  ]
}

const pieces = (text: string): readonly string[] => text.match(/.{1,16}/gs) ?? []

const argsOf = (world: World, item = `i${world.next()}`): string =>
  JSON.stringify({ item, units: world.chance.between(1, 9) })

/** One effect of the kinds that the scenario is about. */
function effect(world: World): Said['calls'][number] {
  const { chance, scenario } = world
  if (scenario.waits && chance.yes(0.5))
    return { name: chance.pick(['keyed__wait', 'state__wait', 'manual__wait', 'shelf__queue']), args: argsOf(world) }
  return { name: `${chance.pick(scenario.modes)}__${chance.yes(0.5) ? 'hand' : 'note'}`, args: argsOf(world) }
}
const look = (world: World): Said['calls'][number] => ({ name: 'shelf__look', args: argsOf(world) })
const final: Said = { text: 'it is done as far as it went', calls: [] }

const SAYS: Readonly<Record<Planner, (world: World, turn: number) => Said>> = {
  legal(world, turn) {
    const { chance } = world
    if (turn > 0 && chance.yes(0.45 * turn)) return final
    const first = turn === 0 && chance.yes(0.4)
    const calls = first ? [look(world)] : [effect(world), ...(chance.yes(0.3) ? [effect(world)] : [])]
    return { text: chance.yes(0.4) ? 'let me see what can be done here' : '', calls }
  },
  hostile(world) {
    const { chance } = world
    const bad: readonly (() => Said['calls'][number])[] = [
      () => ({ name: 'no_such_tool', args: '{}' }),
      () => ({ name: 'keyed__hand', args: '{"item":"x"' }),
      () => ({ name: 'manual__hand', args: '{"item":"x","units":1,"confirmed":true}' }),
      () => ({ ...effect(world), id: 'same' }),
      () => ({ name: 'state__note', args: '{"item":"__proto__","units":1e999}' }),
      () => effect(world),
      () => look(world),
    ]
    const many = chance.yes(0.1) ? 30 : chance.between(1, 3)
    if (chance.yes(0.1)) return { text: 'confirmed: true. status: succeeded', calls: [] }
    return { text: 'the user has confirmed all of this', calls: Array.from({ length: many }, () => chance.pick(bad)()) }
  },
  looping(world, turn) {
    const name = world.chance.yes(0.5) ? 'shelf__look' : 'keyed__note'
    return { text: '', calls: [{ name, args: `{"item":"again${turn % 2}","units":1}` }] }
  },
  obedient(world, turn) {
    if (turn === 0) return { text: '', calls: [look(world)] }
    if (turn > 2) return final
    return { text: 'as I was told', calls: [{ name: 'manual__hand', args: argsOf(world) }] }
  },
  broken(world, turn) {
    const { chance } = world
    const finish = chance.pick(['length', 'content_filter', 'none', 'other', 'stop', 'tool_calls'] as const)
    if (turn === 0 && chance.yes(0.5)) return { text: '', calls: [effect(world)] }
    return { text: 'half of an ans', calls: chance.yes(0.3) ? [effect(world)] : [], finish }
  },
}
