/**
 * The bytes of sealed content, under one data key. AES-256-GCM of node:crypto; the tenant and the header are bound to the
 * ciphertext, so that bytes of one tenant cannot be put into a row of another.
 *
 *     1 | epoch, 4 bytes | nonce, 12 bytes | ciphertext | tag, 16 bytes
 *
 * A veiled text has its nonce from the text itself (the construction of SIV, with HMAC-SHA-256 and AES-256-CTR): equal
 * texts are equal, and a changed one is noticed.
 *
 *     v1. | base64url of: the first 16 bytes of the HMAC | ciphertext
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { Fault } from '../kernel/fault.ts'

export const ENVELOPE = 1
export const KEY_BYTES = 32
export const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 5
/** What sealing adds to a value. */
export const OVERHEAD_BYTES = HEADER_BYTES + NONCE_BYTES + TAG_BYTES
const VEILED = 'v1.'
const IV_BYTES = 16

/** One key for one use: what is derived for one purpose says nothing of another, nor of the data key. */
export const derived = (dataKey: Uint8Array, tenant: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', dataKey, tenant, `plimsoll.1.${purpose}`, KEY_BYTES))

const bound = (tenant: string, header: Uint8Array): Buffer => Buffer.concat([header, Buffer.from(tenant)])

/** `key`: derived for sealing. `nonce`: never twice under one key. */
export function sealUnder(
  key: Uint8Array,
  tenant: string,
  epoch: number,
  nonce: Uint8Array,
  plain: Uint8Array,
): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = ENVELOPE
  header.writeUInt32BE(epoch, 1)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound(tenant, header))
  return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** @throws Fault `content_damaged` for bytes that are too short to name an epoch */
export function epochOf(sealed: Uint8Array): number {
  if (sealed.length < OVERHEAD_BYTES) throw new Fault('content_damaged')
  return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).readUInt32BE(1)
}

/** @throws Fault `content_damaged` when one bit is not as it was, or the tenant is another */
export function openUnder(key: Uint8Array, tenant: string, sealed: Uint8Array): Uint8Array {
  const body = sealed.subarray(HEADER_BYTES + NONCE_BYTES, sealed.length - TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES))
  decipher.setAAD(bound(tenant, sealed.subarray(0, HEADER_BYTES)))
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const plain = decipher.update(body)
  try {
    decipher.final()
  } catch {
    throw new Fault('content_damaged', 'Sealed content is not what was written for this tenant.')
  }
  return plain
}

export interface VeilKeys {
  readonly mac: Uint8Array
  readonly cipher: Uint8Array
}

const ivOf = (mac: Uint8Array, text: Uint8Array): Buffer =>
  createHmac('sha256', mac).update(text).digest().subarray(0, IV_BYTES)

export function veilUnder({ mac, cipher }: VeilKeys, text: string): string {
  const plain = Buffer.from(text)
  const iv = ivOf(mac, plain)
  const covered = createCipheriv('aes-256-ctr', cipher, iv).update(plain)
  return VEILED + Buffer.concat([iv, covered]).toString('base64url')
}

export const isVeiled = (text: string): boolean => text.startsWith(VEILED)

/** @throws Fault `content_damaged` */
export function unveilUnder({ mac, cipher }: VeilKeys, veiled: string): string {
  const bytes = Buffer.from(veiled.slice(VEILED.length), 'base64url')
  const iv = bytes.subarray(0, IV_BYTES)
  if (iv.length < IV_BYTES) throw new Fault('content_damaged')
  const plain = createDecipheriv('aes-256-ctr', cipher, iv).update(bytes.subarray(IV_BYTES))
  if (!timingSafeEqual(iv, ivOf(mac, plain))) throw new Fault('content_damaged')
  return plain.toString()
}
