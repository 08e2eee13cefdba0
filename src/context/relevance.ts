/** How much a text has to do with a question, by the words that they share. Cheap, the same in every language, no model. */

/** A result says what it is about at its start; the rest is rows. */
const MOST_CHARACTERS = 4_000

/** Words of two signs and more, and pairs of neighbours in scripts that do not separate words. */
export function words(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [run] of text
    .slice(0, MOST_CHARACTERS)
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]{2,}/gu)) {
    if (/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(run))
      for (let at = 0; at + 1 < run.length; at += 1) found.add(run.slice(at, at + 2))
    else found.add(run)
  }
  return found
}

/** The share of the question's words that a text has, from 0 to 1; a word with a digit is an identifier and counts four times. */
export function relevance(question: ReadonlySet<string>, there: ReadonlySet<string>): number {
  if (question.size === 0) return 0
  let all = 0
  let shared = 0
  for (const word of question) {
    const weight = /\d/u.test(word) ? 4 : 1
    all += weight
    if (there.has(word)) shared += weight
  }
  return shared / all
}
