/**
 * JSON Schema 2020-12 of arguments and results: one compiled validator per schema, and errors without values (I3).
 *
 * A schema is code of the product's author, but it may come from a stranger's server: no remote reference is ever
 * followed, unknown keywords of an author here are refused, and a root object that leaves extra fields open is closed.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import type { FieldError } from '../../kernel/fault.ts'
import { hashJson } from '../../kernel/canonical.ts'
import { freezeJson, type Json, type JsonObject, pointer } from '../../kernel/json.ts'
import { checkJson } from '../../kernel/plain.ts'
import { type Problem, problem } from '../problem.ts'
import { bounded } from './bounded.ts'

export type Check = (value: Json) => readonly FieldError[]

export interface CompiledSchema {
  /** As the model sees it. */
  readonly schema: JsonObject
  readonly hash: string
  readonly check: Check
}

export type Compiled =
  | { readonly ok: true; readonly compiled: CompiledSchema }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
/** A schema of a contract is written by hand: far above the largest real one, far below what slows a start. */
export const SCHEMA_LIMITS = { bytes: 1024 * 1024, depth: 64, keys: 5_000, items: 10_000 }
/** Enough to mend a call in one go, too few to flood a context. */
const MOST_ERRORS = 20
const MOST_CACHED = 1_000

const cache = new Map<string, CompiledSchema>()
const engines: Partial<Record<Origin, Ajv2020>> = {}

/**
 * Whose words they are. Of an author here, a word that says nothing is a mistake and is refused; in a foreign schema it
 * says nothing, as the standard has it.
 */
export type Origin = 'own' | 'foreign'

/** Arguments: the root is an object and is closed when the author did not say otherwise. `at` is the path in the definition. */
export function compileArguments(source: unknown, at: string, origin: Origin = 'own'): Compiled {
  const read = readSchema(source, at)
  if (Array.isArray(read)) return { ok: false, problems: read }
  const schema = read
  if (schema.type !== undefined && schema.type !== 'object') {
    const fix = "wrap it: `{ type: 'object', properties: { value: … }, required: ['value'] }`."
    return {
      ok: false,
      problems: [problem('schema_not_object', `${at}/type`, 'Arguments are always one object.', fix)],
    }
  }
  return compile(closed({ ...schema, type: 'object' }), at, origin)
}

/** Results: any schema. */
export function compileResult(source: unknown, at: string, origin: Origin = 'own'): Compiled {
  const read = readSchema(source, at)
  return Array.isArray(read) ? { ok: false, problems: read } : compile(read, at, origin)
}

/** True when a text of this format is judged here; a library's own formats are judged by the library alone. */
export const isKnownFormat = (format: unknown): boolean => Object.hasOwn(engineOf('own').formats, String(format))

/** Every schema inside `schema`, itself included, with its path. Keys of `properties` are names and not keywords. */
export function* subschemas(
  schema: Json,
  path: readonly (string | number)[] = [],
): Generator<[readonly (string | number)[], JsonObject]> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return
  const object = schema as JsonObject
  yield [path, object]
  for (const [keyword, inner] of Object.entries(object)) {
    if (SINGLE.has(keyword)) yield* subschemas(inner, [...path, keyword])
    if (!NAMED.has(keyword) && !LISTED.has(keyword)) continue
    if (typeof inner !== 'object' || inner === null) continue
    for (const [name, member] of Object.entries(inner)) yield* subschemas(member, [...path, keyword, name])
  }
}

const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const LISTED = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const SINGLE = new Set([
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
])
/** Keywords that may take longer than the size of a value says. */
const SLOW = ['pattern', 'patternProperties', 'format', 'uniqueItems', '$ref']
/** For what they judge: a moment, and more for a value that is large; an honest check is ten times as fast. */
const CHECK_MS = 200
const CHARS_PER_MS = 10_000
/**
 * Where the engine accepts what it should refuse, in cases of the test suite of the standard; nobody can rely on them. And
 * its own word for a check that answers later, which no standard knows.
 */
const MISJUDGED = ['unevaluatedItems', '$dynamicRef', '$dynamicAnchor', '$async']
/** Keywords beside which `additionalProperties` does not see all declared fields. */
const COMPOSING = ['allOf', 'anyOf', 'oneOf', 'if', '$ref', 'dependentSchemas']

function readSchema(source: unknown, at: string): JsonObject | Problem[] {
  const checked = checkJson(source, SCHEMA_LIMITS)
  if (!checked.ok)
    return [problem('schema_not_json', `${at}${checked.path}`, `The schema ${checked.reason}.`, 'give plain JSON.')]
  const value = checked.value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [problem('schema_not_json', at, 'A schema is an object.', "write `{ type: 'object', properties: { … } }`.")]
  }
  const { $schema = DIALECT, ...schema } = value as JsonObject
  if ($schema !== DIALECT && $schema !== `${DIALECT}#`) {
    return [
      problem('schema_dialect', `${at}/$schema`, 'Only JSON Schema 2020-12 is read.', `write "$schema": "${DIALECT}".`),
    ]
  }
  const problems: Problem[] = []
  for (const [path, inner] of subschemas(schema)) {
    const where = (keyword: string) => `${at}${pointer([...path, keyword])}`
    const target = inner.$ref
    if (target !== undefined && !(typeof target === 'string' && target.startsWith('#'))) {
      const fix = 'copy the target into `$defs` and refer to `#/$defs/…`.'
      problems.push(problem('schema_remote_ref', where('$ref'), 'A reference leaves the schema.', fix))
    }
    for (const keyword of MISJUDGED) {
      if (inner[keyword] === undefined) continue
      const cause = 'The validator does not judge this keyword as the standard does in every case.'
      problems.push(
        problem('schema_unsure', where(keyword), cause, 'remove it, or say it with `items`, `contains` or `$ref`.'),
      )
    }
  }
  return problems.length > 0 ? problems : schema
}

