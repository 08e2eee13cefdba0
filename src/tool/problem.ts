/** What is wrong with a definition, and the line that mends it (I1). */
import { Fault } from '../kernel/fault.ts'

export interface Problem {
  /** Stable, for the documentation: `effect_without_commit`. */
  readonly code: string
  /** JSON pointer into the definition. */
  readonly path: string
  readonly cause: string
  /** What to write, as the author would write it. */
  readonly fix: string
}

export const problem = (code: string, path: string, cause: string, fix: string): Problem => ({ code, path, cause, fix })

/** One fault for all problems of one definition: an author mends them in one go. `subject` names it. */
export function definitionFault(subject: string, problems: readonly Problem[]): Fault {
  const lines = problems.map((p) => `${subject}: ${p.code} at ${p.path || '/'}: ${p.cause} Fix: ${p.fix}`)
  const errors = problems.map((p) => ({ path: p.path, message: `${p.code}: ${p.cause} Fix: ${p.fix}` }))
  return new Fault('invalid_definition', lines.join('\n'), { errors })
}
