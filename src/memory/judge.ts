/**
 * What becomes of a candidate: refused, kept for the session, saved or asked about.
 *
 * E4  the steps stand in one order, and what the model says of itself only tightens
 * E5  detector failure refuses
 * E6  what is asked is what is stored: exact value, purpose, scope, retention, and their hash
 * E8  another value of a key supersedes; a less reliable source asks
 * E9  the same value merges, and never raises its authority
 * G5  what is temporary or unsure has an end
 */
import { canonicalText, hashBytes, hashJson } from '../kernel/canonical.ts'
import type { Integrity } from '../kernel/labels.ts'
import { type Candidate, type CurrentMemory, type Facts, hashOfTexts, textsOf } from './candidate.ts'
import { protectedKey } from './detect/control.ts'
import { DETECTORS, type Finding } from './detect/finding.ts'
import { scan } from './detect/scan.ts'
import { judgeEvidence } from './evidence.ts'
import type { MemoryKey } from './key.ts'
import { type Kind, KINDS, type Place, type Sensitivity, SHARED, type SourceKind } from './kinds.ts'
import { type Reason, reasonOf } from './reasons.ts'
import { endInstant, isPassing, saidOf } from './when.ts'

/** What would be stored. Times are milliseconds since the epoch. */
export interface Entry {
  readonly key: string
  readonly kind: Kind
  /** Canonical JSON (RFC 8785). */
  readonly value: string
  readonly valueHash: string
  /** Tells several memories of one key apart; empty where a key has one. */
  readonly slot: string
  readonly scope: Place
  readonly subject: string
  readonly change: 'created' | 'merged' | 'superseded' | 'late'
  /** The memory that is merged into, superseded or preceded. */
  readonly of: string | null
  readonly source: SourceKind
  readonly refs: readonly string[]
  readonly quote: string | null
  readonly integrity: Integrity
  readonly sensitivity: Sensitivity
  readonly purpose: string
  readonly confidence: number
  readonly importance: number
  readonly validFrom: number
  readonly expiresAt: number | null
  readonly detectors: number
  /** Binds a confirmation to exactly this: value, key, purpose, scope, subject, retention. */
  readonly hash: string
}

export interface Judgement {
  readonly decision: 'reject' | 'session' | 'save' | 'ask'
  readonly reasons: readonly Reason[]
  /** Rules that fired, for operators; never the text. */
  readonly findings: readonly Finding[]
  /** Absent when it is refused. */
  readonly entry?: Entry
}

const DAY_MS = 86_400_000
/** Below an even chance it ends within a month, whatever its key allows (G5). */
const UNSURE = 0.5
const UNSURE_DAYS = 30
/** Without a word of the model; it ranks only. */
const USUAL = 0.5

