/**
 * Plain values: what a tool returned, as it will be read back after a crash (BR-075).
 *
 * A Date, a Map, a missing member or a big integer works until the first recovery and is something else afterwards.
 * Each is refused here with its path; what is passed on is always the decoded copy, never the live object.
 */
import {
  isDamagedText,
  type Json,
  JSON_LIMITS,
  type JsonLimits,
  type JsonObject,
  mendText,
  pointer,
  utf8Length,
} from './json.ts'

/** What a result may hold before it is bounded for the model: 64 MiB, because 200 000 rows are cut later, not here. */
export const RESULT_LIMITS: JsonLimits = { bytes: 64 * 1024 * 1024, depth: 64, keys: 100_000, items: 1_000_000 }

/** All values together: in memory each takes up to a hundred times its text, so bytes alone are no bound. */
const MOST_VALUES = 2_000_000

export interface PlainOptions extends Partial<JsonLimits> {
  /** What happens to a text with NUL or half a surrogate pair; `refuse` by default. */
  readonly text?: 'refuse' | 'mend'
}

/** `mended`: at least one text holds U+FFFD in place of a character that cannot be stored. */
export type PlainChecked =
  | { readonly ok: true; readonly value: Json; readonly mended: boolean }
  | { readonly ok: false; readonly path: string; readonly reason: string }

/** Copies `value` into strict JSON, or names the first member that is not. */
export function checkJson(value: unknown, options: PlainOptions = {}): PlainChecked {
  const { text = 'refuse', ...limits } = options
  const c: Copying = {
    bounds: { ...JSON_LIMITS, ...limits },
    text,
    path: [],
    open: new Set(),
    bytes: 0,
    values: 0,
    mended: false,
  }
  try {
    const copied = copy(c, value)
    return { ok: true, value: copied, mended: c.mended }
  } catch (error) {
    // A getter or a proxy of the tool may throw anything; its words stay here.
    return { ok: false, path: pointer(c.path), reason: error instanceof NotPlain ? error.message : 'cannot be read' }
  }
}

interface Copying {
  readonly bounds: JsonLimits
  readonly text: 'refuse' | 'mend'
  readonly path: (string | number)[]
  readonly open: Set<object>
  bytes: number
  values: number
  mended: boolean
}

class NotPlain extends Error {}

function copy(c: Copying, value: unknown): Json {
  c.values += 1
  if (c.values > MOST_VALUES) throw new NotPlain('holds more values than the limit')
  spend(c, 1)
  switch (typeof value) {
    case 'string':
      return copyText(c, value)
    case 'number':
      if (!Number.isFinite(value)) throw new NotPlain('is not a finite number')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new NotPlain('is an integer beyond 2^53-1')
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    case 'object':
      return value === null ? null : copyContainer(c, value)
    default:
      throw new NotPlain(`is of type ${typeof value}`)
  }
}

function copyText(c: Copying, text: string): string {
  spend(c, utf8Length(text))
  if (!isDamagedText(text)) return text
  if (c.text === 'refuse') throw new NotPlain('holds a NUL character or half of a surrogate pair')
  c.mended = true
  return mendText(text)
}

function copyContainer(c: Copying, value: object): Json {
  if (c.open.has(value)) throw new NotPlain('refers to itself')
  if (c.open.size >= c.bounds.depth) throw new NotPlain('is nested deeper than the limit')
  c.open.add(value)
  const copied = Array.isArray(value) ? copyArray(c, value) : copyObject(c, value)
  c.open.delete(value)
  return copied
}

function copyArray(c: Copying, array: readonly unknown[]): Json[] {
  if (array.length > c.bounds.items) throw new NotPlain('has more elements than the limit')
  const copied: Json[] = []
  for (let i = 0; i < array.length; i++) {
    c.path.push(i)
    copied.push(copy(c, array[i]))
    c.path.pop()
  }
  return copied
}

function copyObject(c: Copying, object: object): JsonObject {
  const prototype = Object.getPrototypeOf(object) as object | null
  // By shape and not by identity: an object of another realm is as plain as ours.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw new NotPlain('is not a plain object')
  if (Object.prototype.toString.call(object) !== '[object Object]') throw new NotPlain('is not a plain object')
  if (Object.getOwnPropertySymbols(object).length > 0) throw new NotPlain('has a symbol as key')
  const keys = Object.keys(object)
  if (keys.length > c.bounds.keys) throw new NotPlain('has more members than the limit')
  const copied = Object.create(null) as Record<string, Json>
  for (const key of keys) {
    c.path.push(key)
    const name = copyText(c, key)
    if (name === '__proto__' || name in copied) throw new NotPlain('is not an allowed key')
    copied[name] = copy(c, (object as Record<string, unknown>)[key])
    c.path.pop()
  }
  return copied
}

/** Shared members are copied at each place, so the size is counted while copying: a small knot can be a huge tree. */
function spend(c: Copying, bytes: number): void {
  c.bytes += bytes
  if (c.bytes > c.bounds.bytes) throw new NotPlain('is larger than the limit')
}
