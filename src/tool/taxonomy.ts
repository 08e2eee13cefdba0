/** The errors that a tool declares, each with its kind and the reaction of the loop (I1). */
import { FAULTS, type FaultKind, type Reaction } from '../kernel/fault.ts'
import type { EffectLevel, ErrorClass } from './contract.ts'
import { type Problem, problem } from './problem.ts'

/** A list of well-known codes, or each code with its class. */
export type Taxonomy = readonly string[] | { readonly [code: string]: ErrorClass }

const KINDS: ReadonlySet<string> = new Set(Object.values(FAULTS).map((row) => row.kind))
const REACTIONS: ReadonlySet<string> = new Set<Reaction>(['retry', 'fix_arguments', 'replan', 'stop'])
const CODE = /^[a-z][a-z0-9_]{0,63}$/

const entry = (kind: FaultKind, reaction: Reaction): ErrorClass => Object.freeze({ kind, reaction })

/** A timeout of the provider says nothing about an effect, and only delays a read. */
const wellKnown = (effect: EffectLevel): Readonly<Record<string, ErrorClass>> => ({
  validation_error: entry('validation', 'fix_arguments'),
  permission_denied: entry('permission_denied', 'replan'),
  not_found: entry('not_found', 'replan'),
  conflict: entry('conflict', 'replan'),
  business_rejected: entry('business_rejected', 'replan'),
  rate_limited: entry('rate_limited', 'retry'),
  provider_unavailable: entry('unavailable', 'replan'),
  provider_timeout: effect === 'read' ? entry('transient', 'retry') : entry('unknown_outcome', 'stop'),
})

/** Kinds that leave open whether an effect happened: thrown by a commit, they are an unknown outcome (J4). */
const OPEN_KINDS: ReadonlySet<FaultKind> = new Set<FaultKind>(['transient', 'unknown_outcome', 'unclassified'])
export const leavesOpen = (error: ErrorClass): boolean => OPEN_KINDS.has(error.kind)

export interface TaxonomyRead {
  readonly errors: Readonly<Record<string, ErrorClass>>
  readonly problems: readonly Problem[]
}

export function readTaxonomy(taxonomy: Taxonomy, effect: EffectLevel): TaxonomyRead {
  const known = wellKnown(effect)
  const listed = Array.isArray(taxonomy)
  const errors = Object.create(null) as Record<string, ErrorClass>
  const problems: Problem[] = []
  for (const [key, given] of Object.entries<unknown>(taxonomy as Record<string, unknown>)) {
    const code = listed ? String(given) : key
    const found = listed ? (Object.hasOwn(known, code) ? known[code] : undefined) : (given as ErrorClass | undefined)
    const broken = codeProblem(code, found)
    if (broken) problems.push(broken)
    else if (found) errors[code] = entry(found.kind, found.reaction)
  }
  return { errors: Object.freeze(errors), problems }
}

function codeProblem(code: string, found: ErrorClass | undefined): Problem | null {
  const at = `/errors/${code}`
  if (!CODE.test(code)) {
    return problem('error_code_illegal', at, 'An error code is lower case with underscores.', '`business_rejected`.')
  }
  const fix = `\`errors: { ${code}: { kind: 'business_rejected', reaction: 'replan' } }\`.`
  if (!found) {
    return problem(
      'error_without_class',
      at,
      'This code is not well known, so its kind and reaction must be said.',
      fix,
    )
  }
  const legal = KINDS.has(found.kind) && REACTIONS.has(found.reaction)
  return legal ? null : problem('error_class_illegal', at, 'The kind or the reaction does not exist.', fix)
}
