/** JSON Schema draft-07 said in 2020-12: the words that were renamed, split or given another meaning in between. */
import { type Json, type JsonObject, pointer } from '../../kernel/json.ts'
import { ANNOTATIONS, isObject, type Path, type Say, type Translated, translated } from './dialect.ts'
import { isKnownFormat } from './schema.ts'

const SAME: ReadonlySet<string> = new Set([
  ...ANNOTATIONS,
  'type',
  'enum',
  'const',
  'multipleOf',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'format',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'required',
])
const ONE: ReadonlySet<string> = new Set([
  'additionalProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
])
const LIST: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf'])
const NAMED: Readonly<Record<string, string>> = {
  properties: 'properties',
  patternProperties: 'patternProperties',
  definitions: '$defs',
}
const URI = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** What one translation remembers: where each schema went, for the references that are written last. */
interface Walk {
  readonly say: Say
  readonly moved: Map<string, Path>
  readonly refs: { readonly target: Record<string, Json>; readonly ref: string; readonly path: Path }[]
}

export const draft07To2020 = (schema: Json, at: string): Translated =>
  translated(at, (say) => {
    const walk: Walk = { say, moved: new Map(), refs: [] }
    const whole = visit(walk, schema, [], [])
    for (const { target, ref, path } of walk.refs) target.$ref = movedRef(walk, ref, path)
    return whole
  })

function visit(walk: Walk, schema: Json, from: Path, to: Path): Json {
  walk.moved.set(pointer(from), to)
  if (!isObject(schema)) return schema
  if (schema.$ref !== undefined) return reference(walk, schema, from, to)
  const out: Record<string, Json> = {}
  for (const [word, value] of Object.entries(schema)) {
    if (SAME.has(word)) out[word] = value
    else if (ONE.has(word)) out[word] = visit(walk, value, [...from, word], [...to, word])
    else if (LIST.has(word)) out[word] = list(walk, value, [...from, word], [...to, word])
    else if (Object.hasOwn(NAMED, word)) named(walk, out, { word, value, from, to })
    else other(walk, out, { word, value, from, to, schema })
  }
  // Without its condition a branch says nothing, and a condition without a branch neither.
  if (out.if === undefined || (out.then === undefined && out.else === undefined))
    for (const word of ['if', 'then', 'else']) delete out[word]
  if (out.format !== undefined && !isKnownFormat(out.format))
    walk.say(
      'format_unknown',
      [...from, 'format'],
      'This format is not checked here.',
      'say it with `pattern`, or remove it.',
    )
  return out
}

interface Place {
  readonly word: string
  readonly value: Json
  readonly from: Path
  readonly to: Path
}

function list(walk: Walk, value: Json, from: Path, to: Path): Json {
  if (!Array.isArray(value)) return value
  return (value as readonly Json[]).map((inner, i) => visit(walk, inner, [...from, i], [...to, i]))
}

function named(walk: Walk, out: Record<string, Json>, { word, value, from, to }: Place): void {
  const name = NAMED[word] ?? word
  out[name] = isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [
          key,
          visit(walk, inner, [...from, word, key], [...to, name, key]),
        ]),
      )
    : value
}

function other(
  walk: Walk,
  out: Record<string, Json>,
  { word, value, from, to, schema }: Place & { schema: JsonObject },
): void {
  const here = [...from, word]
  if (word === 'items') {
    if (!Array.isArray(value)) out.items = visit(walk, value, here, [...to, 'items'])
    else if (value.length > 0) out.prefixItems = list(walk, value, here, [...to, 'prefixItems'])
  } else if (word === 'additionalItems') {
    // Beside one schema for all items, draft-07 ignores this word.
    if (Array.isArray(schema.items)) out.items = visit(walk, value, here, [...to, 'items'])
  } else if (word === 'dependencies') dependencies(walk, out, { word, value, from, to })
  else if (word === '$schema') {
    if (typeof value !== 'string' || !URI.test(value))
      walk.say(
        'dialect_differs',
        here,
        'The schema says that it is written in another dialect.',
        'give it as what it is.',
      )
  } else if (word === '$id') id(walk, out, { word, value, from, to })
  else if (!word.startsWith('x-'))
    walk.say('keyword_unknown', here, 'draft-07 has no such keyword.', `remove \`${word}\` or correct its spelling.`)
}

function dependencies(walk: Walk, out: Record<string, Json>, { value, from, to }: Place): void {
  if (!isObject(value)) {
    walk.say('keyword_illegal', [...from, 'dependencies'], 'This is a map of fields.', "`dependencies: { a: ['b'] }`.")
    return
  }
  const required: Record<string, Json> = {}
  const schemas: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (Array.isArray(inner)) required[key] = inner
    else schemas[key] = visit(walk, inner, [...from, 'dependencies', key], [...to, 'dependentSchemas', key])
  }
  if (Object.keys(required).length > 0) out.dependentRequired = required
  if (Object.keys(schemas).length > 0) out.dependentSchemas = schemas
}

/** References stay inside, so the address of the whole is not needed; one of a part would change what `#` means there. */
function id(walk: Walk, out: Record<string, Json>, { value, from }: Place): void {
  if (typeof value === 'string' && /^#[A-Za-z_][\w.-]*$/.test(value)) out.$anchor = value.slice(1)
  else if (from.length > 0)
    walk.say(
      'id_inside',
      [...from, '$id'],
      'A part has an address of its own.',
      'remove `$id` and refer to `#/definitions/…`.',
    )
}

/** draft-07 ignores what stands beside `$ref`; 2020-12 would apply it, and the author may have believed either. */
function reference(walk: Walk, schema: JsonObject, from: Path, to: Path): Json {
  const out: Record<string, Json> = {}
  for (const [word, value] of Object.entries(schema)) {
    if (word === 'definitions') named(walk, out, { word, value, from, to })
    else if (word === '$schema' || word === '$id') other(walk, out, { word, value, from, to, schema })
    else if (ANNOTATIONS.has(word)) out[word] = value
    else if (word !== '$ref' && !word.startsWith('x-'))
      walk.say(
        'ref_with_rules',
        [...from, word],
        'draft-07 ignores rules beside `$ref`.',
        'put both into `allOf`, or remove the rule.',
      )
  }
  if (typeof schema.$ref === 'string') walk.refs.push({ target: out, ref: schema.$ref, path: [...from, '$ref'] })
  else walk.say('ref_illegal', [...from, '$ref'], 'A reference is a text.', "`$ref: '#/definitions/…'`.")
  return out
}

/** A pointer into the draft-07 schema, as a pointer into its translation. One that leaves the schema is refused later. */
function movedRef({ say, moved }: Walk, ref: string, path: Path): string {
  if (!ref.startsWith('#/')) return ref
  const to = moved.get(decoded(ref.slice(1)))
  if (to === undefined) {
    say('ref_unknown', path, 'The reference names no schema.', "`$ref: '#/definitions/…'` of one that is there.")
    return ref
  }
  return `#${pointer(to).split('/').map(encodeURIComponent).join('/')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
