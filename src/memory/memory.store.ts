/** Memories in the store: written in one statement with version, sources and audit; read under the tenant. */
import type { Db } from '../db/port.ts'
import type { Sealer } from '../db/seal.ts'
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
  type NotWritten,
  type Place,
  placeText,
  type Source,
} from './entry.ts'
import {
  changeMemory,
  currentOf,
  insertMemory,
  memories,
  type MemoriesRow,
  recordUses,
  sourcesOf,
  usesOf,
  usesOfRun,
  versionsOf,
  whyNot,
} from './memory.sql.ts'

/** A hash of content that cannot be guessed without the tenant's key, and dies with it (G7). */
export type KeyedHash = (tenant: string, purpose: string, text: string) => string

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
  whyNot(scope: Scope, entry: Entry, writer: string): Promise<NotWritten>
  list(scope: Scope, viewer: Viewer, listing: Listing): Promise<readonly MemoryView[]>
  get(scope: Scope, viewer: Viewer, id: MemoryId): Promise<MemoryView | null>
  versions(scope: Scope, id: MemoryId): Promise<readonly MemoryVersion[]>
  sources(scope: Scope, id: MemoryId): Promise<readonly SourceView[]>
  /** The runs that were given it, or not, newest first. */
  uses(
    scope: Scope,
    id: MemoryId,
    limit: number,
  ): Promise<readonly (Omit<Use, 'memory'> & { readonly run: string; readonly at: number })[]>
  usesOfRun(scope: Scope, run: string): Promise<readonly Use[]>
  /** Counts once per run and memory. */
  recordUses(scope: Scope, run: string, uses: readonly Use[]): Promise<void>
}

/** What tombstones name: the value at its place, whatever memory held it. */
export const valueMark = (
  hash: KeyedHash,
  tenant: string,
  of: Pick<Entry, 'place' | 'subject' | 'key' | 'value'>,
): string =>
  hash(tenant, 'memory_value', JSON.stringify([placeText(of.place), of.subject, of.key, canonicalText(of.value)]))

export const valueHash = (hash: KeyedHash, tenant: string, value: Json): string =>
  hash(tenant, 'value', canonicalText(value))

export function memoryStore(db: Db, sealer: Sealer, hash: KeyedHash): MemoryStore {
  const seal = (tenant: string, text: string): string =>
    Buffer.from(sealer.seal(tenant, Buffer.from(text))).toString('base64')
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(sealer.open(tenant, sealed)).toString()
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
    value_hash: valueHash(hash, tenant, entry.value),
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
    forgotten: valueMark(hash, tenant, entry),
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
      const at = { place: placeText(entry.place), subject, key, slot, purpose, saidAt, writer }
      const forgotten = valueMark(hash, scope.tenant, entry)
      const sources = entry.sources.map((s) => `${s.kind} ${s.ref}`)
      const [row] = await db.read(scope, whyNot, { ...walls(scope), ...at, forgotten, sources })
      return (row?.reason ?? 'exists') as NotWritten
    },
    list: (scope, viewer, listing) => listed(scope, viewer, '', listing),
    get: async (scope, viewer, id) => (await listed(scope, viewer, id, { after: '', limit: 1 }))[0] ?? null,
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
    uses: (scope, id, limit) => db.read(scope, usesOf, { tenant: scope.tenant, id, limit }),
    usesOfRun: (scope, run) => db.read(scope, usesOfRun, { tenant: scope.tenant, run }),
    async recordUses(scope, run, uses) {
      if (uses.length > 0) await db.write(scope, recordUses, { ...walls(scope), run, uses: JSON.stringify(uses) })
    },
  }
}
