import type { SchemaSource } from '../tool/schema/standard.ts'
import type { Kind, Place, Sensitivity, SourceKind } from './kinds.ts'

/** One key, as a product writes it. A line may tighten what its kind allows, and never loosen it. */
export interface KeySpec {
  readonly kind: Kind
  /** Of the value: zod 4, another Standard Schema, or JSON Schema 2020-12. */
  readonly value: SchemaSource
  /** `one`: a new value supersedes the old. `many`: each value stands for itself. */
  readonly cardinality?: 'one' | 'many'
  /** One sentence for the person who is asked. */
  readonly purpose?: string
  /** `high`: a person confirms the exact value, or `authority` says it. */
  readonly impact?: 'low' | 'high'
  readonly sources?: readonly SourceKind[]
  readonly scopes?: readonly Place[]
  /** `special`: health, belief, politics, sexuality, money, union, biometrics; such text is asked for, elsewhere it is refused. */
  readonly sensitivity?: Sensitivity
  /** Days that a value is kept when nothing says less; null: until somebody deletes it. */
  readonly ttlDays?: number | null
  /** The most that anybody may ask for. */
  readonly maxTtlDays?: number | null
  readonly confirm?: 'auto' | 'ask'
  /** `with_source`: also gone with the message or call that it came from. */
  readonly deletion?: 'on_request' | 'with_source'
  /**
   * What at least so many different runs say under the key `from`, at one place, is remembered under this one; 2 to 100, default
   * 3. `at_least` in YAML.
   */
  readonly consolidates?: { readonly from: string; readonly atLeast?: number }
  /** Name of the reader that is asked for the true value. */
  readonly authority?: string
}
