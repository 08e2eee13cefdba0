/**
 * Who hears of events: `books`, which writes each down once and in order, and `poison`, which takes nothing for as long as it
 * lives. What arrived is judged against what the log of the run had to say, and a repetition by its id.
 */
import type { OutboxMessage, Sink } from '../../journal/sink.ts'
import type { EventRow } from '../memory/rows.ts'
import type { Process } from './scheduler.ts'
import type { Listener, World } from './world.ts'

/** A request, and a reply, take a little. */
const WAY_MS = 30

export const NOBODY: Listener = { sinks: [], hasAll: () => true, heard: () => null }

export function listenerOf(world: World): Listener {
  const { sched, chance, outside, tables } = world
  /** The last event that was heard of a run, and the place of each id. */
  const heard = new Map<string, number>()
  const places = new Map<string, string>()

  const toldOf = (key: string, after: number): EventRow | undefined =>
    tables.event
      .of(key)
      .filter((e) => e.visibility === 'user' && e.seq > after)
      .sort((a, b) => a.seq - b.seq)[0]

  function take({ id, tenant, run, seq, type }: OutboxMessage): void {
    const key = `${tenant}/${run}`
    const place = places.get(id)
    if (place !== undefined && place !== `${key}/${seq}`) world.broken('J9 an id is of one event', id)
    const last = heard.get(key) ?? 0
    if (place !== undefined) return
    places.set(id, `${key}/${seq}`)
    if (seq <= last) return world.broken('J9 a repetition keeps its id', `${run} ${seq}`)
    // what retention has taken is no longer there to compare with
    const next = world.swept.has(key) ? undefined : toldOf(key, last)
    if (next && (next.seq !== seq || next.type !== type))
      world.broken('J9 events arrive in the order of their run', `${run} ${seq} after ${last}`)
    heard.set(key, seq)
  }

  const reply = (to: Process, go: () => void): void => void sched.after(to, chance.below(WAY_MS), go, 'heard')

  function publish(message: OutboxMessage, signal: AbortSignal, isPoisoned: boolean): Promise<void> {
    const to = sched.current()
    const isBad = world.isStormy && chance.yes(0.25)
    const trouble = isBad ? chance.pick(['refused', 'taken_and_failed', 'slow'] as const) : 'none'
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason as Error)
      signal.addEventListener('abort', leave, { once: true })
      const answer = (isTaken: boolean): void =>
        reply(to, () => {
          signal.removeEventListener('abort', leave)
          if (isTaken) resolve()
          else reject(new Error('status 500'))
        })
      const arrive = (): void => {
        if (isPoisoned || trouble === 'refused') return answer(false)
        take(message)
        answer(trouble !== 'taken_and_failed')
      }
      sched.after(outside, trouble === 'slow' ? chance.between(WAY_MS, 9_000) : chance.below(WAY_MS), arrive, 'event')
    })
  }

  function hasAll(): boolean {
    for (const run of tables.run.all())
      if (toldOf(`${run.tenant_id}/${run.id}`, heard.get(`${run.tenant_id}/${run.id}`) ?? 0)) return false
    return true
  }

  const poison: Sink = { name: 'poison', publish: (message, signal) => publish(message, signal, true) }
  const books: Sink = { name: 'books', publish: (message, signal) => publish(message, signal, false) }
  // what somebody has not taken is never swept
  const sinks = world.scenario.sweeps ? [books] : [poison, books]
  for (const { name } of sinks) tables.sink.insert({ name, starts_at: Number.NEGATIVE_INFINITY, seen_at: sched.now() })
  return { sinks, hasAll, heard: (key) => heard.get(key) ?? 0 }
}
