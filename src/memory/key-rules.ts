/** What is wrong with a key of memory (E3), one rule per entry, and the line that mends it. */
import { type Problem, problem, type Rule } from '../tool/problem.ts'
import type { KeySpec } from './key-spec.ts'
import { KINDS, MOST_SPECIAL_DAYS, SHARED } from './kinds.ts'

/** Lower-case words, `_` inside them and dots between: `answer_language`, `orders.last_address`. */
const NAME = /^[a-z][a-z0-9_]{0,63}(\.[a-z0-9][a-z0-9_]{0,63}){0,4}$/
const NAME_LENGTH = 128
const READER = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/
/** A sentence that a person reads before saying yes. */
const PURPOSE_LENGTH = { least: 8, most: 200 }
const MOST_DAYS = 3_650
/** One success is no rule (E1), and nobody waits for a hundred. */
const MOST_RUNS = 100

/** Every line: the values it takes, or the type of its value. */
const LINES: Readonly<Record<keyof KeySpec, string | readonly string[]>> = {
  kind: Object.keys(KINDS),
  value: 'object',
  cardinality: ['one', 'many'],
  purpose: 'string',
  impact: ['low', 'high'],
  sources: 'list',
  scopes: 'list',
  sensitivity: ['none', 'personal', 'special'],
  ttlDays: 'days',
  maxTtlDays: 'days',
  confirm: ['auto', 'ask'],
  deletion: ['on_request', 'with_source'],
  authority: 'string',
  consolidates: 'growth',
}

/** Lines that do not exist or hold something else than they take. With one of these, no other rule can be judged. */
export function keyLineProblems(name: string, spec: unknown): Problem[] {
  if (typeof spec !== 'object' || spec === null)
    return [problem('key_not_an_object', `/${name}`, 'A key is an object.', `\`${name}: { kind: 'preference', … }\`.`)]
  const given = Object.entries(spec).filter(([, value]) => value !== undefined)
  const strange = given.flatMap(([line, value]: [string, unknown]): Problem[] => {
    const at = `/${name}/${line}`
    if (!Object.hasOwn(LINES, line))
      return [problem('line_unknown', at, 'A key has no such line.', `remove \`${line}\` or correct its spelling.`)]
    const takes = LINES[line as keyof KeySpec]
    return isTaken(takes, value)
      ? []
      : [problem('line_illegal', at, `The line takes ${told(takes)}.`, `\`${line}: …\`.`)]
  })
  const missing = (['kind', 'value'] as const).filter((line) => !given.some(([known]) => known === line))
  return [
    ...strange,
    ...missing.map((line) =>
      problem(
        'line_missing',
        `/${name}/${line}`,
        `A key has a ${line}.`,
        line === 'kind' ? "`kind: 'preference'`, `'fact'`, `'task'` or `'experience'`." : "`value: z.enum(['en'])`.",
      ),
    ),
  ]
}

function isTaken(takes: string | readonly string[], value: unknown): boolean {
  if (typeof takes !== 'string') return takes.includes(value as string)
  switch (takes) {
    case 'days':
      return value === null || (Number.isInteger(value) && (value as number) > 0 && (value as number) <= MOST_DAYS)
    case 'list':
      return Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')
    case 'growth':
      return isGrowth(value)
    case 'object':
      return (typeof value === 'object' && value !== null) || typeof value === 'function'
    default:
      return typeof value === takes
  }
}

function isGrowth(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { from, atLeast = MOST_RUNS, ...rest } = value as Record<string, unknown>
  const runs = Number.isInteger(atLeast) && (atLeast as number) >= 2 && (atLeast as number) <= MOST_RUNS
  return typeof from === 'string' && runs && Object.keys(rest).length === 0
}

const told = (takes: string | readonly string[]): string =>
  typeof takes !== 'string'
    ? takes.map((word) => `'${word}'`).join(' or ')
    : ({
        days: `whole days from 1 to ${MOST_DAYS}, or null`,
        list: 'a list of words',
        growth: `\`{ from: 'key', atLeast: n }\` with 2 to ${MOST_RUNS} runs`,
      }[takes] ?? `a value of type ${takes}`)

/** The lines are of the right types by now. */
export function keyProblems(name: string, spec: KeySpec): Problem[] {
  const at = (line: string): string => `/${name}/${line}`
  const rules: Rule[] = [
    ...nameRules(name, spec),
    ...scopeRules(at, spec),
    ...timeRules(at, spec),
    ...consentRules(at, spec),
  ]
  return rules.filter(([broken]) => broken).map(([, ...rest]) => problem(...rest))
}

function nameRules(name: string, spec: KeySpec): Rule[] {
  const words = spec.purpose?.trim().length ?? PURPOSE_LENGTH.least
  return [
    [
      !NAME.test(name) || name.length > NAME_LENGTH,
      'name_illegal',
      `/${name}`,
      'A key is lower-case words of letters, digits and `_`, joined by dots.',
      '`answer_language: { … }`.',
    ],
    [
      words < PURPOSE_LENGTH.least || words > PURPOSE_LENGTH.most,
      'purpose_illegal',
      `/${name}/purpose`,
      'A purpose is a sentence of 8 to 200 characters: the person who is asked reads it.',
      "`purpose: 'To answer in your language.'`.",
    ],
    [
      spec.authority !== undefined && !READER.test(spec.authority),
      'authority_illegal',
      `/${name}/authority`,
      'An authority is the name of a reader.',
      "`authority: 'orders.address'`.",
    ],
  ]
}

