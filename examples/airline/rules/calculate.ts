/**
 * Python arithmetic over `0-9 + - * / ( ) .` and spaces, without an evaluator of code.
 *
 * Whole numbers are exact and unbounded, as in Python, until `/` or a decimal point makes a float.
 */
import { floatText, roundToCents } from './python.ts'

type Numeric = bigint | number

const ALLOWED = /^[0-9+\-*/(). ]*$/
const TOKEN = /\s*(\d+\.?\d*|\.\d+|\*\*|\/\/|[+\-*/()])/y
/** Python's own parser gives up near 200 open parentheses. */
const MAX_DEPTH = 200
/** A float ends at 2^1024; a longer whole number could never be printed as one. */
const MAX_BITS = 1024

const SYNTAX = 'invalid syntax (<string>, line 1)'
const DIVISION = 'division by zero'
const OVERFLOW = 'int too large to convert to float'

/** What Python would raise; its message becomes the text of the result. */
class Refused extends Error {}

/** The result as text: a float rounded to cents, or `Error: …`. */
export function calculate(expression: string): string {
  if (!ALLOWED.test(expression)) return 'Error: invalid characters in expression'
  try {
    const reader = new Reader(tokensOf(expression))
    const value = reader.sum(0)
    if (reader.next() !== undefined) throw new Refused(SYNTAX)
    return floatText(roundToCents(asFloat(value)))
  } catch (error) {
    if (error instanceof Refused) return `Error: ${error.message}`
    throw error
  }
}

function tokensOf(expression: string): string[] {
  const tokens: string[] = []
  const text = expression.trimEnd()
  TOKEN.lastIndex = 0
  let match = TOKEN.exec(text)
  let end = 0
  while (match) {
    tokens.push(match[1] ?? '')
    end = TOKEN.lastIndex
    match = TOKEN.exec(text)
  }
  if (end !== text.length) throw new Refused(SYNTAX)
  return tokens
}

/** One method per level of precedence, the weakest first. */
class Reader {
  private readonly tokens: readonly string[]
  private at = 0

  constructor(tokens: readonly string[]) {
    this.tokens = tokens
  }

  next(): string | undefined {
    return this.tokens[this.at++]
  }

  private take(...wanted: string[]): string | null {
    const token = this.tokens[this.at]
    if (token === undefined || !wanted.includes(token)) return null
    this.at++
    return token
  }

  sum(depth: number): Numeric {
    let left = this.product(depth)
    for (let sign = this.take('+', '-'); sign; sign = this.take('+', '-')) {
      const right = this.product(depth)
      left = sign === '+' ? add(left, right) : add(left, negative(right))
    }
    return left
  }

  private product(depth: number): Numeric {
    let left = this.signed(depth)
    for (let sign = this.take('*', '/', '//'); sign; sign = this.take('*', '/', '//')) {
      const right = this.signed(depth)
      left = sign === '*' ? multiply(left, right) : sign === '/' ? divide(left, right) : floorDivide(left, right)
    }
    return left
  }

  private signed(depth: number): Numeric {
    let flips = 0
    for (let sign = this.take('+', '-'); sign; sign = this.take('+', '-')) if (sign === '-') flips++
    const value = this.power(depth)
    return flips % 2 === 0 ? value : negative(value)
  }

  private power(depth: number): Numeric {
    const base = this.atom(depth)
    return this.take('**') ? raise(base, this.signed(depth + 1)) : base
  }

  private atom(depth: number): Numeric {
    if (depth > MAX_DEPTH) throw new Refused('too many nested parentheses')
    const token = this.next()
    if (token === '(') {
      const value = this.sum(depth + 1)
      if (this.next() !== ')') throw new Refused(SYNTAX)
      return value
    }
    if (token === undefined || !/^[\d.]/.test(token)) throw new Refused(SYNTAX)
    if (token.includes('.')) return Number(token)
    // Python refuses a whole number such as 007, but not 0 or 000
    if (/^0+[1-9]/.test(token)) throw new Refused(SYNTAX)
    return BigInt(token)
  }
}

function asFloat(value: Numeric): number {
  if (typeof value === 'number') return value
  const float = Number(value)
  if (!Number.isFinite(float)) throw new Refused(OVERFLOW)
  return float
}

function add(a: Numeric, b: Numeric): Numeric {
  return typeof a === 'bigint' && typeof b === 'bigint' ? a + b : asFloat(a) + asFloat(b)
}

function multiply(a: Numeric, b: Numeric): Numeric {
  return typeof a === 'bigint' && typeof b === 'bigint' ? a * b : asFloat(a) * asFloat(b)
}

function negative(value: Numeric): Numeric {
  return typeof value === 'bigint' ? -value : -value
}

function divide(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new Refused(DIVISION)
  return asFloat(a) / asFloat(b)
}

/** Towards minus infinity, where BigInt division goes towards zero. */
function floorDivide(a: Numeric, b: Numeric): Numeric {
  if (Number(b) === 0) throw new Refused(DIVISION)
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return Math.floor(asFloat(a) / asFloat(b))
  const quotient = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient
}

function raise(base: Numeric, exponent: Numeric): Numeric {
  if (typeof base === 'bigint' && typeof exponent === 'bigint' && exponent >= 0n) {
    const bits = BigInt(base.toString(2).length)
    if (bits > 1n && bits * exponent > BigInt(MAX_BITS) * 2n && base !== -1n) throw new Refused(OVERFLOW)
    return base ** exponent
  }
  const [from, to] = [asFloat(base), asFloat(exponent)]
  if (from === 0 && to < 0) throw new Refused(DIVISION)
  const value = from ** to
  if (Number.isNaN(value)) throw new Refused('the result is not a real number')
  return value
}
