/**
 * The dialect of the Berkeley function-calling corpus, said in JSON Schema 2020-12.
 *
 * Its types are Python's, and a `dict` that declares fields has no others. Where a line contradicts another (a rule of
 * texts on a number, values that are not of the type), what was meant is not guessed.
 */
import type { Json, JsonObject } from '../../kernel/json.ts'
import { ANNOTATIONS, isObject, type Path, type Say, type Translated, translated } from './dialect.ts'
import { isKnownFormat } from './schema.ts'

const TYPES: Readonly<Record<string, string | null>> = {
  dict: 'object',
  object: 'object',
  float: 'number',
  number: 'number',
  tuple: 'array',
  array: 'array',
  string: 'string',
  integer: 'integer',
  boolean: 'boolean',
  any: null,
}
/** The types of JSON that a rule is about. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  properties: ['object'],
  required: ['object'],
  items: ['array'],
  minItems: ['array'],
  maxItems: ['array'],
  minimum: ['number', 'integer'],
  maximum: ['number', 'integer'],
  minLength: ['string'],
  maxLength: ['string'],
  pattern: ['string'],
  format: ['string'],
}

export const bfclTo2020 = (schema: Json, at: string): Translated =>
  translated(at, (say) => visit(say, schema, [], false))

function visit(say: Say, schema: Json, path: Path, isRequired: boolean): Json {
  if (!isObject(schema)) {
    say('schema_not_json', path, 'A parameter is described by a map.', "`{ type: 'string' }`.")
    return schema
  }
  const given = schema.type
  if (typeof given !== 'string' || !Object.hasOwn(TYPES, given)) {
    const fix = `one of ${Object.keys(TYPES).join(', ')}.`
    say(
      given === undefined ? 'type_missing' : 'type_unknown',
      [...path, 'type'],
      'The type is none of the dialect.',
      fix,
    )
    return {}
  }
  const type = TYPES[given] ?? null
  const out: Record<string, Json> = type === null ? {} : { type }
  for (const [word, value] of Object.entries(schema)) {
    const here = [...path, word]
    if (word === 'type') continue
    if (Object.hasOwn(RULES, word) && type !== null && !RULES[word]?.includes(type))
      say(
        'rule_of_other_type',
        here,
        `A value of type ${given} has no \`${word}\`.`,
        `remove \`${word}\`, or correct the type.`,
      )
    else if (word === 'properties') fields(say, out, { schema, value, path: here })
    else if (word === 'required') required(say, out, { schema, value, path: here })
    else if (word === 'items') out.items = visit(say, value, here, true)
    else if (word === 'enum') values(say, out, { type, value, path: here })
    else if (word === 'format' && !isKnownFormat(value))
      say('format_unknown', here, 'This format is not checked here.', 'say it with `pattern`, or remove it.')
    else if (word === 'optional') optional(say, { schema, value, path: here, isRequired })
    else if (ANNOTATIONS.has(word) || Object.hasOwn(RULES, word)) out[word] = value
    else say('keyword_unknown', here, 'The dialect has no such keyword.', `remove \`${word}\` or correct its spelling.`)
  }
  return out
}

interface Line {
  readonly value: Json
  readonly path: Path
}

const namesOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])

function fields(say: Say, out: Record<string, Json>, { schema, value, path }: Line & { schema: JsonObject }): void {
  if (!isObject(value)) {
    say('keyword_illegal', path, 'The fields are a map.', "`properties: { name: { type: 'string' } }`.")
    return
  }
  const names = namesOf(schema.required)
  const entries = Object.entries(value)
  out.properties = Object.fromEntries(
    entries.map(([name, inner]) => [name, visit(say, inner, [...path, name], names.includes(name))]),
  )
  if (entries.length > 0) out.additionalProperties = false
}

function required(say: Say, out: Record<string, Json>, { schema, value, path }: Line & { schema: JsonObject }): void {
  const declared = isObject(schema.properties) ? schema.properties : {}
  namesOf(value).forEach((name, i) => {
    if (typeof name !== 'string' || !Object.hasOwn(declared, name))
      say(
        'required_undeclared',
        [...path, i],
        'A field is required that is not declared.',
        'declare it in `properties`.',
      )
  })
  out.required = value
}

/** `optional` only repeats what `required` leaves out. */
function optional(
  say: Say,
  { schema, value, path, isRequired }: Line & { schema: JsonObject; isRequired: boolean },
): void {
  const both = namesOf(schema.required).some((name) => namesOf(value).includes(name)) || (value === true && isRequired)
  const known = typeof value === 'boolean' || Array.isArray(value)
  if (both || !known)
    say('optional_and_required', path, 'A field is called optional and is required.', 'remove one of the two.')
}

function values(say: Say, out: Record<string, Json>, { type, value, path }: Line & { type: string | null }): void {
  const wrong = namesOf(value).findIndex((member) => type !== null && !isOfType(member, type))
  if (wrong >= 0)
    say('enum_of_other_type', [...path, wrong], `This value is not of type ${type}.`, 'correct the type or the value.')
  out.enum = value
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type
}
