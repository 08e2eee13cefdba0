/** The consistency rules of a contract (I1), one per entry: when it is broken, and the line that mends it. */
import type { JsonObject } from '../kernel/json.ts'
import { boundRules } from './bounds.ts'
import { harshWord, parameterProblems } from './danger.ts'
import { isLegalName } from './names.ts'
import { type Problem, problem, type Rule } from './problem.ts'
import type { ToolSpec } from './spec.ts'
import type { SchemaSource } from './schema/standard.ts'

type Spec = ToolSpec<SchemaSource>

/** Every line, with the type that its value has in JavaScript. YAML and plain JavaScript have no compiler. */
const LINES: Readonly<Record<keyof Spec, string>> = {
  description: 'string',
  input: 'object',
  output: 'object',
  effect: 'string',
  params: 'object',
  approval: 'string',
  permission: 'string',
  hosts: 'object',
  timeoutMs: 'number',
  unknown: 'string',
  confirmationMs: 'number',
  maxResultBytes: 'number',
  page: 'object',
  after: 'function',
  concurrency: 'number',
  maxRawBytes: 'number',
  credentials: 'object',
  folder: 'boolean',
  rate: 'object',
  retry: 'string or object',
  breaker: 'object',
  errors: 'object',
  ends: 'string',
  compensates: 'string',
  which: 'function',
  acknowledge: 'string',
  waiver: 'object',
  authorize: 'function',
  run: 'function',
  plan: 'function',
  resourceVersion: 'function',
  commit: 'function',
  probe: 'function',
  resume: 'function',
}
const ROLES: ReadonlySet<string> = new Set(['identity', 'amount', 'content', 'selector'])
/** A permission that is granted, never a pattern. */
const PERMISSION = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/
const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
/** Lines that do not exist or have the wrong type. With one of these, no other rule can be judged. */
export function lineProblems(spec: object): Problem[] {
  return Object.entries(spec).flatMap(([line, value]: [string, unknown]) => {
    if (!Object.hasOwn(LINES, line))
      return [
        problem(
          'line_unknown',
          `/${line}`,
          'A contract has no such line.',
          `remove \`${line}\` or correct its spelling.`,
        ),
      ]
    const type = LINES[line as keyof Spec]
    // A schema of a library may be callable.
    if (
      value === undefined ||
      (value !== null && type.split(' or ').includes(typeof value)) ||
      (type === 'object' && typeof value === 'function')
    )
      return []
    return [
      problem(
        'line_type',
        `/${line}`,
        `The value is not of type ${type}.`,
        `write a value of type ${type}, or remove \`${line}\`.`,
      ),
    ]
  })
}

/** The rules read lines and never call the implementation, so the type of its input does not matter here. */
export function ruleProblems<S extends SchemaSource>(
  name: string,
  version: number,
  spec: ToolSpec<S>,
  schema: JsonObject,
): Problem[] {
  const s = spec as unknown as Spec
  const rules: Rule[] = [
    ...shapeRules(name, version, s),
    ...(s.effect === 'read' ? readRules(s) : effectRules(s)),
    ...nameRules(name, s),
    ...boundRules(s),
    ...fieldRules(s, schema),
  ]
  const broken = rules.filter(([isBroken]) => isBroken).map(([, ...rest]) => problem(...rest))
  return [...broken, ...parameterProblems(schema, s.waiver ?? null)]
}

const shapeRules = (name: string, version: number, s: Spec): Rule[] => [
  [
    !isLegalName(name),
    'name_illegal',
    '/name',
    'A name is ASCII words of letters, digits, `_` and `-`, joined by dots.',
    "`tool('orders.refund@1', …)`.",
  ],
  [
    !Number.isSafeInteger(version) || version < 1,
    'version_illegal',
    '/version',
    'A version is a whole number from 1.',
    '`version: 1`.',
  ],
  [
    s.input === undefined,
    'input_missing',
    '/input',
    'The parameters are not declared.',
    '`input: z.strictObject({})`.',
  ],
  [
    !['read', 'write', 'irreversible'].includes(s.effect),
    'effect_illegal',
    '/effect',
    'The effect level is not one of three.',
    "`effect: 'read'`, `'write'` or `'irreversible'`.",
  ],
  [
    !PERMISSION.test(s.permission ?? name),
    'permission_illegal',
    '/permission',
    'A permission is an exact name without a star.',
    `\`permission: '${isLegalName(name) ? name : 'orders.refund'}'\`.`,
  ],
]

const readRules = (s: Spec): Rule[] => [
  [!s.run, 'read_without_run', '/run', 'A read has nothing to run.', '`run: (input, cx) => …`.'],
  [
    !!s.commit,
    'read_with_commit',
    '/commit',
    'A read changes nothing, so it has no commit.',
    "`effect: 'write'`, or rename `commit` to `run`.",
  ],
  [
    !!s.probe || s.unknown !== undefined,
    'read_with_unknown',
    '/unknown',
    'A read can be repeated, so its outcome is never unknown.',
    'remove `probe` and `unknown`.',
  ],
]

