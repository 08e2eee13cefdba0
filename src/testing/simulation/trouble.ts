/** What goes wrong with a server: it dies, stands still, loses a request or a reply, or its program throws. */
import { Fault } from '../../kernel/fault.ts'
import type { FaultHook } from '../../kernel/faultpoint.ts'
import { TIMES } from './scenario.ts'
import type { Process } from './scheduler.ts'
import { isServer, type World } from './world.ts'

/** A failure of the program that the seed has planted; any other is a finding. */
export const PLANTED = 'planted by the seed'

export const unavailable = (): Fault => new Fault('store_unavailable')

/** Where an effect is about to leave the house: trouble is wanted most. */
const DELICATE: ReadonlySet<string> = new Set([
  'preflight.before',
  'preflight.after',
  'start',
  'ext.before',
  'ext.replied',
  'outbox.afterPublish',
])
const MORE = 8

/** Never resolves when the process has died here; later when it stands still. */
export async function danger(world: World, process: Process, place: string): Promise<void> {
  const { chance, scenario, sched } = world
  if (!world.isStormy || !isServer(process)) return
  const { crash: crashes, pause } = scenario.weather
  const lot = chance.fraction() / (DELICATE.has(place) ? MORE : 1)
  if (lot < crashes) {
    world.crash(process)
    await new Promise<never>(() => {})
  }
  if (lot < crashes + pause) {
    // less than a lease, about one, or much more: nobody has noticed, others are about to take over, or have done so
    const [least, most] = chance.pick([
      [200, 3_000],
      [3_000, TIMES.leaseMs + 1_000],
      [TIMES.leaseMs, TIMES.leaseMs * 2.5],
    ] as const)
    const ms = chance.between(least, most)
    world.trace.add(sched.now(), process.name, 'FROZEN')
    sched.freeze(process, ms)
    await sched.park('thawed')
  }
}

/** The named places of the program. */
export const faultHook =
  (world: World, process: Process): FaultHook =>
  async (point) => {
    await world.sched.park(point)
    await danger(world, process, point)
    const { throws } = world.scenario.weather
    if (world.isStormy && throws > 0 && world.chance.yes(throws)) throw new Error(PLANTED)
  }
