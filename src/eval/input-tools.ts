/** The judges of what a model sends as arguments and names, and of what an author registers. */
import { canonicalText } from '../kernel/canonical.ts'
import type { Json } from '../kernel/json.ts'
import { readArguments } from '../tool/arguments.ts'
import type { Contract } from '../tool/contract.ts'
import { tool } from '../tool/define.ts'
import { isLegalName } from '../tool/names.ts'
import { registry } from '../tool/registry.ts'
import { compileArguments } from '../tool/schema/schema.ts'
import { type InputCase, inputText, type Judge } from './input-case.ts'

const each = (names: string, schema: Json): Record<string, Json> =>
  Object.fromEntries(names.split(' ').map((name) => [name, schema]))

/**
 * One ordinary closed contract with many optional fields. Only the values of the cases are ugly, so a field that an
 * honest contract would have is declared, and what only a server knows is not.
 */
const CONTRACT: Contract = tool('orders.note@1', {
  input: {
    type: 'object',
    properties: {
      ...each('n amount price total rate lat lng', { type: 'number' }),
      ...each('count quantity limit page cents year', { type: 'integer' }),
      ...each('account id number phone', { type: ['integer', 'string'] }),
      ...each(
        'order_id note name q query to from path city text title body message subject comment reason currency language',
        { type: 'string' },
      ),
      ...each('toString hasOwnProperty valueOf isPrototypeOf length then', { type: 'string' }),
      ...each('enabled active flag', { type: 'boolean' }),
      ...each('items list tags ids values', { type: 'array' }),
      ...each('options meta payload filter address', { type: 'object' }),
      ...each('at when until time timestamp', { type: 'string', format: 'date-time' }),
      ...each('date day', { type: 'string', format: 'date' }),
      ...each('email', { type: 'string', format: 'email' }),
      ...each('a b c x y k v value', true),
    },
    additionalProperties: false,
    // a note about nothing: without this an empty text would be a call
    minProperties: 1,
  },
  params: {
    order_id: 'identity',
    id: 'identity',
    account: 'identity',
    to: 'identity',
    path: 'identity',
    email: 'identity',
  },
  effect: 'write',
  commit: () => null,
  unknown: 'manual',
})

const TOOLS = registry([
  CONTRACT,
  ...['send_email', 'get_weather', 'search_orders', 'delete_file', 'list_users'].map((name) =>
    tool(`${name}@1`, { input: { type: 'object' }, effect: 'irreversible', commit: () => null, unknown: 'manual' }),
  ),
])

const judgeArguments: Judge = (given) => {
  const text = inputText(given)
  const read = readArguments(CONTRACT, text, { tenant: 'acme' })
  switch (given.verdict) {
    case 'refuse':
      if (read.ok) return 'was accepted'
      return read.error.code === 'invalid_arguments' ? 'as_expected' : `was refused as ${read.error.code}`
    case 'accept':
      return read.ok ? 'as_expected' : `was refused: ${read.error.hint}`
    case 'accept_canonical': {
      if (!read.ok) return `was refused: ${read.error.hint}`
      const again = readArguments(CONTRACT, read.canonical, { tenant: 'acme' })
      const same = again.ok && again.hash === read.hash && read.canonical === canonicalText(JSON.parse(text) as Json)
      return same ? 'as_expected' : 'has more than one canonical form'
    }
    default:
      return `the verdict ${given.verdict} is not one of this judge`
  }
}

const judgeToolName: Judge = (given) => {
  const found = TOOLS.find(inputText(given))
  if (given.verdict === 'unknown_tool' || given.verdict === 'refuse')
    return found ? `found ${found.name}` : 'as_expected'
  if (given.verdict === 'accept') return found ? 'as_expected' : 'was not found'
  return `the verdict ${given.verdict} is not one of this judge`
}

const judgeToolRegistry: Judge = (given) => {
  const refused = isDefinitionRefused(given)
  if (refused === null) return 'skipped'
  if (given.verdict === 'refuse') return refused ? 'as_expected' : 'was accepted'
  if (given.verdict === 'accept') return refused ? 'was refused' : 'as_expected'
  return `the verdict ${given.verdict} is not one of this judge`
}

/** A case is a schema, a definition with a name and a schema, or a bare name. Null for a sentence about something else. */
function isDefinitionRefused(given: InputCase): boolean | null {
  const text = inputText(given)
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return /\s/.test(text.trim()) ? null : !isLegalName(text)
  }
  if (typeof read !== 'object' || read === null) return !isLegalName(String(read))
  const { name, ...rest } = read as Record<string, unknown>
  const schema = rest.parameters ?? rest.inputSchema ?? rest.input_schema
  if (schema === undefined) return !compileArguments(read, '/input').ok
  return (typeof name === 'string' && !isLegalName(name)) || !compileArguments(schema, '/input').ok
}

export const toolJudges: Readonly<Record<string, Judge>> = {
  args: judgeArguments,
  toolName: judgeToolName,
  toolRegistry: judgeToolRegistry,
}
