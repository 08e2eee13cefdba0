/**
 * Strict JSON (I3): one text is one value, or it is refused with a code, a place and no repair.
 *
 * What `JSON.parse` lets through and this refuses: repeated keys, integers that a double cannot hold, numbers that
 * overflow or vanish, NUL, lone surrogates, `__proto__`, a byte order mark, and anything above the limits. Objects have
 * no prototype, so that no key of a stranger is ever found by inheritance.
 */

/** A value that strict JSON can hold; integers are safe, numbers finite, strings well-formed. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export interface JsonLimits {
  /** UTF-8 bytes of the whole text, checked before the first character is read. */
  readonly bytes: number
  /** Open brackets at one time, never more than `DEEPEST`. */
  readonly depth: number
  /** Members of one object. */
  readonly keys: number
  /** Elements of one array. */
  readonly items: number
}

/** Arguments and request bodies. A contract may lower them. */
export const JSON_LIMITS: JsonLimits = { bytes: 256 * 1024, depth: 32, keys: 1_000, items: 10_000 }

/** The scanner recurses per bracket; 512 frames are far below the smallest stack of a worker thread. */
const DEEPEST = 512

export type JsonRefusal =
  | 'syntax'
  | 'too_large'
  | 'too_deep'
  | 'too_many_keys'
  | 'too_many_items'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'unsafe_integer'
  | 'number_out_of_range'
  | 'invalid_text'
  | 'invalid_utf8'

/** `path` is a JSON pointer, `offset` counts UTF-16 units, `message` holds no value. */
export interface JsonFailure {
  readonly ok: false
  readonly code: JsonRefusal
  readonly path: string
  readonly offset: number
  readonly message: string
}

export type JsonParsed = { readonly ok: true; readonly value: Json; readonly bytes: number } | JsonFailure

const MESSAGES: Record<JsonRefusal, string> = {
  syntax: 'is not JSON here',
  too_large: 'is larger than the limit',
  too_deep: 'is nested deeper than the limit',
  too_many_keys: 'has more members than the limit',
  too_many_items: 'has more elements than the limit',
  duplicate_key: 'is given twice',
  forbidden_key: 'is not an allowed key',
  unsafe_integer: 'is an integer beyond 2^53-1; send it as a string',
  number_out_of_range: 'is a number that cannot be held; send it as a string',
  invalid_text: 'holds a NUL character or half of a surrogate pair',
  invalid_utf8: 'is not UTF-8',
}

/** Parses one text. `limits` replaces single defaults. */
export function parseStrict(text: string, limits: Partial<JsonLimits> = {}): JsonParsed {
  const bounds = { ...JSON_LIMITS, ...limits }
  const bytes = text.length > bounds.bytes ? Number.POSITIVE_INFINITY : utf8Length(text)
  if (bytes > bounds.bytes) return failure('too_large', '', 0)
  try {
    return { ok: true, value: scan({ text, at: 0, path: [], bounds }), bytes }
  } catch (error) {
    if (error instanceof Refused) return failure(error.code, error.path, error.offset)
    throw error
  }
}

/** Parses the bytes of one text; a byte sequence that is not UTF-8 is refused, never replaced. */
export function parseStrictBytes(bytes: Uint8Array, limits: Partial<JsonLimits> = {}): JsonParsed {
  if (bytes.byteLength > (limits.bytes ?? JSON_LIMITS.bytes)) return failure('too_large', '', 0)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return failure('invalid_utf8', '', 0)
  }
  return parseStrict(text, limits)
}

/** The pointer of RFC 6901. A key is cut at 64 characters: whoever sent it chose its length. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Bytes of the text in UTF-8; half a surrogate pair counts as the three bytes of its replacement. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    if (unit >= 0xd800 && unit <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++
  }
  return bytes
}

/** Freezes the value and everything in it. */
export function freezeJson<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) freezeJson(member)
    Object.freeze(value)
  }
  return value
}

/** True for NUL and for half a surrogate pair: neither survives a database. */
export const isDamagedText = (text: string): boolean => DAMAGED.test(text)
/** The same text with U+FFFD in place of each. */
export const mendText = (text: string): string => text.replace(EVERY_DAMAGED, '\ufffd')

// With the u flag a surrogate class matches lone halves only.
const DAMAGED = /[\0\ud800-\udfff]/u
const EVERY_DAMAGED = /[\0\ud800-\udfff]/gu
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y
const NON_ZERO = /^-?[0.]*[1-9]/
const ESCAPES: Readonly<Record<string, string>> = Object.freeze({
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
})

interface Cursor {
  readonly text: string
  at: number
  readonly path: (string | number)[]
  readonly bounds: JsonLimits
}

