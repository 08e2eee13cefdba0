/** What is remembered as JSON: values for the person they are about, and for nobody else. */
import type { Consent, Question } from '../memory/candidate.store.ts'
import type { ExportedMemory, Why } from '../memory/centre.shell.ts'
import type { MemoryView, Place } from '../memory/entry.ts'
import type { Receipt } from '../memory/forget.shell.ts'
import type { Deletion } from '../memory/forget.store.ts'
import type { MemoryFacts, MemoryVersion, SourceView, Use } from '../memory/memory.store.ts'
import type { Outcome } from '../memory/remember.shell.ts'
import { time } from './views.ts'

const DAY_MS = 86_400_000

const placeOf = ({ scope, id }: Place) => ({ scope, place_id: scope === 'tenant' ? null : id })

/** Everything but the value. */
export const memoryFacts = (m: Omit<MemoryFacts, 'place'> & { readonly place: Place }) => ({
  id: m.id,
  subject: m.subject === '' ? null : m.subject,
  ...placeOf(m.place),
  kind: m.kind,
  layer: m.layer,
  key: m.key,
  version: m.version,
  status: m.status,
  integrity: m.integrity,
  confidence: m.confidence,
  sensitivity: m.sensitivity,
  purpose: m.purpose,
  consent_basis: m.consentBasis,
  confirmed_by: m.confirmedBy,
  authority: m.authority,
  writer: m.writer,
  use_count: m.useCount,
  recorded_at: time(m.recordedAt),
  valid_from: time(m.validFrom),
  expires_at: time(m.expiresAt),
  last_used_at: time(m.lastUsedAt),
})

export const memory = (m: MemoryView) => ({ ...memoryFacts(m), value: m.value, importance: m.importance })

const source = (s: SourceView) => ({
  kind: s.kind,
  ref: s.ref,
  role: s.role,
  quote: s.quote,
  run_id: s.run,
  conversation_id: s.session,
  version: s.version,
  at: time(s.at),
})

export const why = (w: Why) => ({
  memory: memory(w.memory),
  sources: w.sources.map(source),
  uses: w.uses.map(({ run, version, rank, score, reason, at }) => ({
    run_id: run,
    version,
    rank,
    score,
    reason,
    at: time(at),
  })),
})

export const exported = (e: ExportedMemory) => ({ memory: memory(e.memory), sources: e.sources.map(source) })

export const memoryVersion = (v: MemoryVersion) => ({
  version: v.version,
  change: v.change,
  value: v.value,
  writer: v.writer,
  integrity: v.integrity,
  confidence: v.confidence,
  valid_from: time(v.validFrom),
  recorded_at: time(v.recordedAt),
})

export const use = (u: Use) => ({
  memory_id: u.memory,
  version: u.version,
  rank: u.rank,
  score: u.score,
  reason: u.reason,
})

/** Never the value: answers are kept for a day. */
export function written(outcome: Outcome) {
  const { reasons } = outcome
  if (outcome.outcome !== 'saved') return { outcome: outcome.outcome, reasons }
  const { memory: id, version, change } = outcome
  return { outcome: 'saved', id, version, change, reasons }
}

/** What will be remembered exactly; without content once it is answered. */
export const candidate = (q: Question) => ({
  id: q.id,
  status: q.status,
  version: q.version,
  key: q.key,
  kind: q.entry?.kind ?? null,
  value: q.entry?.value ?? null,
  ...(q.entry ? placeOf(q.entry.place) : { scope: null, place_id: null }),
  purpose: q.entry?.purpose ?? null,
  sensitivity: q.entry?.sensitivity ?? null,
  remembered_until: time(q.entry?.expiresAt ?? null),
  /** Covers value, key, place, purpose and end. */
  hash: q.entry ? q.hash : null,
  reasons: q.reasons,
  quotes: (q.entry?.sources ?? []).flatMap((s) => (s.role === 'evidence' && s.quote !== null ? [s.quote] : [])),
  writer: q.writer,
  conversation_id: q.session,
  run_id: q.run,
  memory_id: q.memory,
  created_at: time(q.createdAt),
  expires_at: time(q.expiresAt),
})

export const consent = (c: Consent) => ({
  purpose: c.purpose,
  state: c.state,
  basis: c.basis,
  decided_by: c.decidedBy,
  decided_at: time(c.decidedAt),
})

export const deletion = (d: Deletion, backupDays: number | null) => ({
  id: d.id,
  subject: d.subject,
  kind: d.kind,
  target: d.target,
  created_at: time(d.createdAt),
  done_at: time(d.doneAt),
  backups_expire_at: time(d.doneAt === null || backupDays === null ? null : d.doneAt + backupDays * DAY_MS),
})

export const receipt = (r: Receipt, backupDays: number | null) => ({
  ...deletion(r, backupDays),
  parts: r.parts.map((p) => ({
    derivative: p.derivative,
    state: p.doneAt !== null ? 'done' : p.error === null ? 'waiting' : 'failed',
    removed: p.removed,
    error: p.error,
    done_at: time(p.doneAt),
  })),
})
