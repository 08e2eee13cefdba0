/**
 * Was this JSON text cut off? The question is asked of call arguments when a stream has ended, whatever its label says.
 *
 * `truncated` is the proper beginning of some JSON value: more was meant to come. `invalid` is the beginning of none:
 * nothing was cut, the model wrote nonsense, and the gate tells it so. Nothing is repaired.
 */
export type Completeness = 'empty' | 'complete' | 'truncated' | 'invalid'

type Expect = 'value' | 'value_or_end' | 'key' | 'key_or_end' | 'colon' | 'comma_or_end'

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const NUMBER_START = /-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?$/y
const SPACE = /[ \t\n\r]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const ESCAPE_START = /\\(?:u[0-9a-fA-F]{0,3})?$/y

const matchAt = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** The index after the piece, or the verdict that ends the scan. */
type Scanned = number | 'truncated' | 'invalid'

function scanString(text: string, start: number): Scanned {
  let at = start + 1
  for (;;) {
    const code = text.charCodeAt(at)
    if (Number.isNaN(code)) return 'truncated'
    if (code === 0x22) return at + 1
    if (code < 0x20) return 'invalid'
    if (code !== 0x5c) at += 1
    else {
      const next = matchAt(ESCAPE, text, at)
      if (next < 0) return matchAt(ESCAPE_START, text, at) < 0 ? 'invalid' : 'truncated'
      at = next
    }
  }
}

function scanScalar(text: string, at: number): Scanned {
  if (text[at] === '"') return scanString(text, at)
  for (const word of ['true', 'false', 'null']) {
    if (text.startsWith(word, at)) return at + word.length
    if (text.length - at < word.length && word.startsWith(text.slice(at))) return 'truncated'
  }
  const end = matchAt(NUMBER, text, at)
  if (end === text.length) return end
  if (matchAt(NUMBER_START, text, at) >= 0) return 'truncated'
  return end < 0 ? 'invalid' : end
}

export function completeness(text: string): Completeness {
  const open: ('{' | '[')[] = []
  let expect: Expect = 'value'
  let at = matchAt(SPACE, text, 0)
  if (at === text.length) return 'empty'
  for (;;) {
    const c = text[at]
    if (c === undefined) return 'truncated'
    const inner = open.at(-1)
    const ends = expect.endsWith('_or_end') && (inner === '{' ? c === '}' : c === ']')
    if (ends) {
      open.pop()
      expect = 'comma_or_end'
      at += 1
    } else if (expect === 'colon' || expect === 'comma_or_end') {
      if (c !== (expect === 'colon' ? ':' : ',')) return 'invalid'
      expect = expect === 'comma_or_end' && inner === '{' ? 'key' : 'value'
      at += 1
    } else if (expect !== 'key' && expect !== 'key_or_end' && (c === '{' || c === '[')) {
      open.push(c)
      expect = c === '{' ? 'key_or_end' : 'value_or_end'
      at += 1
    } else {
      const isKey: boolean = expect === 'key' || expect === 'key_or_end'
      if (isKey && c !== '"') return 'invalid'
      const next = scanScalar(text, at)
      if (typeof next !== 'number') return next
      at = next
      expect = isKey ? 'colon' : 'comma_or_end'
    }
    at = matchAt(SPACE, text, at)
    if (open.length === 0) return at === text.length ? 'complete' : 'invalid'
  }
}
