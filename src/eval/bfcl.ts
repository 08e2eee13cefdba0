/**
 * The function-calling corpus against the contracts: what becomes of each schema, of each gold call, and of each gold
 * call with a field that nobody declared.
 */
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import { readArguments } from '../tool/arguments.ts'
import type { Contract } from '../tool/contract.ts'
import { tool } from '../tool/define.ts'
import { fromBfcl } from '../tool/schema/foreign.ts'

export interface Corpus {
  readonly schemas: readonly { readonly name: string; readonly parameters: unknown }[]
  readonly items: readonly {
    readonly id: string
    /** Indexes into `schemas`. */
    readonly functions: readonly number[]
    readonly gold: readonly { readonly name: string; readonly arguments: Json }[]
  }[]
}

/** How many, by reason; for a refusal also where each was met. */
export type Tally = Readonly<Record<string, number>>

export interface BfclReport {
  readonly schemas: {
    readonly total: number
    readonly accepted: number
    readonly waived: number
    readonly refused: Tally
  }
  readonly gold: { readonly total: number; readonly accepted: number; readonly refused: Tally }
  readonly mutants: { readonly total: number; readonly refused: number }
  /** One line per refusal: the function or the call, the reasons and the places. */
  readonly lines: readonly string[]
}

interface Verdict {
  readonly contract: Contract | null
  readonly waived: boolean
  /** `code path`, each. */
  readonly problems: readonly string[]
}

export function judgeCorpus({ schemas, items }: Corpus): BfclReport {
  const lines: string[] = []
  const verdicts = schemas.map(({ name, parameters }) => contractOf(name, parameters))
  const refused: Record<string, number> = {}
  const gold: Record<string, number> = {}
  const mutants = { total: 0, refused: 0 }
  let accepted = 0
  const count = (tally: Record<string, number>, reason: string) => (tally[reason] = (tally[reason] ?? 0) + 1)
  verdicts.forEach((v, i) => {
    if (v.contract) return tryMutant(mutants, v.contract, { [EXTRA]: true }, `/${EXTRA}`)
    for (const code of new Set(v.problems.map(codeOf))) count(refused, code)
    lines.push(`${JSON.stringify(schemas[i]?.name)}: ${v.problems.join(', ')}`)
  })
  const calls = items.flatMap(({ id, functions, gold: all }) => all.map((call) => ({ id, functions, call })))
  for (const { id, functions, call } of calls) {
    const verdict = functions.flatMap((i) => (schemas[i]?.name === call.name ? (verdicts[i] ?? []) : []))[0]
    const reasons = verdict ? reasonsAgainst(verdict, call.arguments) : ['unknown_tool']
    if (reasons.length === 0) accepted++
    else lines.push(`${id} ${JSON.stringify(call.name)}: ${reasons.join(', ')}`)
    for (const reason of new Set(reasons.map(codeOf))) count(gold, reason)
    if (reasons.length > 0 || !verdict?.contract) continue
    for (const [mutant, at] of mutantsOf(call.arguments, verdict.contract.inputSchema, ''))
      tryMutant(mutants, verdict.contract, mutant, at)
  }
  return {
    schemas: {
      total: schemas.length,
      accepted: verdicts.filter((v) => v.contract && !v.waived).length,
      waived: verdicts.filter((v) => v.contract && v.waived).length,
      refused,
    },
    gold: { total: calls.length, accepted, refused: gold },
    mutants,
    lines,
  }
}

const codeOf = (problem: string): string => problem.split(' ')[0] ?? problem

/** As the most dangerous of tools. Free texts of code or addresses get the waiver that an operator would have to sign. */
function contractOf(name: string, parameters: unknown): Verdict {
  const first = attempt(name, parameters, [])
  const free = first.problems.filter((p) => codeOf(p) === 'free_code_parameter')
  if (first.contract || free.length < first.problems.length) return first
  return {
    ...attempt(
      name,
      parameters,
      free.map((p) => p.slice(p.lastIndexOf('/') + 1)),
    ),
    waived: true,
  }
}

function attempt(name: string, parameters: unknown, waived: readonly string[]): Verdict {
  try {
    const contract = tool(`${name}@1`, {
      input: fromBfcl(parameters),
      effect: 'irreversible',
      unknown: 'manual',
      commit: () => null,
      ...(waived.length > 0 && {
        waiver: { parameters: waived, reason: 'measured, never called', until: '2099-12-31' },
      }),
    })
    return { contract, waived: false, problems: [] }
  } catch (error) {
    if (!Fault.is(error)) throw error
    const problems = error.errors.map((e) => `${codeOf(e.message).replace(':', '')} ${e.path}`)
    return { contract: null, waived: false, problems }
  }
}

/** None when the call is accepted. */
function reasonsAgainst({ contract, problems }: Verdict, given: Json): readonly string[] {
  if (!contract) return problems.map((p) => `schema:${p}`)
  const read = readArguments(contract, JSON.stringify(given), { tenant: 'corpus' })
  return read.ok ? [] : read.errors.map((e) => `${ruleOf(e.message)} ${e.path}`)
}

/** The rule that an error names, in one word and without its list. */
const ruleOf = (message: string): string => message.replace(/ \[.*$/s, '').replaceAll(' ', '_')

const EXTRA = 'undeclared_field'

function tryMutant(mutants: { total: number; refused: number }, contract: Contract, mutant: Json, at: string): void {
  mutants.total++
  const read = readArguments(contract, JSON.stringify(mutant), { tenant: 'corpus' })
  if (!read.ok && read.errors.some((e) => e.path === at)) mutants.refused++
}

/** The value with one field too many, at the root and in every object below that declares its fields. */
function* mutantsOf(value: Json, schema: Json | undefined, at: string): Generator<[Json, string]> {
  if (!isMap(schema)) return
  if (Array.isArray(value)) {
    const list = value as readonly Json[]
    for (const [i, member] of list.entries())
      for (const [mutant, path] of mutantsOf(member, schema.items, `${at}/${i}`)) yield [list.with(i, mutant), path]
  } else if (isMap(value) && isMap(schema.properties)) {
    yield [{ ...value, [EXTRA]: true }, `${at}/${EXTRA}`]
    for (const [key, member] of Object.entries(value))
      for (const [mutant, path] of mutantsOf(member, schema.properties[key], `${at}/${key}`))
        yield [{ ...value, [key]: mutant }, path]
  }
}

const isMap = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
