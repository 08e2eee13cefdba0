/** Words that are run together, and words whose letters were stirred. */
import type { Folded } from './fold.ts'

const SQUEEZED =
  /(?:ignore|disregard|forget|override|bypass)(?:all|any|the|my|your|of|these|every|each){0,4}(?:previous|prior|earlier|above|preceding|system|safety|existing|original|past|initial)(?:and|system|safety|given|prior|all|previous){0,2}(?:instruction|rule|prompt|directive|guideline|command|order|restriction|polic|guardrail)|(?:reveal|leak|dump|print|show|output|expose|repeat)(?:me|us|the|your|all|full|entire|hidden|its){0,4}systemprompt|youarenow(?:dan|unrestricted|indevelopermode|jailbroken|root|admin)|doanythingnow|(?:developer|god|jailbreak|dan)mode(?:activated|enabled|on(?![a-z])|unlocked)/

/** An order of one word: separators were taken out, or never there. */
export const squeezed = (text: string): boolean => {
  const together = text.replaceAll(/[^a-z]/g, '')
  return (
    SQUEEZED.test(together) &&
    !/(?:never|not|dont|to|howto|prevent|against)(?:ignore|disregard|forget|override|bypass|reveal|leak|dump)/.test(
      together,
    )
  )
}

const KNOWN = [
  'ignore',
  'ignoring',
  'disregard',
  'forget',
  'override',
  'bypass',
  'previous',
  'prior',
  'earlier',
  'preceding',
  'instructions',
  'instruction',
  'directives',
  'guidelines',
  'restrictions',
  'system',
  'prompt',
  'prompts',
  'reveal',
  'password',
  'passwords',
  'credentials',
  'secrets',
  'safety',
  'rules',
  'unrestricted',
  'developer',
  'approval',
  'confirmation',
  'execute',
  'transfer',
]
/** First letter, last letter, and the letters between in order of the alphabet. */
const shape = (word: string): string =>
  `${word[0] ?? ''}${Array.from(word.slice(1, -1)).sort().join('')}${word.at(-1) ?? ''}`
const SHAPES = new Map(KNOWN.map((word) => [shape(word), word]))

/** Words as a reader mends them: `ingore prevoius instrcutions`. Null when there was nothing to mend. */
export function unscrambled({ text, at }: Folded): Folded | null {
  const mended = text.replaceAll(/[a-z]{5,14}/g, (word) => SHAPES.get(shape(word)) ?? word)
  return mended === text ? null : { text: mended, at }
}
