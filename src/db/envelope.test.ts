import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  derived,
  epochOf,
  KEY_BYTES,
  NONCE_BYTES,
  openUnder,
  OVERHEAD_BYTES,
  sealUnder,
  unveilUnder,
  veilUnder,
} from './envelope.ts'

const bytes = (n: number) => fc.uint8Array({ minLength: n, maxLength: n })
const key = bytes(KEY_BYTES)
const nonce = bytes(NONCE_BYTES)
const epoch = fc.integer({ min: 1, max: 2 ** 32 - 1 })
const plain = fc.uint8Array({ maxLength: 300 })
const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}

describe('an envelope', () => {
  it('G7 what was sealed comes back under its key and tenant, and is longer by what is stated', () => {
    fc.assert(
      fc.property(key, nonce, epoch, plain, (k, n, e, p) => {
        const sealed = sealUnder(k, 'acme', e, n, p)
        expect(sealed.length).toBe(p.length + OVERHEAD_BYTES)
        expect(epochOf(sealed)).toBe(e)
        expect(Buffer.from(openUnder(k, 'acme', sealed))).toEqual(Buffer.from(p))
      }),
    )
  })

  it('G7 A3 one changed bit, another key or another tenant opens nothing', () => {
    fc.assert(
      fc.property(key, nonce, epoch, plain, fc.nat(), (k, n, e, p, at) => {
        const sealed = sealUnder(k, 'acme', e, n, p)
        const bent = Uint8Array.from(sealed)
        bent[at % bent.length]! ^= 1 << (at % 8)
        expect(codeOf(() => openUnder(k, 'acme', bent))).toBe('content_damaged')
        expect(codeOf(() => openUnder(k, 'birch', sealed))).toBe('content_damaged')
        expect(codeOf(() => openUnder(derived(k, 'acme', 'other'), 'acme', sealed))).toBe('content_damaged')
      }),
    )
  })

  it('G7 bytes that are cut short are damaged, and nothing worse', () => {
    const sealed = sealUnder(Buffer.alloc(KEY_BYTES), 'acme', 1, Buffer.alloc(NONCE_BYTES), Buffer.from('hello'))
    for (let n = 0; n < OVERHEAD_BYTES; n++)
      expect(codeOf(() => epochOf(sealed.subarray(0, n)))).toBe('content_damaged')
  })
})

describe('a veiled text', () => {
  const of = (k: Uint8Array, tenant: string) => ({
    mac: derived(k, tenant, 'veil.mac'),
    cipher: derived(k, tenant, 'veil.cipher'),
  })

  it('G7 equal texts of one tenant are equal, of two tenants are not, and the text comes back', () => {
    fc.assert(
      fc.property(key, fc.string({ unit: 'grapheme' }), (k, text) => {
        const veiled = veilUnder(of(k, 'acme'), text)
        expect(veilUnder(of(k, 'acme'), text)).toBe(veiled)
        expect(veilUnder(of(k, 'birch'), text)).not.toBe(veiled)
        expect(unveilUnder(of(k, 'acme'), veiled)).toBe(text)
        expect(codeOf(() => unveilUnder(of(k, 'birch'), veiled))).toBe('content_damaged')
      }),
    )
  })

  it('G7 a text that somebody has changed in the store is noticed', () => {
    const keys = of(Buffer.alloc(KEY_BYTES, 1), 'acme')
    const bent = Buffer.from(veilUnder(keys, 'order/1').slice(3), 'base64url')
    bent[bent.length - 1]! ^= 1
    expect(codeOf(() => unveilUnder(keys, `v1.${bent.toString('base64url')}`))).toBe('content_damaged')
    expect(codeOf(() => unveilUnder(keys, 'v1.AA'))).toBe('content_damaged')
  })
})
