/**
 * Names of tools (I2): exact, ASCII, and never so alike that a model or a person takes one for the other.
 *
 * A contract is called `group.verb`; a provider accepts [A-Za-z0-9_-]{1,64} only. The exposed name is a function of
 * the contract's name alone, so that it is the same on every machine and in every release.
 */
import { hashBytes } from '../kernel/canonical.ts'

/** Words of letters, digits, `_` and `-`, joined by dots; each starts with a letter. */
const LEGAL = /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$/
const EXPOSED_LENGTH = 64
/** 48 bits: a chance of 1 in 5 million for a collision among ten thousand names, and the registry refuses it then. */
const SUFFIX_LENGTH = 12

/** The longest name of a contract, in characters. */
export const NAME_LENGTH = 128

export const isLegalName = (name: string): boolean => name.length <= NAME_LENGTH && LEGAL.test(name)

/**
 * The name that the model sees. A dot becomes two underscores. A name that cannot be read back from that (illegal
 * characters, too long, double underscores of its own) ends in a hash of the original instead.
 */
export function exposedName(name: string): string {
  const plain = name.replaceAll('.', '__')
  if (isLegalName(name) && plain.length <= EXPOSED_LENGTH && plain.replaceAll('__', '.') === name) return plain
  const readable = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, EXPOSED_LENGTH - SUFFIX_LENGTH - 1)
  return `${readable}_${hashBytes(name).slice(0, SUFFIX_LENGTH)}`
}

/** Pairs that a reader confuses, after case is folded: I l 1 | 0 O | rn m | vv w | cl d. */
const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/[i1]/g, 'l'],
  [/0/g, 'o'],
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
]

/** Two names with one skeleton look alike. For registration only: a call is matched exactly or not at all. */
export function skeleton(name: string): string {
  return LOOK_ALIKES.reduce((text, [from, to]) => text.replaceAll(from, to), name.toLowerCase())
}

/** The first pair of names that are equal or look alike, or null. */
export function lookAlikes(names: readonly string[]): readonly [string, string] | null {
  const seen = new Map<string, string>()
  for (const name of names) {
    const shape = skeleton(name)
    const other = seen.get(shape)
    if (other !== undefined) return [other, name]
    seen.set(shape, name)
  }
  return null
}
