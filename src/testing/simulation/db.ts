/** The database as one process sees it: the store in memory behind a network that loses requests and replies. */
import type { Db, Statement } from '../../db/port.ts'
import type { Walls } from '../memory/verb.ts'
import type { Process } from './scheduler.ts'
import { danger, unavailable } from './trouble.ts'
import type { World } from './world.ts'

export function dbOf(world: World, process: Process): Db {
  const { sched, chance, store } = world

  async function ask<P, R>(statement: Statement<P, R>, params: P, walls: Walls): Promise<R[]> {
    const era = world.era
    const verb = verbOf(statement)
    await sched.park(verb)
    await danger(world, process, verb)
    const { lostRequest, lostReply, slowReply } = world.scenario.weather
    const lot = world.isStormy ? chance.fraction() : 1
    if (world.era !== era || world.downUntil > sched.now() || lot < lostRequest) throw unavailable()
    const rows = store.apply(statement, params, walls)
    world.judge.after(verb, params, rows.length)
    await danger(world, process, verb)
    if (lot < lostRequest + lostReply) {
      await sched.park('reply lost')
      throw unavailable()
    }
    if (lot < lostRequest + lostReply + slowReply) await late(world, process)
    if (world.era !== era) throw unavailable()
    return rows
  }
  return {
    engine: 'memory',
    call: (statement, params) => ask(statement, params, null),
    read: (scope, statement, params) => ask(statement, params, scope),
    write: (scope, statement, params) => ask(statement, params, scope),
    close: async () => {},
  }
}

/** Others go on before the reply arrives. */
const late = ({ sched, chance }: World, process: Process): Promise<void> =>
  new Promise((resolve) => sched.after(process, chance.pick([5, 50, 500, 3_000]), resolve, 'late reply'))

/** `run_step_20571c3f` → `step`. */
const names = new Map<string, string>()
function verbOf({ name }: { readonly name: string }): string {
  const known = names.get(name)
  if (known) return known
  const made = name.split('_')[1] ?? name
  names.set(name, made)
  return made
}