export function judge(candidate: Candidate, facts: Facts): Judgement {
  const found: Finding[] = []
  const reject = (...reasons: Reason[]): Judgement => ({
    decision: 'reject',
    reasons: [...new Set(reasons)],
    findings: found,
  })
  if (!isReadable(candidate)) return reject('unreadable')
  const key = facts.keys.find(candidate.key)
  if (!key) return reject('key_unknown')
  if (key.kind !== candidate.kind) return reject('kind_differs')
  if (key.check(candidate.value).length > 0) return reject('value_invalid')

  const { inspection } = facts
  if (!inspection.ok || inspection.of !== hashOfTexts(candidate)) return reject('detector_failed')
  found.push(...textsOf(candidate).flatMap(scan), ...inspection.findings)
  const sensitive = refusals(found, key, candidate)
  if (sensitive.length > 0) return reject(...sensitive)

  const place = placeRefusal(candidate, key, found)
  if (place) return reject(place)
  const evidence = judgeEvidence(candidate, key, facts)
  if (!evidence.ok) return reject(evidence.reason)
  if (inParts(candidate, facts)) return reject('instruction_in_parts')

  const time = timesOf(candidate, key, facts)
  if (typeof time === 'string') return reject(time)
  const known = relation(candidate, key, facts, time.validFrom, evidence.integrity)
  const entry = entryOf(candidate, key, facts, { ...time, ...known })
  const asks = new Set<Reason>([
    ...found.filter((finding) => finding.verdict === 'confirm').map((finding) => reasonOf(finding.class)),
    ...evidence.asks,
    ...known.asks,
    ...(key.impact === 'high' && candidate.evidence.kind !== 'authority' ? (['impact_high'] as const) : []),
    ...(key.confirm === 'ask' && candidate.evidence.kind !== 'authority' ? (['key_asks'] as const) : []),
    ...(candidate.requiresConfirmation === true ? (['candidate_asks'] as const) : []),
  ])
  if (isForNow(candidate)) return { decision: 'session', reasons: ['passing'], findings: found, entry }
  // it stands there already, with its consent
  if (known.change === 'merged') return { decision: 'save', reasons: ['repeated'], findings: found, entry }
  return asks.size > 0
    ? { decision: 'ask', reasons: [...asks], findings: found, entry }
    : { decision: 'save', reasons: [known.reason], findings: found, entry }
}

function isReadable(given: Candidate): boolean {
  const c = given as Partial<Record<keyof Candidate, unknown>>
  const share = (n: unknown) => n === undefined || (typeof n === 'number' && n >= 0 && n <= 1)
  const evidence = c.evidence as
    | { kind?: unknown; quote?: unknown; message?: unknown; ref?: unknown; ids?: unknown }
    | null
    | undefined
  const cites =
    typeof evidence === 'object' &&
    evidence !== null &&
    (evidence.kind === 'message'
      ? typeof evidence.quote === 'string' && typeof evidence.message === 'string'
      : evidence.kind === 'memory'
        ? Array.isArray(evidence.ids)
        : typeof evidence.ref === 'string')
  return (
    cites &&
    typeof c.key === 'string' &&
    c.value !== undefined &&
    Object.hasOwn(KINDS, String(c.kind)) &&
    share(c.confidence) &&
    share(c.importance) &&
    (c.expiresInDays === undefined || (typeof c.expiresInDays === 'number' && c.expiresInDays > 0)) &&
    (c.expiresAt === undefined || typeof c.expiresAt === 'string')
  )
}

/** Whether it may not be stored, whatever a person says: also where a special category has no key that is registered for it. */
export const isRefused = (finding: Finding, key: Pick<MemoryKey, 'sensitivity'> | undefined): boolean =>
  finding.verdict === 'reject' || (finding.class === 'special_category' && key?.sensitivity !== 'special')

/** Every class that refuses. An operator may set what is protected. */
function refusals(found: readonly Finding[], key: MemoryKey, { evidence }: Candidate): Reason[] {
  const refused = found.filter((f) => isRefused(f, key)).map((f) => reasonOf(f.class))
  return protectedKey(key.name) && evidence.kind !== 'operator' ? [...refused, 'protected_key'] : refused
}

function placeRefusal({ scope }: Candidate, key: MemoryKey, found: readonly Finding[]): Reason | null {
  const personal = key.sensitivity !== 'none' || key.kind === 'preference' || found.length > 0
  if (SHARED.has(scope) && personal) return 'personal_in_shared_scope'
  return key.scopes.includes(scope) ? null : 'scope_not_allowed'
}

/** An order that was cut into memories. What was stored alone is harmless, so only what appears across the seam counts. */
function inParts(candidate: Candidate, { beside = [] }: Facts): boolean {
  if (beside.length === 0) return false
  const value = typeof candidate.value === 'string' ? candidate.value : JSON.stringify(candidate.value)
  const steers = (text: string) => scan(text).some((f) => f.class === 'instruction')
  return (
    beside.some((text) => steers(`${text} ${value}`) && !steers(text)) ||
    (steers([...beside, value].join(' ').slice(-4_096)) && !beside.some(steers))
  )
}

