/** What is wrong between a key that consolidates and the key that it grows from (E12). */
import { type Problem, problem, type Rule } from '../tool/problem.ts'
import type { Place, Sensitivity } from './kinds.ts'

/** A key, as far as it matters here. */
interface Growing {
  readonly name: string
  readonly scopes: readonly Place[]
  readonly sensitivity: Sensitivity
  readonly consolidates: { readonly from: string } | null
}

const SENSITIVE: readonly Sensitivity[] = ['none', 'personal', 'special']

/** Of keys that are right by themselves. */
export const consolidationProblems = (keys: readonly Growing[]): readonly Problem[] =>
  keys.flatMap((key) => {
    if (key.consolidates === null) return []
    const { from } = key.consolidates
    const source = keys.find((one) => one.name === from)
    return rulesOf(key, source)
      .filter(([broken]) => broken)
      .map(([, ...rest]) => problem(...rest))
      .slice(0, 1)
  })

function rulesOf({ name, scopes, sensitivity }: Growing, source: Growing | undefined): Rule[] {
  const at = `/${name}/consolidates`
  const lower = source && SENSITIVE.indexOf(sensitivity) < SENSITIVE.indexOf(source.sensitivity)
  return [
    [
      !source,
      'consolidates_unknown',
      at,
      'It grows from a key that is not registered here.',
      'register both together.',
    ],
    [
      source !== undefined && (source.consolidates !== null || source.name === name),
      'consolidates_consolidated',
      at,
      'It grows from what has grown itself.',
      'name the key of the episodes.',
    ],
    [
      source !== undefined && !source.scopes.some((scope) => scopes.includes(scope)),
      'consolidates_nowhere',
      at,
      'The two keys have no scope in common, and nothing moves from one place to another.',
      `\`scopes: ['${source?.scopes.join("', '") ?? ''}']\`, or fewer.`,
    ],
    [
      lower === true,
      'consolidates_loosened',
      at,
      'It would be less sensitive than what it grows from.',
      `\`sensitivity: '${source?.sensitivity ?? ''}'\`.`,
    ],
  ]
}
