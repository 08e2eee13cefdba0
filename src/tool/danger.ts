/** Names and parameters that promise more harm than the contract admits (I1, I4). */
import { type JsonObject, pointer } from '../kernel/json.ts'
import type { EffectLevel, Waiver } from './contract.ts'
import { type Problem, problem } from './problem.ts'
import { subschemas } from './schema/schema.ts'

const HARSH = new Set(['send', 'pay', 'publish', 'delete', 'refund', 'transfer', 'cancel'])
/** A verb that looks: `get_refund` refunds nothing. */
const LOOKING = new Set(['get', 'list', 'search', 'find', 'read', 'check', 'show', 'count', 'lookup'])

const FREE_CODE = new Set(['sql', 'shell', 'bash', 'cmd', 'command', 'script', 'url', 'uri', 'href', 'webhook'])
const FREE_CODE_DESCRIBED = /\b(sql|shell|bash|command|url|uri)s?\b/i
const FREE_FORMATS = new Set(['uri', 'uri-reference', 'iri', 'iri-reference', 'url'])
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
      if ((Array.isArray(waiver?.parameters) && waiver.parameters.includes(name)) || !isFreeCode(name, parameter))
        continue
      const fix = `narrow it with \`enum\` or an anchored \`pattern\`, or add \`waiver: { parameters: ['${name}'], reason: '…', until: 'YYYY-MM-DD' }\`.`
      problems.push(
        problem('free_code_parameter', at, 'A free shell, SQL or URL parameter lets the model choose the action.', fix),
      )
    }
  }
  return problems
}

function isFreeCode(name: string, parameter: unknown): boolean {
  if (typeof parameter !== 'object' || parameter === null)
    return parameter === true && words(name).some((w) => FREE_CODE.has(w))
  const { type, description, format, pattern, ...rest } = parameter as JsonObject
  const types = Array.isArray(type) ? type : [type ?? 'string']
  const narrowed = 'enum' in rest || 'const' in rest || (typeof pattern === 'string' && /^\^.*\$$/s.test(pattern))
  if (!types.includes('string') || narrowed) return false
  if (typeof format === 'string' && FREE_FORMATS.has(format)) return true
  return (
    words(name).some((word) => FREE_CODE.has(word)) ||
    (typeof description === 'string' && FREE_CODE_DESCRIBED.test(description))
  )
}
