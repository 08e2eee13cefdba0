/**
 * What can be said of many rows after one look at each (I5): how many, which columns, their statistics, what stands out,
 * the first few. Memory does not grow with the number of rows.
 */
import type { Json, JsonObject } from '../../kernel/json.ts'

export interface Column {
  readonly name: string
  /** Kinds of its values, the most frequent first: `number`, `text`, `boolean`, `list`, `object`, `null`. */
  readonly types: readonly string[]
  /** Rows that have no such value, or null. */
  readonly missing: number
  /** Of its numbers. */
  readonly numbers?: { readonly min: number; readonly max: number; readonly mean: number; readonly deviation: number }
}

/** A number that stands more than four deviations from the mean of its column. `row` counts from 1. */
export interface Outlier {
  readonly column: string
  readonly row: number
  readonly value: number
}

export interface RowsSummary {
  readonly rows: number
  readonly columns: readonly Column[]
  /** Columns beyond the limit, which are stored and not described. */
  readonly moreColumns: number
  readonly outliers: readonly Outlier[]
  /** The first rows, whole. */
  readonly first: readonly Json[]
}

/** A table with more columns is described by its first ones. */
const MOST_COLUMNS = 100
const LONGEST_NAME = 200
const MOST_FIRST = 20
/** Half of the default of a result, so that the columns have room. */
const FIRST_BYTES = 32 * 1024
const FAR = 4
/** Extremes that are remembered on each side of a column. */
const EXTREMES = 3

interface Extreme {
  readonly row: number
  readonly value: number
}

interface Seen {
  readonly types: Map<string, number>
  present: number
  numbers: number
  mean: number
  /** Sum of the squared distances from the mean (Welford), which does not lose digits as a sum of squares does. */
  spread: number
  low: readonly Extreme[]
  high: readonly Extreme[]
}

export interface Summing {
  /** One row, in order; `bytes` is its size as JSON. */
  add(row: Json, bytes: number): void
  result(): RowsSummary
}

export function summing(): Summing {
  const columns = new Map<string, Seen>()
  const others = new Set<string>()
  const first: Json[] = []
  let firstBytes = 0
  let isFirstFull = false
  let rows = 0

  function seenOf(name: string): Seen | null {
    const known = columns.get(name)
    if (known) return known
    if (columns.size >= MOST_COLUMNS || name.length > LONGEST_NAME) {
      if (others.size < MOST_COLUMNS) others.add(name.slice(0, LONGEST_NAME))
      return null
    }
    const made: Seen = { types: new Map(), present: 0, numbers: 0, mean: 0, spread: 0, low: [], high: [] }
    columns.set(name, made)
    return made
  }

  return {
    add(row, bytes) {
      rows += 1
      if (!isFirstFull && firstBytes + bytes <= FIRST_BYTES) {
        first.push(row)
        firstBytes += bytes
        isFirstFull = first.length >= MOST_FIRST
      } else isFirstFull = true
      for (const [name, value] of membersOf(row)) {
        const seen = seenOf(name)
        if (seen) look(seen, value, rows)
      }
    },
    result: () => ({
      rows,
      columns: [...columns].map(([name, seen]) => columnOf(name, seen, rows)),
      moreColumns: others.size,
      outliers: [...columns].flatMap(([name, seen]) => outliersOf(name, seen)),
      first,
    }),
  }
}

/** A row of a list has numbered columns, and a single value one column. */
function membersOf(row: Json): readonly (readonly [string, Json])[] {
  if (Array.isArray(row)) return (row as readonly Json[]).map((value, i) => [String(i), value] as const)
  if (typeof row === 'object' && row !== null) return Object.entries(row as JsonObject)
  return [['value', row]]
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'string' ? 'text' : typeof value
}

function look(seen: Seen, value: Json, row: number): void {
  const type = typeOf(value)
  seen.types.set(type, (seen.types.get(type) ?? 0) + 1)
  if (value !== null) seen.present += 1
  if (typeof value !== 'number') return
  seen.numbers += 1
  const distance = value - seen.mean
  seen.mean += distance / seen.numbers
  seen.spread += distance * (value - seen.mean)
  const edge = { row, value }
  if (belongs(seen.low, (last) => value < last)) seen.low = kept([...seen.low, edge], (a, b) => a.value - b.value)
  if (belongs(seen.high, (last) => value > last)) seen.high = kept([...seen.high, edge], (a, b) => b.value - a.value)
}

const belongs = (extremes: readonly Extreme[], beats: (value: number) => boolean): boolean =>
  extremes.length < EXTREMES || beats((extremes.at(-1) as Extreme).value)

const kept = (extremes: readonly Extreme[], order: (a: Extreme, b: Extreme) => number): readonly Extreme[] =>
  [...extremes].sort(order).slice(0, EXTREMES)

const deviationOf = (seen: Seen): number => (seen.numbers > 1 ? Math.sqrt(seen.spread / (seen.numbers - 1)) : 0)

function columnOf(name: string, seen: Seen, rows: number): Column {
  const types = [...seen.types].sort((a, b) => b[1] - a[1]).map(([type]) => type)
  const missing = rows - seen.present
  const [low, high] = [seen.low[0], seen.high[0]]
  if (!low || !high) return { name, types, missing }
  // twelve digits: what is beyond is the rounding of the sum
  const short = (value: number): number => Number(value.toPrecision(12))
  const numbers = { min: low.value, max: high.value, mean: short(seen.mean), deviation: short(deviationOf(seen)) }
  // numbers near the largest one: their mean has no value here, and JSON no word for it
  return Number.isFinite(numbers.mean) && Number.isFinite(numbers.deviation)
    ? { name, types, missing, numbers }
    : { name, types, missing }
}

function outliersOf(column: string, seen: Seen): Outlier[] {
  const far = FAR * deviationOf(seen)
  // a handful of extremes at both ends overlaps in a short column
  if (!(far > 0) || seen.numbers < 4 * EXTREMES) return []
  return [...seen.low, ...seen.high]
    .filter(({ value }) => Math.abs(value - seen.mean) > far)
    .map(({ row, value }) => ({ column, row, value }))
}
