/**
 * The only way to the database. Two doors: `call` runs one statement on its own (the transition functions, which set
 * their own walls), `read` runs one statement inside the tenant and environment of a scope. There is no way to hold a
 * transaction open: nothing is ever open across a model, tool or network call (L5).
 */
import type { Scope } from '../kernel/scope.ts'

/** A named statement; `params` gives the order of its placeholders. Named, because an unnamed one is planned at each call. */
export interface Statement<P, R> {
  readonly name: string
  readonly text: string
  readonly params: readonly (keyof P & string)[]
  /** Planned for its values at each call: one plan for all of them is far from right for some. */
  readonly isPlannedAnew?: true
  /** Never present: it carries the type of a row. */
  readonly _row?: R
}

/** Column types are the same on all engines: int8 a safe number, bytea a Uint8Array, jsonb a value, text[] strings. */
export interface Db {
  readonly engine: 'postgres' | 'embedded' | 'memory'
  call<P, R>(statement: Statement<P, R>, params: P): Promise<R[]>
  read<P, R>(scope: Pick<Scope, 'tenant' | 'environment'>, statement: Statement<P, R>, params: P): Promise<R[]>
  /** The same door for the few tables that the app role writes itself: idempotency keys, deltas, audit, credentials. */
  write<P, R>(scope: Pick<Scope, 'tenant' | 'environment'>, statement: Statement<P, R>, params: P): Promise<R[]>
  close(): Promise<void>
}

/** The migrator's door: text of several statements, as the owner of the schema, in one transaction. */
export interface MigrationDb {
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  script(text: string): Promise<void>
}

/** The values of a statement in the order of its placeholders; objects become JSON text, since the drivers differ there. */
export function valuesOf<P, R>(statement: Statement<P, R>, params: P): unknown[] {
  return statement.params.map((name) => {
    const value = params[name]
    if (value === undefined) return null
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
      ? JSON.stringify(value)
      : value
  })
}

/** int8 beyond 2^53-1 would change silently: an error instead. */
export function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('an int8 of the store is beyond 2^53-1')
  return value
}
