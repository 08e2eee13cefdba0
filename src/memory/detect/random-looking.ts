/** How random a text looks, and what looks random but is only a name. */

/** Bits per character, by the letters of the text itself. Base64 of random bytes has about 5, hexadecimal 3.7, prose below 4. */
export function entropy(text: string): number {
  const count = new Map<string, number>()
  for (const c of text) count.set(c, (count.get(c) ?? 0) + 1)
  let bits = 0
  for (const n of count.values()) bits -= (n / text.length) * Math.log2(n / text.length)
  return bits
}

const NAMES = [
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  // dates, versions, numbers
  /^[\d._:/-]{1,64}$/,
  // a path or a chain of words: every part is letters, or digits alone
  /^(?:[A-Za-z]{1,24}|\d{1,6}|v\d{1,3})(?:[-_./](?:[A-Za-z]{1,24}|\d{1,6}|v\d{1,3})){1,24}$/,
  /^(?:sha(?:1|256|384|512)|md5)[:=-]/i,
]

/** A name, a date, a path: it may be long and hold digits, and is no key. */
export const isIdentifier = (text: string): boolean => NAMES.some((name) => name.test(text))
