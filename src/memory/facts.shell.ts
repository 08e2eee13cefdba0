/**
 * What the application knows itself about a candidate: what was said and returned, what stands under the key, what it is drawn
 * from. A candidate is judged on nothing else.
 *
 * E4  evidence is looked up and never believed   E9  what is drawn from memories is drawn from those that are there
 */
import { canonicalText, hashBytes } from '../kernel/canonical.ts'
import type { Clock } from '../kernel/clock.ts'
import type { SessionId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Candidate, Facts } from './candidate.ts'
import { type MemoryId, type Place, placeText } from './entry.ts'
import type { MemoryKeys } from './key.ts'
import { SHARED } from './kinds.ts'
import { type Ancestor, type MemoryStore, valueHash } from './memory.store.ts'
import type { SourceStore } from './source.store.ts'

export interface Knowing {
  readonly memories: MemoryStore
  readonly sources: SourceStore
  readonly content: ContentKeys
  readonly clock: Clock
}

/** Where and by whom. `zone` is the subject's. */
export interface Here {
  readonly actor: Actor
  readonly scope: Scope
  readonly keys: MemoryKeys
  readonly zone: string
  readonly session: SessionId | null
  /** The group or project of a candidate in such a scope. */
  readonly placeId: string | null
  /** What an authority has said just now, when it is what is remembered. */
  readonly authority?: { readonly name: string; readonly ref: string; readonly value: Json }
  /** Since when there was enough to say it, where that is no single moment of one source. Milliseconds since the epoch. */
  readonly saidAt?: number
  /** The versions of memories that were read for what is drawn from them; another one is not what was read. */
  readonly drawnFrom?: ReadonlyMap<MemoryId, number>
}

/** A person says it themselves, in so many words: nobody has to be asked whether they mean it. */
export interface Direct {
  readonly at: number
}

export type Current = Awaited<ReturnType<MemoryStore['current']>>

/** As many texts as an order is cut into by those who try. */
const BESIDE = 6

export interface Known {
  readonly facts: Omit<Facts, 'inspection'>
  readonly current: Current
  /** When the last of its sources was said: what was forgotten or declined since is not brought back by them. */
  readonly saidAt: number
  readonly run: string | null
  /** The memories that it is drawn from, as they are. */
  readonly ancestors: readonly Ancestor[]
}

export const bare = (parts: Knowing, on: Here): Omit<Facts, 'inspection'> => ({
  keys: on.keys,
  subject: on.actor.subject,
  zone: on.zone,
  now: parts.clock.now(),
  current: [],
})

export async function factsOf(
  parts: Knowing,
  on: Here,
  { evidence, key, value, scope }: Candidate,
  direct: Direct | null,
): Promise<Known> {
  const { sources, memories } = parts
  const base = bare(parts, on)
  const registered = on.keys.find(key)
  const many = registered?.cardinality === 'many'
  const slot = many ? valueHash(parts.content, on.scope.tenant, value) : ''
  const of = { place: placeOf(on, scope), subject: subjectOf(on, scope), key, slot }
  const [current, beside, said, settled, ancestors] = await Promise.all([
    memories.current(on.scope, of),
    sources.latestTexts(on.scope, of.subject, BESIDE),
    evidence.kind === 'message' && direct === null ? sources.said(on.scope, evidence.message) : null,
    evidence.kind === 'call' ? sources.settled(on.scope, evidence.ref) : null,
    evidence.kind === 'memory' ? ancestorsOf(parts, on, evidence.ids, of.place) : null,
  ])
  const message =
    direct !== null && evidence.kind === 'message'
      ? { role: 'user' as const, author: on.actor.user, text: evidence.quote, at: direct.at }
      : said && !said.gone && said.subject === on.actor.subject
        ? { role: said.role, author: said.user, text: said.text, at: said.at }
        : null
  const facts: Omit<Facts, 'inspection'> = {
    ...base,
    ...(message && evidence.kind === 'message' && { message: { ...message, id: evidence.message, inGroup: false } }),
    ...(settled && evidence.kind === 'call' && settled.subject === on.actor.subject
      ? { call: { ref: evidence.ref, contracted: true, result: settled.result } }
      : {}),
    ...(on.actor.kind === 'operator' && { operator: on.actor.user }),
    ...(on.authority && { authority: on.authority }),
    ...(ancestors && { memories: ancestors.map(({ place, ...one }) => ({ ...one, scope: place.scope })) }),
    current: current ? [currentFact(current)] : [],
    beside,
  }
  const drawnAt = ancestors && ancestors.length > 0 ? Math.max(...ancestors.map((one) => one.recordedAt)) : undefined
  const saidAt = on.saidAt ?? message?.at ?? settled?.at ?? drawnAt ?? base.now
  return { facts, current, saidAt, run: runOf(evidence), ancestors: ancestors ?? [] }
}

export const currentFact = (at: NonNullable<Current>): Facts['current'][number] => ({
  id: at.id,
  // the judge compares plain hashes; the store keeps keyed ones
  valueHash: hashBytes(canonicalText(at.value)),
  integrity: at.integrity,
  source: at.source === 'user' || at.source === 'import' || at.source === null ? 'message' : at.source,
  validFrom: at.validFrom,
})

const runOf = (evidence: Candidate['evidence']): string | null => {
  if (evidence.kind === 'message') return evidence.message.split('.')[0] ?? null
  return evidence.kind === 'call' ? (evidence.ref.split('/')[0] ?? null) : null
}

/**
 * The memories that it is drawn from, as far as they are in use. A member draws from what it sees, and carries nothing from one
 * shared place into another; an operator draws from all that is there.
 */
export async function ancestorsOf(
  { memories }: Knowing,
  { actor, scope, drawnFrom }: Here,
  ids: readonly string[],
  into: Place,
): Promise<readonly Ancestor[]> {
  if (actor.kind === 'operator')
    return (await memories.lineage(scope, ids)).filter((m) => m.version === (drawnFrom?.get(m.id) ?? m.version))
  const viewer = { subject: actor.subject, user: actor.user, scopes: ['owner', 'member', ...actor.permissions] }
  const found = await Promise.all(ids.map((id) => memories.get(scope, viewer, id as MemoryId)))
  return found.flatMap((m) =>
    m?.status === 'active' && (!SHARED.has(m.place.scope) || placeText(m.place) === placeText(into)) ? [m] : [],
  )
}

export const placeOf = (on: Here, scope: Candidate['scope']): Place => {
  if (scope === 'user') return { scope, id: on.actor.subject }
  if (scope === 'conversation') return { scope, id: on.session ?? '' }
  return { scope, id: scope === 'tenant' ? '' : (on.placeId ?? '') }
}
const subjectOf = (on: Here, scope: Candidate['scope']): string => (SHARED.has(scope) ? '' : on.actor.subject)
