/**
 * What is remembered, once it was judged: the form in which it is written, and the form in which it is read.
 *
 * A3  every memory names tenant, environment, writer and subject   E2  and its scope, kind, source, purpose and times
 */
import type { Id } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Confidentiality, Integrity } from '../kernel/labels.ts'

export type MemoryId = Id<'mem'>
export type CandidateId = Id<'mcd'>

export type MemoryScope = 'user' | 'conversation' | 'group' | 'project' | 'tenant'
export type MemoryKind = 'preference' | 'fact' | 'task' | 'experience'
export type MemoryLayer = 'session' | 'episodic' | 'semantic' | 'procedural'
export type MemoryStatus = 'active' | 'cold' | 'barred' | 'invalid' | 'deleted'
export type Sensitivity = 'none' | 'personal' | 'special'

/** Where a memory belongs. `id` is the subject, conversation, group or project; empty for the tenant. */
export interface Place {
  readonly scope: MemoryScope
  readonly id: string
}

export const placeText = ({ scope, id }: Place): string => `${scope}:${id}`

/**
 * Where a memory comes from. `ref` is `run.seq` of a message, `run/step/position` of a call, the id of a memory, or the
 * name of a fact of an authority. A neighbour is no evidence: its words are in the index entry and nowhere else. A writer is
 * the call that wrote the memory.
 */
export interface Source {
  readonly kind: 'message' | 'user' | 'call' | 'memory' | 'authority' | 'operator' | 'import'
  readonly ref: string
  readonly role: 'evidence' | 'neighbour' | 'writer'
  readonly run: string | null
  readonly quote: string | null
  /** The version of a memory that was read: it is drawn from that one and no other. */
  readonly seen?: number
}

/** One version of a memory, ready to be written. Times are milliseconds since the epoch. */
export interface Entry {
  readonly place: Place
  /** Whom it is about; empty for what is about nobody. */
  readonly subject: string
  readonly key: string
  readonly kind: MemoryKind
  readonly layer: MemoryLayer
  /** What tells several memories of one key apart; empty where a key has one. */
  readonly slot: string
  readonly value: Json
  readonly permissionScope: readonly string[]
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  readonly confidence: number
  readonly importance: number
  readonly sensitivity: Sensitivity
  readonly purpose: string
  readonly consentBasis: string
  readonly confirmedBy: string | null
  readonly authority: { readonly name: string; readonly ref: string } | null
  readonly detectors: number
  readonly validFrom: number
  readonly expiresAt: number | null
  /** When it was said: what was forgotten since is not remembered again. */
  readonly saidAt: number
  readonly sources: readonly Source[]
}

/** How a version came to be: `late` is a fact from before the current one, and goes into the past. */
export type Change = 'created' | 'superseded' | 'merged' | 'corrected' | 'late'

/** A memory as it is now. `value` is null while a detector bars it. */
export interface MemoryView {
  readonly id: MemoryId
  readonly subject: string
  readonly place: Place
  readonly layer: MemoryLayer
  readonly kind: MemoryKind
  readonly key: string
  readonly value: Json
  readonly version: number
  readonly status: Exclude<MemoryStatus, 'deleted'> | 'expired'
  readonly integrity: Integrity
  readonly confidence: number
  readonly importance: number
  readonly sensitivity: Sensitivity
  readonly purpose: string
  readonly consentBasis: string
  readonly confirmedBy: string | null
  readonly authority: string | null
  readonly writer: string
  readonly useCount: number
  readonly recordedAt: number
  readonly validFrom: number
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
}
