/** Memories in the store: written in one statement with version, sources and audit; read under the tenant. */
import type { Db } from '../db/port.ts'
import type { ContentKeys, Keys } from '../db/seal.ts'
import { canonicalText } from '../kernel/canonical.ts'
import type { Id } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { ActorKind, Scope } from '../kernel/scope.ts'
import {
  type CandidateId,
  type Change,
  type Entry,
  type MemoryId,
  type MemoryView,
  type Place,
  placeText,
  type Source,
} from './entry.ts'
import {
  authorityChanged,
  changeMemory,
  currentOf,
  insertMemory,
  lineageOf,
  memories,
  memoryFacts,
  type MemoriesRow,
  noteAccess,
  recordUses,
  revealMemory,
  sourcesOf,
  usesOf,
  usesOfRun,
  versionsOf,
  whyNot,
} from './memory.sql.ts'
import type { Refusal } from './reasons.ts'

/** Who writes, and the word that allows it where somebody was asked. */
export interface Writing {
  readonly audit: Id<'aud'>
  readonly actorKind: ActorKind
  readonly writer: string
  readonly run: string | null
  readonly asked: { readonly id: CandidateId; readonly version: number } | null
}

/** Most memories of one subject, and of a tenant in one environment (E11). */
export interface Quota {
  readonly subject: number
  readonly tenant: number
}

export interface Current {
  readonly id: MemoryId
  readonly version: number
  readonly value: Json
  readonly valueHash: string
  readonly status: MemoryView['status']
  readonly integrity: Entry['integrity']
  readonly confidence: number
  readonly confirmedBy: string | null
  readonly validFrom: number
  readonly expiresAt: number | null
  readonly source: Source['kind'] | null
}

/** What a caller may see. `scopes` come from the server; an empty list sees nothing. */
export interface Viewer {
  readonly subject: string
  readonly user: string
  readonly scopes: readonly string[]
}

export interface Listing {
  readonly kind?: string
  readonly key?: string
  readonly scope?: string
  readonly after: string
  readonly limit: number
}

export interface MemoryVersion {
  readonly version: number
  readonly change: Change
  /** Null when it was forgotten. */
  readonly value: Json
  readonly writer: string
  readonly integrity: string
  readonly confidence: number
  readonly validFrom: number
  readonly recordedAt: number
}

export interface SourceView extends Source {
  readonly version: number
  readonly at: number
  readonly session: string | null
}

export interface Use {
  readonly memory: string
  readonly version: number
  readonly rank: number
  readonly score: number
  readonly reason: string
}

/** A memory that another is drawn from. */
export type Ancestor = Pick<MemoryView, 'id' | 'version' | 'subject' | 'place' | 'integrity' | 'recordedAt'>

export type MemoryFacts = Omit<MemoryView, 'value' | 'importance'>

export interface Because {
  readonly audit: Id<'aud'>
  readonly actor: string
  readonly reason: string
}

export interface Access {
  readonly audit: Id<'aud'>
  readonly actorKind: ActorKind
  readonly actor: string
  readonly action: 'memory.export' | 'memory.share' | 'memory.reveal'
  readonly target: string
  readonly reason?: string
}

export interface MemoryStore {
  /** The memory of a key at a place, expired or not; null when there is none. */
  current(scope: Scope, of: Pick<Entry, 'place' | 'subject' | 'key' | 'slot'>): Promise<Current | null>
  /** Null when nothing was written; `whyNot` says why. */
  insert(scope: Scope, id: MemoryId, entry: Entry, by: Writing & { readonly quota: Quota }): Promise<number | null>
  /** The next version; null when the memory is at another version by now, or for one of the reasons of `whyNot`. */
  change(
    scope: Scope,
    at: { readonly id: MemoryId; readonly version: number; readonly change: Change },
    entry: Entry,
    by: Writing,
  ): Promise<number | null>
  /** `exists`: another has written the place meanwhile. */
  whyNot(scope: Scope, entry: Entry, writer: string): Promise<Refusal | 'exists'>
  list(scope: Scope, viewer: Viewer, listing: Listing): Promise<readonly MemoryView[]>
  get(scope: Scope, viewer: Viewer, id: MemoryId): Promise<MemoryView | null>
  /** Everything but the values; an empty `subject` is every subject. */
  facts(
    scope: Scope,
    filter: { readonly subject: string; readonly after: string; readonly limit: number; readonly id?: string },
  ): Promise<readonly MemoryFacts[]>
  /** Null when there is none. The reason stands in the audit. */
  reveal(scope: Scope, id: MemoryId, by: Because): Promise<{ readonly value: Json } | null>
  /** An access that stands in the audit. */
  note(scope: Scope, access: Access): Promise<void>
  /** Puts out of use what repeats a fact of an authority, or one memory of them, and what was drawn from it; which they are. */
  authorityChanged(
    scope: Scope,
    fact: { readonly name: string; readonly ref: string; readonly id?: MemoryId },
    by: { readonly audit: Id<'aud'>; readonly actorKind: ActorKind; readonly actor: string },
  ): Promise<readonly MemoryId[]>
  /** Those of these memories that are in use, whoever may see them. */
  lineage(scope: Scope, ids: readonly string[]): Promise<readonly Ancestor[]>
  versions(scope: Scope, id: MemoryId): Promise<readonly MemoryVersion[]>
  sources(scope: Scope, id: MemoryId): Promise<readonly SourceView[]>
  /** The runs about the subject that were given it, or not, newest first. */
  uses(
    scope: Scope,
    of: { readonly id: MemoryId; readonly subject: string },
    limit: number,
  ): Promise<readonly (Omit<Use, 'memory'> & { readonly run: string; readonly at: number })[]>
  usesOfRun(scope: Scope, run: string): Promise<readonly Use[]>
  /** Counts once per run and memory. */
  recordUses(scope: Scope, run: string, uses: readonly Use[]): Promise<void>
}