function closed(schema: JsonObject): JsonObject {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return schema
  const composed = COMPOSING.some((keyword) => schema[keyword] !== undefined)
  return { ...schema, [composed ? 'unevaluatedProperties' : 'additionalProperties']: false }
}

function compile(schema: JsonObject, at: string, origin: Origin): Compiled {
  const hash = hashJson(schema)
  const key = `${origin} ${hash}`
  const known = cache.get(key)
  if (known) return { ok: true, compiled: known }
  const engine = engineOf(origin)
  // The engine reads prototypes of the schema, so it gets a copy with ordinary ones; `#` needs an address to stand for.
  const ordinary = JSON.parse(JSON.stringify({ $id: `schema:${hash}`, ...schema })) as JsonObject
  let validate: ValidateFunction
  try {
    if (!engine.validateSchema(ordinary)) return { ok: false, problems: metaProblems(engine.errors ?? [], at) }
    validate = engine.compile(ordinary)
  } catch (error) {
    const cause = `${error instanceof Error ? error.message : 'The schema cannot be compiled'}.`
    return { ok: false, problems: [problem('schema_invalid', at, cause, 'remove or correct the named keyword.')] }
  }
  const compiled: CompiledSchema = Object.freeze({
    schema: freezeJson(schema),
    hash,
    check: checker(validate, isSlow(schema)),
  })
  if (cache.size >= MOST_CACHED) cache.clear()
  cache.set(key, compiled)
  return { ok: true, compiled }
}

const engineOf = (origin: Origin): Ajv2020 => (engines[origin] ??= newEngine(origin))

function newEngine(origin: Origin): Ajv2020 {
  const ajv = new Ajv2020({
    strict: origin === 'own',
    strictRequired: false,
    strictTuples: false,
    allowUnionTypes: true,
    allErrors: true,
    addUsedSchema: false,
    ownProperties: true,
    logger: false,
  })
  ajvFormats.default(ajv, { mode: 'full' })
  ajv.addVocabulary(['$anchor']) // resolved by the engine, and unknown to its strict mode
  return ajv
}

function metaProblems(errors: readonly ErrorObject[], at: string): Problem[] {
  const seen = new Map<string, Problem>()
  for (const error of errors) {
    const path = `${at}${error.instancePath}`
    const allowed: unknown = error.params.allowedValues
    const cause = `This keyword ${error.message ?? 'is not valid'}${Array.isArray(allowed) ? ` (${allowed.join(', ')})` : ''}.`
    if (!seen.has(path))
      seen.set(path, problem('schema_invalid', path, cause, 'write it as JSON Schema 2020-12 defines it.'))
  }
  return [...seen.values()].slice(0, MOST_ERRORS)
}

const isSlow = (schema: JsonObject): boolean =>
  [...subschemas(schema)].some(([, inner]) => SLOW.some((keyword) => inner[keyword] !== undefined))

/**
 * The engine compares members by `valueOf` and `constructor`; a stranger may send such keys, and a crash is a refusal. So
 * is a check without an end.
 */
function checker(validate: ValidateFunction, isSlow: boolean): Check {
  return (value) => {
    const text = JSON.stringify(value)
    const judge = (): unknown => validate(JSON.parse(text))
    try {
      if ((isSlow ? bounded(CHECK_MS + text.length / CHARS_PER_MS, judge) : judge()) === true) return []
      if (validate.errors?.length) return validate.errors.slice(0, MOST_ERRORS).map(fieldError)
    } catch {
      // nothing of what was thrown is for anybody
    }
    return [{ path: '', message: 'cannot be checked' }]
  }
}

/** The words of the schema may be repeated to the model, the words of the call may not. */
function fieldError(error: ErrorObject): FieldError {
  const path = pointer(
    error.instancePath
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
  )
  switch (error.keyword) {
    case 'required':
      return { path: path + pointer([String(error.params.missingProperty)]), message: 'is required' }
    case 'additionalProperties':
      return { path: path + pointer([String(error.params.additionalProperty)]), message: 'is not a field of this tool' }
    case 'unevaluatedProperties':
      return {
        path: path + pointer([String(error.params.unevaluatedProperty)]),
        message: 'is not a field of this tool',
      }
    case 'enum':
      return { path, message: `must be one of ${JSON.stringify(error.params.allowedValues).slice(0, 500)}` }
    case 'const':
      return { path, message: `must be ${JSON.stringify(error.params.allowedValue).slice(0, 500)}` }
    case 'propertyNames':
      return { path, message: 'has a key that is not allowed' }
    default:
      return { path, message: error.message ?? 'does not match the schema' }
  }
}
