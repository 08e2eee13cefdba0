/**
 * Terms as the store keeps them: 64 bits of a keyed hash. Whoever reads the index learns no word of it without the key
 * of the tenant, and the same word of two tenants looks different.
 *
 * Two words of a place may share their 64 bits; with a million words that happens once in 40 million places, and then one
 * memory is ranked too high.
 */
import type { Keys } from '../../db/seal.ts'

/** What the hash is for. */
const PURPOSE = 'memory_term'

/** Decimal text of an int8, since a number of JavaScript holds 53 bits. */
export function hashedTerm(keys: Pick<Keys, 'hash'>, tenant: string, term: string): string {
  const bytes = keys.hash(tenant, PURPOSE, term)
  return new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0).toString()
}
