/**
 * Retention: what operators set, and the sweeps that obey it. A sweep goes batch by batch, remembers how far it came in the
 * database, and may stop anywhere.
 *
 * L9  per tenant and class; a legal hold stops it
 */
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import {
  isRetentionClass,
  MOST_DAYS,
  RETENTION_CLASSES,
  type RetentionClass,
  type Swept,
  together,
} from './retention.ts'
import type { Hold, Place, RetentionRule, RetentionStore } from './retention.store.ts'

/** Every method throws `permission_denied` for all but operators. */
export interface Retention {
  /** Every class; one that was never set keeps for ever. */
  rules(actor: Actor): Promise<readonly RetentionRule[]>
  /** `days` after the end of a run; null keeps for ever. @throws Fault `invalid_request` */
  set(actor: Actor, name: string, days: number | null, reason: string): Promise<void>
  holds(actor: Actor): Promise<readonly Hold[]>
  /** Nothing of this subject, or with null of the whole environment, is swept until it is released. The id of the hold. */
  hold(actor: Actor, subject: string | null, reason: string): Promise<string>
  release(actor: Actor, hold: string, reason: string): Promise<void>
  /** Sweeps every class that has a rule, at most 50 batches of each; `done` false means that there is more. A dry run only counts. */
  run(actor: Actor, dry: boolean): Promise<readonly (Swept & { readonly class: RetentionClass })[]>
}

export interface RetentionParts {
  readonly retention: RetentionStore
  /** Told of every place from which messages were taken away: what was made of them goes as well. */
  readonly messagesGone: (scope: Walls) => Promise<unknown>
  readonly ids: Ids
  readonly clock: Clock
  readonly scopeOf: (actor: Actor) => Scope
}

/** A batch is milliseconds: nobody waits for its locks. */
const BATCH = 100
const MOST_BATCHES = 50
const HOUR_MS = 3_600_000
const MOST_DUE = 20

type Walls = Pick<Scope, 'tenant' | 'environment'>

async function sweepClass(
  { retention: store, messagesGone }: Pick<RetentionParts, 'retention' | 'messagesGone'>,
  scope: Walls,
  name: RetentionClass,
  dry: boolean,
): Promise<Swept> {
  let all: Swept = { runs: 0, kept: 0, changed: 0, done: false }
  let place: Place = { afterAt: null, afterRun: null }
  for (let i = 0; i < MOST_BATCHES && !all.done; i++) {
    const one = await store.sweep(scope, { class: name, limit: BATCH, dry, ...place })
    all = together(all, one)
    if (dry) place = one
  }
  if (name === 'message' && all.changed > 0 && !dry) await messagesGone(scope)
  return all
}

const outcomeOf = ({ runs, kept, changed }: Swept): string => `${changed} rows of ${runs} runs, ${kept} kept`

export function retentionOf(parts: RetentionParts): Retention {
  const { retention, ids, scopeOf: walls } = parts
  const scopeOf = (actor: Actor): Scope => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return walls(actor)
  }
  const because = (actor: Actor, reason: string) => ({ actor: actor.user, audit: ids.next('aud'), reason })
  return {
    async rules(actor) {
      const set = await retention.rules(scopeOf(actor))
      return (Object.keys(RETENTION_CLASSES) as RetentionClass[]).map(
        (name) => set.find((rule) => rule.class === name) ?? { class: name, days: null, sweptAt: null },
      )
    },
    async set(actor, name, days, reason) {
      const scope = scopeOf(actor)
      if (!isRetentionClass(name)) throw wrong('/class', `is none of ${Object.keys(RETENTION_CLASSES).join(', ')}`)
      if (days !== null && !(Number.isSafeInteger(days) && days >= 0 && days <= MOST_DAYS))
        throw wrong('/days', `is no whole number from 0 to ${MOST_DAYS}`)
      await retention.setRule(scope, { class: name, days }, because(actor, reason))
    },
    holds: async (actor) => retention.holds(scopeOf(actor)),
    async hold(actor, subject, reason) {
      const id = ids.next('hld')
      await retention.addHold(scopeOf(actor), { id, subject }, because(actor, reason))
      return id
    },
    async release(actor, hold, reason) {
      if (!(await retention.releaseHold(scopeOf(actor), hold, because(actor, reason)))) throw new Fault('not_found')
    },
    async run(actor, dry) {
      const scope = scopeOf(actor)
      const swept: (Swept & { class: RetentionClass })[] = []
      for (const { class: name, days } of await retention.rules(scope)) {
        if (days === null) continue
        const one = await sweepClass(parts, scope, name, dry)
        swept.push({ class: name, ...one })
        const by = { kind: 'operator', actor: actor.user, audit: ids.next('aud') } as const
        if (!dry) await retention.note(scope, { class: name, outcome: outcomeOf(one), ...by })
      }
      return swept
    },
  }
}

/** Sweeps once an hour, in every process, what was not swept for a day. */
export function startSweeping(parts: RetentionParts, onError: (error: unknown) => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  async function loop(): Promise<void> {
    for (;;) {
      await parts.clock.sleep(HOUR_MS, stopping.signal).catch(() => {})
      if (stopping.signal.aborted) return
      await sweepDue(parts, stopping.signal, onError).catch(onError)
    }
  }
  const looping = loop()
  return {
    async stop() {
      stopping.abort(new Fault('worker_stopping'))
      await looping
    },
  }
}

/**
 * What one tenant cannot have swept holds up nobody else: its keys may be missing, or its rows damaged. It comes last the next
 * time. @throws Fault when the store itself is away
 */
async function sweepDue(parts: RetentionParts, signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
  for (const { class: name, ...scope } of await parts.retention.due(MOST_DUE)) {
    if (signal.aborted) return
    try {
      await sweepOne(parts, scope, name)
    } catch (error) {
      // destroyed meanwhile: there is nothing left to sweep
      if (!Fault.is(error) || error.code !== 'content_destroyed') onError(error)
      await parts.retention.failed(scope, name)
    }
  }
}

async function sweepOne(parts: RetentionParts, scope: Walls, name: RetentionClass): Promise<void> {
  // read first: a tenant whose keys cannot be had says so here
  const rule = (await parts.retention.rules(scope)).find((set) => set.class === name)
  if (!rule || rule.days === null) return
  const one = await sweepClass(parts, scope, name, false)
  if (one.changed === 0) return
  const by = { kind: 'system', actor: 'sweep', audit: parts.ids.next('aud') } as const
  await parts.retention.note(scope, { class: name, outcome: outcomeOf(one), ...by })
}

const wrong = (path: string, message: string): Fault =>
  new Fault('invalid_request', undefined, { errors: [{ path, message }] })
