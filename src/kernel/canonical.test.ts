import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalBytes, canonicalText, hashArguments, hashBytes, hashJson } from './canonical.ts'
import { type Json, parseStrict } from './json.ts'

const double = (hex: string) => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, BigInt(`0x${hex}`))
  return view.getFloat64(0)
}

describe('the vectors of RFC 8785', () => {
  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('J8 the number %s is written as %s', (hex, text) => {
    expect(canonicalText(double(hex))).toBe(text)
  })

  it.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('J8 the number %s is refused', (hex) => {
    expect(() => canonicalText(double(hex))).toThrow('not finite')
  })

  it('J8 members are sorted by UTF-16 code unit', () => {
    const value = JSON.parse(
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",' +
        '"\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
    ) as Json
    const order = [...canonicalText(value).matchAll(/:"([^"]*)"/g)].map((m) => m[1])
    expect(order).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  it('J8 the structured example gives the bytes of the RFC', () => {
    const value = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`) as Json
    expect(Buffer.from(canonicalBytes(value)).toString('hex')).toBe(
      (
        '7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72 75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 ' +
        '72 73 22 3a 5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31 65 2b 33 30 2c 34 2e 35 2c 30 2e 30 ' +
        '30 32 2c 31 65 2d 32 37 5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30 30 66 5c 6e 41 27 42 5c ' +
        '22 5c 5c 5c 5c 5c 22 2f 22 7d'
      ).replaceAll(' ', ''),
    )
  })

  it('J8 half of a surrogate pair is refused, as value and as key', () => {
    expect(() => canonicalText(['\ud800'])).toThrow('surrogate')
    expect(() => canonicalText({ '\udc00': 1 })).toThrow('surrogate')
  })
})

describe('laws', () => {
  const value = fc
    .jsonValue({ stringUnit: 'binary' })
    .map((v) => parseStrict(JSON.stringify(v), { depth: 64 }))
    .filter((p) => p.ok)
  const shuffled = (v: Json): Json => {
    if (typeof v !== 'object' || v === null) return v
    if (Array.isArray(v)) return v.map(shuffled)
    return Object.fromEntries(
      Object.entries(v)
        .reverse()
        .map(([k, m]) => [k, shuffled(m)]),
    )
  }

  it('J8 the order of keys does not count', () => {
    fc.assert(
      fc.property(value, (p) => {
        if (p.ok) expect(canonicalText(shuffled(p.value))).toBe(canonicalText(p.value))
      }),
    )
  })

  it('J8 the strict parser reads the canonical text back as the same value', () => {
    fc.assert(
      fc.property(value, (p) => {
        if (!p.ok) return
        const again = parseStrict(canonicalText(p.value), { depth: 64 })
        expect(again).toMatchObject({ ok: true, value: p.value })
        if (again.ok) expect(canonicalText(again.value)).toBe(canonicalText(p.value))
      }),
    )
  })

  it('J8 every finite double survives', () => {
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (n) => {
        expect(Number(canonicalText(n))).toBe(n === 0 ? 0 : n)
      }),
    )
  })
})

describe('BR-076 one hash everywhere', () => {
  const members = [
    ['amount', 1],
    ['Currency', 'EUR'],
    ['ZONE', 2],
    ['Ärger', 3],
    ['zebra', 4],
  ] as const

  it('J8 any order of insertion and any locale give one hash', () => {
    const here = hashJson(Object.fromEntries(members))
    const rotations = members.map((_, i) => Object.fromEntries([...members.slice(i), ...members.slice(0, i)].reverse()))
    expect(new Set(rotations.map(hashJson))).toEqual(new Set([here]))
    const script = `import('${new URL('./canonical.ts', import.meta.url).href}').then((m) => process.stdout.write(m.hashJson(${JSON.stringify(Object.fromEntries(members))})))`
    for (const LANG of ['C', 'de_DE.UTF-8', 'zh_CN.UTF-8']) {
      const env = { ...process.env, LANG, LC_ALL: LANG }
      expect(execFileSync(process.execPath, ['--import', 'tsx', '-e', script], { env, encoding: 'utf8' })).toBe(here)
    }
  })

  it('J8 1 and 1.0 are one, "1", null and absence are others, order in arrays counts', () => {
    const of = (text: string) => {
      const parsed = parseStrict(text)
      return parsed.ok ? hashJson(parsed.value) : ''
    }
    expect(of('{"a":1.0}')).toBe(of('{"a":1}'))
    expect(of('[-0]')).toBe(of('[0]'))
    expect(new Set(['{"a":1}', '{"a":"1"}', '{"a":null}', '{}', '[1,2]', '[2,1]'].map(of)).size).toBe(6)
  })

  it('J3 tool, version, tenant and arguments all count, and no part can borrow from its neighbour', () => {
    const base = { tool: 'orders.refund', version: 2, tenant: 'acme', text: '{"a":1}' }
    const variants = [
      base,
      { ...base, tool: 'orders.refunds' },
      { ...base, version: 3 },
      { ...base, tenant: 'acme2' },
      { ...base, text: '{"a":2}' },
      { ...base, tool: 'orders.refund","2' },
    ]
    expect(new Set(variants.map(hashArguments)).size).toBe(variants.length)
    expect(hashBytes('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })
})
