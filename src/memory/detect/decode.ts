/** Text inside of text: base64, hexadecimal, percent signs, escapes, entities, letters moved by thirteen, read backwards. */

export interface Decoded {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Of what was decoded from one text, together: a memory is small, and a bomb is not. */
const MOST_DECODED = 16 * 1024

/** Every part of `text` that is another text in disguise. */
export function decoded(text: string): Decoded[] {
  const found: Decoded[] = []
  let budget = MOST_DECODED
  const add = (made: string, start: number, end: number): void => {
    if (made.length > budget || !isText(made)) return
    budget -= made.length
    found.push({ text: made, start, end })
  }
  for (const m of text.matchAll(/[A-Za-z0-9+/_-]{12,16384}={0,2}/g)) {
    if (!/[A-Z]/.test(m[0]) && !/\d/.test(m[0])) continue
    add(
      Buffer.from(m[0], m[0].includes('-') || m[0].includes('_') ? 'base64url' : 'base64').toString('utf8'),
      m.index,
      m.index + m[0].length,
    )
  }
  for (const m of text.matchAll(/(?:0x)?(?:[0-9a-fA-F]{2}[ :]?){8,8192}/g))
    add(Buffer.from(m[0].replaceAll(/0x|[ :]/g, ''), 'hex').toString('utf8'), m.index, m.index + m[0].length)
  if (/%[0-9a-fA-F]{2}/.test(text)) add(percent(text), 0, text.length)
  if (/\\(?:u\{?[0-9a-fA-F]{2,6}|x[0-9a-fA-F]{2})|&#?\w{2,8};/.test(text)) add(escapes(text), 0, text.length)
  if (/rot|caesar|cipher|encod|decod|decrypt|vtaber|cebzcg|cnffjbeq|vafgehpgvba/i.test(text))
    add(rotated(text), 0, text.length)
  if (/snoitcurtsni|tpmorp|drowssap|erongi|yek ?ipa/i.test(text))
    add(Array.from(text).reverse().join(''), 0, text.length)
  return found
}

/** Nine of ten characters are letters, digits or ordinary signs; random bytes are not. */
function isText(text: string): boolean {
  if (text.length < 4) return false
  const ordinary = text.replaceAll(/[\p{L}\p{N} \n\t.,:;!?'"@#$%&*()/\\<>=+_{}[\]~|^-]/gu, '').length
  return ordinary * 10 < text.length && !text.includes('\ufffd')
}

function percent(text: string): string {
  return text.replaceAll(/(?:%[0-9a-fA-F]{2}){1,4096}/g, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ' }

function escapes(text: string): string {
  return text
    .replaceAll(/\\u\{?([0-9a-fA-F]{2,6})\}?|\\x([0-9a-fA-F]{2})/g, (_, long?: string, short?: string) =>
      character(parseInt(long ?? short ?? '', 16)),
    )
    .replaceAll(/&#x([0-9a-fA-F]{1,6});/g, (_, hex: string) => character(parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});/g, (_, digits: string) => character(Number(digits)))
    .replaceAll(/&([a-z]{2,4});/g, (whole, name: string) => ENTITIES[name] ?? whole)
}

const character = (code: number): string => (code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ')

function rotated(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) => {
    const first = letter <= 'Z' ? 65 : 97
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first)
  })
}
