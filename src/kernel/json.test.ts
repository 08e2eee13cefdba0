import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedJson } from '../../test/shared-data.ts'
import { JSON_LIMITS, type JsonRefusal, parseStrict, parseStrictBytes, utf8Length } from './json.ts'

const refusal = (text: string) => {
  const parsed = parseStrict(text)
  return parsed.ok ? 'accepted' : parsed.code
}

describe('what JSON.parse lets through', () => {
  it.each<[string, string, JsonRefusal]>([
    ['a repeated key', '{"to":"a","to":"b"}', 'duplicate_key'],
    ['a key repeated by escape', '{"to":"a","t\\u006f":"b"}', 'duplicate_key'],
    ['a repeated key deep inside', '{"a":[{"b":1,"b":2}]}', 'duplicate_key'],
    ['__proto__', '{"__proto__":{"admin":true}}', 'forbidden_key'],
    ['__proto__ by escape', '{"a":{"\\u005f_proto__":1}}', 'forbidden_key'],
    ['a 19-digit id', '{"id":7311204596012000003}', 'unsafe_integer'],
    ['2^53', '{"id":9007199254740992}', 'unsafe_integer'],
    ['-2^53', '[-9007199254740992]', 'unsafe_integer'],
    ['an unsafe integer by exponent', '[1e20]', 'unsafe_integer'],
    ['an unsafe integer with a fraction', '[12345678901234567.0]', 'unsafe_integer'],
    ['overflow', '{"x":1e400}', 'number_out_of_range'],
    ['negative overflow', '[-1E+9999]', 'number_out_of_range'],
    ['a number that vanishes', '[1e-400]', 'number_out_of_range'],
    ['NUL', '{"note":"a\\u0000b"}', 'invalid_text'],
    ['NUL in a key', '{"a\\u0000":1}', 'invalid_text'],
    ['a lone high surrogate', '["\\ud800"]', 'invalid_text'],
    ['a lone low surrogate', '["\\udc00x"]', 'invalid_text'],
    ['swapped surrogates', '["\\ude00\\ud83d"]', 'invalid_text'],
    ['a raw lone surrogate', '["\ud800"]', 'invalid_text'],
    ['a byte order mark', '\ufeff{}', 'syntax'],
    ['a no-break space', '{\u00a0}', 'syntax'],
    ['a form feed', '[\f1]', 'syntax'],
    ['a second document', '{"a":1}{"a":2}', 'syntax'],
    ['a code fence', '```json\n{"a":1}\n```', 'syntax'],
    ['a trailing comma', '{"a":1,}', 'syntax'],
    ['a comment', '{"a":1 /* x */}', 'syntax'],
    ['Python words', '{"a": True}', 'syntax'],
    ['a raw line break in a text', '["a\nb"]', 'syntax'],
    ['a leading zero', '[007]', 'syntax'],
    ['a plus sign', '[+7]', 'syntax'],
    ['an inherited escape letter', '["\\constructor"]', 'syntax'],
    ['nothing', '', 'syntax'],
    ['white space', ' \n', 'syntax'],
    ['an open escape', '{"a":"\\u00', 'syntax'],
  ])('I3 %s is refused and never repaired', (_, text, code) => {
    expect(refusal(text)).toBe(code)
  })

  it('I3 a refusal names the place and holds no value', () => {
    const parsed = parseStrict('{"order":{"a/b":["secret-value",1e400]}}')
    expect(parsed).toMatchObject({ ok: false, path: '/order/a~1b/1', offset: 32 })
    expect(JSON.stringify(parsed)).not.toContain('secret-value')
  })

  it('I3 negative zero, 1.0 and long decimals are read as the number that is stored', () => {
    const parsed = parseStrict('[-0, 1.0, -0.0e5, 0.1000000000000000055511151231257827, 9007199254740991]')
    expect(parsed).toMatchObject({ ok: true, value: [0, 1, 0, 0.1, 9007199254740991] })
    if (parsed.ok) expect(Object.is((parsed.value as number[])[0], -0)).toBe(false)
  })

  it('I3 a key such as toString is data and shadows nothing', () => {
    const parsed = parseStrict('{"toString":"x","constructor":{"prototype":1}}')
    expect(parsed).toMatchObject({ ok: true })
    if (!parsed.ok) return
    expect(Object.getPrototypeOf(parsed.value)).toBe(null)
    expect(Object.keys(parsed.value as object)).toEqual(['toString', 'constructor'])
  })

  it('I3 a visible backslash-u-0000 of six characters comes back as it was (BR-072)', () => {
    expect(parseStrict('["\\\\u0000"]')).toMatchObject({ value: ['\\u0000'] })
  })
})

