/**
 * One text and one hash per value (J8), by RFC 8785 (JCS): members sorted by UTF-16 code unit, numbers and texts as
 * ECMAScript writes them, no white space. No locale takes part.
 */
import { hash } from 'node:crypto'
import { Fault } from './fault.ts'
import type { Json } from './json.ts'

/** Throws `invalid_json` for what RFC 8785 forbids: numbers that are not finite and half surrogate pairs. */
export function canonicalText(value: Json): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Fault('invalid_json', 'A number that is not finite has no canonical form.')
    return JSON.stringify(value)
  }
  if (typeof value === 'string') return canonicalString(value)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  // `<` compares UTF-16 code units, the order that the RFC demands; a collator would follow the locale.
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${canonicalString(key)}:${canonicalText(member)}`).join(',')}}`
}

export const canonicalBytes = (value: Json): Uint8Array => new TextEncoder().encode(canonicalText(value))

/** SHA-256 in lower-case hex. A text is hashed as its UTF-8 bytes. */
export const hashBytes = (bytes: Uint8Array | string): string => hash('sha256', bytes)

/** The hash of any JSON value. */
export const hashJson = (value: Json): string => hashBytes(canonicalText(value))

export interface ArgumentsToHash {
  readonly tool: string
  readonly version: number
  readonly tenant: string
  /** The canonical text of the arguments. */
  readonly text: string
}

/** What a confirmation binds (J1): the parts are framed as JSON, so that no two different quadruples share bytes. */
export function hashArguments({ tool, version, tenant, text }: ArgumentsToHash): string {
  return hashJson(['arguments.v1', tool, version, tenant, text])
}

function canonicalString(text: string): string {
  if (/[\ud800-\udfff]/u.test(text)) throw new Fault('invalid_json', 'Half of a surrogate pair has no canonical form.')
  return JSON.stringify(text)
}
