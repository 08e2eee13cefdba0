import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeness } from './completeness.ts'

describe('completeness of call arguments', () => {
  it.each([
    ['', 'empty'],
    [' \n', 'empty'],
    ['{}', 'complete'],
    [' {"a":[1,-2.5e3,true,null,"\\u00e9\\n"]} ', 'complete'],
    ['"foo"', 'complete'],
    ['[1]', 'complete'],
    ['null', 'complete'],
    ['-0', 'complete'],
    ['{"path":"/a","content":"abc', 'truncated'],
    ['{"to":"/tmp/h","body":"first half and then stop', 'truncated'],
    ['{"a":1', 'truncated'],
    ['{"a":', 'truncated'],
    ['{"a"', 'truncated'],
    ['{', 'truncated'],
    ['[1,', 'truncated'],
    ['{"a":"\\', 'truncated'],
    ['{"a":"\\u12', 'truncated'],
    ['tru', 'truncated'],
    ['-', 'truncated'],
    ['{"a":1.', 'truncated'],
    ['{"a":1e+', 'truncated'],
    ['{bad', 'invalid'],
    ['{}{}', 'invalid'],
    ['{"x":1}{"x":2}', 'invalid'],
    ['{"a":1}}', 'invalid'],
    ['{"a":1]', 'invalid'],
    ['[1}', 'invalid'],
    ['{"a":01}', 'invalid'],
    ['{"a" 1}', 'invalid'],
    ['{"a":1,}', 'invalid'],
    ['[1,]', 'invalid'],
    ["{'a':1}", 'invalid'],
    ['{"a":"\\x"}', 'invalid'],
    ['{"a":"\n"}', 'invalid'],
    ['trues', 'invalid'],
    ['-e', 'invalid'],
    ['1.e', 'invalid'],
    ['{"a":1 2}', 'invalid'],
  ] as const)('B3 cut-off arguments are told from nonsense: %j is %s', (text, expected) => {
    expect(completeness(text)).toBe(expected)
  })

  it('B3 every JSON object is complete and none of its beginnings is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, cut) => {
        const text = JSON.stringify(value)
        expect(completeness(text)).toBe('complete')
        const length = cut % text.length
        expect(completeness(text.slice(0, length))).toBe(length === 0 ? 'empty' : 'truncated')
      }),
    )
  })

  it('B3 complete means that a strict parser accepts it, invalid that it never will', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('{}[]":,0123.eE+-truefalsnull\\ ')) }), (text) => {
        const verdict = completeness(text)
        let parses = true
        try {
          JSON.parse(text)
        } catch {
          parses = false
        }
        expect(verdict === 'complete').toBe(parses)
      }),
      { numRuns: 3000 },
    )
  })

  it('Q1 a hostile depth of brackets costs no stack', () => {
    expect(completeness('['.repeat(200_000))).toBe('truncated')
    expect(completeness('['.repeat(100_000) + ']'.repeat(100_000))).toBe('complete')
  })
})
