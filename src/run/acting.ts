/** What an action is given and what it gives back. Types only, so that the actions and their caller need not know each other. */
import type { ContentKeys } from '../db/seal.ts'
import type { EffectStore } from '../journal/effect.store.ts'
import type { Lease } from '../journal/lease.store.ts'
import type { Bulkheads } from '../kernel/bulkhead.shell.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Random } from '../kernel/random.ts'
import type { Actor } from '../kernel/scope.ts'
import type { ModelPart } from '../model/port.ts'
import type { Egress } from '../tool/egress/egress.shell.ts'
import type { RateStore } from '../tool/rate.store.ts'
import type { Remembered } from '../context/assemble.ts'
import type { Agent } from './agent.ts'
import type { Factors } from './factors.shell.ts'
import type { Report } from './report.ts'
import type { RunStore } from './run.store.ts'
import type { ToolServices } from './services.shell.ts'
import type { Run } from './state.ts'

/** Whether this actor may use this tool now; asked again at every use. Anything but `true` refuses (J1). */
export type Authorize = (
  actor: Actor,
  call: { readonly tool: string; readonly permission: string },
) => boolean | Promise<boolean>

/** What a run is given of memory. `unavailable`: it could not be read, which is another thing than nothing (F7). */
export type Recollection =
  | { readonly state: 'unavailable' }
  | { readonly state: 'none' | 'unrelated' | 'found'; readonly memory: readonly Remembered[] }

export interface Acting {
  readonly runs: RunStore
  readonly effects: EffectStore
  readonly rates: RateStore
  readonly sealer: ContentKeys
  readonly clock: Clock
  readonly bulkheads: Bulkheads
  /** How far our estimates of tokens are off; absent: nothing is learned. */
  readonly factors?: Factors
  /** The way out of tools. */
  readonly egress: Egress
  readonly ids: Ids
  readonly random: Random
  readonly fault: FaultHook
  readonly authorize: Authorize
  /** What calls are given from outside; none by default. */
  readonly services?: ToolServices
  /** What is remembered for the question of a run; absent: nobody remembers anything. */
  readonly recollect?: (run: Run, agent: Agent, signal: AbortSignal) => Promise<Recollection>
  /** What of it is still remembered, right before it is sent. */
  readonly stillRemembered?: (run: Run, memory: readonly Remembered[]) => Promise<readonly Remembered[]>
  /** Until when the worker may believe in its lease, on the monotonic clock; it is earlier than the database's end. */
  readonly leaseUntil: () => number
  /** Told right before a request to the model can leave: from here on its money may be spent. */
  readonly asking: () => void
  /** A piece of an answer, for streams. */
  readonly delta: (run: Run, attempt: number, part: ModelPart) => void
}

/** Why a call may be left. Each aborts with a fault that names the cause (K1, K2). */
export interface Signals {
  /** The run is canceled, the worker stops, its lease is lost, or nobody follows the run whose agent minds. */
  readonly signal: AbortSignal
  /** The same without the last: for what has begun, or was decided by a person, and does not ask who looks on. */
  readonly firm: AbortSignal
  /** For an effect that has started: a worker that stops lets it come to its end, for a while (P6). */
  readonly patient: AbortSignal
  /** For the question what became of an effect: that is settled even when the run is canceled (J7). */
  readonly owned: AbortSignal
}

/** What an action works on. */
export interface Work extends Signals {
  readonly run: Run
  readonly lease: Lease
  readonly actor: Actor
  readonly leftMs: number
}

export type ActParts = Acting & { readonly agent: Agent }

/**
 * What happened, and the run it happened to: COMMIT S moves the run before the report does. `reload`: somebody else moved
 * the run, or nobody knows how the call ended; it must be read again before anything is decided.
 */
export type Acted = { readonly run: Run; readonly report: Report } | 'reload'
