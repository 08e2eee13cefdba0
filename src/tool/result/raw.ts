/** What a tool may return besides JSON: bytes, or anything that comes piece by piece (I5). Nothing is read here. */

/** What comes is found out from its first piece: bytes, text, or rows, which become one line of JSON each. */
export interface Raw {
  readonly source: AsyncIterable<unknown> | Iterable<unknown>
  /** Null: made from the tool's name. */
  readonly name: string | null
  /** Null: by what comes. */
  readonly mediaType: string | null
}

export interface FileFacts {
  /** As a person sees it when it is downloaded: `orders.csv`. */
  readonly name?: string
  /** `text/csv`. */
  readonly mediaType?: string
}

interface FileResult extends FileFacts {
  readonly kind: 'plimsoll.file'
  readonly source: unknown
}

/**
 * A result with a name and a type, for a tool to return: bytes, a text, or an iterable of bytes, texts or rows. It is
 * stored as it comes and read by the model as a summary.
 */
export const file = (source: unknown, facts: FileFacts = {}): unknown =>
  ({ kind: 'plimsoll.file', source, ...facts }) satisfies FileResult

interface Beside {
  readonly kind: 'plimsoll.beside'
  readonly value: unknown
  readonly files: readonly unknown[]
}

/**
 * A value with files beside it, for a tool to return: a text and the pictures that it speaks of. Each file is bytes, or what `file` gives.
 * One that cannot be kept is left out; the value is the result all the same.
 */
export const withFiles = (value: unknown, files: readonly unknown[]): unknown =>
  ({ kind: 'plimsoll.beside', value, files }) satisfies Beside

/** Null for what has nothing beside it. */
export const besideOf = (value: unknown): Pick<Beside, 'value' | 'files'> | null =>
  isObject(value) &&
  'kind' in value &&
  value.kind === 'plimsoll.beside' &&
  'files' in value &&
  Array.isArray(value.files)
    ? (value as Beside)
    : null

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isFile = (value: unknown): value is FileResult =>
  isObject(value) && 'kind' in value && value.kind === 'plimsoll.file' && 'source' in value

/** Names and types are text of a tool: bounded, without what could end a header or a path. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}/\\"]{1,200}$/u
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(; ?charset=[a-z0-9-]{1,30})?$/i
const NOT_NAMES: ReadonlySet<string> = new Set(['.', '..'])

export const isName = (name: unknown): name is string =>
  typeof name === 'string' && NAME.test(name) && !NOT_NAMES.has(name)
export const isMediaType = (type: unknown): type is string => typeof type === 'string' && MEDIA_TYPE.test(type)

/** Null for a plain value. A name or type that cannot be used is left out. */
export function rawOf(value: unknown): Raw | null {
  if (!isFile(value)) {
    const source = sourceOf(value)
    return source && { source, name: null, mediaType: null }
  }
  const { name, mediaType } = value
  const source = typeof value.source === 'string' ? [value.source] : (sourceOf(value.source) ?? rowsOf(value.source))
  return source && { source, name: isName(name) ? name : null, mediaType: isMediaType(mediaType) ? mediaType : null }
}

const rowsOf = (value: unknown): Raw['source'] | null => (Array.isArray(value) ? (value as unknown[]) : null)

/** A list, a Map and a Set are values; a generator, a stream and an iterator are sources. */
function sourceOf(value: unknown): Raw['source'] | null {
  if (value instanceof Uint8Array) return [value]
  if (value instanceof ArrayBuffer) return [new Uint8Array(value)]
  if (!isObject(value)) return null
  if (Symbol.asyncIterator in value) return value as AsyncIterable<unknown>
  const isIterator = Symbol.iterator in value && 'next' in value && typeof value.next === 'function'
  return isIterator ? (value as Iterable<unknown>) : null
}
