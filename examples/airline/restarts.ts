/** A database that goes down during a replay, and from whom it may be taken. */
import { restarterOf } from '../../test/setup/restart.ts'
import { startOwnPostgres } from '../../test/setup/server.ts'

export interface Ground {
  /** A PostgreSQL server; undefined: the embedded store. */
  readonly db: string | undefined
  readonly restart: () => Promise<void>
  stop(): Promise<void>
}

/** `restarts`: how often it must go down. Throws a sentence for people when there is no server that may. */
export async function groundFor(db: string | undefined, restarts: number): Promise<Ground> {
  const nothing = () => Promise.resolve()
  if (restarts === 0) return { db, restart: nothing, stop: nothing }
  if (db !== undefined) {
    const restart = await restarterOf(db)
    if (!restart)
      throw new Error(
        '--restarts needs a server on this machine whose data folder is ours: leave --db out to start one',
      )
    return { db, restart, stop: nothing }
  }
  const own = await startOwnPostgres({ fsync: 'off' })
  if (!own) throw new Error('--restarts needs a PostgreSQL, and there is none here')
  return { db: own.url, restart: () => own.restart(), stop: () => own.stop() }
}

export interface Restarts {
  /** How often the database went down while runs were under way. */
  readonly count: () => number
  /** Told after every conversation: restarts when enough of them are over. */
  talked(done: number): Promise<void>
}

/** Spread over the replay by its progress: the i-th of n comes after i of n + 1 parts of the conversations. */
export function planRestarts(restarts: number, conversations: number, restart: () => Promise<void>): Restarts {
  let count = 0
  let under = Promise.resolve()
  return {
    count: () => count,
    talked(done) {
      under = under.then(async () => {
        if (count >= restarts || done < (conversations * (count + 1)) / (restarts + 1)) return
        await restart()
        count += 1
      })
      return under
    },
  }
}