/** Cannot be guessed without the tenant's key, and dies with it (G7). */
const keyedHex = (keys: Keys, tenant: string, purpose: string, text: string): string =>
  Buffer.from(keys.hash(tenant, purpose, text)).toString('hex')

/** What tombstones name: the value at its place, whatever memory held it. */
export const valueMark = (keys: Keys, tenant: string, of: Pick<Entry, 'place' | 'subject' | 'key' | 'value'>): string =>
  keyedHex(
    keys,
    tenant,
    'memory_value',
    JSON.stringify([placeText(of.place), of.subject, of.key, canonicalText(of.value)]),
  )

export const valueHash = (keys: Keys, tenant: string, value: Json): string =>
  keyedHex(keys, tenant, 'value', canonicalText(value))

export function memoryStore(db: Db, keys: ContentKeys): MemoryStore {
  const seal = (tenant: string, text: string): string =>
    Buffer.from(keys.seal(tenant, Buffer.from(text))).toString('base64')
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(keys.open(tenant, sealed)).toString()
  const walls = ({ tenant, environment }: Scope) => ({ tenant, environment })

  const rowOf = ({ tenant }: Scope, entry: Entry, by: Writing) => ({
    subject: entry.subject,
    writer: by.writer,
    scope: entry.place.scope,
    scope_id: entry.place.id,
    permission_scope: entry.permissionScope,
    layer: entry.layer,
    kind: entry.kind,
    key: entry.key,
    slot: entry.slot,
    value: seal(tenant, JSON.stringify(entry.value)),
    value_hash: valueHash(keys, tenant, entry.value),
    integrity: entry.integrity,
    confidentiality: entry.confidentiality,
    confidence: entry.confidence,
    importance: entry.importance,
    sensitivity: entry.sensitivity,
    purpose: entry.purpose,
    consent_basis: entry.consentBasis,
    confirmed_by: entry.confirmedBy,
    authority: entry.authority?.name ?? null,
    authority_ref: entry.authority?.ref ?? null,
    detectors: entry.detectors,
    valid_from: entry.validFrom,
    expires_at: entry.expiresAt,
    said_at: entry.saidAt,
    forgotten: valueMark(keys, tenant, entry),
    candidate: by.asked?.id ?? null,
    candidate_version: by.asked?.version ?? null,
    audit: by.audit,
    actor_kind: by.actorKind,
  })
  const sourcesText = (tenant: string, sources: readonly Source[]): string =>
    JSON.stringify(sources.map((s) => ({ ...s, quote: s.quote === null ? null : seal(tenant, s.quote) })))

  const view = (tenant: string, row: MemoriesRow): MemoryView => {
    const { scope, scopeId, value, valueHash: _, expired, status, ...rest } = row
    const known = rest as unknown as Omit<MemoryView, 'place' | 'value' | 'status'>
    return {
      ...known,
      place: { scope, id: scopeId } as Place,
      value: status === 'barred' ? null : (JSON.parse(open(tenant, value)) as Json),
      status: expired ? 'expired' : (status as MemoryView['status']),
    }
  }
  const listed = async (scope: Scope, viewer: Viewer, id: string, listing: Listing): Promise<readonly MemoryView[]> => {
    const { kind = '', key = '', scope: of = '', after, limit } = listing
    const { subject, user, scopes } = viewer
    const filter = { id, kind, key, scope: of, after, limit, subject, user, scopes }
    return (await db.read(scope, memories, { ...walls(scope), ...filter })).map((row) => view(scope.tenant, row))
  }

  return {
    async current(scope, { place, subject, key, slot }) {
      const at = { place: placeText(place), subject, key, slot }
      const [row] = await db.read(scope, currentOf, { ...walls(scope), ...at })
      if (!row) return null
      const { value, expired, ...rest } = row
      const known = rest as unknown as Omit<Current, 'value'>
      return {
        ...known,
        value: JSON.parse(open(scope.tenant, value)) as Json,
        status: expired ? 'expired' : known.status,
      }
    },
    async insert(scope, id, entry, by) {
      const { quota } = by
      const row = { ...rowOf(scope, entry, by), id, most_subject: quota.subject, most_tenant: quota.tenant }
      const sources = sourcesText(scope.tenant, entry.sources)
      const [made] = await db.write(scope, insertMemory, {
        ...walls(scope),
        entry: JSON.stringify(row),
        sources,
        run: by.run,
      })
      return made?.version ?? null
    },
    async change(scope, { id, version, change }, entry, by) {
      const row = { ...rowOf(scope, entry, by), id, version, change }
      const sources = sourcesText(scope.tenant, entry.sources)
      const [made] = await db.write(scope, changeMemory, {
        ...walls(scope),
        entry: JSON.stringify(row),
        sources,
        run: by.run,
      })
      return made?.version ?? null
    },
    async whyNot(scope, entry, writer) {
      const { subject, key, slot, purpose, saidAt } = entry
      const hash = valueHash(keys, scope.tenant, entry.value)
      const at = { place: placeText(entry.place), subject, key, slot, purpose, saidAt, writer, valueHash: hash }
      const forgotten = valueMark(keys, scope.tenant, entry)
      const sources = entry.sources.map((s) => `${s.kind} ${s.ref}`)
      const drawn = JSON.stringify(entry.sources.filter((s) => s.kind === 'memory' && s.role === 'evidence'))
      const [row] = await db.read(scope, whyNot, { ...walls(scope), ...at, forgotten, sources, drawn })
      return (row?.reason ?? 'exists') as Refusal | 'exists'
    },
    list: (scope, viewer, listing) => listed(scope, viewer, '', listing),
    get: async (scope, viewer, id) => (await listed(scope, viewer, id, { after: '', limit: 1 }))[0] ?? null,
    async facts(scope, filter) {
      const rows = await db.read(scope, memoryFacts, { ...walls(scope), id: '', ...filter })
      return rows.map(({ scope: of, scopeId, expired, status, ...rest }) => ({
        ...(rest as unknown as Omit<MemoryFacts, 'place' | 'status'>),
        place: { scope: of, id: scopeId } as Place,
        status: expired ? 'expired' : (status as MemoryView['status']),
      }))
    },
    async reveal(scope, id, by) {
      const [row] = await db.write(scope, revealMemory, {
        ...walls(scope),
        id,
        ...by,
        reason: keys.veil(scope.tenant, by.reason),
      })
      return row ? { value: JSON.parse(open(scope.tenant, row.value)) as Json } : null
    },
    async note(scope, access) {
      const reason = access.reason === undefined ? null : keys.veil(scope.tenant, access.reason)
      await db.write(scope, noteAccess, { ...walls(scope), ...access, reason })
    },
    async authorityChanged(scope, fact, by) {
      const rows = await db.write(scope, authorityChanged, { ...walls(scope), id: '', ...fact, ...by })
      return rows.map((row) => row.id as MemoryId)
    },
    async lineage(scope, ids) {
      const rows = await db.read(scope, lineageOf, { ...walls(scope), ids })
      return rows.map(({ scope: of, scopeId, ...row }) => ({
        ...(row as Pick<Ancestor, 'id' | 'version' | 'subject' | 'integrity' | 'recordedAt'>),
        place: { scope: of, id: scopeId } as Place,
      }))
    },
    async versions(scope, id) {
      const rows = await db.read(scope, versionsOf, { tenant: scope.tenant, id })
      return rows.map(({ value, valueHash: _, change, ...row }) => ({
        ...row,
        change: change as Change,
        value: value === null ? null : (JSON.parse(open(scope.tenant, value)) as Json),
      }))
    },
    async sources(scope, id) {
      const rows = await db.read(scope, sourcesOf, { tenant: scope.tenant, id })
      return rows.map(({ quote, kind, role, ...row }) => ({
        ...row,
        kind: kind as Source['kind'],
        role: role as Source['role'],
        quote: quote === null ? null : open(scope.tenant, quote),
      }))
    },
    uses: (scope, of, limit) => db.read(scope, usesOf, { tenant: scope.tenant, ...of, limit }),
    usesOfRun: (scope, run) => db.read(scope, usesOfRun, { tenant: scope.tenant, run }),
    async recordUses(scope, run, uses) {
      if (uses.length > 0) await db.write(scope, recordUses, { ...walls(scope), run, uses: JSON.stringify(uses) })
    },
  }
}
