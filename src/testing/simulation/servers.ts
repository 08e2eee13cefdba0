/** The processes of the product: each has its own runtime and worker on the common store, may die and is started again. */
import { Fault, isUnreachable } from '../../kernel/fault.ts'
import type { Authorize } from '../../run/acting.ts'
import { createRuntime, type Runtime } from '../../runtime.ts'
import { dbOf } from './db.ts'
import { TOOL_MS } from './provider.ts'
import { TIMES } from './scenario.ts'
import type { Process } from './scheduler.ts'
import { clockOf, idsOf, randomOf, type Skew } from './seams.ts'
import { faultHook, PLANTED } from './trouble.ts'
import type { Server, World } from './world.ts'

export function boot(world: World): void {
  const { sched, chance } = world
  const process = sched.process(`w${world.next()}`)
  const skew: Skew = { offsetMs: 0, frozenAt: null }
  if (world.scenario.skewedClocks) skew.offsetMs = chance.between(-3_600_000, 3_600_000)
  const { bug } = world
  const db = dbOf(world, process)
  const clock = clockOf(sched, process, skew)
  const runtime = createRuntime({
    db: bug?.db?.(db, world) ?? db,
    agents: [world.agents[world.release]],
    clock: bug?.clock?.(clock) ?? clock,
    ids: idsOf(world.next),
    random: randomOf(chance),
    sinks: world.listener.sinks,
    fault: faultHook(world, process),
    onToolError: () => {},
    authorize: bug?.permits ? () => true : authorizer(world),
  })
  const server: Server = { process, runtime, skew, worker: null, isStopping: false }
  world.servers.push(server)
  const onError = (error: unknown): void => judgeError(world, error)
  sched.spawn(process, 'boot', () => {
    runtime.work({ ...TIMES, concurrency: 4, onError }).then(
      (worker) => void (server.worker = worker),
      (error: unknown) => {
        judgeError(world, error)
        crash(world, process)
      },
    )
  })
}

/** A worker reports faults of the database; anything else is a fault of the program. */
function judgeError(world: World, error: unknown): void {
  world.trace.add(world.sched.now(), world.sched.current().name, `error ${Fault.is(error) ? error.code : 'other'}`)
  if (isUnreachable(error) || (error instanceof Error && error.message === PLANTED)) return
  const text =
    error instanceof Error ? `${error.message} ${(error.stack ?? '').split('\n')[1]?.trim() ?? ''}` : 'no error'
  world.broken('no program error', Fault.is(error) ? `${error.code} ${text}` : text)
}

/** Its continuations are dropped where they stand; a supervisor starts a new one later. */
export function crash(world: World, process: Process): void {
  const { sched, servers } = world
  world.trace.add(sched.now(), process.name, 'KILLED')
  sched.kill(process)
  const at = servers.findIndex((s) => s.process === process)
  if (at >= 0) servers.splice(at, 1)
  sched.after(world.outside, world.chance.between(100, 4_000), () => boot(world), 'restart')
}

/** A polite stop, as a deployment does it, and a new process with whatever release is now current. */
export function redeploy(world: World, server: Server): void {
  if (!server.worker || server.isStopping) return
  server.isStopping = true
  const { worker, process } = server
  world.sched.spawn(process, 'stop', () => {
    worker.stop().then(
      () => crash(world, process),
      (error: unknown) => judgeError(world, error),
    )
  })
}

/** Anything but `true` is no permission; a broken authoriser says anything, late, or nothing. */
function authorizer(world: World): Authorize {
  return (_actor, { tool }) => {
    if (world.closedSince.has('*')) return garbage(world)
    const yes = !world.closedSince.has(tool)
    if (world.chance.yes(0.75)) return yes
    // where time is short, the end of it comes while somebody is being asked
    const isSlow = world.chance.yes(world.scenario.agent === 'strict' ? 0.8 : 0.3)
    return world.isStormy && isSlow ? slowly(world, yes) : world.sched.park('authorize').then(() => yes)
  }
}

/** Just in time, and much may have changed meanwhile. */
const slowly = ({ sched, chance }: World, yes: boolean): Promise<boolean> =>
  new Promise((resolve) => {
    sched.after(sched.current(), chance.between(300, TOOL_MS - 100), () => resolve(yes), 'authorize')
  })

function garbage({ chance }: World): Promise<boolean> {
  const said: readonly (() => Promise<unknown>)[] = [
    () => Promise.reject(new Error('down')),
    () => Promise.resolve('true'),
    () => Promise.resolve(undefined),
    () => Promise.resolve(1),
    () => new Promise(() => {}),
  ]
  return chance.pick(said)() as Promise<boolean>
}

/** A request over the network to one of the servers; the one that has it may die. */
export function call<T>(world: World, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const { sched, chance, servers } = world
  const client = sched.current()
  return new Promise((resolve, reject) => {
    if (servers.length === 0) {
      sched.after(client, 100, () => reject(new Fault('server_unreachable')), 'nobody there')
      return
    }
    const server = chance.pick(servers)
    const giveUp = sched.after(client, 6_000, () => reject(new Fault('server_unreachable')), 'given up')
    const reply = (go: () => void): void => {
      const arrive = (): void => {
        giveUp()
        go()
      }
      sched.after(client, chance.below(20), arrive, 'answer')
    }
    sched.spawn(server.process, 'request', () => {
      work(server.runtime).then(
        (value) => reply(() => resolve(value)),
        (error: unknown) => reply(() => reject(error instanceof Error ? error : new Error('no error'))),
      )
    })
  })
}
