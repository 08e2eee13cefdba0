/**
 * The way into memory: a candidate is judged on what the application knows itself, and saved, asked about or refused.
 *
 * E7   a write is authorised, happens once however often it is repeated, and stands in the audit
 * E8   of two writers one is first, and the other is judged anew on what it has written
 * E10  what is not written is told, and told as not written
 * E11  who is full is told
 */
import type { Ids } from '../kernel/ids.ts'
import { canonicalText } from '../kernel/canonical.ts'
import { Fault, type FieldError } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Candidate, Inspection } from './candidate.ts'
import type { CandidateStore } from './candidate.store.ts'
import type { CandidateId, Change, Entry, MemoryId, Source } from './entry.ts'
import { type Current, type Direct, factsOf, type Here, type Knowing, type Known, placeOf } from './facts.shell.ts'
import { judge, type Entry as JudgedEntry, type Judgement } from './judge.ts'
import { SHARED } from './kinds.ts'
import { type Quota, valueHash } from './memory.store.ts'
import type { Reason, Refusal } from './reasons.ts'

export interface Remembering extends Knowing {
  readonly candidates: CandidateStore
  readonly inspect: (candidate: Candidate) => Promise<Inspection>
  /** Told of every memory that was written, for its index. What it throws is nobody's failure. */
  readonly written: (scope: Scope, id: MemoryId) => Promise<void>
  /** Forgets something of the same subject that is worth less; false when nothing may go. */
  readonly makeRoom: (scope: Scope, entry: Entry) => Promise<boolean>
  readonly ids: Ids
  readonly quota: Quota
}

/** Where and by whom, and the run and call that write. */
export interface Occasion extends Here {
  readonly run: string | null
  /** The call that writes; its arguments hold the value. */
  readonly call: string | null
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
  /** `errors`: what is wrong with the value, where its schema refuses it. */
  | {
      readonly outcome: 'refused'
      readonly reasons: readonly (Reason | Refusal)[]
      readonly errors?: readonly FieldError[]
    }

/** What bars a value whoever is asked; else the person has said no. */
const barOf = (why: Refusal | 'exists'): Refusal =>
  why === 'forgotten' || why === 'no_consent' || why === 'moved' || why === 'corrected' ? why : 'declined'
/** Writers of one key at the same time; each round another has won. */
export const MOST_CONFLICTS = 8
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
    if (decision === 'reject' || !entry)
      return {
        outcome: 'refused',
        reasons,
        ...(reasons.includes('value_invalid') && { errors: wrongIn(on, candidate) }),
      }
    if (decision === 'session') return { outcome: 'session', reasons }
    const made = await entryOf(parts, on, { judged: entry, known, direct })
    const echo = known.current && (await echoOf(parts, on, made, { at: known.current, change: entry.change, reasons }))
    if (echo) return echo
    // an operator who writes is the person who would be asked
    if (decision === 'ask' && direct === null && candidate.evidence.kind !== 'operator') {
      const id = await ask(parts, on, made, judged)
      if (id !== null) return { outcome: 'asked', candidate: id, reasons }
      const why = await parts.memories.whyNot(on.scope, made, on.actor.user)
      return { outcome: 'refused', reasons: [barOf(why)] }
    }
    const done = await save(parts, on, { entry: made, change: entry.change, at: known.current, asked: null, reasons })
    if (done !== 'conflict') return done
  }
  throw new Fault('conflict')
}

/** Names of fields and what they have to be, and nothing of the value. */
const wrongIn = ({ keys }: Occasion, { key, value }: Candidate): readonly FieldError[] =>
  (keys.find(key)?.check(value) ?? []).map(({ path, message }) => ({ path: `/value${path}`, message }))

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
    layer: layerOf(judged, on),
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

/** What has grown out of episodes is knowledge. */
function layerOf({ kind, key }: JudgedEntry, { keys }: Occasion): Entry['layer'] {
  if (kind === 'task') return 'session'
  return kind === 'experience' && !keys.find(key)?.consolidates ? 'episodic' : 'semantic'
}

