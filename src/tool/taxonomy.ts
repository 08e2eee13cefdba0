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

export function readTaxonomy(errors: Taxonomy, effect: EffectLevel): { errors: Record<string, ErrorClass>; problems: Problem[] } {
  const known = wellKnown(effect)
  const read: Record<string, ErrorClass> = Object.create(null)
  const problems: Problem[] = []
  const listed = Array.isArray(errors) ? (errors as readonly string[]).map((code) => [code, undefined] as const) : Object.entries(errors)
  for (const [code, given] of listed) {
    const at = `/errors/${code}`
    const found = given ?? (Object.hasOwn(known, code) ? known[code] : undefined)
    if (!CODE.test(code)) problems.push(problem('error_code_illegal', at, 'An error code is lower case with underscores.', '`business_rejected`.'))
    else if (!found) {
      const fix = `\`errors: { ${code}: { kind: 'business_rejected', reaction: 'replan' } }\`.`
      problems.push(problem('error_without_class', at, 'This code is not well known, so its kind and reaction must be said.', fix))
    } else if (!KINDS.has(found.kind) || !REACTIONS.has(found.reaction)) {
      problems.push(problem('error_class_illegal', at, 'The kind or the reaction does not exist.', "`{ kind: 'business_rejected', reaction: 'replan' }`."))
    } else read[code] = Object.freeze({ kind: found.kind, reaction: found.reaction })
  }
  return { errors: Object.freeze(read), problems }
}
