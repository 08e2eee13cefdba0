/**
 * Where events go besides the streams: endpoints of customers, which are rows, and sinks of the program, which are code.
 *
 * J9  at least once, in the order of the run, under an id that a repetition keeps
 */
import { Fault } from '../kernel/fault.ts'
import type { EventType } from '../kernel/events.ts'
import type { JsonObject } from '../kernel/json.ts'

/** One durable event. Ids, kinds and counts only: content stays where it can be deleted. */
export interface OutboxMessage {
  /** The same on every repetition: `evt_…_<seq>`. */
  readonly id: string
  readonly tenant: string
  readonly environment: string
  readonly run: string
  /** The conversation. */
  readonly session: string
  /** The number in the run, from 1; a listener of some types sees gaps. */
  readonly seq: number
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly body: JsonObject
}

/** A place of the program that hears of every tenant's events that people may see. */
export interface Sink {
  /** `[a-z0-9_]{1,40}`; its place in the log is kept under this name. */
  readonly name: string
  /**
   * Resolves when the message is safe. A rejection is tried again, later and for ever, and so is silence of a minute; the
   * run's next event waits for it. Aborts then, and when the worker stops and its time is over.
   */
  publish(message: OutboxMessage, signal: AbortSignal): Promise<void>
}

/** @throws Fault `invalid_definition` for names that the store could not keep apart */
export function sinksOf(sinks: readonly Sink[]): readonly Sink[] {
  const names = new Set(sinks.map((sink) => sink.name))
  if (names.size < sinks.length || ![...names].every((name) => /^(?!whk_)[a-z0-9_]{1,40}$/.test(name)))
    throw new Fault('invalid_definition', 'Each sink has a name of its own, of a-z, 0-9 and _, at most 40.')
  return sinks
}
