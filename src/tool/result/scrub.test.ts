import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scrubJson, scrubOf } from './scrub.ts'

const SECRET = 'p4ss word/+"with\\odd=ümlaut'
const scrub = scrubOf([SECRET])

describe('credentials in what a call gives back', () => {
  it.each([
    ['as it is', SECRET],
    ['inside JSON text', JSON.stringify({ key: SECRET })],
    ['in a URL', `https://x/?key=${encodeURIComponent(SECRET)}`],
    ['in a form', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['in lower-case escapes', encodeURIComponent(SECRET).toLowerCase()],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
    ['in hex', Buffer.from(SECRET).toString('hex')],
    ['in upper-case hex', Buffer.from(SECRET).toString('hex').toUpperCase()],
    ['as the password of basic authentication', `Basic ${Buffer.from(`me:${SECRET}`).toString('base64')}`],
  ])('I6 a value is taken out %s', (_, text) => {
    const cleaned = scrub.text(`before ${text} after`)
    expect(cleaned).toContain('[credential removed]')
    expect(cleaned).toMatch(/^before .* after$/s)
    const decoded = [
      cleaned,
      ...(cleaned.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []).map((t) => Buffer.from(t, 'base64').toString('latin1')),
    ]
    for (const one of decoded) expect(one).not.toContain('with\\odd')
    const bytes = scrub.bytes?.(Buffer.from(text)) ?? Buffer.from(text)
    expect(bytes.byteLength).toBe(Buffer.byteLength(text))
    expect(Buffer.from(bytes).equals(Buffer.from(text))).toBe(false)
  })

  it.each([
    ['a URL with small escapes', (v: string) => encodeURIComponent(v).replace(/%../g, (e) => e.toLowerCase())],
    ['a form', (v: string) => new URLSearchParams({ v }).toString()],
    [
      'a URL of a strict language',
      (v: string) => encodeURIComponent(v).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`.toUpperCase()),
    ],
    ['JSON with escaped slashes', (v: string) => JSON.stringify({ v }).replaceAll('/', '\\/')],
    [
      'a page',
      (v: string) =>
        v.replaceAll('&', '&amp;').replaceAll("'", '&#39;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
    ],
  ])('I6 a credential of mixed case that somebody echoes in %s is taken out whole', (_, echo) => {
    for (const secret of ['AbC/dEf+GhI==', "S3cret!(of)'Ann'*~", 'Tok&en<"Xy/Z', 'A b!C/d'])
      expect(scrubOf([secret]).text(`before ${echo(secret)} after`)).toMatch(
        /^before (\{"v":"|v=)?\[credential removed\]("\})? after$/,
      )
  })

  it('I6 of a value that was encoded whole not even the last letter is left', () => {
    for (const secret of ['sk_secret_default_12345678', 'sk_secret_default_1234567', 'sk_secret_default_123456']) {
      const bytes = Buffer.from(secret)
      for (const text of [
        bytes.toString('base64'),
        bytes.toString('base64url'),
        bytes.toString('base64').replace(/=+$/, ''),
      ])
        expect(scrubOf([secret]).text(`(${text})`)).toBe('([credential removed])')
    }
  })

  it('I6 a value is found in base64 whatever stands before and after it', () => {
    const random = fc.string({ minLength: 12, maxLength: 40, unit: 'binary-ascii' })
    fc.assert(
      fc.property(
        random,
        fc.uint8Array({ maxLength: 20 }),
        fc.uint8Array({ maxLength: 20 }),
        (secret, before, after) => {
          const text = Buffer.concat([before, Buffer.from(secret), after]).toString('base64')
          expect(scrubOf([secret]).text(text)).toContain('[credential removed]')
        },
      ),
    )
  })

  it('I6 texts and keys of a value are cleaned at every depth, and nothing else is changed', () => {
    const value = { a: [SECRET, { [SECRET]: 1, b: `x${SECRET}` }], n: 1, t: true, z: null }
    expect(JSON.parse(JSON.stringify(scrubJson(value, scrub)))).toEqual({
      a: ['[credential removed]', { '[credential removed]': 1, b: 'x[credential removed]' }],
      n: 1,
      t: true,
      z: null,
    })
    const plain = { a: ['nothing here'] }
    expect(scrubJson(plain, scrubOf([]))).toBe(plain)
  })

  it('I6 of two values one of which is part of the other nothing is left', () => {
    const both = scrubOf(['abcdefgh', 'abcdefgh-long-tail'])
    expect(both.text('abcdefgh-long-tail abcdefgh')).toBe('[credential removed] [credential removed]')
  })
})
