/**
 * The way into memory: a candidate is judged on what the application knows itself, and saved, asked about or refused.
 *
 * E7   a write is authorised, happens once however often it is repeated, and stands in the audit
 * E8   of two writers one is first, and the other is judged anew on what it has written
 * E10  what is not written is told, and told as not written
 * E11  who is full is told
 */
import type { Ids, SessionId } from '../kernel/ids.ts'
import { canonicalText, hashBytes } from '../kernel/canonical.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { Candidate, Evidence, Facts, Inspection } from './candidate.ts'
import type { CandidateStore } from './candidate.store.ts'
import type { CandidateId, Change, Entry, MemoryId, NotWritten, Place, Source } from './entry.ts'
import { judge, type Entry as JudgedEntry, type Judgement } from './judge.ts'
import type { MemoryKeys } from './key.ts'
import { SHARED } from './kinds.ts'
import { type MemoryStore, type Quota, valueHash } from './memory.store.ts'
import type { Reason } from './reasons.ts'
import type { SourceStore } from './source.store.ts'

export interface Remembering {
  readonly memories: MemoryStore
  readonly candidates: CandidateStore
  readonly sources: SourceStore
  readonly content: ContentKeys
  readonly inspect: (candidate: Candidate) => Promise<Inspection>
  /** Told of every memory that was written, for its index. What it throws is nobody's failure. */
  readonly written: (scope: Scope, id: MemoryId) => Promise<void>
  /** Forgets something of the same subject that is worth less; false when nothing may go. */
  readonly makeRoom: (scope: Scope, entry: Entry) => Promise<boolean>
  readonly clock: Clock
  readonly ids: Ids
  readonly quota: Quota
}

/** Where and by whom. `zone` is the subject's. */
export interface Occasion {
  readonly actor: Actor
  readonly scope: Scope
  readonly keys: MemoryKeys
  readonly zone: string
  readonly session: SessionId | null
  readonly run: string | null
  /** The call that writes; its arguments hold the value. */
  readonly call: string | null
  /** The group or project of a candidate in such a scope. */
  readonly placeId: string | null
  /** What an authority has said just now, when it is what is remembered. */
  readonly authority?: { readonly name: string; readonly ref: string; readonly value: Json }
  /** The memory whose value this replaces, as its owner has seen it. */
  readonly corrects?: { readonly id: MemoryId; readonly version: number }
}

export type Outcome =
  | {
      readonly outcome: 'saved'
      readonly memory: MemoryId
      readonly version: number
      readonly change: Change
      readonly reasons: readonly Reason[]
    }
  | { readonly outcome: 'asked'; readonly candidate: CandidateId; readonly reasons: readonly Reason[] }
  /** It was said for now: the conversation has it, and that is all. */
  | { readonly outcome: 'session'; readonly reasons: readonly Reason[] }
  | { readonly outcome: 'refused'; readonly reasons: readonly (Reason | NotWritten)[] }

/** A person says it themselves, in so many words: nobody has to be asked whether they mean it. */
export interface Direct {
  readonly at: number
}

/** Writers of one key at the same time; each round another has won. */
const MOST_CONFLICTS = 8
/** As many texts as an order is cut into by those who try. */
const BESIDE = 6
const NEIGHBOURS = 2
/** A question is open as long as a person may be away. */
const OPEN_MS = 14 * 86_400_000

/** @throws Fault `conflict` when others write the same key all the time */
export async function remember(
  parts: Remembering,
  on: Occasion,
  candidate: Candidate,
  direct: Direct | null = null,
): Promise<Outcome> {
  const inspection = await parts.inspect(candidate)
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const known = await factsOf(parts, on, candidate, direct)
    const judged = judge(candidate, { ...known.facts, inspection })
    const { entry, decision, reasons } = judged
    if (decision === 'reject' || !entry) return { outcome: 'refused', reasons }
    if (decision === 'session') return { outcome: 'session', reasons }
    const made = await entryOf(parts, on, { judged: entry, known, direct })
    // an operator who writes is the person who would be asked
    if (decision === 'ask' && direct === null && candidate.evidence.kind !== 'operator')
      return { outcome: 'asked', candidate: await ask(parts, on, made, judged), reasons }
    const done = await save(parts, on, { entry: made, change: entry.change, at: known.current, asked: null, reasons })
    if (done !== 'conflict') return done
  }
  throw new Fault('conflict')
}

