/** What the translators of schemas have in common. */
import { type Json, type JsonObject, pointer } from '../../kernel/json.ts'
import { type Problem, problem } from '../problem.ts'

export type Path = readonly (string | number)[]

/** Notes one thing that has no exact translation. */
export type Say = (code: string, path: Path, cause: string, fix: string) => void

/** A schema of 2020-12, and what could not be translated. */
export interface Translated {
  readonly schema: Json
  readonly problems: readonly Problem[]
}

export function translated(at: string, translate: (say: Say) => Json): Translated {
  const problems: Problem[] = []
  const schema = translate((code, path, cause, fix) => problems.push(problem(code, at + pointer(path), cause, fix)))
  return { schema, problems }
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Words that say nothing about a value. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'readOnly',
  'writeOnly',
  '$comment',
  'contentEncoding',
  'contentMediaType',
])
