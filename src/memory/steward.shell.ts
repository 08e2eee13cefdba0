/**
 * What those do who look after what is known: operators, and services of the product that hold `memory.authority`.
 *
 * E13  a changed fact puts what repeats it out of use   E14  what is remembered of a fact is read where it is kept
 * E15  what several read is written by an operator, who says why
 */
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { holds } from '../kernel/permission.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { ask, type Asking } from './authority.shell.ts'
import type { MemoryId } from './entry.ts'
import type { MemoryKey, MemoryKeys } from './key.ts'
import type { MemoryStore } from './memory.store.ts'
import { type Occasion, type Outcome, remember, type Remembering } from './remember.shell.ts'

export interface SharedWanted {
  readonly key: string
  readonly value: Json
  readonly scope: 'group' | 'project' | 'tenant'
  /** The group or project. */
  readonly placeId?: string
  readonly reason: string
}

/** `ref` is the name of the fact where the key's authority keeps it. */
export interface FactWanted {
  readonly subject: string
  readonly key: string
  readonly ref: string
}

export interface Stewardship {
  /**
   * What a group, a project or the tenant knows, written by an operator who says why. Nothing personal goes there.
   * @throws Fault `invalid_request` without a known key
   */
  rememberShared(actor: Actor, want: SharedWanted): Promise<Outcome>
  /**
   * What an authority says of a subject now: it is read here. For operators, and for services that hold `memory.authority`.
   * @throws Fault `invalid_request` without a known key; `unavailable` when the authority does not answer
   */
  rememberFact(actor: Actor, want: FactWanted): Promise<Outcome>
  /** A fact is another now: every memory that repeats it, or was drawn from it, is out of use at once. How many. For the same. */
  authorityChanged(actor: Actor, name: string, ref: string): Promise<number>
}

export interface StewardParts {
  readonly memories: MemoryStore
  readonly remembering: Remembering
  /** Every key that an agent of the program has. */
  readonly registry: MemoryKeys
  /** IANA name of the zone in which a subject says "today". */
  readonly zoneOf: (actor: Actor) => string
  readonly ids: Ids
  readonly scopeOf: (actor: Actor) => Scope
  readonly asking: Asking
  /** Whose actor it is when somebody writes about another. */
  readonly about: (actor: Actor, subject: string) => Actor
  /** Told of memories that are out of use, for what was made of them besides. */
  readonly outdated: (scope: Scope, memories: readonly MemoryId[]) => Promise<void>
}

export function stewardshipOf(parts: StewardParts): Stewardship {
  const { memories, ids, scopeOf } = parts
  const by = (actor: Actor) => ({ audit: ids.next('aud'), actorKind: actor.kind, actor: actor.user })
  const operating = (actor: Actor): Scope => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return scopeOf(actor)
  }
  const authorised = (actor: Actor): Scope => {
    if (actor.kind !== 'operator' && (actor.kind !== 'service' || !holds(actor.permissions, 'memory.authority')))
      throw new Fault('permission_denied', 'This needs the permission `memory.authority`.')
    return scopeOf(actor)
  }
  const occasion = (actor: Actor, more: Partial<Occasion>): Occasion => ({
    actor,
    scope: scopeOf(actor),
    keys: parts.registry,
    zone: parts.zoneOf(actor),
    session: null,
    run: null,
    call: null,
    placeId: null,
    ...more,
  })
  const registered = (name: string): MemoryKey => keyNamed(parts.registry, name)

  return {
    async rememberShared(actor, { key, value, scope, placeId, reason }) {
      const { kind } = registered(key)
      const walls = operating(actor)
      const evidence = { kind: 'operator', ref: actor.user } as const
      const on = occasion(parts.about(actor, actor.user), { placeId: placeId ?? null })
      const done = await remember(parts.remembering, on, { kind, key, value, scope, evidence })
      if (done.outcome === 'saved')
        await memories.note(walls, { ...by(actor), action: 'memory.share', target: done.memory, reason })
      return done
    },
    async rememberFact(actor, { subject, key, ref }) {
      authorised(actor)
      const { kind, scopes, authority: name } = registered(key)
      if (name === null) return { outcome: 'refused', reasons: ['source_not_allowed'] }
      const about = parts.about(actor, subject)
      const word = await ask(parts.asking, about, { name, ref }, new AbortController().signal)
      if (word.state === 'unavailable') throw new Fault('unavailable', 'The authority of the key did not answer.')
      if (word.state === 'gone') return { outcome: 'refused', reasons: ['evidence_missing'] }
      const { value } = word
      const on = occasion(about, { authority: { name, ref, value } })
      const scope = scopes[0] ?? 'user'
      return remember(parts.remembering, on, { kind, key, value, scope, evidence: { kind: 'authority', ref } })
    },
    async authorityChanged(actor, name, ref) {
      const scope = authorised(actor)
      const changed = await memories.authorityChanged(scope, { name, ref }, by(actor))
      await parts.outdated(scope, changed)
      return changed.length
    },
  }
}

/** @throws Fault `invalid_request` */
export function keyNamed(registry: MemoryKeys, name: string): MemoryKey {
  const key = registry.find(name)
  if (key) return key
  const message = `is none of ${registry.keys.map((one) => one.name).join(', ')}`
  throw new Fault('invalid_request', undefined, { errors: [{ path: '/key', message }] })
}
