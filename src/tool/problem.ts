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

/** Makes a definition. What its values throw when they are read is a fault of the definition, and told without their words. */
export function defined<T>(subject: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (Fault.is(error) && error.code === 'invalid_definition') throw error
    const cause = 'A line holds a value of another kind than it takes, or one that cannot be read.'
    throw definitionFault(subject, [
      problem(
        'unreadable',
        '',
        cause,
        'let the compiler name it, with `npx tsc --noEmit`; texts are whole characters.',
      ),
    ])
  }
}

/** One fault for all problems of one definition: an author mends them in one go. `subject` names it. */
export function definitionFault(subject: string, problems: readonly Problem[]): Fault {
  const lines = problems.map((p) => `${subject}: ${p.code} at ${p.path || '/'}: ${p.cause} Fix: ${p.fix}`)
  const errors = problems.map((p) => ({ path: p.path, message: `${p.code}: ${p.cause} Fix: ${p.fix}` }))
  return new Fault('invalid_definition', lines.join('\n'), { errors })
}

/** One rule, judged: whether it is broken, and what is said then. */
export type Rule = readonly [broken: boolean, code: string, path: string, cause: string, fix: string]
