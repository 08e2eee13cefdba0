/** What the model reads of a value that is too large: what fits, under a mark that says what is missing and where it is (I6). */
import { cutText } from '../../kernel/grapheme.ts'
import { type Json, type JsonObject, utf8Length } from '../../kernel/json.ts'
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

/** Where a result that is a page has its items and the cursor of the next one. */
export interface Paging {
  readonly items: string
  readonly next: string
  /** The cursor that continues right behind this item, where the tool can tell. */
  readonly after: ((item: Json) => unknown) | null
}

/** The value itself when it fits, else what fits of it under a mark. Never half a value and never half a character (I6). */
export function shortened(
  value: Json,
  maxBytes: number,
  whole: Whole | null = null,
  paging: Paging | null = null,
): { result: Json; bytes: number; truncated: boolean } {
  const bytes = resultBytes(value)
  if (bytes <= maxBytes) return { result: value, bytes, truncated: false }
  if (typeof value === 'string') return { result: shortText(value, bytes, maxBytes, whole), bytes, truncated: true }
  if (whole?.summary) return { ...summarised(whole.summary, bytes, maxBytes, whole.artifact), bytes }
  const result = Array.isArray(value)
    ? shortArray(value as readonly Json[], bytes, maxBytes, whole)
    : (paging && shortPage(value as JsonObject, bytes, maxBytes, { whole, paging })) ||
      shortObject(value as JsonObject, bytes, maxBytes, whole)
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

/**
 * A page whose items do not all fit: whole items from its start, and a cursor only if it continues right behind the last
 * of them. The page's own cursor would skip what is not shown. Null for a value that is no such page.
 */
function shortPage(
  page: JsonObject,
  bytes: number,
  maxBytes: number,
  { whole, paging }: { readonly whole: Whole | null; readonly paging: Paging },
): Json | null {
  const { [paging.items]: items, [paging.next]: _, ...others } = page
  if (!Array.isArray(items)) return null
  const all = items as readonly Json[]
  const mark = markOf(bytes, whole)
  const of = (shown: readonly Json[], rest: JsonObject): Json => {
    const next = behind(paging, shown)
    const said = { shown: shown.length, items: all.length, next, ...(next === null && { note: noteOf(whole) }) }
    return { ...mark, page: said, rest: { ...rest, [paging.items]: shown, [paging.next]: next } }
  }
  // what stands beside the items is kept when it leaves them most of the room
  const rest = resultBytes(of([], others)) <= maxBytes / 2 ? others : {}
  const shown = [...fitting(all, maxBytes - resultBytes(of([], rest))).items]
  while (shown.length > 0 && resultBytes(of(shown, rest)) > maxBytes) shown.pop()
  const result = of(shown, rest)
  return resultBytes(result) <= maxBytes ? result : shortObject(others, bytes, maxBytes, whole)
}

const noteOf = (whole: Whole | null): string =>
  whole ? 'The other items are in the artifact. Ask for fewer at once.' : 'Ask for fewer items at once.'

/** Nothing is behind no item: the same cursor again would never end. */
function behind({ after }: Paging, shown: readonly Json[]): string | null {
  const last = shown.at(-1)
  if (!after || last === undefined) return null
  try {
    const cursor = after(last)
    return typeof cursor === 'string' && cursor !== '' ? cursor : null
  } catch {
    return null
  }
}