/** A kind gives the most; what a key names beyond it would loosen the kind. */
function scopeRules(at: (line: string) => string, spec: KeySpec): Rule[] {
  const kind = KINDS[spec.kind]
  const beyond = (named: readonly string[] | undefined, most: readonly string[]) =>
    (named ?? []).filter((word) => !most.includes(word))
  const scopes = beyond(spec.scopes, kind.mostScopes)
  const sources = beyond(spec.sources, kind.mostSources)
  const shared = (spec.scopes ?? kind.scopes).filter((scope) => SHARED.has(scope))
  return [
    [
      scopes.length > 0,
      'scope_loosened',
      at('scopes'),
      `A ${spec.kind} is never kept in ${scopes.join(', ')}.`,
      `\`scopes: ['${kind.mostScopes.join("', '")}']\`, or fewer.`,
    ],
    [
      sources.length > 0,
      'source_loosened',
      at('sources'),
      `A ${spec.kind} is never taken from ${sources.join(', ')}.`,
      `\`sources: ['${kind.mostSources.join("', '")}']\`, or fewer.`,
    ],
    [
      shared.length > 0 && spec.sensitivity !== undefined && spec.sensitivity !== 'none',
      'personal_in_shared_scope',
      at('scopes'),
      `What is personal does not stand in ${shared.join(', ')}, where others read it.`,
      "`scopes: ['user']`, or `sensitivity: 'none'`.",
    ],
    [
      spec.authority !== undefined && !(spec.sources ?? kind.mostSources).includes('authority'),
      'authority_not_a_source',
      at('sources'),
      'The authority is named, but its value is not taken.',
      kind.mostSources.includes('authority')
        ? "`sources: ['authority', …]`."
        : "`kind: 'fact'`, or remove `authority`.",
    ],
    [
      spec.consolidates !== undefined && !(spec.sources ?? kind.mostSources).includes('memory'),
      'consolidates_not_a_source',
      at('sources'),
      'It grows from memories, which it does not take.',
      kind.mostSources.includes('memory') ? "`sources: ['memory', …]`." : "`kind: 'fact'` or `'experience'`.",
    ],
    [
      spec.authority === undefined && (spec.sources ?? []).includes('authority'),
      'authority_missing',
      at('authority'),
      'The key takes the word of an authority and names none.',
      "`authority: 'orders.address'`.",
    ],
  ]
}

function timeRules(at: (line: string) => string, spec: KeySpec): Rule[] {
  const kind = KINDS[spec.kind]
  const special = spec.sensitivity === 'special'
  const most = spec.maxTtlDays ?? kind.maxTtlDays
  const endless = spec.ttlDays === null || spec.maxTtlDays === null
  return [
    [
      endless && (kind.maxTtlDays !== null || (spec.ttlDays === null && most !== null)),
      'endless',
      at('ttlDays'),
      kind.maxTtlDays === null ? 'It has a maximum, so it has an end.' : `A ${spec.kind} is temporary and has an end.`,
      `\`ttlDays: ${Math.min(kind.ttlDays, most ?? kind.ttlDays)}\`.`,
    ],
    [
      kind.maxTtlDays !== null && (spec.maxTtlDays ?? 0) > kind.maxTtlDays,
      'retention_loosened',
      at('maxTtlDays'),
      `A ${spec.kind} is kept for ${kind.maxTtlDays} days at most.`,
      `\`maxTtlDays: ${kind.maxTtlDays}\`, or fewer.`,
    ],
    [
      most !== null && (spec.ttlDays ?? 0) > most,
      'retention_above_maximum',
      at('ttlDays'),
      `It would be kept for longer than the maximum of ${most} days.`,
      `\`ttlDays: ${most}\`, or fewer.`,
    ],
    [
      special && (endless || Math.max(spec.ttlDays ?? 0, spec.maxTtlDays ?? 0) > MOST_SPECIAL_DAYS),
      'special_kept_too_long',
      at('maxTtlDays'),
      `Special categories are kept for ${MOST_SPECIAL_DAYS} days at most, and asked for again.`,
      `\`ttlDays: ${MOST_SPECIAL_DAYS}, maxTtlDays: ${MOST_SPECIAL_DAYS}\`.`,
    ],
  ]
}

function consentRules(at: (line: string) => string, spec: KeySpec): Rule[] {
  const kind = KINDS[spec.kind]
  return [
    [
      spec.confirm === 'auto' && (kind.confirm === 'ask' || spec.impact === 'high' || spec.sensitivity === 'special'),
      'confirm_loosened',
      at('confirm'),
      'The kind, the impact or the sensitivity asks a person.',
      "`confirm: 'ask'`, or remove the line.",
    ],
    [
      spec.deletion === 'on_request' && kind.deletion === 'with_source',
      'deletion_loosened',
      at('deletion'),
      `A ${spec.kind} goes with what it was taken from.`,
      "`deletion: 'with_source'`, or remove the line.",
    ],
  ]
}

/** Two names that read alike: case is one already, so what is left are `1 l`, `0 o` and the place of dots and lines. */
export function looseLookAlikes(names: readonly string[]): Problem[] {
  const seen = new Map<string, string>()
  return names.flatMap((name) => {
    const shape = name.replaceAll('1', 'l').replaceAll('0', 'o').replaceAll(/[._]/g, '')
    const other = seen.get(shape)
    seen.set(shape, name)
    if (other === undefined) return []
    return [problem('name_collision', `/${name}`, `"${other}" and "${name}" look alike.`, 'rename one of them.')]
  })
}
