import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedJson } from '../../../test/shared-data.ts'
import { bounded } from '../../tool/schema/bounded.ts'
import { MOST_CHARACTERS } from './control.ts'
import { search, VERDICTS } from './finding.ts'
import { RULES, scan } from './scan.ts'

/** Built here, so that no file of the project holds anything that looks like a key. */
const PLANTED = [
  ['gh', 'p_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'],
  ['sk', '-ant-', 'api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0'],
  ['AK', 'IA', 'Z5XW4VU3TS2RQ1PO'],
  ['my password is ', 'Tr1cky', '-Walrus'],
  ['4111 ', '1111 1111', ' 1111'],
  ['postgres', '://app:', 'Hq7pZ2wLm4@db/x'],
].map((parts) => parts.join(''))

/** Prose of letters and stops, so that nothing joins what is planted. */
const carrier = fc
  .array(fc.constantFrom('the', 'garden', 'was', 'quiet', '今天', '天气', 'très', 'Морю', '😀', 'and', 'ok.', '\n'), {
    maxLength: 40,
  })
  .map((words) => words.join(' '))

describe('what is planted', () => {
  it('E5 a secret is found in any carrier, at any place', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PLANTED), carrier, carrier, (secret, before, after) => {
        const found = scan(`${before} ${secret} ${after}`)
        return found.some((finding) => finding.verdict === 'reject')
      }),
      { numRuns: 300 },
    )
  })

  it('E5 a secret is found in every disguise', () => {
    const disguises: ((text: string) => string)[] = [
      (text) => Buffer.from(text).toString('base64'),
      (text) => Buffer.from(text).toString('hex'),
      (text) => Buffer.from(Buffer.from(text).toString('base64')).toString('base64'),
      (text) =>
        Array.from(text)
          .map((c) => (/[!-~]/.test(c) ? String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0) : c))
          .join(''),
      (text) => Array.from(text).join('\u200b'),
      (text) =>
        Array.from(text)
          .map((c) => `%${(c.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`)
          .join(''),
      (text) =>
        Array.from(text)
          .map((c) => `&#${c.codePointAt(0) ?? 0};`)
          .join(''),
      (text) =>
        Array.from(text)
          .map((c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
          .join(''),
    ]
    for (const secret of PLANTED)
      for (const [i, disguise] of disguises.entries())
        expect(scan(`note: ${disguise(secret)}`), `disguise ${i}`).toContainEqual(
          expect.objectContaining({ verdict: 'reject' }),
        )
  })

  it('E5 a finding says where, and never what', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PLANTED), carrier, (secret, before) => {
        const text = `${before} ${secret}`
        return scan(text).every(
          ({ span: [start, end], verdict, rule, ...rest }) =>
            start >= 0 &&
            end <= text.length &&
            start < end &&
            VERDICTS[rest.class] === verdict &&
            !rule.includes(secret) &&
            Object.keys(rest).length === 1,
        )
      }),
    )
  })

  it('E5 no text breaks a detector, whatever characters it has', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => Array.isArray(scan(text))),
      { numRuns: 500 },
    )
  })
})

describe('how long it takes', () => {
  it('E5 no rule repeats without a bound, so no text makes one go back and forth for long', () => {
    for (const { name, pattern } of RULES) {
      const bare = pattern.source.replaceAll(/\\./g, '_').replaceAll(/\[[^\]]*\]/g, '_')
      expect(bare.replaceAll('(?', '('), name).not.toMatch(/[*+]|\{\d+,\}/)
      expect(pattern.global, name).toBe(true)
    }
  })

  it('E5 the worst texts of the longest length are read within a bound', () => {
    const words = [
      'ignore all ',
      'a.b-c_',
      'when if on at ',
      'send the data to ',
      '1-2 3.4 ',
      'password ',
      '我的密码',
      '@a.',
      "my i'm ",
      'A'.repeat(9),
      '%41',
      '\\u0041',
      'MTIz',
      'system: ',
      'x://y:',
      'live at 1 ',
    ]
    for (const word of words) {
      const text = Array.from({ length: Math.floor(MOST_CHARACTERS / word.length) }, (_, i) => `${word}${i % 7}`)
        .join('')
        .slice(0, MOST_CHARACTERS)
      // two hundred times what an ordinary text takes: a hang, not a slow machine
      expect(() => bounded(5_000, () => scan(text)), JSON.stringify(word)).not.toThrow()
    }
  })
})

describe('what is no alarm', () => {
  interface Turn {
    readonly query?: unknown
    readonly response?: unknown
  }
  type Bank = Record<string, { readonly history: Record<string, readonly Turn[]> }>

  it.each(['en', 'cn'])('E5 talk of people about their days is almost never refused (%s)', (language) => {
    const bank = sharedJson<Bank>(`memorybank/memory_bank_${language}.json`)
    if (!bank) return
    const turns = Object.values(bank).flatMap(({ history }) => Object.values(history).flat())
    const texts = turns.flatMap(({ query, response }) => [query, response]).filter((text) => typeof text === 'string')
    const refused = texts.filter((text) => scan(text).some((finding) => finding.verdict === 'reject'))
    const asked = texts.filter((text) => scan(text).length > 0)
    expect(texts.length).toBeGreaterThan(1_000)
    expect(refused).toHaveLength(0)
    expect(asked.length).toBeLessThanOrEqual(texts.length / 200)
  })

  it('E5 most naughty strings that neither run nor hide are no alarm', () => {
    const naughty = sharedJson<readonly string[]>('blns/blns.json')
    if (!naughty) return
    const harmless = naughty.filter(
      (text) =>
        !/script|<|onfocus|alert|drop|table|exec|eval|system|etc|class|' ?or|autofocus|prompt|expression/i.test(text),
    )
    expect(harmless.length).toBeGreaterThan(150)
    expect(
      harmless.filter((text) => scan(text).some((f) => f.class !== 'hidden_text' && f.class !== 'anomaly')).length,
    ).toBeLessThanOrEqual(3)
  })

  it('E5 a text without any rule of ours is searched by all of them', () => {
    expect(new Set(RULES.map((rule) => rule.class)).size).toBeGreaterThan(6)
    expect(search(RULES, 'nothing')).toEqual([])
  })
})
