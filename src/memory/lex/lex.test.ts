import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayOf } from './dates.ts'
import { lex, lexVersion } from './lex.ts'

const terms = (text: string) => [...lex(text).keys()].sort()

describe('terms', () => {
  it.each([
    ['The dogs were running', ['s:dog', 's:run', 'x:dogs', 'x:running']],
    ['locale zh-CN', ['i:zh-cn', 's:cn', 's:local', 's:zh', 'x:locale']],
    ['order_42', ['i:order_42', 's:42', 's:order']],
    ['A-1009', ['i:a-1009', 's:1009']],
    ['ann.b@example.org', ['i:ann.b@example.org', 's:ann', 's:b', 's:exampl', 's:org', 'x:example']],
    [
      'https://docs.example.org/x',
      ['i:docs.example.org', 's:doc', 's:exampl', 's:https', 's:org', 's:x', 'x:docs', 'x:example'],
    ],
    ['Café CAFÉ', ['s:cafe']],
    ['Ann’s', ['s:ann']],
    ['我去了博物馆', ['b:了博', 'b:博物', 'b:去了', 'b:我去', 'b:物馆', 'z:博物', 'z:去了', 'z:馆']],
    ['书', ['z:书']],
    ['タワー', ['k:タワ', 'k:タワー', 'k:ワー']],
    ['한국어', ['h:국어', 'h:한국', 'h:한국어']],
    ['Москва', ['s:москва']],
    ['什么', []],
    ['', []],
    ['\ud800 \u0000 🎉', []],
  ])('F1 %j has the terms that a question about it has', (text, expected) => {
    expect(terms(text)).toEqual([...expected].sort())
  })

  it.each([
    '2023-05-02',
    '2023/5/2',
    'May 2, 2023',
    'may 2nd 2023',
    '2 May 2023',
    '2nd of May, 2023',
    '2023年5月2日',
    '２０２３年５月２号',
    '2023年五月二日',
  ])('F1 %s is one day in both languages, with its weekday', (text) => {
    expect(terms(text)).toEqual(
      expect.arrayContaining(['d:2023-05-02', 'd:2023-05', 'd:05-02', 'd:m05', 'd:y2023', 'd:w2']),
    )
  })

  it.each([
    ['5月2日', ['d:05-02', 'd:m05']],
    ['十二月二十七号', ['d:12-27', 'd:m12']],
    ['on May 2', ['d:05-02', 'd:m05']],
    ['in May', ['d:m05']],
    ['May 2023', ['d:2023-05', 'd:m05', 'd:y2023']],
    ['next Tuesday', ['d:w2']],
    ['星期二', ['d:w2']],
    ['you may go', []],
    ['13月40日', []],
    ['2023-99-01', []],
  ])('F1 %s knows no more of a day than it says', (text, expected) => {
    expect(terms(text).filter((term) => term.startsWith('d:'))).toEqual([...expected].sort())
  })

  it.each([
    ['I was there yesterday', 'd:2023-02-28'],
    ['昨天去了', 'd:2023-02-28'],
    ['the day before yesterday', 'd:2023-02-27'],
    ['明天', 'd:2023-03-02'],
  ])('F1 %j is a day, counted from the day on which it was said', (text, term) => {
    const written = dayOf('2023-03-01T23:59:00+08:00')
    expect([...lex(text, written ?? {}).keys()]).toContain(term)
    expect([...lex(text, written ?? {}).keys()].filter((t) => /^d:\d{4}-\d\d-\d\d$/.test(t))).toEqual([term])
  })

  it('F1 a year between two languages: the version of the index names the ICU that cut the words', () => {
    expect(lexVersion('78.2')).toBe('lex_1/icu_78.2')
  })
})

const TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc
    .array(
      fc.constantFrom(
        '运动',
        '図書館',
        'タワー',
        '한국',
        'Åse',
        'İzmir',
        'ﬁne',
        'zh-CN',
        '5月2日',
        "don't",
        ' ',
        'a_b.c',
      ),
      { maxLength: 20 },
    )
    .map((p) => p.join('')),
)

describe('laws of terms', () => {
  it('F1 no text breaks the lexer, and no term is longer than its bound or without its kind', () => {
    fc.assert(
      fc.property(TEXT, (text) => {
        for (const [term, tf] of lex(text)) {
          expect(term).toMatch(/^[sxizbkhd]:./su)
          expect(term.length).toBeLessThanOrEqual(66)
          expect(term).not.toMatch(/\s/u)
          expect(tf).toBeGreaterThan(0)
        }
      }),
    )
  })

  it('F1 the same text in another normal form has the same terms', () => {
    fc.assert(
      fc.property(TEXT, (text) => {
        expect(lex(text.normalize('NFD'))).toEqual(lex(text.normalize('NFC')))
      }),
    )
  })

  it('F1 a text as long as one likes has a bounded number of terms', () => {
    expect(lex('ab '.repeat(1_000_000)).get('s:ab')).toBeLessThan(7_000)
    expect(lex('x'.repeat(1_000_000)).size).toBe(1)
    expect([...lex('运'.repeat(100_000)).values()].reduce((a, b) => a + b)).toBeLessThanOrEqual(40_000)
  })

  it('F1 words on both sides of a space are those of each side: nothing is joined across it', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{3,12}$/), fc.stringMatching(/^[一-龥]{1,6}$/), (latin, han) => {
        const joined = new Set(lex(`${latin} ${han}`).keys())
        expect(joined).toEqual(new Set([...lex(latin).keys(), ...lex(han).keys()]))
      }),
    )
  })
})
