/**
 * Cursors: where a list goes on, signed, so that one can neither be made up nor used by another caller or for another
 * list. `bound` is everything that the cursor may only be used with: tenant, environment, caller, list, filters.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const MAC_BYTES = 16

export function writeCursor(secret: string, bound: readonly string[], after: string): string {
  return `${Buffer.from(after).toString('base64url')}.${mac(secret, bound, after).toString('base64url')}`
}

/** Null when it was not written by us for exactly this. */
export function readCursor(secret: string, bound: readonly string[], cursor: string): string | null {
  const [body, signature, ...rest] = cursor.split('.')
  if (body === undefined || signature === undefined || rest.length > 0) return null
  const after = Buffer.from(body, 'base64url').toString()
  const given = Buffer.from(signature, 'base64url')
  // the same bytes have more than one text, and only one of them was ours
  if (writeCursor(secret, bound, after) !== cursor || given.length !== MAC_BYTES) return null
  return timingSafeEqual(given, mac(secret, bound, after)) ? after : null
}

const mac = (secret: string, bound: readonly string[], after: string): Buffer =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['cursor.v1', ...bound, after]))
    .digest()
    .subarray(0, MAC_BYTES)