/** The person's word on a question: exactly what was shown is judged once more on what is known now, and written. */
export async function accept(
  parts: Remembering,
  on: Occasion,
  question: { readonly id: CandidateId; readonly version: number; readonly entry: Entry },
): Promise<Outcome> {
  const { entry: shown } = question
  const asked = { id: question.id, version: question.version }
  // a detector that has learnt since then has the last word
  const evidence: Evidence = { kind: 'message', message: '', quote: quoteOf(shown.value) }
  const candidate: Candidate = {
    kind: shown.kind,
    key: shown.key,
    value: shown.value,
    scope: shown.place.scope,
    evidence,
  }
  const inspection = await parts.inspect(candidate)
  const entry: Entry = { ...shown, integrity: raised(shown), confirmedBy: on.actor.user, consentBasis: 'confirmed' }
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const message = { id: '', role: 'user', author: on.actor.subject, text: evidence.quote, at: shown.saidAt } as const
    const facts = { ...bare(parts, on), message: { ...message, inGroup: false }, inspection }
    const judged = judge(candidate, facts)
    if (judged.decision === 'reject') return { outcome: 'refused', reasons: judged.reasons }
    const at = await parts.memories.current(on.scope, entry)
    const change = changeOf(entry, at)
    const done = await save(parts, on, { entry, change, at, asked, reasons: judged.reasons })
    if (done !== 'conflict') return done
  }
  throw new Fault('conflict')
}

/** A person's word makes a typed value theirs, and nothing else of it (I9). */
const raised = ({ integrity }: Entry): Entry['integrity'] => (integrity === 'untrusted' ? 'user' : integrity)

type Current = Awaited<ReturnType<MemoryStore['current']>>

function changeOf(entry: Entry, at: Current): Change {
  if (!at) return 'created'
  if (canonicalText(at.value) === canonicalText(entry.value)) return 'merged'
  return entry.validFrom < at.validFrom ? 'late' : 'superseded'
}

interface Known {
  readonly facts: Omit<Facts, 'inspection'>
  readonly current: Current
  readonly saidAt: number
  readonly run: string | null
}

const bare = (parts: Remembering, on: Occasion): Omit<Facts, 'inspection'> => ({
  keys: on.keys,
  subject: on.actor.subject,
  zone: on.zone,
  now: parts.clock.now(),
  current: [],
})

