/** Long lists, a part at a time. */

export interface Page<T> {
  readonly items: readonly T[]
  /** Goes into `after` of the following call; null at the end. */
  readonly next: string | null
}

export interface PageWanted {
  readonly after: string
  readonly limit: number
}

export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => string): Page<T> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next: rows.length > limit && last !== undefined ? keyOf(last) : null }
}
