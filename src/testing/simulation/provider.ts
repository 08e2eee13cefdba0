/**
 * The outside: providers of effects in a world of their own. A request that has left the house arrives whatever becomes of
 * its sender. What happened is in the log; our tables are never asked.
 */
import { toolError } from '../../tool/toolerror.ts'
import type { ProbeOutcome } from '../../tool/contract.ts'
import type { Mode } from './scenario.ts'
import type { Process } from './scheduler.ts'
import type { Happened, Order, Provider, World } from './world.ts'

/** The contracts promise to have acted by then. */
export const TOOL_MS = 3_000
/** A request, and a reply, take a little. */
const WAY_MS = 40

const TROUBLES = [
  'slow',
  'refused',
  'lost',
  'no_reply',
  'failed_before',
  'failed_after',
  // a gateway gives up at once, and what is behind it works on: twice, because it is the worst
  'failed_early',
  'failed_early',
  'wrong_body',
] as const
type Trouble = 'none' | (typeof TROUBLES)[number]
const ACTS = new Set<Trouble>(['none', 'slow', 'no_reply', 'failed_after', 'failed_early', 'wrong_body'])
/** With these the other side has shown that it is there. */
const ANSWERS = new Set<Trouble>(['none', 'refused'])
const LATE = new Set<Trouble>(['slow', 'failed_early'])

export function providerOf(world: World, outside: Process): Provider {
  const { sched, chance } = world
  const log: Happened[] = []
  const counts = new Map<string, number>()
  const pending = new Map<string, number>()
  const byKey = new Map<string, Happened>()
  /** Keys that were refused: whoever knows a key answers it alike each time. */
  const refusedKeys = new Set<string>()

  /** Requests that were taken, of which is told later. */
  const taken = new Set<string>()
  const failures = new Map<string, number>()

  function troubleOf(mode: Mode): Trouble {
    const { weather, outage } = world.scenario
    if (!world.isStormy) return 'none'
    if (outage?.of === mode && outage.from <= sched.now() && sched.now() < outage.to) return 'failed_before'
    return chance.yes(weather.provider) ? chance.pick(TROUBLES) : 'none'
  }
  const isKeyed = (mode: Mode): boolean => mode === 'keyed' || mode === 'blind'

  function act(order: Order): void {
    if (isKeyed(order.mode) && byKey.has(order.key)) return
    const line = { ...order, at: sched.now() }
    byKey.set(order.key, line)
    log.push(line)
    counts.set(order.place, (counts.get(order.place) ?? 0) + 1)
    world.judge.happened(line)
  }

  /** Acts some other time, or refuses then, and tells; or never says a word again. */
  function takeOn(order: Order, signal: string): void {
    if (isKeyed(order.mode) && taken.has(order.key)) return
    taken.add(order.key)
    move(order.place, 1)
    // nobody could be asked about a silent no of `manual`, and what is told is its result
    const isDone = order.mode === 'manual' || chance.yes(0.8)
    const isSilent = isDone && world.isStormy && chance.yes(0.1)
    const finish = (): void => {
      move(order.place, -1)
      if (isDone) act(order)
      if (isSilent) return
      world.tell(signal, isDone)
    }
    // before the caller has stored that it waits, or long after
    sched.after(outside, chance.pick([0, 30, 400, 3_000, 9_000]), finish, 'acts later')
  }

  const move = (place: string, by: number): void => void pending.set(place, (pending.get(place) ?? 0) + by)

  /** Delivers to whoever asked; nobody is there when that process has died. */
  const reply = (to: Process, go: () => void): void => void sched.after(to, chance.below(WAY_MS), go, 'reply')

  return {
    log,
    count: (place) => counts.get(place) ?? 0,
    isPending: (place) => (pending.get(place) ?? 0) > 0,
    failures: (tool) => failures.get(tool) ?? 0,
    order(order) {
      const to = sched.current()
      const trouble = troubleOf(order.mode)
      world.trace.add(sched.now(), to.name, `order ${order.place} ${trouble}`)
      world.judge.leaves(order, to)
      if (!ANSWERS.has(trouble)) failures.set(order.tool, (failures.get(order.tool) ?? 0) + 1)
      move(order.place, 1)
      // what is slow still acts within its contract
      const way = LATE.has(trouble) ? chance.between(WAY_MS, TOOL_MS - 1) : chance.below(WAY_MS)
      return new Promise((resolve, reject) => {
        const fail = (): void => reject(new Error('status 500'))
        if (trouble === 'failed_early') reply(to, fail)
        const arrive = (): void => {
          move(order.place, -1)
          const isKnown = isKeyed(order.mode) && byKey.has(order.key)
          const isRefused = refusedKeys.has(order.key) || (trouble === 'refused' && !isKnown)
          if (isRefused) refusedKeys.add(order.key)
          else if (ACTS.has(trouble) && order.tells !== undefined) takeOn(order, order.tells)
          else if (ACTS.has(trouble)) act(order)
          if (isRefused) reply(to, () => reject(toolError('business_rejected')))
          else if (trouble === 'failed_before' || trouble === 'failed_after') reply(to, fail)
          else if (trouble === 'wrong_body') reply(to, () => resolve({ toJSON: () => undefined, n: 1n }))
          else if (trouble === 'none' || trouble === 'slow' || trouble === 'refused')
            reply(to, () => resolve({ done: order.item }))
        }
        sched.after(outside, way, arrive, trouble)
      })
    },
    probe(mode, key) {
      const to = sched.current()
      const trouble = troubleOf(mode)
      return new Promise((resolve, reject) => {
        const answer = (): void => {
          const found = byKey.get(key)
          if (trouble === 'lost' || trouble === 'no_reply') return
          if (trouble === 'failed_before' || trouble === 'failed_after')
            reply(to, () => reject(new Error('status 500')))
          else if (trouble === 'wrong_body') reply(to, () => resolve({} as ProbeOutcome))
          else if (found) reply(to, () => resolve({ happened: true, result: { done: found.item } }))
          else reply(to, () => resolve({ happened: false }))
        }
        sched.after(outside, chance.below(WAY_MS), answer, `probe ${mode}`)
      })
    },
  }
}
