import { describe, expect, it } from 'vitest'
import { calculate } from './calculate.ts'
import { floatText, numberText, roundToCents } from './python.ts'

describe('calculate', () => {
  it.each([
    // as Python 3 prints round(float(expression), 2)
    ['152 + 103', '255.0'],
    ['(350 - 122) * 2 + (499 - 127) * 2', '1200.0'],
    ['(136 - (94 + 80)) * 3', '-114.0'],
    ['  7', '7.0'],
    ['7/2', '3.5'],
    ['-7//2', '-4.0'],
    ['7//-2', '-4.0'],
    ['-7.5//2', '-4.0'],
    ['1/3', '0.33'],
    ['2/3', '0.67'],
    ['2.675', '2.67'],
    ['1/8', '0.12'],
    ['3/8', '0.38'],
    ['-1/8', '-0.12'],
    ['-0.001', '-0.0'],
    ['.5 + 5.', '5.5'],
    ['0.1 + 0.2', '0.3'],
    ['2**3**2', '512.0'],
    ['-2**2', '-4.0'],
    ['(-2)**2', '4.0'],
    ['2**-1', '0.5'],
    ['2 - -3', '5.0'],
    ['--2', '2.0'],
    ['10 - 4 - 3', '3.0'],
    ['8 / 4 / 2', '1.0'],
    ['00', '0.0'],
    ['007.5', '7.5'],
    ['100000000000000000000 + 1 - 100000000000000000000', '1.0'],
    ['10000000000000000', '1e+16'],
    ['123456789012345678', '1.2345678901234568e+17'],
    ['1000000000000000', '1000000000000000.0'],
  ])('O5 %s is %s', (expression, printed) => expect(calculate(expression)).toBe(printed))

  it.each([
    ['2 + x', 'Error: invalid characters in expression'],
    ['__import__("os")', 'Error: invalid characters in expression'],
    ['1e5', 'Error: invalid characters in expression'],
    ['1\n+1', 'Error: invalid characters in expression'],
    ['', 'Error: invalid syntax (<string>, line 1)'],
    ['1 2', 'Error: invalid syntax (<string>, line 1)'],
    ['1 +', 'Error: invalid syntax (<string>, line 1)'],
    ['(1', 'Error: invalid syntax (<string>, line 1)'],
    ['1)', 'Error: invalid syntax (<string>, line 1)'],
    ['1.2.3', 'Error: invalid syntax (<string>, line 1)'],
    ['1 / / 2', 'Error: invalid syntax (<string>, line 1)'],
    ['007', 'Error: invalid syntax (<string>, line 1)'],
    ['1/0', 'Error: division by zero'],
    ['1//0', 'Error: division by zero'],
    ['0**-1', 'Error: division by zero'],
    ['9**9**9**9', 'Error: int too large to convert to float'],
    ['9'.repeat(400), 'Error: int too large to convert to float'],
    [`${'('.repeat(5000)}1${')'.repeat(5000)}`, 'Error: too many nested parentheses'],
    [`${'2**'.repeat(5000)}1`, 'Error: too many nested parentheses'],
  ])('B6 %.40s is refused with a sentence', (expression, printed) => expect(calculate(expression)).toBe(printed))
})

describe('numbers as Python prints them', () => {
  it.each([
    [150, '150.0'],
    [0, '0.0'],
    [-0, '-0.0'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [1e22, '1e+22'],
    [1.7976931348623157e308, '1.7976931348623157e+308'],
    [Number.POSITIVE_INFINITY, 'inf'],
    [123.456, '123.456'],
  ])('O5 the float %d is %s', (value, printed) => expect(floatText(value)).toBe(printed))

  it('O5 a whole number in a sentence has no point', () => {
    expect([numberText(1203), numberText(83.5), numberText(-5)]).toEqual(['1203', '83.5', '-5'])
  })

  it('O5 a tie between two cents goes to the even one', () => {
    expect([0.125, 0.375, 2.675, 1000.625, -0.875].map(roundToCents)).toEqual([0.12, 0.38, 2.67, 1000.62, -0.88])
  })
})