interface Times {
  readonly validFrom: number
  readonly expiresAt: number | null
}

function timesOf(candidate: Candidate, key: MemoryKey, { now, zone, message }: Facts): Times | Reason {
  const { evidence } = candidate
  const at = evidence.kind === 'message' && message ? message.at : now
  const validFrom = evidence.kind === 'message' ? (saidOf(evidence.quote, at, zone) ?? at) : at
  const wanted = candidate.expiresAt === undefined ? null : endInstant(candidate.expiresAt, zone)
  if (candidate.expiresAt !== undefined && wanted === null) return 'expiry_unreadable'
  const unsure = candidate.confidence !== undefined && candidate.confidence < UNSURE
  const days = [key.ttlDays, key.maxTtlDays, candidate.expiresInDays, unsure ? UNSURE_DAYS : null].filter(
    (d) => typeof d === 'number',
  )
  const ends = [...days.map((d) => now + d * DAY_MS), ...(wanted === null ? [] : [wanted])]
  const expiresAt = ends.length === 0 ? null : Math.min(...ends)
  return expiresAt !== null && expiresAt <= now ? 'expired' : { validFrom, expiresAt }
}

interface Relation {
  readonly change: Entry['change']
  readonly of: CurrentMemory | null
  readonly integrity: Integrity
  readonly reason: Reason
  readonly asks: readonly Reason[]
}

/** Who is believed when two disagree. */
const RELIABLE: readonly SourceKind[] = ['memory', 'call', 'message', 'operator', 'authority']

function relation(
  { value, evidence }: Candidate,
  key: MemoryKey,
  { current }: Facts,
  validFrom: number,
  integrity: Integrity,
): Relation {
  const hash = hashBytes(canonicalText(value))
  const same = current.find((memory) => memory.valueHash === hash)
  if (same) return { change: 'merged', of: same, integrity: same.integrity, reason: 'repeated', asks: [] }
  const last = key.cardinality === 'one' ? current[0] : undefined
  if (!last) return { change: 'created', of: null, integrity, reason: 'new', asks: [] }
  if (validFrom < last.validFrom) return { change: 'late', of: last, integrity, reason: 'late', asks: [] }
  const weaker = RELIABLE.indexOf(evidence.kind) < RELIABLE.indexOf(last.source)
  return { change: 'superseded', of: last, integrity, reason: 'supersedes', asks: weaker ? ['conflict'] : [] }
}

const isForNow = ({ lasting, evidence }: Candidate): boolean =>
  lasting === false || (evidence.kind === 'message' && isPassing(evidence.quote))

function entryOf(candidate: Candidate, key: MemoryKey, { subject }: Facts, known: Times & Relation): Entry {
  const { evidence, scope } = candidate
  const value = canonicalText(candidate.value)
  const valueHash = hashBytes(value)
  const { validFrom, expiresAt } = known
  const refs =
    evidence.kind === 'memory' ? evidence.ids : [evidence.kind === 'message' ? evidence.message : evidence.ref]
  return {
    key: key.name,
    kind: key.kind,
    value,
    valueHash,
    slot: key.cardinality === 'many' ? valueHash : '',
    scope,
    subject: SHARED.has(scope) ? '' : subject,
    change: known.change,
    of: known.of?.id ?? null,
    source: evidence.kind,
    refs: [...new Set(refs)],
    quote: evidence.kind === 'message' ? evidence.quote : null,
    integrity: known.integrity,
    sensitivity: key.sensitivity,
    purpose: key.purpose,
    confidence: candidate.confidence ?? USUAL,
    importance: candidate.importance ?? USUAL,
    validFrom,
    expiresAt,
    detectors: DETECTORS,
    hash: hashJson(['memory.v1', subject, scope, key.name, value, key.purpose, expiresAt]),
  }
}
