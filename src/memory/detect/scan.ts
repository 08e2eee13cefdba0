/**
 * E5  every detector of ours over one text: as given, folded, joined, and decoded, bounded in depth and size
 *
 * Pure and synchronous. What a text says after it was folded counts as said; findings point into the text as given.
 */
import { CONTACTS } from './contact.ts'
import { anomalies } from './control.ts'
import { decoded } from './decode.ts'
import { type Finding, type Hit, type Rule, search, VERDICTS } from './finding.ts'
import { fold, type Folded, hiddenSpan, joined, latin, leet, lower } from './fold.ts'
import { INSTRUCTIONS } from './instruction.ts'
import { FOREIGN } from './instruction-foreign.ts'
import { MACHINE } from './machine.ts'
import { NUMBERS } from './numbers.ts'
import { PASSWORDS } from './passwords.ts'
import { SECRETS } from './secrets.ts'
import { SPECIAL } from './special.ts'
import { squeezed, unscrambled } from './words.ts'

/** Values, in their own case. */
const CASED: readonly Rule[] = [...SECRETS, ...PASSWORDS, ...NUMBERS, ...CONTACTS]
/** Words, in lower case. */
const WORDED: readonly Rule[] = [...SPECIAL, ...INSTRUCTIONS, ...FOREIGN, ...MACHINE]
/** Every rule, for the test that reads their patterns. */
export const RULES: readonly Rule[] = [...CASED, ...WORDED]

/** A text in a text in a text; deeper nobody reads it either. */
const DEEPEST = 2

/** Each finding once per rule. A text that is too long is one finding, and is not read. */
export function scan(text: string): readonly Finding[] {
  const odd = anomalies(text)
  if (odd.some((finding) => finding.rule === 'anomaly.too_long')) return odd
  const hidden = hiddenSpan(text)
  const found = new Map<string, Finding>(odd.map((finding) => [finding.rule, finding]))
  if (hidden)
    found.set('hidden_text', { class: 'hidden_text', verdict: VERDICTS.hidden_text, span: hidden, rule: 'hidden_text' })
  for (const finding of read(text, 0)) if (!found.has(finding.rule)) found.set(finding.rule, finding)
  return [...found.values()]
}

function read(text: string, depth: number): Finding[] {
  const plain = fold(revealed(text))
  const inner =
    depth >= DEEPEST
      ? []
      : decoded(plain.text).flatMap(({ text: hidden, start, end }) =>
          read(hidden, depth + 1).map((finding) => ({ ...finding, span: spanOf(plain, start, end) })),
        )
  return [
    ...forms(plain).flatMap(([rules, form]) => located(form, search(rules, form.text))),
    ...words(plain),
    ...inner,
  ]
}

/** Letters that only machines see are letters. */
const revealed = (text: string): string =>
  text.includes('\u{e0041}'.slice(0, 1))
    ? text.replaceAll(/[\u{e0020}-\u{e007e}]/gu, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000))
    : text

/** Each reading of the text that differs from the ones before it, with the rules for it. */
function forms(plain: Folded): [readonly Rule[], Folded][] {
  const asLatin = latin(plain)
  const small = lower(asLatin)
  const together = joined(asLatin)
  const letters = leet(small)
  const list: [readonly Rule[], Folded][] = [
    [CASED, plain],
    [WORDED, small],
  ]
  if (asLatin.text !== plain.text) list.push([CASED, asLatin], [FOREIGN, lower(plain)])
  if (letters.text !== small.text) list.push([INSTRUCTIONS, letters])
  if (together) list.push([[...PASSWORDS, ...SECRETS, ...NUMBERS], together], [WORDED, leet(lower(together))])
  const mended = unscrambled(letters)
  if (mended !== null) list.push([INSTRUCTIONS, mended])
  return list
}

/** What is left when everything but letters is taken away. */
function words(plain: Folded): Finding[] {
  const small = leet(lower(latin(plain)))
  return squeezed(small.text)
    ? located(plain, [{ rule: 'instruction.squeezed', class: 'instruction', start: 0, end: plain.text.length }])
    : []
}

const located = (form: Folded, hits: readonly Hit[]): Finding[] =>
  hits.map((hit) => ({
    class: hit.class,
    verdict: VERDICTS[hit.class],
    span: spanOf(form, hit.start, hit.end),
    rule: hit.rule,
  }))

const spanOf = ({ at }: Folded, start: number, end: number): readonly [number, number] => [
  at[start] ?? 0,
  at[end] ?? at.at(-1) ?? 0,
]