const effectRules = (s: Spec): Rule[] => [
  [
    !!s.run,
    'effect_with_run',
    '/run',
    '`run` is for reads; an effect is planned, confirmed and committed.',
    'rename `run` to `commit`.',
  ],
  [
    !s.commit,
    'effect_without_commit',
    '/commit',
    'An effect above `read` has no commit.',
    '`commit: (input, cx) => …`, passing `cx.effectKey` to the provider.',
  ],
  [
    !s.probe && s.unknown === undefined,
    'effect_without_unknown',
    '/unknown',
    'Nothing says how an unknown outcome is resolved.',
    "`probe: (cx) => …`, `unknown: 'key'` when the provider deduplicates by `cx.effectKey`, or `unknown: 'manual'`.",
  ],
  [
    s.unknown === 'probe' && !s.probe,
    'probe_missing',
    '/probe',
    '`unknown` names a probe that is not there.',
    '`probe: (cx) => …`.',
  ],
  [
    s.unknown === 'manual' && !!s.probe,
    'probe_unused',
    '/unknown',
    'There is a probe, but an operator is asked to decide.',
    "`unknown: 'probe'`.",
  ],
  [
    s.unknown !== undefined && !['key', 'probe', 'manual'].includes(s.unknown),
    'unknown_illegal',
    '/unknown',
    '`unknown` is not one of three.',
    "`unknown: 'manual'`.",
  ],
  [
    s.approval === 'auto' && s.effect === 'irreversible',
    'irreversible_auto',
    '/approval',
    'What cannot be undone is never automatic.',
    "`approval: 'confirm'`, or remove the line.",
  ],
]

function nameRules(name: string, s: Spec): Rule[] {
  const word = harshWord(name, s.effect)
  const said = s.acknowledge?.trim() ?? ''
  return [
    [
      word !== undefined && said.length < 10,
      'name_sounds_irreversible',
      '/effect',
      `The name says "${word}", but the level is below \`irreversible\`.`,
      s.effect === 'read'
        ? "`effect: 'irreversible'`; a verb that looks (`get_…`, `list_…`, `check_…`) if it only reads; or `acknowledge: 'why it changes nothing'` (10 characters or more)."
        : "`effect: 'irreversible'`, or `acknowledge: 'why it can be undone'` (10 characters or more).",
    ],
    [
      word === undefined && s.acknowledge !== undefined,
      'nothing_to_acknowledge',
      '/acknowledge',
      'There is no warning to acknowledge.',
      'remove `acknowledge`.',
    ],
    [
      s.approval !== undefined && !['auto', 'confirm'].includes(s.approval),
      'approval_illegal',
      '/approval',
      'The approval is not one of two.',
      "`approval: 'confirm'`.",
    ],
    [
      s.ends !== undefined && s.ends !== 'handed_over',
      'ends_illegal',
      '/ends',
      'A tool ends a run only by handing it over.',
      "`ends: 'handed_over'`.",
    ],
  ]
}

function fieldRules(s: Spec, schema: JsonObject): Rule[] {
  const properties = typeof schema.properties === 'object' && schema.properties !== null ? schema.properties : {}
  const declared = (field: string): boolean => Object.hasOwn(properties, field)
  const roles = Object.entries(s.params ?? {}).flatMap(([field, role]): Rule[] => [
    [
      !declared(field),
      'param_unknown',
      `/params/${field}`,
      'The input has no such field.',
      `remove it, or add \`${field}\` to \`input\`.`,
    ],
    [
      !ROLES.has(role),
      'role_illegal',
      `/params/${field}`,
      'The role is not one of four.',
      "`'identity'`, `'amount'`, `'content'` or `'selector'`.",
    ],
  ])
  const names: unknown = s.breaker?.ignore ?? []
  const ignored = (Array.isArray(names) ? names.map(String) : ['ignore']).map(
    (field): Rule => [
      !declared(field),
      'ignore_unknown',
      '/breaker/ignore',
      'The input has no such field.',
      `remove \`${field}\`.`,
    ],
  )
  const w = s.waiver
  const waived: Rule[] = [
    [
      w !== undefined && !Array.isArray(w.parameters),
      'waiver_without_parameters',
      '/waiver/parameters',
      'A waiver names its parameters.',
      "`parameters: ['url']`.",
    ],
    [
      w !== undefined && !DAY.test(w.until),
      'waiver_undated',
      '/waiver/until',
      'A waiver has a last day.',
      "`until: '2027-06-30'`.",
    ],
    [
      w !== undefined && (typeof w.reason !== 'string' || w.reason.trim().length < 10),
      'waiver_without_reason',
      '/waiver/reason',
      'A waiver says why, in 10 characters or more.',
      "`reason: 'only hosts of the intranet, see …'`.",
    ],
  ]
  return [...roles, ...ignored, ...waived]
}
