/** What the model reads of a value that is too large: what fits, under a mark that says what is missing and where it is (I6). */
import { cutText } from '../kernel/grapheme.ts'
import { type Json, type JsonObject, utf8Length } from '../kernel/json.ts'
import { type ArtifactRef, shownRef } from './artifact.ts'
import type { Column, RowsSummary } from './summary.ts'

/** Bytes of the tool message of this result. */
export const resultBytes = (result: Json): number =>
  utf8Length(typeof result === 'string' ? result : JSON.stringify(result))

/** Where the whole is, and what rows it has; null when nobody keeps it. */
export interface Whole {
  readonly artifact: ArtifactRef
  readonly summary: RowsSummary | null
}

/** The value itself when it fits, else what fits of it under a mark. Never half a value and never half a character (I6). */
export function shortened(
  value: Json,
  maxBytes: number,
  whole: Whole | null = null,
): { result: Json; bytes: number; truncated: boolean } {
  const bytes = resultBytes(value)
  if (bytes <= maxBytes) return { result: value, bytes, truncated: false }
  if (typeof value === 'string') return { result: shortText(value, bytes, maxBytes, whole), bytes, truncated: true }
  if (whole?.summary) return { ...summarised(whole.summary, bytes, maxBytes, whole.artifact), bytes }
  const result = Array.isArray(value)
    ? shortArray(value as readonly Json[], bytes, maxBytes, whole)
    : shortObject(value as JsonObject, bytes, maxBytes, whole)
  return { result, bytes, truncated: true }
}

/** `text` is the whole, or as much of its beginning as is left of it; `bytes` is the size of the whole. */
export function shortText(text: string, bytes: number, maxBytes: number, whole: Whole | null): string {
  const where = whole ? `; the whole is ${whole.artifact.id}` : ''
  const mark = `\n[truncated: the beginning of ${bytes} bytes${where}]`
  return cutText(text, maxBytes - mark.length) + mark
}

/** Of bytes that are no text: that they are there. */
export const bytesNamed = (artifact: ArtifactRef): Json => ({
  truncated: true,
  bytes: artifact.bytes,
  artifact: shownRef(artifact),
})

/**
 * Of many rows: their number, the columns with their statistics, what stands out, and whole rows from the start. Columns
 * take at most half of the room and outliers an eighth, so that a wide table still shows a row.
 */
export function summarised(
  summary: RowsSummary,
  bytes: number,
  maxBytes: number,
  artifact: ArtifactRef,
): { readonly result: Json; readonly truncated: boolean } {
  const head = { truncated: true, bytes, rows: summary.rows, artifact: shownRef(artifact) }
  const room =
    maxBytes - resultBytes({ ...head, columns: [], more_columns: summary.columns.length, outliers: [], first: [] })
  const columns = fitting(summary.columns.map(shownColumn), Math.floor(room / 2))
  const outliers = fitting(summary.outliers as unknown as readonly Json[], Math.floor(room / 8))
  const more = summary.columns.length - columns.items.length + summary.moreColumns
  const first = fitting(summary.first, room - columns.bytes - outliers.bytes)
  const truncated = first.items.length < summary.rows
  const result = {
    ...head,
    truncated,
    columns: columns.items,
    ...(more > 0 && { more_columns: more }),
    ...(outliers.items.length > 0 && { outliers: outliers.items }),
    first: first.items,
  }
  return { result, truncated }
}

const shownColumn = ({ name, types, missing, numbers }: Column): Json => ({
  name,
  types,
  ...(missing > 0 && { missing }),
  ...numbers,
})

/** Whole elements from the start, as many as fit into so many bytes. */
function fitting(elements: readonly Json[], room: number): { readonly items: readonly Json[]; readonly bytes: number } {
  const items: Json[] = []
  let bytes = 0
  for (const element of elements) {
    const size = resultBytes([element]) - 1
    if (bytes + size > room) break
    bytes += size
    items.push(element)
  }
  return { items, bytes }
}

const markOf = (bytes: number, whole: Whole | null) => ({
  truncated: true,
  bytes,
  ...(whole && { artifact: shownRef(whole.artifact) }),
})

function shortArray(array: readonly Json[], bytes: number, maxBytes: number, whole: Whole | null): Json {
  const mark = { ...markOf(bytes, whole), elements: array.length, first: [] }
  return { ...mark, first: fitting(array, maxBytes - resultBytes(mark)).items }
}

/** Whole members, in order, that fit beside the mark; the number of the others. */
function shortObject(object: JsonObject, bytes: number, maxBytes: number, whole: Whole | null): Json {
  const members = Object.entries(object)
  const rest = Object.create(null) as Record<string, Json>
  const mark = markOf(bytes, whole)
  let left = maxBytes - resultBytes({ ...mark, omitted: members.length, rest: {} })
  let omitted = 0
  for (const [key, member] of members) {
    const size = resultBytes({ [key]: member }) - 1
    if (size > left) omitted++
    else {
      left -= size
      rest[key] = member
    }
  }
  return { ...mark, omitted, rest }
}
