/**
 * Schemas written in a library (zod 4, or any Standard Schema that can say its JSON Schema) become JSON Schema here.
 *
 * The model and the gate see the JSON Schema, and the implementation gets the bytes that were confirmed. So a schema
 * that changes values, or knows rules that JSON Schema cannot say, is refused at load where it can be seen, and at
 * call time where it cannot.
 */
import type { FieldError } from '../../kernel/fault.ts'
import { canonicalText } from '../../kernel/canonical.ts'
import { type Json, type JsonObject, pointer } from '../../kernel/json.ts'
import { checkJson } from '../../kernel/plain.ts'
import { compileForeign, type ForeignSchema } from './foreign.ts'
import { type Problem, problem } from '../problem.ts'
import {
  type Check,
  type Compiled,
  compileArguments,
  compileResult,
  type CompiledSchema,
  isKnownFormat,
  subschemas,
} from './schema.ts'

type Issue = { readonly path?: readonly unknown[] | undefined }
type Outcome = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

/** Standard Schema v1 with its JSON Schema extension. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Outcome | Promise<Outcome>
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined
    readonly jsonSchema?: { readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown> }
  }
}

/** A schema as an author may write it: zod 4, another Standard Schema, JSON Schema 2020-12, or a named other dialect. */
export type SchemaSource = StandardSchema | ForeignSchema | { readonly [keyword: string]: unknown }

/** What the implementation gets. */
export type InputOf<S> = S extends StandardSchema ? NonNullable<S['~standard']['types']>['input'] : JsonObject

export function compileSource(source: SchemaSource, kind: 'arguments' | 'result', at: string): Compiled {
  if (isForeign(source)) return compileForeign(source, kind, at)
  const compile = kind === 'arguments' ? compileArguments : compileResult
  if (!isStandard(source)) return compile(source, at)
  const { vendor, jsonSchema } = source['~standard']
  if (!jsonSchema) {
    const fix = 'use a version of the library that has `~standard.jsonSchema`, or write JSON Schema.'
    return {
      ok: false,
      problems: [problem('schema_not_json', at, `The schema of ${vendor} cannot say its JSON Schema.`, fix)],
    }
  }
  const hidden = vendor === 'zod' ? hiddenRules(source, at) : []
  if (hidden.length > 0) return { ok: false, problems: hidden }
  let written: Record<string, unknown>
  try {
    written = jsonSchema.input({ target: 'draft-2020-12' })
  } catch (error) {
    const cause = `${error instanceof Error ? error.message : 'The schema has no JSON form'}.`
    return {
      ok: false,
      problems: [
        problem('schema_not_json', at, cause, 'use only values that JSON has; send dates and large integers as text.'),
      ],
    }
  }
  const checked = checkJson(written)
  const schema = checked.ok ? withoutLibraryFormats(checked.value) : written
  const result = compile(schema, at)
  return result.ok ? { ok: true, compiled: both(result.compiled, source) } : result
}

const isForeign = (source: SchemaSource): source is ForeignSchema => '~dialect' in source

const isStandard = (source: SchemaSource): source is StandardSchema => '~standard' in source

/** JSON Schema first, then the library: whatever either refuses is refused. */
function both(compiled: CompiledSchema, source: StandardSchema): CompiledSchema {
  const check: Check = (value) => {
    const errors = compiled.check(value)
    return errors.length > 0 ? errors : libraryErrors(source, value)
  }
  return Object.freeze({ ...compiled, check })
}

/** A library that throws refuses: its words may hold values. */
function libraryErrors(source: StandardSchema, value: Json): readonly FieldError[] {
  try {
    return errorsOf(source, value)
  } catch {
    return [{ path: '', message: 'cannot be checked: the schema of the tool failed' }]
  }
}

function errorsOf(source: StandardSchema, value: Json): readonly FieldError[] {
  const outcome = source['~standard'].validate(value)
  if ('then' in outcome) {
    outcome.catch(() => {})
    return [{ path: '', message: 'cannot be checked: the schema of the tool is asynchronous' }]
  }
  if (outcome.issues)
    return outcome.issues
      .slice(0, 20)
      .map((issue) => ({ path: issuePath(issue), message: 'does not match the schema' }))
  const read = checkJson(outcome.value)
  const same = read.ok && canonicalText(read.value) === canonicalText(value)
  return same ? [] : [{ path: '', message: 'cannot be checked: the schema of the tool changes values' }]
}

function issuePath(issue: Issue): string {
  return pointer(
    (issue.path ?? []).map((part) =>
      String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part),
    ),
  )
}

function withoutLibraryFormats(written: Json): Json {
  const schema = structuredClone(written)
  for (const [, inner] of subschemas(schema)) {
    if (inner.format !== undefined && !isKnownFormat(inner.format)) delete (inner as { format?: Json }).format
  }
  return schema
}

/** zod drops these from its JSON Schema without a word. */
const CHANGING = new Set(['transform', 'pipe', 'default', 'prefault', 'catch', 'custom', 'promise'])

function hiddenRules(root: StandardSchema, at: string): Problem[] {
  const problems: Problem[] = []
  const seen = new Set<unknown>()
  const visit = (schema: unknown, path: string): void => {
    const def = zodDefinition(schema)
    if (!def || seen.has(schema)) return
    seen.add(schema)
    if (CHANGING.has(String(def.type)) || def.coerce === true) {
      const cause = `\`${def.coerce === true ? 'coerce' : String(def.type)}\` changes the value after it was confirmed.`
      problems.push(
        problem('schema_changes_value', path, cause, 'declare the plain value and convert it in the implementation.'),
      )
      return
    }
    for (const check of Array.isArray(def.checks) ? def.checks : []) {
      const kind = zodDefinition(check)?.check
      if (kind === 'custom')
        problems.push(
          problem(
            'schema_hidden_rule',
            path,
            '`refine` cannot be shown to the model.',
            'say it with `enum`, `regex`, `min` or `max`, or check it in `plan`.',
          ),
        )
      if (kind === 'overwrite')
        problems.push(
          problem(
            'schema_changes_value',
            path,
            'This rule rewrites the value after it was confirmed.',
            'remove it and rewrite in the implementation.',
          ),
        )
    }
    for (const [key, inner] of innerSchemas(def)) visit(inner, `${path}${pointer([key])}`)
  }
  visit(root, at)
  return problems
}

function zodDefinition(schema: unknown): Record<string, unknown> | undefined {
  if (typeof schema !== 'object' || schema === null || !('_zod' in schema)) return undefined
  const def = (schema._zod as { def?: unknown }).def
  return typeof def === 'object' && def !== null ? (def as Record<string, unknown>) : undefined
}

function innerSchemas(def: Record<string, unknown>): [string, unknown][] {
  const found: [string, unknown][] = []
  for (const [key, value] of Object.entries(def)) {
    if (key === 'checks' || typeof value !== 'object' || value === null) continue
    if (zodDefinition(value)) found.push([key, value])
    else found.push(...Object.entries(value).filter(([, inner]) => zodDefinition(inner)))
  }
  const lazy = def.type === 'lazy' && typeof def.getter === 'function' ? (def.getter as () => unknown)() : undefined
  return lazy === undefined ? found : [...found, ['getter', lazy]]
}
