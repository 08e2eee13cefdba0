/**
 * Takes the credentials of a call out of everything that the call gives back (I6): the value itself and the forms in
 * which libraries echo it. What was never handed to the call is not known here and not looked for.
 */
import type { Json } from '../../kernel/json.ts'

/** A shorter value is no credential: taking it out would take out ordinary words, so it is not handed out (see `secrets`). */
export const SHORTEST_SECRET = 8
/** Forms of part of a value, inside a longer base64 text, are looked for from this length on. */
const SHORTEST_FORM = 8

export interface Scrub {
  /** Stands for a whole value. */
  readonly text: (text: string) => string
  /** The same size, since binary formats count their bytes. Null: nothing is looked for. */
  readonly bytes: ((bytes: Uint8Array) => Uint8Array) | null
  /** The longest form in bytes: as much of the end of a piece must be looked at with the next one. */
  readonly longest: number
}

const MARK = '[credential removed]'

export const NO_SCRUB: Scrub = { text: (text) => text, bytes: null, longest: 0 }

export function scrubOf(secrets: readonly string[]): Scrub {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  if (forms.length === 0) return NO_SCRUB
  const patterns = forms.map((form) => Buffer.from(form))
  return {
    text: (text) => forms.reduce((left, form) => left.replaceAll(form, MARK), text),
    bytes: (bytes) => blanked(bytes, patterns),
    longest: Math.max(...patterns.map((p) => p.byteLength)),
  }
}

/** As it is, in JSON, in a URL, in a form, in HTML, in hex, and in base64 wherever it may stand in what was encoded. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const url = encodeURIComponent(secret)
  const form = new URLSearchParams({ '': secret }).toString().slice(1)
  const json = JSON.stringify(secret).slice(1, -1)
  const hex = bytes.toString('hex')
  // many servers write `/` as `\/` in JSON
  const plain = [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    html(secret),
    ...[url, form, strict(url)].flatMap(bothCases),
  ]
  // whole, its ends are known as well
  const whole = [bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')]
  const encoded = [0, 1, 2].flatMap((offset) => base64Core(bytes, offset)).filter((f) => f.length >= SHORTEST_FORM)
  return [
    ...plain,
    hex,
    hex.toUpperCase(),
    ...whole,
    ...encoded,
    ...encoded.map((f) => f.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/** RFC 3986: what `encodeURIComponent` leaves and other languages escape. */
const strict = (url: string): string => url.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** The digits of an escape are written large or small; the rest of the value keeps its case. */
const bothCases = (url: string): readonly string[] => [url, url.replace(/%[0-9A-F]{2}/g, (e) => e.toLowerCase())]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const html = (text: string): string => text.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c)

/** The characters of base64 that the value alone decides when `offset` bytes stand before it: `user:` before a password. */
function base64Core(bytes: Uint8Array, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const from = Math.ceil((offset * 8) / 6)
  const to = Math.floor(((offset + bytes.byteLength) * 8) / 6)
  return text.slice(from, to)
}

function blanked(bytes: Uint8Array, patterns: readonly Buffer[]): Uint8Array {
  const found = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let cleaned: Buffer | null = null
  for (const pattern of patterns) {
    for (let at = found.indexOf(pattern); at >= 0; at = found.indexOf(pattern, at + 1)) {
      cleaned ??= Buffer.from(found)
      cleaned.fill('*', at, at + pattern.byteLength)
    }
  }
  return cleaned ?? bytes
}

/** Texts and keys of a value. */
export function scrubJson(value: Json, scrub: Scrub): Json {
  if (scrub.bytes === null) return value
  if (typeof value === 'string') return scrub.text(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map((element) => scrubJson(element, scrub))
  const cleaned = Object.create(null) as Record<string, Json>
  for (const [key, member] of Object.entries(value)) cleaned[scrub.text(key)] = scrubJson(member, scrub)
  return cleaned
}
