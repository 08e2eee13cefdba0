/**
 * Text that came from data, made safe for a terminal: what would move the cursor, set a title, or turn the reading
 * direction around is shown as its code point instead of being obeyed.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu
/** Joins a family of emoji, chooses their colour: they obey nobody. */
const HARMLESS = new Set(['\u200d', '\ufe0f'])

const codePoint = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** One line, without anything that a terminal obeys. */
export const visible = (text: string): string =>
  text.replace(OBEYED, (char) => {
    if (HARMLESS.has(char)) return char
    return char === '\n' ? '\\n' : char === '\t' ? '\\t' : codePoint(char)
  })

const NOT_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** JSON in one line; the same value, with the characters above escaped as JSON escapes them. */
export const jsonLine = (value: unknown): string => JSON.stringify(value).replace(NOT_IN_JSON, codePoint)
