import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseStrict } from './json.ts'
import { checkJson, RESULT_LIMITS } from './plain.ts'

describe('BR-075 what is passed on is what will be read back', () => {
  const cyclic: Record<string, unknown> = { a: { b: [] } }
  ;(cyclic.a as { b: unknown[] }).b.push(cyclic)
  const thrower = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('postgres://u:p@h')
      },
    },
  )

  it.each<[string, unknown, string]>([
    ['a Date', { at: new Date(0) }, '/at'],
    ['a Map', { m: new Map([[1, 2]]) }, '/m'],
    ['a missing member', { ok: { u: undefined } }, '/ok/u'],
    ['a big integer', [1, 10n], '/1'],
    ['a function', { f: () => 1 }, '/f'],
    ['a symbol', { s: Symbol('x') }, '/s'],
    ['a symbol as key', { a: { [Symbol('x')]: 1 } }, '/a'],
    ['not a number', { n: Number.NaN }, '/n'],
    ['infinity', { n: -Infinity }, '/n'],
    ['an unsafe integer', { id: 2 ** 53 }, '/id'],
    ['a knot', cyclic, '/a/b/0'],
    ['a hole', { list: [1, , 3] }, '/list/1'],
    ['an instance of a class', { u: new URL('http://localhost') }, '/u'],
    ['bytes', { b: new Uint8Array(2) }, '/b'],
    ['a boxed text', { b: new String('x') }, '/b'],
    ['an own __proto__', JSON.parse('{"a":{"__proto__":1}}'), '/a/__proto__'],
    ['NUL', { t: 'a\0b' }, '/t'],
    ['half a surrogate pair', { t: ['\udc00'] }, '/t/0'],
    ['a trap that throws', { p: thrower }, '/p'],
  ])('I6 %s is refused with its path and never becomes null', (_, value, path) => {
    const checked = checkJson(value)
    expect(checked).toMatchObject({ ok: false, path })
    expect(JSON.stringify(checked)).not.toContain('postgres')
  })

  it('I6 text that cannot be stored is mended visibly in results', () => {
    const checked = checkJson({ 'k\0': 'a\0b', t: '\ud800x' }, { text: 'mend' })
    expect(checked).toEqual({ ok: true, mended: true, value: { 'k\ufffd': 'a\ufffdb', t: '\ufffdx' } })
    expect(checkJson({ t: '😀 中' }, { text: 'mend' })).toMatchObject({ ok: true, mended: false })
  })

  it('I6 plain values of another realm and without a prototype are plain', () => {
    expect(checkJson(runInNewContext('({a:[1,{b:null}]})'))).toMatchObject({ ok: true, value: { a: [1, { b: null }] } })
    expect(checkJson(Object.assign(Object.create(null), { toString: 'x' }))).toMatchObject({ ok: true })
  })

  it('I6 a small knot of shared members cannot become a huge tree', () => {
    let value: unknown = 'x'.repeat(1_000)
    for (let i = 0; i < 20; i++) value = [value, value, value, value]
    expect(checkJson(value)).toMatchObject({ ok: false, reason: 'is larger than the limit' })
  })

  it('I6 a knot of small values is refused by their number, long before it fills the memory', () => {
    let value: unknown = 'x'
    for (let i = 0; i < 40; i++) value = [value, value]
    expect(checkJson(value, RESULT_LIMITS)).toMatchObject({ ok: false, reason: 'holds more values than the limit' })
  })

  it('I6 the copy equals what the stored text gives, and is not the live object', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const checked = checkJson(value)
        const parsed = parseStrict(JSON.stringify(value), { depth: 64 })
        if (!checked.ok || !parsed.ok) return
        expect(checked.value).toEqual(parsed.value)
        if (typeof value === 'object' && value !== null) expect(checked.value).not.toBe(value)
      }),
    )
  })
})
