/** Names and parameters that promise more harm than the contract admits (I1, I4). */
import { type Json, type JsonObject, pointer } from '../kernel/json.ts'
import type { EffectLevel, Waiver } from './contract.ts'
import { type Problem, problem } from './problem.ts'
import { subschemas } from './schema/schema.ts'

const HARSH = new Set(['send', 'pay', 'publish', 'delete', 'refund', 'transfer', 'cancel'])
/** A verb that looks: `get_refund` refunds nothing. */
const LOOKING = new Set(['get', 'list', 'search', 'find', 'read', 'check', 'show', 'count', 'lookup'])

const FREE_CODE = new Set(['sql', 'shell', 'bash', 'cmd', 'command', 'script', 'url', 'uri', 'href', 'webhook'])
const FREE_CODE_DESCRIBED = /\b(sql|shell|bash|command|url|uri)s?\b/i
const FREE_FORMATS = new Set(['uri', 'uri-reference', 'iri', 'iri-reference', 'url'])
/** A pattern that takes one of these narrows nothing. */
const ANYTHING = ['https://a.invalid/', 'http://169.254.169.254/', 'rm -rf / ; curl a.invalid', 'truncate orders']
/** The key of an effect is the server's; a model that is asked for one invents a new one on every repeat (J3, BR-005). */
const SERVER_KEYS = new Set(['idempotency_key', 'idempotencykey', 'x_idempotency_key'])

const words = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)

/** The harsh word of a name whose level is below `irreversible`, or undefined. */
export function harshWord(name: string, effect: EffectLevel): string | undefined {
  if (effect === 'irreversible') return undefined
  const [verb] = words(name.slice(name.lastIndexOf('.') + 1))
  if (effect === 'read' && verb !== undefined && LOOKING.has(verb)) return undefined
  return words(name).find((word) => HARSH.has(word))
}

/** Free code and server-side keys among the parameters, at any depth. */
export function parameterProblems(schema: JsonObject, waiver: Waiver | null): Problem[] {
  const problems: Problem[] = []
  for (const [path, inner] of subschemas(schema)) {
    const properties = inner.properties
    if (typeof properties !== 'object' || properties === null) continue
    for (const [name, parameter] of Object.entries(properties)) {
      const at = `/input${pointer([...path, 'properties', name])}`
      if (SERVER_KEYS.has(words(name).join('_'))) {
        problems.push(
          problem(
            'key_asked_of_model',
            at,
            'The idempotency key is derived by the server.',
            'remove the parameter and use `cx.effectKey`.',
          ),
        )
      }
      const waived = Array.isArray(waiver?.parameters) && waiver.parameters.includes(name)
      if (waived || !isFreeCode(name, parameter, schema)) continue
      const fix = `narrow it with \`enum\` or an anchored \`pattern\`, or add \`waiver: { parameters: ['${name}'], reason: '…', until: 'YYYY-MM-DD' }\`.`
      problems.push(
        problem('free_code_parameter', at, 'A free shell, SQL or URL parameter lets the model choose the action.', fix),
      )
    }
  }
  return problems
}

/** Whether the parameter, or what it is made of, takes a free text and is called or described as code or an address. */
function isFreeCode(name: string, parameter: Json, root: JsonObject): boolean {
  const isCalled = words(name).some((word) => FREE_CODE.has(word) || FREE_CODE.has(word.replace(/s$/, '')))
  const isMeant = isCalled || isDescribed(parameter)
  for (const text of freeTexts(parameter, root, new Set()))
    if (isMeant || isDescribed(text) || hasFreeFormat(text)) return true
  return false
}

const isSchema = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isDescribed = (schema: Json): boolean =>
  isSchema(schema) && typeof schema.description === 'string' && FREE_CODE_DESCRIBED.test(schema.description)

const hasFreeFormat = ({ format }: JsonObject): boolean => typeof format === 'string' && FREE_FORMATS.has(format)

/** Schemas of the texts in a parameter that are not narrowed. What has a name of its own inside is a parameter itself. */
function* freeTexts(schema: Json, root: JsonObject, seen: Set<JsonObject>): Generator<JsonObject> {
  if (schema === true) yield {}
  if (!isSchema(schema) || seen.has(schema) || isNarrow(schema)) return
  seen.add(schema)
  const inner = partsOf(schema, root)
  const types: readonly Json[] = Array.isArray(schema.type) ? schema.type : [schema.type ?? null]
  if (types.includes('string') || (types.includes(null) && inner.length === 0 && !isSchema(schema.properties)))
    yield schema
  if (types.includes('array') && schema.items === undefined && schema.prefixItems === undefined) yield schema
  for (const part of inner) yield* freeTexts(part, root, seen)
}

function partsOf(schema: JsonObject, root: JsonObject): readonly Json[] {
  const single = [schema.items, schema.additionalProperties, schema.then, schema.else, targetOf(schema.$ref, root)]
  const several = [schema.anyOf, schema.oneOf, schema.allOf, schema.prefixItems, schema.patternProperties]
  const listed = several.flatMap((parts) => (typeof parts === 'object' && parts !== null ? Object.values(parts) : []))
  return [...single, ...listed].filter((part): part is Json => part !== undefined && part !== false)
}

/** What a reference inside the schema names; one that leads nowhere may be anything. */
function targetOf(ref: Json | undefined, root: JsonObject): Json | undefined {
  if (typeof ref !== 'string') return undefined
  let at: Json | undefined = root
  for (const part of ref.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    at = isSchema(at) || Array.isArray(at) ? (at as JsonObject)[name] : undefined
  }
  return at ?? true
}

const isNarrow = (schema: JsonObject): boolean =>
  'enum' in schema || 'const' in schema || (typeof schema.pattern === 'string' && isNarrowPattern(schema.pattern))

/** Anchored at both ends, in every alternative, and closed to what stands for anything. */
function isNarrowPattern(pattern: string): boolean {
  if (!/^\^.*\$$/s.test(pattern) || hasOpenAlternative(pattern)) return false
  try {
    const taken = new RegExp(pattern, 'u')
    return !ANYTHING.some((text) => taken.test(text))
  } catch {
    return false
  }
}

/** `^a|b$` is anchored nowhere. */
function hasOpenAlternative(pattern: string): boolean {
  let bare = pattern.replaceAll(/\\./gs, '').replaceAll(/\[[^\]]*\]/g, '')
  for (let before = ''; before !== bare; ) [before, bare] = [bare, bare.replaceAll(/\([^()]*\)/g, '')]
  return bare.includes('|')
}