async function sourcesOf(
  parts: Remembering,
  on: Occasion,
  { judged, known, direct }: { judged: JudgedEntry; known: Known; direct: Direct | null },
): Promise<readonly Source[]> {
  const quote = judged.quote
  if (direct) return [{ kind: 'user', ref: on.actor.user, role: 'evidence', run: null, quote: null }]
  const seen = new Map<string, number>(known.ancestors.map((one) => [one.id, one.version]))
  const evidence = judged.refs.map((ref): Source => {
    const version = seen.get(ref)
    const read = version === undefined ? {} : { seen: version }
    return { kind: judged.source, ref, role: 'evidence', run: known.run, quote, ...read }
  })
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

export async function save(parts: Remembering, on: Occasion, saving: Saving): Promise<Outcome | 'conflict'> {
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
  const status = asked && (await parts.candidates.get(on.scope, askedOf(on, entry), asked.id))?.status
  if (status && status !== 'pending') throw new Fault('already_decided', undefined, { facts: { outcome: status } })
  const why = await parts.memories.whyNot(on.scope, entry, on.actor.user)
  if (why === 'moved' && on.drawnFrom === undefined) return 'conflict'
  if (why === 'full' && at === null && (await hasRoom(parts, on, entry))) return 'conflict'
  if (why !== 'exists' && !(why === 'full' && at !== null)) return { outcome: 'refused', reasons: [why] }
  return 'conflict'
}

const askedOf = ({ actor }: Occasion, { subject }: Entry) => ({ subject, user: actor.user })

/** Of these a second look says nothing that the first has not; a person, an operator or an authority says it anew. */
const ONCE: ReadonlySet<Source['kind']> = new Set(['message', 'call', 'memory'])

/**
 * Said again out of what it came from already: nothing is new, so nothing lasts longer or is believed more, and what went out of
 * use stays there, unless it was drawn from memories, which may have changed since. Null: it says something.
 */
async function echoOf(
  parts: Remembering,
  on: Occasion,
  made: Entry,
  { at, change, reasons }: { at: NonNullable<Current>; change: Change; reasons: readonly Reason[] },
): Promise<Outcome | null> {
  const evidence = made.sources.filter((s) => s.role === 'evidence')
  const isNew = change !== 'merged' && change !== 'late'
  if (isNew || evidence.length === 0 || !evidence.every((s) => ONCE.has(s.kind))) return null
  const known = new Set((await parts.memories.sources(on.scope, at.id)).map((s) => `${s.role} ${s.kind} ${s.ref}`))
  if (!evidence.every((s) => known.has(`evidence ${s.kind} ${s.ref}`))) return null
  if (at.status === 'active' || at.status === 'cold' || change === 'late')
    return { outcome: 'saved', memory: at.id, version: at.version, change, reasons }
  return evidence.some((s) => s.kind === 'memory') ? null : { outcome: 'refused', reasons: ['corrected'] }
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

function ask(parts: Remembering, on: Occasion, entry: Entry, { reasons }: Judgement): Promise<CandidateId | null> {
  const many = on.keys.find(entry.key)?.cardinality === 'many'
  const { session, run, actor } = on
  // what ends before it is answered is not remembered
  const openMs = Math.min(OPEN_MS, Math.max(0, (entry.expiresAt ?? Number.POSITIVE_INFINITY) - parts.clock.now()))
  // what an operator or the program itself brings up is nobody's own
  const writer = actor.kind === 'operator' ? '' : actor.user
  const asking = { id: parts.ids.next('mcd'), writer, session, run, many, reasons, openMs }
  return parts.candidates.ask(on.scope, entry, asking)
}

/** What somebody says who writes a value themselves. */
export const quoteOf = (value: Json): string => (typeof value === 'string' ? value : canonicalText(value))
