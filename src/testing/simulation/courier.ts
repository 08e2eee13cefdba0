/**
 * Who tells runs what they wait for: until the product has it, sometimes twice, and with somebody of another tenant who
 * tells the same name, somebody who may not, and a second word that must not replace the first.
 */
import { ANN, ask, person } from './people.ts'
import type { World } from './world.ts'

const COURIER = person('service', 'courier')
const FOREIGNER = person('service', 'courier', 'birch')

export function courierOf(world: World): World['tell'] {
  const { sched, chance } = world
  let told = 0
  /** What was ever to be said under a name: a request that acts late has another word than the one that was told first. */
  const words = new Map<string, Set<boolean>>()
  return (signal, done) => {
    const process = sched.process(`courier${(told += 1)}`)
    const pause = (most: number): Promise<void> =>
      new Promise((resolve) => sched.after(process, chance.below(most), resolve, 'waits'))
    const say = (by: typeof ANN, body: object) => ask(world, (r) => r.signal(by, signal, body))
    const word = { by: 'courier', done }
    words.set(signal, (words.get(signal) ?? new Set()).add(done))
    async function walk(): Promise<void> {
      if (chance.yes(0.3)) await say(FOREIGNER, { by: 'foreigner', done: !done })
      if (chance.yes(0.1) && 'value' in (await say(ANN, { by: 'ann', done: !done })))
        world.broken('T3 nobody is heard but who may tell', signal)
      const again = async (): Promise<boolean> => {
        const answer = await say(COURIER, word)
        if ('code' in answer && answer.code === 'already_signaled' && words.get(signal)?.size === 1)
          world.broken('T3 a word may be told again', signal)
        return 'value' in answer || answer.code === 'already_signaled'
      }
      while (!(await again())) await pause(1_500)
      if (chance.yes(0.2) && 'value' in (await say(COURIER, { by: 'liar', done: !done })))
        world.broken('T3 the first word stays', signal)
      if (chance.yes(0.4)) await again()
    }
    sched.spawn(process, 'goes', () => {
      walk().catch((error: unknown) => world.broken('no program error', `courier ${String(error)}`))
    })
  }
}
