/** Keys written as YAML (E3): the promise in a file that operators and reviewers of privacy read. */
import { parseDocument } from 'yaml'
import { defined, definitionFault, problem } from '../tool/problem.ts'
import type { SchemaSource } from '../tool/schema/standard.ts'
import type { KeySpec } from './key-spec.ts'
import { memory, type MemoryKeys } from './key.ts'

/** A line of the file, and the line of code that it stands for. `value` is a JSON Schema or the name of one. */
const LINES: Readonly<Record<string, keyof KeySpec>> = {
  kind: 'kind',
  value: 'value',
  cardinality: 'cardinality',
  purpose: 'purpose',
  impact: 'impact',
  sources: 'sources',
  scopes: 'scopes',
  sensitivity: 'sensitivity',
  ttl_days: 'ttlDays',
  max_ttl_days: 'maxTtlDays',
  confirm: 'confirm',
  deletion: 'deletion',
  authority: 'authority',
  consolidates: 'consolidates',
}

/**
 * One map of keys. `schemas` are what a `value` refers to by name.
 * @throws `invalid_definition`
 */
export const memoryFromYaml = (text: string, schemas: { readonly [name: string]: SchemaSource } = {}): MemoryKeys =>
  defined('memory', () => {
    const document = parseDocument(text, { uniqueKeys: true, strict: true })
    const broken = document.errors[0]
    if (broken) throw invalid(`${broken.message}.`, 'correct the named line.')
    const keys: unknown = withoutAliases(() => document.toJS({ maxAliasCount: 0 }))
    if (!isMap(keys)) throw invalid('The file is a map of keys without aliases.', '`answer_language: { kind: … }`.')
    const specs = Object.entries(keys).map(([name, lines]) => [name, specOf(name, lines, schemas)] as const)
    // Every line is judged again by the rules of `memory`, which trust no type.
    return memory(Object.fromEntries(specs) as Record<string, KeySpec>)
  })

const invalid = (cause: string, fix: string) => definitionFault('memory', [problem('yaml_invalid', '', cause, fix)])

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Null for a file with aliases: a key repeats nothing, and a bomb is made of them. */
function withoutAliases(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return null
  }
}

function specOf(name: string, lines: unknown, schemas: { readonly [name: string]: SchemaSource }): unknown {
  if (!isMap(lines)) return lines
  const unknown = Object.keys(lines).filter((line) => !Object.hasOwn(LINES, line))
  const named = lines.value
  const problems = unknown.map((line) =>
    problem(
      'line_unknown',
      `/${name}/${line}`,
      'A key has no such line.',
      `remove \`${line}\` or correct its spelling.`,
    ),
  )
  if (typeof named === 'string' && !Object.hasOwn(schemas, named))
    problems.push(
      problem('schema_unknown', `/${name}/value`, 'No schema of this name was given.', '`schemas: { Language: … }`.'),
    )
  if (problems.length > 0) throw definitionFault('memory', problems)
  return Object.fromEntries(Object.entries(lines).map(([line, value]) => [LINES[line], valueOf(line, value, schemas)]))
}

function valueOf(line: string, value: unknown, schemas: { readonly [name: string]: SchemaSource }): unknown {
  if (line === 'value' && typeof value === 'string') return schemas[value]
  if (line !== 'consolidates' || !isMap(value)) return value
  return Object.fromEntries(
    // `atLeast` stays a strange line of the file
    Object.entries(value).map(([name, of]) => [{ at_least: 'atLeast', atLeast: 'at_least' }[name] ?? name, of]),
  )
}
