/**
 * What a long run has done for its question and no longer shows: which calls were made, by name and place, so that a model
 * that has lost the beginning of its own work does not begin anew (C1).
 */
import { nameOf } from './message.ts'
import { type TokenCounter, tokensOf } from './tokens.ts'
import type { Unit } from './unit.ts'

/** A name that the model has made up may hold anything. */
const NAME = /^[\w.-]{1,64}$/

/** In at most so many tokens, the latest calls first to stay; null when there is nothing to tell, or no room to. */
export function stateOf(dropped: readonly Unit[], most: number, count?: TokenCounter): string | null {
  const made = dropped.flatMap(({ messages: [asking] }) =>
    asking?.body.role === 'assistant'
      ? asking.body.calls.map(({ name }) => `${NAME.test(name) ? name : 'a call'} (${nameOf(asking)})`)
      : [],
  )
  // each try has half of the calls of the one before
  for (let shown = made.length; shown > 0; shown = Math.floor(shown / 2)) {
    const text = textOf(made.slice(-shown), made.length - shown)
    if (tokensOf(text, count) <= most) return text
  }
  return null
}

const textOf = (made: readonly string[], before: number): string =>
  `[Calls of this question that are left out here, the oldest first: ${before > 0 ? `${before} others, ` : ''}${made.join(', ')}. They were made and are stored.]`
