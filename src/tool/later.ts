/**
 * `later(…)`: what a tool returns when the other side has taken the call and will tell the outcome another time (T3).
 * The run lies down in the store; no worker, lease or connection is held.
 */
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'

/** What was told under the name of a signal. It comes from outside, and is no more trusted than a result. */
export interface Arrived {
  readonly body: Json
}

export interface Later {
  /** Null: only time is waited for. */
  readonly signal: string | null
  readonly ms: number
}

/** A name that is chosen by the tool and known to whoever tells: letters, digits and `._:@-`, at most 200. */
const SIGNAL = /^[A-Za-z0-9._:@-]{1,200}$/
export const isSignal = (name: unknown): name is string => typeof name === 'string' && SIGNAL.test(name)

/** A month, as the longest run. */
const LONGEST_MS = 30 * 86_400_000
const isTime = (ms: unknown): ms is number => typeof ms === 'number' && ms >= 0 && ms <= LONGEST_MS

const LATER = Symbol.for('plimsoll.later')

/**
 * `later({ afterMs })` waits for a time, `later({ signal, withinMs })` for somebody to tell, and no longer than that.
 * Times are milliseconds, at most 30 days. @throws Fault `invalid_definition`
 */
export function later(
  wanted: { readonly afterMs: number } | { readonly signal: string; readonly withinMs: number },
): unknown {
  const isTimer = 'afterMs' in wanted
  const ms: unknown = isTimer ? wanted.afterMs : wanted.withinMs
  const signal: unknown = isTimer ? null : wanted.signal
  if (!isTime(ms)) throw new Fault('invalid_definition', 'A wait is a number of milliseconds, at most 30 days.')
  if (signal !== null && !isSignal(signal))
    throw new Fault('invalid_definition', 'A signal has 1 to 200 letters, digits, `.`, `_`, `:`, `@` or `-`.')
  return Object.freeze({ [LATER]: Object.freeze({ signal, ms: Math.ceil(ms) }) })
}

/** What `later` made, or null for every other value. */
export const laterOf = (returned: unknown): Later | null =>
  typeof returned === 'object' && returned !== null && LATER in returned ? (returned[LATER] as Later) : null
