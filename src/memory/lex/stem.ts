/**
 * The stem of an English word by the rules of Porter2, as PostgreSQL's `english_stem` has them: "running", "runs" and
 * "run" become one. Pure, total; a word of other letters than a to z is its own stem.
 */

const VOWEL = /[aeiouy]/
const DOUBLE = /(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/
const LI_ENDING = /[cdeghkmnrt]$/

/** Whole words that the rules would get wrong. */
const IRREGULAR: ReadonlyMap<string, string> = new Map(
  Object.entries({
    skis: 'ski',
    skies: 'sky',
    dying: 'die',
    lying: 'lie',
    tying: 'tie',
    idly: 'idl',
    gently: 'gentl',
    ugly: 'ugli',
    early: 'earli',
    only: 'onli',
    singly: 'singl',
  }),
)
const UNCHANGED = new Set(['sky', 'news', 'howe', 'atlas', 'cosmos', 'bias', 'andes'])
/** As they are after step 1a. */
const UNCHANGED_AFTER_S = new Set(['inning', 'outing', 'canning', 'herring', 'earring', 'proceed', 'exceed', 'succeed'])

/** The longest ending comes first: only that one is looked at. */
const STEP_2 = pairs(
  'ational:ate ization:ize fulness:ful ousness:ous iveness:ive tional:tion biliti:ble lessli:less entli:ent ation:ate ' +
    'alism:al aliti:al ousli:ous iviti:ive fulli:ful enci:ence anci:ance abli:able izer:ize ator:ate alli:al bli:ble ogi:og li:',
)
const STEP_3 = pairs('ational:ate tional:tion alize:al icate:ic iciti:ic ative: ical:ic ness: ful:')
const STEP_4 = pairs('ement: ance: ence: able: ible: ment: ant: ent: ism: ate: iti: ous: ive: ize: ion: al: er: ic:')

function pairs(text: string): readonly (readonly [string, string])[] {
  return text.split(' ').map((pair) => pair.split(':') as [string, string])
}

/** @param word lower case */
export function stem(word: string): string {
  if (word.length <= 2 || !/^[a-z']+$/.test(word)) return word
  const bare = word.replace(/^'/, '')
  const irregular = IRREGULAR.get(bare)
  if (irregular !== undefined) return irregular
  if (UNCHANGED.has(bare)) return bare
  // A `y` that is a consonant is `Y` until the end.
  const marked = bare.replace(/^y/, 'Y').replace(/([aeiouy])y/g, '$1Y')
  const r1 = firstRegion(marked)
  const r2 = regionAfter(marked, r1)
  const plural = step1a(marked.replace(/'s'$|'s$|'$/, ''))
  if (UNCHANGED_AFTER_S.has(plural)) return plural
  const past = step1b(plural, r1).replace(/(.[^aeiouy])[yY]$/, '$1i')
  const two = replaced(past, STEP_2, r1, (head, ending) =>
    ending === 'ogi' ? head.endsWith('l') : ending !== 'li' || LI_ENDING.test(head),
  )
  const three = replaced(two, STEP_3, r1, (head, ending) => ending !== 'ative' || head.length >= r2)
  const four = replaced(three, STEP_4, r2, (head, ending) => ending !== 'ion' || /[st]$/.test(head))
  return step5(four, r1, r2).toLowerCase()
}

/** Where the part begins that follows the first consonant after a vowel. */
function firstRegion(word: string): number {
  const special = /^(gener|commun|arsen)/.exec(word)
  return special ? special[0].length : regionAfter(word, 0)
}

function regionAfter(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from))
  return found ? from + found.index + 2 : word.length
}

function step1a(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (/(ied|ies)$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1)
  if (/(us|ss)$/.test(word)) return word
  return word.endsWith('s') && VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word
}

function step1b(word: string, r1: number): string {
  const eed = /(eedly|eed)$/.exec(word)
  if (eed) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word
  const past = /(ingly|edly|ing|ed)$/.exec(word)
  if (!past || !VOWEL.test(word.slice(0, past.index))) return word
  const head = word.slice(0, past.index)
  if (/(at|bl|iz)$/.test(head)) return `${head}e`
  if (DOUBLE.test(head)) return head.slice(0, -1)
  return r1 >= head.length && isShortEnd(head) ? `${head}e` : head
}

/** Ends in a short syllable: consonant, vowel, consonant; or is vowel and consonant only. */
const isShortEnd = (word: string): boolean =>
  /[^aeiouy][aeiouy][^aeiouywxY]$/.test(word) || /^[aeiouy][^aeiouy]$/.test(word)

function replaced(
  word: string,
  endings: readonly (readonly [string, string])[],
  region: number,
  allowed: (head: string, ending: string) => boolean,
): string {
  const found = endings.find(([ending]) => word.endsWith(ending))
  if (!found) return word
  const head = word.slice(0, -found[0].length)
  return head.length >= region && allowed(head, found[0]) ? head + found[1] : word
}

function step5(word: string, r1: number, r2: number): string {
  const head = word.slice(0, -1)
  if (word.endsWith('e')) return head.length >= r2 || (head.length >= r1 && !isShortEnd(head)) ? head : word
  return word.endsWith('ll') && head.length >= r2 ? head : word
}
