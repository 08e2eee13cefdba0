/** What a model or a tool proposes to remember, and what the application knows about it. */
import { hashJson } from '../kernel/canonical.ts'
import type { Integrity } from '../kernel/labels.ts'
import type { Json } from '../kernel/json.ts'
import type { Finding } from './detect/finding.ts'
import type { MemoryKeys } from './key.ts'
import type { Kind, Place, SourceKind } from './kinds.ts'

export type Evidence =
  | { readonly kind: 'message'; readonly message: string; readonly quote: string }
  | { readonly kind: 'call' | 'authority' | 'operator'; readonly ref: string }
  | { readonly kind: 'memory'; readonly ids: readonly string[] }

/** As it was proposed: no line of it is trusted. What it says about its end or about asking can only tighten. */
export interface Candidate {
  readonly kind: Kind
  readonly key: string
  readonly value: Json
  readonly scope: Place
  readonly evidence: Evidence
  /** From 0 to 1. They rank, and decide nothing. */
  readonly confidence?: number
  readonly importance?: number
  readonly expiresInDays?: number
  /** RFC 3339, or a date, which then ends in the subject's zone with that day. */
  readonly expiresAt?: string
  readonly requiresConfirmation?: boolean
  /** False: meant for now alone. */
  readonly lasting?: boolean
}

/** What the other detectors said, and the hash of the texts that they read. */
export type Inspection =
  | { readonly ok: true; readonly of: string; readonly findings: readonly Finding[] }
  | { readonly ok: false }

export interface CitedMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system' | 'tool' | 'memory'
  /** The user who said it. */
  readonly author: string
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Whether others were there. */
  readonly inGroup: boolean
}

/** What stands under the key at this place now. */
export interface CurrentMemory {
  readonly id: string
  readonly valueHash: string
  readonly integrity: Integrity
  readonly source: SourceKind
  readonly validFrom: number
}

/** All from the application's own records; what is absent does not exist. */
export interface Facts {
  readonly keys: MemoryKeys
  readonly subject: string
  /** IANA name of the subject's zone. */
  readonly zone: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly inspection: Inspection
  readonly message?: CitedMessage
  readonly call?: { readonly ref: string; readonly contracted: boolean; readonly result: Json }
  readonly authority?: { readonly name: string; readonly ref: string; readonly value: Json }
  /** The operator who writes, when one does. */
  readonly operator?: string
  readonly memories?: readonly {
    readonly id: string
    readonly subject: string
    readonly scope: Place
    readonly integrity: Integrity
  }[]
  readonly current: readonly CurrentMemory[]
  /** Texts that the same subject had stored lately: parts of an order are read together. */
  readonly beside?: readonly string[]
}

/** The texts that would be stored, each with its key before it: `wifi password:` makes a password of a word. */
export function textsOf({ key, value, evidence }: Pick<Candidate, 'key' | 'value' | 'evidence'>): readonly string[] {
  const texts = new Set<string>()
  leaves(value, key, (name, text) => texts.add(`${name.replaceAll(/[._-]+/g, ' ')}:\n${text}`))
  if (typeof value === 'object' && value !== null) texts.add(JSON.stringify(value))
  if (evidence.kind === 'message' && evidence.quote !== value) texts.add(evidence.quote)
  return [...texts]
}

/** What an inspection is bound to. */
export const hashOfTexts = (candidate: Pick<Candidate, 'key' | 'value' | 'evidence'>): string =>
  hashJson(['memory.texts.v1', ...textsOf(candidate)])

export function leaves(value: Json, name: string, visit: (name: string, text: string) => void): void {
  if (value === null || typeof value === 'boolean') return
  if (typeof value !== 'object') return visit(name, String(value))
  for (const [member, inner] of Object.entries(value))
    leaves(inner, Array.isArray(value) ? name : `${name}.${member}`, visit)
}
