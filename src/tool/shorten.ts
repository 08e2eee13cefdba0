import { cutText } from '../kernel/grapheme.ts'
import { type Json, type JsonObject, utf8Length } from '../kernel/json.ts'

/** Bytes of the tool message of this result. */
export const resultBytes = (result: Json): number =>
  utf8Length(typeof result === 'string' ? result : JSON.stringify(result))

/** The value itself when it fits, else what fits of it under a mark. Never half a value and never half a character (I6). */
export function shortened(value: Json, maxBytes: number): { result: Json; bytes: number; truncated: boolean } {
  const bytes = resultBytes(value)
  if (bytes <= maxBytes) return { result: value, bytes, truncated: false }
  if (typeof value === 'string') return { result: shortText(value, bytes, maxBytes), bytes, truncated: true }
  const result = Array.isArray(value)
    ? shortArray(value as readonly Json[], bytes, maxBytes)
    : shortObject(value as JsonObject, bytes, maxBytes)
  return { result, bytes, truncated: true }
}

function shortText(text: string, bytes: number, maxBytes: number): string {
  const mark = `\n[truncated: the beginning of ${bytes} bytes]`
  return cutText(text, maxBytes - mark.length) + mark
}

/** Whole elements from the start, as many as fit beside the mark. */
function shortArray(array: readonly Json[], bytes: number, maxBytes: number): Json {
  const mark = { truncated: true, bytes, elements: array.length, first: [] as Json[] }
  let left = maxBytes - resultBytes(mark)
  for (const element of array) {
    left -= resultBytes([element]) - 1
    if (left < 0) break
    mark.first.push(element)
  }
  return mark
}

/** Whole members, in order, that fit beside the mark; the number of the others. */
function shortObject(object: JsonObject, bytes: number, maxBytes: number): Json {
  const members = Object.entries(object)
  const rest = Object.create(null) as Record<string, Json>
  let left = maxBytes - resultBytes({ truncated: true, bytes, omitted: members.length, rest: {} })
  let omitted = 0
  for (const [key, member] of members) {
    const size = resultBytes({ [key]: member }) - 1
    if (size > left) omitted++
    else {
      left -= size
      rest[key] = member
    }
  }
  return { truncated: true, bytes, omitted, rest }
}
