/** Contracts written as YAML: the promise in a file that operators read, the implementation in code (I1). */
import { type Document, parseAllDocuments } from 'yaml'
import type { Contract } from './contract.ts'
import { tool } from './define.ts'
import { defined, definitionFault, type Problem, problem } from './problem.ts'
import type { ToolSpec } from './spec.ts'
import type { SchemaSource } from './schema/standard.ts'

/** The code behind a YAML contract. `unknown` stands here, because only the implementation knows its provider. */
export type YamlImplementation = Pick<
  ToolSpec<{ readonly [keyword: string]: unknown }>,
  'authorize' | 'run' | 'after' | 'which' | 'plan' | 'resourceVersion' | 'commit' | 'probe' | 'unknown'
>

export interface YamlParts {
  /** What `input_schema` and `output_schema` refer to by name. */
  readonly schemas: { readonly [name: string]: SchemaSource }
  /** By the name of the contract. */
  readonly implementations: { readonly [name: string]: YamlImplementation }
}

/** A line of the file, and the line of code that it stands for. */
const LINES = {
  description: 'description',
  timeout_ms: 'timeoutMs',
  permission: 'permission',
  hosts: 'hosts',
  confirmation_ms: 'confirmationMs',
  max_result_bytes: 'maxResultBytes',
  page: 'page',
  max_raw_bytes: 'maxRawBytes',
  credentials: 'credentials',
  folder: 'folder',
  error_taxonomy: 'errors',
  params: 'params',
  ends: 'ends',
  compensates: 'compensates',
  acknowledge: 'acknowledge',
  waiver: 'waiver',
  breaker: 'breaker',
  rate: 'rate',
} as const
const READ_HERE = [
  'name',
  'version',
  'input_schema',
  'output_schema',
  'retry_policy',
  'idempotency',
  'side_effect_level',
  'approval',
]
const APPROVALS: Readonly<Record<string, 'auto' | 'confirm'>> = Object.freeze({
  required: 'confirm',
  auto: 'auto',
  not_required: 'auto',
})

/** One contract per document. Throws `invalid_definition`. */
export const contractsFromYaml = (text: string, parts: YamlParts): Contract[] =>
  defined('contracts', () => contractsOf(text, parts))

function contractsOf(text: string, parts: YamlParts): Contract[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true, strict: true })
  return [...documents].map((document, i) => {
    const broken = document.errors[0]
    if (broken)
      throw definitionFault(`document ${i + 1}`, [
        problem('yaml_invalid', '', `${broken.message}.`, 'correct the named line.'),
      ])
    const lines = linesOf(document)
    if (typeof lines !== 'object' || lines === null || Array.isArray(lines)) {
      throw definitionFault(`document ${i + 1}`, [
        problem('yaml_invalid', '', 'A contract is a map of lines without aliases.', '`name: orders.refund`.'),
      ])
    }
    return contractOf(lines as Record<string, unknown>, parts)
  })
}

/** Null for a document with aliases: a contract repeats nothing, and a bomb is made of them. */
function linesOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 })
  } catch {
    return null
  }
}

/** A word of the file; a map or a list is none. */
const word = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

function contractOf(lines: Record<string, unknown>, { schemas, implementations }: YamlParts): Contract {
  const name = word(lines.name)
  const subject = `${name}@${word(lines.version)}`
  const implementation = Object.hasOwn(implementations, name) ? implementations[name] : undefined
  const problems = yamlProblems(lines, schemas)
  if (!implementation)
    problems.push(
      problem(
        'implementation_missing',
        '/name',
        'No implementation of this name was given.',
        `\`implementations: { '${name}': { commit: … } }\`.`,
      ),
    )
  if (problems.length > 0) throw definitionFault(subject, problems)

  const spec: Record<string, unknown> = {
    ...implementation,
    input: schemas[word(lines.input_schema)],
    effect: lines.side_effect_level,
  }
  if (lines.output_schema !== undefined) spec.output = schemas[word(lines.output_schema)]
  if (lines.approval !== undefined) spec.approval = APPROVALS[word(lines.approval)]
  for (const [line, key] of Object.entries(LINES)) if (lines[line] !== undefined) spec[key] = lines[line]
  // Every line is judged again by the rules of `tool`, which trust no type.
  return tool(subject, spec as unknown as ToolSpec<SchemaSource>)
}

function yamlProblems(lines: Record<string, unknown>, schemas: YamlParts['schemas']): Problem[] {
  const problems: Problem[] = []
  const say = (broken: boolean, ...rest: Parameters<typeof problem>) => broken && problems.push(problem(...rest))
  for (const line of Object.keys(lines)) {
    say(
      !Object.hasOwn(LINES, line) && !READ_HERE.includes(line),
      'line_unknown',
      `/${line}`,
      'A contract has no such line.',
      `remove \`${line}\` or correct its spelling.`,
    )
  }
  for (const line of ['input_schema', 'output_schema']) {
    const named = lines[line]
    const missing = named === undefined ? line === 'input_schema' : !Object.hasOwn(schemas, word(named))
    say(
      missing,
      'schema_unknown',
      `/${line}`,
      'No schema of this name was given.',
      `\`schemas: { ${word(named) || 'RefundRequest'}: … }\`.`,
    )
  }
  const read = lines.side_effect_level === 'read'
  say(
    lines.retry_policy !== undefined && lines.retry_policy !== 'no_automatic_retry',
    'retry_illegal',
    '/retry_policy',
    'A tool is never repeated automatically.',
    '`retry_policy: no_automatic_retry`.',
  )
  say(
    !read && lines.idempotency !== 'required',
    'idempotency_missing',
    '/idempotency',
    'An effect above `read` is idempotent.',
    '`idempotency: required`.',
  )
  say(
    read && !['required', 'none', undefined].includes(lines.idempotency as string | undefined),
    'idempotency_illegal',
    '/idempotency',
    'The line is not one of two.',
    '`idempotency: none`.',
  )
  say(
    lines.approval !== undefined && !Object.hasOwn(APPROVALS, word(lines.approval)),
    'approval_illegal',
    '/approval',
    'The approval is not known.',
    '`approval: required`.',
  )
  return problems
}
