/**
 * Text to terms: what the lexical leg of recall looks up. Chinese, English and whatever else has letters.
 *
 * Each kind of term has its prefix, so that kinds never meet by accident:
 *
 *   s:  stem of a word, or a word or number that has none     x:  the word as it was written, when the stem is another
 *   i:  identifier, whole: `zh-cn`, `order_42`, an address    d:  day, month, year or weekday
 *   z:  Chinese word of Intl.Segmenter                        b:  two Chinese characters in a row
 *   k:  Japanese word, or two kana in a row                   h:  Korean word, or two syllables in a row
 *
 * F1  Chinese and English are found by the same index
 */
import { datesIn, type Day, relativeDates, termsOfDay } from './dates.ts'
import { stem } from './stem.ts'
import { CHINESE_STOPS, ENGLISH_STOPS } from './stops.ts'

/** A change of what follows from a text is a new number, and entries of an older one are made again. */
const LEX = 'lex_1'
/** Segmentation of Chinese and Japanese is that of ICU, and another ICU may cut elsewhere. @param icu `process.versions.icu`; empty where Node has none */
export const lexVersion = (icu: string): string => `${LEX}/icu_${icu}`

/** Characters of a text that are read; what a memory may hold is far below. */
const MAX_TEXT = 20_000
/** Code units of a term without its prefix. Longer ones are keys, hashes and noise; their beginning tells them apart. */
const MAX_TERM = 64

/**
 * Beside its stem, a word in exactly the asked form counts a quarter: enough to prefer it among equals, too little to
 * outweigh another word of the question.
 */
const EXACT_FORM = 0.25

/** Terms and how often they occur; a fraction where an occurrence counts less than one. */
export type Bag = ReadonlyMap<string, number>

const SCRIPT = {
  han: /\p{Script=Han}/u,
  kana: /[\p{Script=Hiragana}\p{Script=Katakana}ー]/u,
  hangul: /\p{Script=Hangul}/u,
}
const RUNS =
  /\p{Script=Han}+|[\p{Script=Hiragana}\p{Script=Katakana}ー]+|\p{Script=Hangul}+|(?:(?!\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul})[\p{L}\p{M}\p{N}])+(?:'\p{L}+)*/gu
/** Letters and digits that are held together without a space. */
const IDENTIFIER = /(?<![a-z0-9])[a-z0-9]+(?:[-_.@+]+[a-z0-9]+)+/g

const words = {
  zh: new Intl.Segmenter('zh', { granularity: 'word' }),
  ja: new Intl.Segmenter('ja', { granularity: 'word' }),
  other: new Intl.Segmenter('und', { granularity: 'word' }),
}

/**
 * The terms of a text. Total: any string has terms, or none. The same text in another normal form has the same terms.
 * @param written the day on which it was said, for "yesterday" and its like
 */
export function lex(text: string, written?: Day): Bag {
  const bag = new Map<string, number>()
  const add = (kind: string, term: string, weight = 1) => {
    const key = `${kind}:${term.slice(0, MAX_TERM)}`
    bag.set(key, (bag.get(key) ?? 0) + weight)
  }
  const plain = normal(text)
  for (const [run] of plain.matchAll(RUNS)) {
    if (SCRIPT.han.test(run)) addHan(run, add)
    else if (SCRIPT.kana.test(run)) addPieces('k', words.ja, run, add)
    else if (SCRIPT.hangul.test(run)) addPieces('h', null, run, add)
    else addWord(run, add)
  }
  for (const [identifier] of plain.matchAll(IDENTIFIER)) add('i', identifier)
  for (const day of datesIn(plain)) addDay(day, add)
  if (written) for (const day of relativeDates(plain, written)) addDay(day, add)
  return bag
}

/** The terms of a day alone, as a text that names it has them. */
export const lexDay = (day: Day): Bag => new Map(termsOfDay(day).map((term) => [`d:${term}`, 1]))

/** Terms that a text names outright: what wakes a memory that has gone cold. */
export const isIdentifier = (term: string): boolean => term.startsWith('i:')

type Add = (kind: string, term: string, weight?: number) => void

const addDay = (day: Day, add: Add): void => {
  for (const term of termsOfDay(day)) add('d', term)
}

const normal = (text: string): string =>
  text.normalize('NFKC').slice(0, MAX_TEXT).toLowerCase().normalize('NFKC').replace(/[’‘ʼ]/g, "'")

function addWord(run: string, add: Add): void {
  const word = run.normalize('NFKD').replace(/\p{M}/gu, '').replace(/'s$/, '').replaceAll("'", '').normalize('NFKC')
  if (word === '' || ENGLISH_STOPS.has(word)) return
  // scripts that put no spaces between words, such as Thai
  if (/[^\p{Script=Latin}\p{N}]/u.test(word)) {
    for (const { segment, isWordLike } of words.other.segment(word)) if (isWordLike) add('s', segment)
    return
  }
  const root = stem(word)
  add('s', root)
  if (root !== word) add('x', word, EXACT_FORM)
}

function addHan(run: string, add: Add): void {
  for (const { segment } of words.zh.segment(run)) if (!CHINESE_STOPS.has(segment)) add('z', segment)
  for (const pair of pairsOf(run)) if (!CHINESE_STOPS.has(pair)) add('b', pair)
}

function addPieces(kind: string, segmenter: Intl.Segmenter | null, run: string, add: Add): void {
  const pieces = segmenter ? [...segmenter.segment(run)].map(({ segment }) => segment) : [run]
  for (const piece of pieces) add(kind, piece)
  // a word of two is its own pair, and must not count twice
  for (const pair of pairsOf(run)) if (!pieces.includes(pair)) add(kind, pair)
}

function pairsOf(run: string): readonly string[] {
  const characters = Array.from(run)
  return characters.slice(1).map((character, at) => `${characters[at] ?? ''}${character}`)
}
