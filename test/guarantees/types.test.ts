/** A value means the same on both engines, whichever door it goes through. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, statement, type TestStore } from '../setup/engines.ts'

const PLACE = { tenant: 'acme', environment: 'production' }
const ODD_TEXTS = [
  'a,b',
  '{x}',
  '"quoted"',
  "it's",
  '\\',
  '\\u0000',
  '',
  'NULL',
  'null',
  ' blank ',
  'line\nline',
  '退款 🧾',
  '$1',
  '--',
]

describe.each(ENGINES)('types on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  /** The value as it comes back through each of the three doors. */
  async function back(type: string, value: unknown): Promise<unknown[]> {
    const echo = statement(`echo_${type.replace(/\W/g, '_')}`, `select $1::${type} as value`, ['value'])
    const rows = await Promise.all([
      store.db.call(echo, { value }),
      store.db.read(PLACE, echo, { value }),
      store.db.write(PLACE, echo, { value }),
    ])
    return rows.map(([row]) => row?.value)
  }
  const thrice = (value: unknown) => [value, value, value]

  it.each([0, -1, 7_406_251_903, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    'L1 an int8 is a number: %d',
    async (value) => expect(await back('int8', value)).toEqual(thrice(value)),
  )

  it('L1 an int8 that a number cannot hold is an error, not another number, and the connection lives on', async () => {
    for (const value of ['9007199254740992', '-9007199254740993', '9223372036854775807']) {
      await expect(back('int8', value)).rejects.toThrow(/beyond 2\^53-1/)
      const large = statement('large', `select $1::int8 as value`, ['value'])
      await expect(store.db.call(large, { value })).rejects.toThrow(RangeError)
      await expect(store.db.read(PLACE, large, { value })).rejects.toThrow(RangeError)
    }
    expect(await back('int8', 1)).toEqual(thrice(1))
  })

  it('L1 bytes are a Uint8Array of the same bytes', async () => {
    for (const value of [
      Uint8Array.from({ length: 256 }, (_, i) => i),
      new Uint8Array(0),
      new Uint8Array(100_000).fill(92),
    ]) {
      for (const got of await back('bytea', value)) {
        expect(got).toBeInstanceOf(Uint8Array)
        expect(Buffer.compare(Buffer.from(got as Uint8Array), Buffer.from(value))).toBe(0)
      }
    }
  })

  it('L1 a jsonb is the value itself', async () => {
    const value = { a: [1, 1.5, null, true], b: { c: ODD_TEXTS }, 'k"ey': '退款', empty: {} }
    expect(await back('jsonb', value)).toEqual(thrice(value))
    expect(await back('jsonb', JSON.stringify([1, 'x']))).toEqual(thrice([1, 'x']))
    expect(await back('jsonb', '"text"')).toEqual(thrice('text'))
    expect(await back('jsonb', null)).toEqual(thrice(null))
  })

  it('L1 a list of texts keeps commas, quotes, braces and blanks', async () => {
    expect(await back('text[]', ODD_TEXTS)).toEqual(thrice(ODD_TEXTS))
    expect(await back('text[]', [])).toEqual(thrice([]))
    expect(await back('text[]', [null, 'null', null])).toEqual(thrice([null, 'null', null]))
    expect(await back('text[]', null)).toEqual(thrice(null))
  })

  it('L1 texts, truths, numbers and nothing come back as they were', async () => {
    for (const value of ODD_TEXTS) expect(await back('text', value)).toEqual(thrice(value))
    for (const value of [true, false, null]) expect(await back('boolean', value)).toEqual(thrice(value))
    for (const value of [0.1, -1e300, 42]) expect(await back('float8', value)).toEqual(thrice(value))
    expect(await back('int', 2_147_483_647)).toEqual(thrice(2_147_483_647))
    expect(await back('text', undefined)).toEqual(thrice(null))
    const instant = new Date('2026-11-30T12:34:56.789Z')
    for (const got of await back('timestamptz', instant.toISOString())) expect(got).toEqual(instant)
  })

  it('L1 a text with U+0000 is refused by name, and the next statement works', async () => {
    const refused: readonly (readonly [string, unknown])[] = [
      ['text', 'hello \0 world'],
      ['text[]', ['fine', 'not \0 fine']],
      ['jsonb', { text: 'hello \0 world' }],
      ['jsonb', { 'ke\0y': 1 }],
    ]
    for (const [type, value] of refused) {
      for (const door of ['call', 'read', 'write'] as const) {
        const echo = statement(`nul_${type.replace(/\W/g, '_')}`, `select $1::${type} as value`, ['value'])
        const work = door === 'call' ? store.db.call(echo, { value }) : store.db[door](PLACE, echo, { value })
        await expect(work, `${type} ${door}`).rejects.toMatchObject({ name: 'Fault', code: 'invalid_text' })
      }
      expect(await back('text', 'after')).toEqual(thrice('after'))
    }
    // the six characters that only look like it are a text
    expect(await back('jsonb', { text: '\\u0000' })).toEqual(thrice({ text: '\\u0000' }))
  })

  it('L1 a statement that has run often enough to be planned once gives the same answers', async () => {
    const echo = statement('often', 'select $1::text as t, $2::int8 as n, $3::text[] as l, $4::jsonb as j', [
      't',
      'n',
      'l',
      'j',
    ])
    for (let i = 0; i < 14; i++) {
      const row = i % 3 ? { t: `t${i}`, n: i, l: [`${i}`], j: { i } } : { t: null, n: null, l: null, j: null }
      expect(await store.db.call(echo, row)).toEqual([row])
      expect(await store.db.read(PLACE, echo, row)).toEqual([row])
    }
  })
})
