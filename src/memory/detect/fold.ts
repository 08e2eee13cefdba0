/**
 * One text for many spellings of it: compatibility forms, invisible characters, marks above letters, letters of other
 * scripts that look Latin, letters with something between them. Each step keeps where every character came from.
 */

export interface Folded {
  readonly text: string
  /** For each unit of `text`, where its character starts in the text as given; one more for the end. */
  readonly at: readonly number[]
}

/** Cyrillic, Greek, Armenian, Cherokee and small capitals that a reader takes for these letters. */
const ALIKE: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(
    [
      ['аαɑа', 'a'],
      ['вʙ', 'b'],
      ['сϲᴄ', 'c'],
      ['ԁժᴅ', 'd'],
      ['еεєҽᴇ', 'e'],
      ['ғꜰ', 'f'],
      ['ցɡɢ', 'g'],
      ['һհнʜ', 'h'],
      ['іιıɩӏɪ', 'i'],
      ['јϳᴊ', 'j'],
      ['кκᴋ', 'k'],
      ['ӏǀʟ', 'l'],
      ['мᴍ', 'm'],
      ['ոպпηɴ', 'n'],
      ['оοօσᴏо', 'o'],
      ['рρᴘ', 'p'],
      ['ԛզ', 'q'],
      ['гʀᴦ', 'r'],
      ['ѕꜱ', 's'],
      ['тτᴛ', 't'],
      ['υսᴜц', 'u'],
      ['νѵᴠ', 'v'],
      ['ԝωѡшᴡ', 'w'],
      ['хχ', 'x'],
      ['уγүʏу', 'y'],
      ['ᴢ', 'z'],
      ['АΑ', 'A'],
      ['ВΒ', 'B'],
      ['СϹ', 'C'],
      ['ЕΕ', 'E'],
      ['НΗ', 'H'],
      ['ІΙӀ', 'I'],
      ['Ј', 'J'],
      ['КΚ', 'K'],
      ['МΜ', 'M'],
      ['Ν', 'N'],
      ['ОΟ', 'O'],
      ['РΡ', 'P'],
      ['Ѕ', 'S'],
      ['ТΤ', 'T'],
      ['ХΧ', 'X'],
      ['УΥҮ', 'Y'],
      ['Ζ', 'Z'],
    ].flatMap(([many = '', one = '']) => Array.from(many).map((letter) => [letter, one])),
  ),
)

/** Nothing that a reader sees: joiners, marks of direction, selectors, fillers, tags, soft hyphens. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u
const MARKS = /[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]/g

const cache = new Map<string, string>()
/** Of characters seen so far: texts are of few scripts at a time. */
const MOST_CACHED = 4_096

/** Compatibility form without marks; empty for what is invisible. Case stays. */
function plain(character: string): string {
  const known = cache.get(character)
  if (known !== undefined) return known
  const made = INVISIBLE.test(character)
    ? ''
    : enclosed(character)
        .normalize('NFKD')
        .replaceAll(MARKS, '')
        .normalize('NFC')
        .replaceAll(/[\s\u2028\u2029]/g, ' ')
  if (cache.size >= MOST_CACHED) cache.clear()
  cache.set(character, made)
  return made
}

/** White letters on black discs and squares, which no compatibility form resolves. */
function enclosed(character: string): string {
  const code = character.codePointAt(0) ?? 0
  for (const first of [0x1f150, 0x1f170]) {
    if (code >= first && code < first + 26) return String.fromCodePoint(65 + code - first)
  }
  return character
}

/** Compatibility forms, without invisible characters and marks, line ends kept as they are. */
export function fold(given: string): Folded {
  let text = ''
  const at: number[] = []
  let offset = 0
  for (const character of given) {
    const code = character.charCodeAt(0)
    const put = code === 10 || (code >= 32 && code < 127) ? character : plain(character)
    text += put
    for (let i = 0; i < put.length; i++) at.push(offset)
    offset += character.length
  }
  at.push(offset)
  return { text, at }
}

/** Words of several scripts, and words of look-alikes only in a text that is otherwise Latin, become Latin. */
export function latin(folded: Folded): Folded {
  if (!/[\u0180-\u058f\u13a0-\u13ff\u1d00-\u1d7f\ua730-\ua731]/.test(folded.text)) return folded
  const isLatin = /[A-Za-z]{3}/.test(folded.text)
  const text = folded.text.replaceAll(/\p{L}{1,64}/gu, (word) => {
    const letters = Array.from(word)
    const mapped = letters.map((letter) => ALIKE[letter] ?? letter).join('')
    const mixed = /[A-Za-z]/.test(word) && /[^\x20-\x7f]/.test(word)
    const wholly = isLatin && /^[A-Za-z]{2,}$/.test(mapped)
    return mapped.length === word.length && (mixed || wholly) ? mapped : word
  })
  return { text, at: folded.at }
}

/** Lower case, character by character, so that places stay. */
export function lower({ text, at }: Folded): Folded {
  const small = text.toLowerCase()
  if (small.length === text.length) return { text: small, at }
  return {
    text: Array.from(text)
      .map((c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c))
      .join(''),
    at,
  }
}

const LEET: Readonly<Record<string, string>> = Object.freeze({
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
  '|': 'l',
  '€': 'e',
  '£': 'l',
  '+': 't',
})

/** Digits and signs inside words become the letters that they stand for: `1gn0r3`, `pa55w0rd`. */
export function leet({ text, at }: Folded): Folded {
  const read = text.replaceAll(/[a-z0-9@$!|€£+]{3,40}/g, (word) => {
    const letters = word.replaceAll(/[^a-z]/g, '').length
    const stands = word.length - letters
    if (stands === 0 || letters < 2 || stands > letters + 1) return word
    return Array.from(word)
      .map((c) => LEET[c] ?? c)
      .join('')
  })
  return { text: read, at }
}

/** Letters with one sign between each two: `p-a-s-s-w-o-r-d`, `i g n o r e`. */
const SPACED = /(?<![\p{L}\p{N}])[\p{L}\p{N}@$](?:([ .\-_*·|/\\,~+=])[\p{L}\p{N}@$](?![\p{L}\p{N}])){3,80}/gu

/** `…` of every run of spaced letters, joined; null when there is none. */
export function joined({ text, at }: Folded): Folded | null {
  let made = ''
  const from: number[] = []
  let last = 0
  for (const match of text.matchAll(SPACED)) {
    const before = text.slice(last, match.index)
    made += before
    for (let i = last; i < match.index; i++) from.push(at[i] ?? 0)
    for (let i = 0; i < match[0].length; i += 2) {
      made += match[0][i] ?? ''
      from.push(at[match.index + i] ?? 0)
    }
    last = match.index + match[0].length
  }
  if (last === 0) return null
  made += text.slice(last)
  for (let i = last; i <= text.length; i++) from.push(at[i] ?? at.at(-1) ?? 0)
  return { text: made, at: from }
}

/** Characters that were put there to be read by a machine and not by a person. */
export function hiddenSpan(given: string): readonly [number, number] | null {
  // tags spell ASCII; the flags of England, Scotland and Wales are a black flag and at most seven of them
  const tags = /(?<!\u{1f3f4})[\u{e0020}-\u{e007e}]{4,}/u.exec(given)
  // a run of selectors carries bytes; one behind an emoji is ordinary
  const found = tags ?? /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/u.exec(given) ?? /[\u202d\u202e]/.exec(given)
  return found === null ? null : [found.index, found.index + found[0].length]
}
