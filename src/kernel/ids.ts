/**
 * Ids are `prefix_` and 26 characters of Crockford's base32: 48 bits of time, so that rows of one time lie together in
 * an index, then 80 random bits, so that they cannot be guessed.
 */
export const ID_PREFIXES = [
  'run',
  'ses',
  'msg',
  'cnf',
  'wrk',
  'aud',
  'key',
  'whk',
  'art',
  'hld',
  'mem',
  'mcd',
  'del',
  'ern',
  'prc',
] as const
export type IdPrefix = (typeof ID_PREFIXES)[number]
export type Id<P extends IdPrefix> = `${P}_${string}`
export type RunId = Id<'run'>
export type SessionId = Id<'ses'>
export type MessageId = Id<'msg'>
export type ConfirmationId = Id<'cnf'>
export type WorkerId = Id<'wrk'>
export type ArtifactId = Id<'art'>

export interface Ids {
  next<P extends IdPrefix>(prefix: P): Id<P>
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const SHAPE = /^([a-z]{3})_[0-9abcdefghjkmnpqrstvwxyz]{26}$/

/** `millis`: the time of creation; `entropy`: at least 10 bytes. */
export function formatId<P extends IdPrefix>(prefix: P, millis: number, entropy: Uint8Array): Id<P> {
  let text = ''
  let time = millis
  for (let i = 0; i < 10; i++) {
    text = ALPHABET.charAt(time % 32) + text
    time = Math.floor(time / 32)
  }
  // 16 characters of 5 bits from 10 bytes, high bits first
  let buffer = 0
  let bits = 0
  for (let i = 0; i < 10; i++) {
    buffer = (buffer << 8) | (entropy[i] ?? 0)
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET.charAt((buffer >>> bits) & 31)
    }
    buffer &= (1 << bits) - 1
  }
  return `${prefix}_${text}`
}

/** True when `text` is an id of this kind. Anything else at a door is a bad request, never a query. */
export function isId<P extends IdPrefix>(prefix: P, text: unknown): text is Id<P> {
  return typeof text === 'string' && SHAPE.exec(text)?.[1] === prefix
}