describe('limits', () => {
  it('I3 100 000 open brackets end as a refusal and not as a stack overflow', () => {
    expect(refusal('['.repeat(100_000) + ']'.repeat(100_000))).toBe('too_deep')
    const loose = parseStrict('['.repeat(100_000), { depth: 1e9 })
    expect(loose).toMatchObject({ ok: false, code: 'too_deep' })
  })

  it('I3 the limits are exact', () => {
    const nested = (n: number) => '['.repeat(n) + ']'.repeat(n)
    expect([refusal(nested(32)), refusal(nested(33))]).toEqual(['accepted', 'too_deep'])
    const keys = (n: number) => `{${Array.from({ length: n }, (_, i) => `"k${i}":1`)}}`
    expect([refusal(keys(1_000)), refusal(keys(1_001))]).toEqual(['accepted', 'too_many_keys'])
    const items = (n: number) => `[${Array(n).fill(1)}]`
    expect([refusal(items(10_000)), refusal(items(10_001))]).toEqual(['accepted', 'too_many_items'])
    const text = (n: number) => `"${'x'.repeat(n - 2)}"`
    expect([refusal(text(JSON_LIMITS.bytes)), refusal(text(JSON_LIMITS.bytes + 1))]).toEqual(['accepted', 'too_large'])
  })

  it('I3 the byte limit counts bytes and not characters', () => {
    expect(parseStrict('"中中"', { bytes: 7 })).toMatchObject({ ok: false, code: 'too_large' })
    expect(parseStrict('"中中"', { bytes: 8 })).toMatchObject({ ok: true, bytes: 8 })
  })

  it('I3 bytes that are not UTF-8 are refused', () => {
    expect(parseStrictBytes(Uint8Array.of(0x22, 0xc3, 0x28, 0x22))).toMatchObject({ ok: false, code: 'invalid_utf8' })
    expect(parseStrictBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toMatchObject({ ok: false, code: 'syntax' })
  })
})

describe('laws', () => {
  const safe = fc.jsonValue({ stringUnit: 'binary' }).filter((v) => parseStrict(JSON.stringify(v)).ok)

  it('I3 every text that is accepted means what JSON.parse says', () => {
    fc.assert(
      fc.property(safe, (value) => {
        const text = JSON.stringify(value)
        const parsed = parseStrict(text)
        expect(parsed.ok && JSON.stringify(parsed.value)).toBe(
          JSON.stringify(JSON.parse(text)).replace(/-0\b(?!\.)/g, '0'),
        )
      }),
    )
  })

  it('I3 no text makes the scanner throw, and what JSON.parse refuses it refuses', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '\\',
      '1',
      '-',
      '.',
      'e5',
      'null',
      ' ',
      '\u0000',
      '\ud800',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        if (!parseStrict(text).ok) return
        expect(() => JSON.parse(text)).not.toThrow()
      }),
      { numRuns: 2_000 },
    )
  })

  it('I3 the byte count is that of the encoder', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
      }),
    )
  })
})

interface Suite {
  readonly cases: readonly { name: string; suite: string; expect: string; bytesBase64: string }[]
}

const suite = sharedJson<Suite>('json-test-suite/cases.json')

describe.skipIf(suite === null)('the public JSON parsing suite', () => {
  const verdict = (base64: string) => {
    const parsed = parseStrictBytes(Uint8Array.from(Buffer.from(base64, 'base64')))
    return parsed.ok ? 'accepted' : parsed.code
  }
  const named = (expected: string) => (suite?.cases ?? []).filter((c) => c.expect === expected)
  const verdicts = (expected: string) =>
    Object.fromEntries(named(expected).map((c) => [c.name, verdict(c.bytesBase64)]))

  it('I3 accepts all that must be accepted, except where a strict rule says no', () => {
    const strict = Object.entries(verdicts('accept')).filter(([, v]) => v !== 'accepted')
    expect(Object.fromEntries(strict)).toEqual({
      'y_number.json': 'unsafe_integer',
      'y_number_real_capital_e.json': 'unsafe_integer',
      'y_number_real_exponent.json': 'unsafe_integer',
      'y_number_real_fraction_exponent.json': 'unsafe_integer',
      'y_object_duplicated_key.json': 'duplicate_key',
      'y_object_duplicated_key_and_value.json': 'duplicate_key',
      'y_object_escaped_null_in_key.json': 'invalid_text',
      'y_object_extreme_numbers.json': 'unsafe_integer',
      'y_string_null_escape.json': 'invalid_text',
    })
  })

  it('I3 refuses all that must be refused', () => {
    expect(Object.entries(verdicts('reject')).filter(([, v]) => v === 'accepted')).toEqual([])
  })

  it('I3 decides every case that the standard leaves open', () => {
    expect(Object.values(verdicts('either')).filter((v) => v === 'accepted')).toEqual([])
    expect(verdicts('either')).toMatchSnapshot()
  })

  it('I3 accepts no text whose meaning differs between parsers', () => {
    expect(
      Object.entries(verdicts('transform'))
        .filter(([, v]) => v === 'accepted')
        .map(([name]) => name),
    ).toEqual([
      'number_1.0.json',
      'number_1.000000000000000005.json',
      'number_1000000000000000.json',
      'number_1e6.json',
      'object_key_nfc_nfd.json',
      'object_key_nfd_nfc.json',
    ])
  })
})

const naughty = sharedJson<string[]>('blns/blns.json')

it.skipIf(naughty === null)('I3 every naughty string comes back as it was, as value and as key', () => {
  for (const text of naughty ?? []) {
    const parsed = parseStrict(JSON.stringify({ [`k${text}`]: text }))
    expect(parsed.ok && Object.entries(parsed.value as object)).toEqual([[`k${text}`, text]])
  }
})
