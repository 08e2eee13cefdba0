/**
 * A computation that is stopped when it takes too long. It would hold not its own run but all of the process: one pattern
 * that goes back and forth over a text is enough, or one schema that refers to itself twice.
 */
import { createContext, Script } from 'node:vm'

/** What runs in it belongs to the world outside; only the limit is of this one. */
const inside = createContext({ work: (): unknown => null }) as { work: () => unknown }
const run = new Script('work()')

/** @throws what `work` throws, and an error of its own when the time is over */
export function bounded<T>(ms: number, work: () => T): T {
  inside.work = work
  return run.runInContext(inside, { timeout: Math.ceil(ms) }) as T
}
