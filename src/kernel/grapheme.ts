/** Cutting text without cutting a character as a reader sees it. */
import { utf8Length } from './json.ts'

/** The longest run of code units that one visible character is searched in; longer ones exist only to harm. */
const LONGEST_CHARACTER = 256

/** The longest beginning of `text` with at most `maxBytes` of UTF-8 that ends between two visible characters. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && utf8Length(text) <= maxBytes) return text
  const cut = unitsWithin(text, maxBytes)
  const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const start = characters.segment(text.slice(0, cut + LONGEST_CHARACTER)).containing(cut)?.index
  return text.slice(0, start ?? cut)
}

/** Code units from the start whose UTF-8 form fits, never half a surrogate pair. */
function unitsWithin(text: string, maxBytes: number): number {
  let bytes = 0
  let at = 0
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
    if (bytes > maxBytes) return at
    at += point < 0x10000 ? 1 : 2
  }
  return at
}