class Refused extends Error {
  readonly code: JsonRefusal
  readonly path: string
  readonly offset: number
  constructor(code: JsonRefusal, c: Cursor) {
    super(code)
    this.code = code
    this.path = pointer(c.path)
    this.offset = c.at
  }
}

const failure = (code: JsonRefusal, path: string, offset: number): JsonFailure => ({
  ok: false,
  code,
  path,
  offset,
  message: MESSAGES[code],
})

function scan(c: Cursor): Json {
  skipSpace(c)
  const value = scanValue(c, 0)
  skipSpace(c)
  if (c.at < c.text.length) throw new Refused('syntax', c)
  return value
}

function scanValue(c: Cursor, depth: number): Json {
  switch (c.text[c.at]) {
    case '{':
      return scanObject(c, depth + 1)
    case '[':
      return scanArray(c, depth + 1)
    case '"':
      return scanText(c)
    case 't':
      return scanWord(c, 'true', true)
    case 'f':
      return scanWord(c, 'false', false)
    case 'n':
      return scanWord(c, 'null', null)
    default:
      return scanNumber(c)
  }
}

function scanObject(c: Cursor, depth: number): JsonObject {
  if (depth > Math.min(c.bounds.depth, DEEPEST)) throw new Refused('too_deep', c)
  const object = Object.create(null) as Record<string, Json>
  c.at++
  skipSpace(c)
  if (accept(c, '}')) return object
  for (let keys = 1; ; keys++) {
    if (keys > c.bounds.keys) throw new Refused('too_many_keys', c)
    const key = c.text[c.at] === '"' ? scanText(c) : expect(c, '"')
    c.path.push(key)
    if (key === '__proto__') throw new Refused('forbidden_key', c)
    if (key in object) throw new Refused('duplicate_key', c)
    skipSpace(c)
    expect(c, ':')
    skipSpace(c)
    object[key] = scanValue(c, depth)
    c.path.pop()
    skipSpace(c)
    if (accept(c, '}')) return object
    expect(c, ',')
    skipSpace(c)
  }
}

function scanArray(c: Cursor, depth: number): Json[] {
  if (depth > Math.min(c.bounds.depth, DEEPEST)) throw new Refused('too_deep', c)
  const array: Json[] = []
  c.at++
  skipSpace(c)
  if (accept(c, ']')) return array
  for (;;) {
    if (array.length >= c.bounds.items) throw new Refused('too_many_items', c)
    c.path.push(array.length)
    array.push(scanValue(c, depth))
    c.path.pop()
    skipSpace(c)
    if (accept(c, ']')) return array
    expect(c, ',')
    skipSpace(c)
  }
}

function scanText(c: Cursor): string {
  c.at++
  let text = ''
  for (;;) {
    text += match(c, PLAIN_TEXT)
    if (accept(c, '"')) break
    expect(c, '\\')
    text += scanEscape(c)
  }
  if (isDamagedText(text)) throw new Refused('invalid_text', c)
  return text
}

function scanEscape(c: Cursor): string {
  const letter = c.text.charAt(c.at)
  if (letter !== 'u') {
    const plain = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined
    if (plain === undefined) throw new Refused('syntax', c)
    c.at++
    return plain
  }
  const hex = c.text.slice(c.at + 1, c.at + 5)
  if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new Refused('syntax', c)
  c.at += 5
  return String.fromCharCode(Number.parseInt(hex, 16))
}

/** Zero has no sign here: `-0` and `0` are one value with one hash. */
function scanNumber(c: Cursor): number {
  const start = c.at
  const token = match(c, NUMBER)
  const value = Number(token)
  const refuse = (code: JsonRefusal): never => {
    c.at = start
    throw new Refused(code, c)
  }
  if (token === '') refuse('syntax')
  if (!Number.isFinite(value)) refuse('number_out_of_range')
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) refuse('unsafe_integer')
  if (value === 0 && NON_ZERO.test(token)) refuse('number_out_of_range')
  return value === 0 ? 0 : value
}

function scanWord<T extends Json>(c: Cursor, word: string, value: T): T {
  if (!c.text.startsWith(word, c.at)) throw new Refused('syntax', c)
  c.at += word.length
  return value
}

function skipSpace(c: Cursor): void {
  for (;;) {
    const unit = c.text.charCodeAt(c.at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    c.at++
  }
}

function match(c: Cursor, pattern: RegExp): string {
  pattern.lastIndex = c.at
  const found = pattern.exec(c.text)?.[0] ?? ''
  c.at += found.length
  return found
}

function accept(c: Cursor, mark: string): boolean {
  if (c.text[c.at] !== mark) return false
  c.at++
  return true
}

function expect(c: Cursor, mark: string): string {
  if (!accept(c, mark)) throw new Refused('syntax', c)
  return mark
}
