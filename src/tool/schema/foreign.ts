/**
 * Schemas that were written in another language than JSON Schema 2020-12 (I1).
 *
 * Which language it is, is said and never guessed: `fromJsonSchema`, `fromDraft07`, `fromBfcl`. What cannot be said exactly
 * in 2020-12 is a problem with its path; nothing is dropped that would have refused a value.
 */
import { checkJson } from '../../kernel/plain.ts'
import { bfclTo2020 } from './bfcl.ts'
import { draft07To2020 } from './draft07.ts'
import { problem } from '../problem.ts'
import { type Compiled, compileArguments, compileResult, SCHEMA_LIMITS } from './schema.ts'

/** A schema and the name of its language. Taken wherever a schema is. */
export interface ForeignSchema {
  readonly '~dialect': '2020-12' | 'draft-07' | 'bfcl'
  readonly schema: unknown
}

/** JSON Schema 2020-12 of somebody else, read as the standard reads it: a word that it does not know says nothing. */
export const fromJsonSchema = (schema: unknown): ForeignSchema => Object.freeze({ '~dialect': '2020-12', schema })

/** JSON Schema draft-07, as older servers and generators write it. Words of vendors (`x-…`) are dropped. */
export const fromDraft07 = (schema: unknown): ForeignSchema => Object.freeze({ '~dialect': 'draft-07', schema })

/** The dialect of the Berkeley function-calling corpus: `dict`, `float`, `tuple`, `any` and `optional`. */
export const fromBfcl = (schema: unknown): ForeignSchema => Object.freeze({ '~dialect': 'bfcl', schema })

export function compileForeign(source: ForeignSchema, kind: 'arguments' | 'result', at: string): Compiled {
  const compile = kind === 'arguments' ? compileArguments : compileResult
  if (source['~dialect'] === '2020-12') return compile(source.schema, at, 'foreign')
  const read = checkJson(source.schema, SCHEMA_LIMITS)
  if (!read.ok) {
    const cause = `The schema ${read.reason}.`
    return { ok: false, problems: [problem('schema_not_json', at + read.path, cause, 'give plain JSON.')] }
  }
  const translate = source['~dialect'] === 'bfcl' ? bfclTo2020 : draft07To2020
  const { schema, problems } = translate(read.value, at)
  if (problems.length > 0) return { ok: false, problems }
  return compile(schema, at, 'foreign')
}