async function factsOf(
  parts: Remembering,
  on: Occasion,
  { evidence, key, value, scope }: Candidate,
  direct: Direct | null,
): Promise<Known> {
  const { sources, memories } = parts
  const base = bare(parts, on)
  const registered = on.keys.find(key)
  const many = registered?.cardinality === 'many'
  const slot = many ? valueHash(parts.content, on.scope.tenant, value) : ''
  const of = { place: placeOf(on, scope), subject: subjectOf(on, scope), key, slot }
  const [current, beside, said, settled] = await Promise.all([
    memories.current(on.scope, of),
    sources.latestTexts(on.scope, of.subject, BESIDE),
    evidence.kind === 'message' && direct === null ? sources.said(on.scope, evidence.message) : null,
    evidence.kind === 'call' ? sources.settled(on.scope, evidence.ref) : null,
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
    ...(evidence.kind === 'memory' && { memories: await lineage(parts, on, evidence.ids) }),
    current: current ? [currentFact(current)] : [],
    beside,
  }
  const saidAt = message?.at ?? base.now
  return { facts, current, saidAt, run: evidence.kind === 'message' ? (evidence.message.split('.')[0] ?? null) : null }
}

const currentFact = (at: NonNullable<Current>): Facts['current'][number] => ({
  id: at.id,
  // the judge compares plain hashes; the store keeps keyed ones
  valueHash: hashBytes(canonicalText(at.value)),
  integrity: at.integrity,
  source: at.source === 'user' || at.source === 'import' || at.source === null ? 'message' : at.source,
  validFrom: at.validFrom,
})

async function lineage(
  parts: Remembering,
  on: Occasion,
  ids: readonly string[],
): Promise<NonNullable<Facts['memories']>> {
  const viewer = {
    subject: on.actor.subject,
    user: on.actor.user,
    scopes: ['owner', 'member', ...on.actor.permissions],
  }
  const found = await Promise.all(ids.map((id) => parts.memories.get(on.scope, viewer, id as MemoryId)))
  return found.flatMap((m) =>
    m?.status === 'active' ? [{ id: m.id, subject: m.subject, scope: m.place.scope, integrity: m.integrity }] : [],
  )
}

const placeOf = (on: Occasion, scope: Candidate['scope']): Place => {
  if (scope === 'user') return { scope, id: on.actor.subject }
  if (scope === 'conversation') return { scope, id: on.session ?? '' }
  return { scope, id: scope === 'tenant' ? '' : (on.placeId ?? '') }
}
const subjectOf = (on: Occasion, scope: Candidate['scope']): string => (SHARED.has(scope) ? '' : on.actor.subject)

async function entryOf(
  parts: Remembering,
  on: Occasion,
  { judged, known, direct }: { judged: JudgedEntry; known: Known; direct: Direct | null },
): Promise<Entry> {
  const isShared = SHARED.has(judged.scope)
  const value = JSON.parse(judged.value) as Json
  const byPerson = direct !== null || judged.source === 'operator'
  return {
    place: placeOf(on, judged.scope),
    subject: judged.subject,
    key: judged.key,
    kind: judged.kind,
    layer: judged.kind === 'experience' ? 'episodic' : judged.kind === 'task' ? 'session' : 'semantic',
    slot: judged.slot === '' ? '' : valueHash(parts.content, on.scope.tenant, value),
    value,
    permissionScope: [isShared ? 'member' : 'owner'],
    integrity: judged.integrity,
    confidentiality: isShared ? 'tenant' : 'subject',
    confidence: judged.confidence,
    importance: judged.importance,
    sensitivity: judged.sensitivity,
    purpose: judged.purpose,
    consentBasis: direct ? 'confirmed' : judged.source === 'message' ? 'said' : judged.source,
    confirmedBy: byPerson ? on.actor.user : null,
    authority:
      judged.source === 'authority' && on.authority ? { name: on.authority.name, ref: on.authority.ref } : null,
    detectors: judged.detectors,
    validFrom: judged.validFrom,
    expiresAt: judged.expiresAt,
    saidAt: known.saidAt,
    sources: await sourcesOf(parts, on, { judged, known, direct }),
  }
}

async function sourcesOf(
  parts: Remembering,
  on: Occasion,
  { judged, known, direct }: { judged: JudgedEntry; known: Known; direct: Direct | null },
): Promise<readonly Source[]> {
  const quote = judged.quote
  if (direct) return [{ kind: 'user', ref: on.actor.user, role: 'evidence', run: null, quote: null }]
  const evidence = judged.refs.map(
    (ref): Source => ({ kind: judged.source, ref, role: 'evidence', run: known.run, quote }),
  )
  const writer: readonly Source[] =
    on.call === null ? [] : [{ kind: 'call', ref: on.call, role: 'writer', run: on.run, quote: null }]
  const [first] = judged.source === 'message' ? judged.refs : []
  const before = first === undefined ? [] : await parts.sources.turnsBefore(on.scope, first, NEIGHBOURS)
  const around = before.map(
    (ref): Source => ({ kind: 'message', ref, role: 'neighbour', run: ref.split('.')[0] ?? null, quote: null }),
  )
  return [...evidence, ...writer, ...around]
}

interface Saving {
  readonly entry: Entry
  readonly change: Change
  readonly at: Current
  readonly asked: { readonly id: CandidateId; readonly version: number } | null
  readonly reasons: readonly Reason[]
}

async function save(parts: Remembering, on: Occasion, saving: Saving): Promise<Outcome | 'conflict'> {
  const { entry, at, asked, reasons } = saving
  if (on.corrects) return corrected(parts, on, on.corrects, entry)
  const by = {
    audit: parts.ids.next('aud'),
    actorKind: on.actor.kind,
    writer: on.actor.user,
    run: on.run,
    asked,
  }
  const id = at?.id ?? parts.ids.next('mem')
  // what has ended is replaced, whatever it was
  const change = at === null ? 'created' : saving.change === 'created' ? 'superseded' : saving.change
  const version =
    at === null
      ? await parts.memories.insert(on.scope, id, entry, { ...by, quota: parts.quota })
      : await parts.memories.change(on.scope, { id, version: at.version, change }, entry, by)
  if (version !== null) {
    await parts.written(on.scope, id).catch(() => {})
    return { outcome: 'saved', memory: id, version, change, reasons }
  }
  const status = asked && (await parts.candidates.get(on.scope, on.actor.subject, asked.id))?.status
  if (status && status !== 'pending') throw new Fault('already_decided', undefined, { facts: { outcome: status } })
  const why = await parts.memories.whyNot(on.scope, entry, on.actor.user)
  if (why === 'full' && at === null && (await hasRoom(parts, on, entry))) return 'conflict'
  if (why !== 'exists' && !(why === 'full' && at !== null)) return { outcome: 'refused', reasons: [why] }
  return 'conflict'
}

/** What may not be forgotten now, such as under a hold, makes no room. */
const hasRoom = (parts: Remembering, on: Occasion, entry: Entry): Promise<boolean> =>
  entry.subject === '' ? Promise.resolve(false) : parts.makeRoom(on.scope, entry).catch(() => false)

/** In place, whatever stands beside it: a value of several may become another, unless that one is there already. */
async function corrected(
  parts: Remembering,
  on: Occasion,
  at: { readonly id: MemoryId; readonly version: number },
  entry: Entry,
): Promise<Outcome> {
  const by = { audit: parts.ids.next('aud'), actorKind: on.actor.kind, writer: on.actor.user, run: on.run, asked: null }
  const other = await parts.memories.current(on.scope, entry)
  if (other && other.id !== at.id) throw new Fault('conflict', 'This value is remembered already.')
  const version = await parts.memories.change(on.scope, { ...at, change: 'corrected' }, entry, by)
  if (version === null) {
    const why = await parts.memories.whyNot(on.scope, entry, on.actor.user)
    if (why === 'exists' || why === 'full') throw new Fault('precondition_failed')
    return { outcome: 'refused', reasons: [why] }
  }
  await parts.written(on.scope, at.id).catch(() => {})
  return { outcome: 'saved', memory: at.id, version, change: 'corrected', reasons: [] }
}

function ask(parts: Remembering, on: Occasion, entry: Entry, { reasons }: Judgement): Promise<CandidateId> {
  const many = on.keys.find(entry.key)?.cardinality === 'many'
  const { session, run, actor } = on
  const asking = { id: parts.ids.next('mcd'), writer: actor.user, session, run, many, reasons, openMs: OPEN_MS }
  return parts.candidates.ask(on.scope, entry, asking)
}

/** What somebody says who writes a value themselves. */
export const quoteOf = (value: Json): string => (typeof value === 'string' ? value : canonicalText(value))
