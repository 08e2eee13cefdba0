/** A statement as the memory store runs it: a function on the tables, under the walls of its door. */
import type { Statement } from '../../db/port.ts'
import type { Owner } from './rows.ts'
import type { Tables } from './tables.ts'

/** The tenant and environment of `read` and `write`; null for `call`, which sees no tenant's rows by itself. */
export type Walls = { readonly tenant: string; readonly environment: string } | null

export type Verb<P, R> = (tables: Tables, params: P, walls: Walls) => R[]

/** Statements and their verbs. The types meet in `on`, and nowhere else. */
export type Verbs = Map<Statement<unknown, unknown>, Verb<unknown, unknown>>

export function on<P, R>(verbs: Verbs, statement: Statement<P, R>, verb: Verb<P, R>): void {
  verbs.set(statement as Statement<unknown, unknown>, verb as unknown as Verb<unknown, unknown>)
}

/** The policy of `plimsoll_app`: a row is seen under its own tenant and environment. */
export const seen = (walls: Walls, row: Owner): boolean =>
  walls !== null && row.tenant_id === walls.tenant && row.environment === walls.environment

/** The policy of `plimsoll_step`: a row is seen when the caller's evidence names its owner. */
export type Evidence = ReadonlySet<string>
export const evidence = (keys: readonly (string | null)[] | null): Evidence =>
  new Set((keys ?? []).filter((key) => key !== null))
export const named = (keys: Evidence, row: Owner, id: string): boolean =>
  keys.has(`${row.tenant_id}/${row.environment}/${id}`)

/** Named conditions of one statement; all must hold. */
export type Guards<A extends readonly unknown[]> = Readonly<Record<string, (...given: A) => boolean>>

export function passes<A extends readonly unknown[]>(guards: Guards<A>, ...given: A): boolean {
  for (const name in guards) if (!guards[name]?.(...given)) return false
  return true
}

/** A batch as it is travelling, in the order in which the statements take it: by tenant and run, everybody alike. */
export function batchOf<T>(json: string, order: (row: T) => string): { readonly row: T; readonly n: number }[] {
  const rows = (JSON.parse(json) as T[]).map((row, i) => ({ row, n: i + 1 }))
  if (rows.length < 2) return rows
  const keys = new Map(rows.map((r) => [r, order(r.row)]))
  return rows.sort((a, b) => compare(keys.get(a) ?? '', keys.get(b) ?? ''))
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export const isActive = (status: string): boolean =>
  status === 'queued' || status === 'running' || status === 'waiting_confirmation'
export const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64')
export const base64 = (content: Uint8Array): string =>
  Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64')
