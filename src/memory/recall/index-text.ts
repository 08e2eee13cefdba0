/**
 * What a memory is found by: its own words, who said it, the day, and what was said around it. Of all this only terms
 * are kept, in the index; the value of the memory stays as it is.
 *
 * F3  an entry follows from its memory and the neighbours that it lists, and from nothing else
 */
import { type Bag, lex, lexDay } from '../lex/lex.ts'
import { dayOf } from '../lex/dates.ts'

/** Something said. */
export interface Passage {
  readonly text: string
  /** A name as people use it in questions. */
  readonly speaker?: string | undefined
  /** `2023-05-02`, alone or before a time of day, in the zone of those who spoke. */
  readonly at?: string | undefined
}

export interface IndexText extends Passage {
  /** What was said just before in the same conversation, the nearest first; more than two are not read. */
  readonly before?: readonly Passage[]
  /** What was said just after, the nearest first. */
  readonly after?: readonly Passage[]
}

export interface Term {
  readonly term: string
  /** How often it occurs; a fraction for what stands beside the memory and not in it. */
  readonly tf: number
}

export interface Indexed {
  readonly terms: readonly Term[]
  /** All occurrences together. */
  readonly length: number
}

/**
 * By distance. People answer one another: what is asked for stands in a turn whose words the question does not have, but
 * whose neighbour has them. Less than half for the nearest keeps the turn itself before its neighbours.
 */
const NEIGHBOUR = [0.4, 0.2]
/** Neighbours that are read on either side. */
export const NEIGHBOURS = NEIGHBOUR.length
/** A speaker is asked for by name, as often as any word that is said. */
const SPEAKER = 1
const DAY = 1

/** Terms in the order in which they first occur. Pure: the same entry has the same terms, whenever it is made. */
export function indexOf(entry: IndexText): Indexed {
  const sum = new Map<string, number>()
  const add = (bag: Bag, weight: number) => {
    for (const [term, tf] of bag) sum.set(term, (sum.get(term) ?? 0) + tf * weight)
  }
  const day = entry.at === undefined ? null : dayOf(entry.at)
  add(lex(entry.text, day ?? undefined), 1)
  if (entry.speaker !== undefined) add(lex(entry.speaker), SPEAKER)
  if (day) add(lexDay(day), DAY)
  for (const side of [entry.before ?? [], entry.after ?? []]) {
    side.slice(0, NEIGHBOURS).forEach((passage, distance) => {
      const written = passage.at === undefined ? null : dayOf(passage.at)
      add(lex(passage.text, written ?? undefined), NEIGHBOUR[distance] ?? 0)
    })
  }
  const terms = [...sum].map(([term, tf]) => ({ term, tf }))
  return { terms, length: terms.reduce((all, { tf }) => all + tf, 0) }
}

/** Terms of a question, with their weights. @param at the day on which it is asked */
export function questionOf(text: string, at?: string): readonly Term[] {
  const day = at === undefined ? null : dayOf(at)
  return [...lex(text, day ?? undefined)].map(([term, tf]) => ({ term, tf }))
}
