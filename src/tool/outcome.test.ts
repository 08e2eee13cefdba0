import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FAULTS, type FaultCode } from '../kernel/fault.ts'
import { parseStrict, utf8Length } from '../kernel/json.ts'
import { boundEffect, boundResult, envelope, errorEnvelope, messageText } from './outcome.ts'
import { readTaxonomy } from './taxonomy.ts'
import { toolError } from './toolerror.ts'

const { errors } = readTaxonomy(['business_rejected', 'rate_limited', 'validation_error'], 'write')
const contract = { errors, maxResultBytes: 1_024, checkResult: () => [] }

const DSN = 'connect postgres://svc_app:Tr0ub4dor@pg-int.example:5432/core failed'
const LEAKS = /svc_app|Tr0ub4dor|pg-int|5432|\/srv\/app|select \* from|at Object/i

describe('BR-121 what a tool throws', () => {
  const caused = new Error('outer', { cause: new Error(DSN, { cause: new Error('select * from users where id=1') }) })
  const stacked = Object.assign(new Error('x'), {
    stack: `Error: ${DSN}\n    at Object.<anonymous> (/srv/app/db.js:1:1)`,
  })
  it.each<[string, unknown]>([
    ['a connection string', new Error(DSN)],
    ['an aggregate', new AggregateError([new Error(DSN)], DSN)],
    ['a text', DSN],
    ['an object', { message: DSN, code: 'business_rejected', hint: DSN }],
    ['nothing', undefined],
    ['a megabyte', new Error(DSN.repeat(20_000))],
    ['a chain of causes', caused],
    ['a stack with a path', stacked],
    [
      'a trap',
      new Proxy(new Error('x'), {
        get: () => {
          throw new Error(DSN)
        },
      }),
    ],
    ['an undeclared code', toolError('pg_int_svc_app', DSN)],
    ['a code of the prototype', toolError('constructor', DSN)],
  ])('B6 %s leaves only that the tool failed', (_, thrown) => {
    expect(errorEnvelope(contract, thrown)).toEqual(envelope('tool_failed'))
  })

  it.each([
    DSN,
    'failed at Object.run (/srv/app/db.js:12:3)',
    'see /srv/app/config/secrets.json',
    'C:\\app\\config.json is missing',
    'select * from users where id = 1',
    'UPDATE orders SET paid',
    'api_key: abc',
    'db.internal.example:5432 refused',
    'host 10.0.0.12 is down',
    'NUL \0 inside',
    'x'.repeat(100_000),
  ])('B6 the hint %j is dropped whole', (hint) => {
    const said = errorEnvelope(contract, toolError('business_rejected', hint))
    expect(said).toEqual({
      code: 'business_rejected',
      message: 'A rule of the business refused this.',
      retryable: false,
      hint: 'Do not repeat the call; choose another way or tell the user.',
    })
    expect(JSON.stringify(said)).not.toMatch(LEAKS)
  })

  it('B6 a declared error keeps its code, its reaction and the hint that was written for the model', () => {
    expect(
      errorEnvelope(contract, toolError('business_rejected', 'The order was refunded before; the limit is 50/day.')),
    ).toMatchObject({
      code: 'business_rejected',
      hint: 'The order was refunded before; the limit is 50/day.',
    })
    expect(errorEnvelope(contract, toolError('rate_limited'))).toMatchObject({
      retryable: true,
      hint: 'Try again later.',
    })
    expect(
      utf8Length(errorEnvelope(contract, toolError('business_rejected', '预算不足。'.repeat(50))).hint),
    ).toBeLessThanOrEqual(400)
  })

  it('B6 every row of the fault table becomes an envelope, and rows for operators say nothing of themselves', () => {
    for (const code of Object.keys(FAULTS) as FaultCode[]) {
      expect(envelope(code).code).toBe(FAULTS[code].audience === 'operator' ? 'tool_failed' : code)
    }
  })
})

describe('results', () => {
  it('I6 what cannot be stored is an error of a read and never the failure of an effect that happened', () => {
    const live = { at: new Date(0) }
    expect(boundResult(contract, live)).toMatchObject({ ok: false, error: { code: 'result_not_serialisable' } })
    expect(boundEffect(contract, live)).toMatchObject({
      ok: true,
      result: { happened: true, missing: 'result_not_serialisable' },
    })
  })

  it('I1 a result that breaks its contract is an error of a read', () => {
    const strict = { ...contract, checkResult: () => [{ path: '/a', message: 'is required' }] }
    expect(boundResult(strict, {})).toMatchObject({ ok: false, error: { code: 'result_invalid' } })
    expect(boundEffect(strict, {})).toMatchObject({ ok: true, result: { happened: true, missing: 'result_invalid' } })
  })

  it('I6 a tool that returns nothing has the result null', () => {
    expect(boundResult(contract, undefined)).toEqual({
      ok: true,
      result: null,
      bytes: 4,
      truncated: false,
      mended: false,
    })
  })

  it('I6 ten megabytes of one line are cut with a mark', () => {
    const outcome = boundResult(contract, 'x'.repeat(10 * 1024 * 1024))
    expect(outcome).toMatchObject({ ok: true, truncated: true, bytes: 10_485_760 })
    expect(messageText(outcome)).toMatch(/^x+\n\[truncated: the beginning of 10485760 bytes\]$/)
    expect(utf8Length(messageText(outcome))).toBe(1_024)
  })

  it('I6 200 000 rows become whole rows under a mark', () => {
    const rows = Array.from({ length: 200_000 }, (_, i) => ({ id: i, city: 'ZRH' }))
    const outcome = boundResult(contract, rows)
    expect(outcome).toMatchObject({
      ok: true,
      truncated: true,
      result: { truncated: true, elements: 200_000, first: expect.any(Array) },
    })
    expect(parseStrict(messageText(outcome))).toMatchObject({ ok: true })
    expect(boundResult(contract, { total: 7, rows })).toMatchObject({
      result: { truncated: true, omitted: 1, rest: { total: 7 } },
    })
  })

  it('I6 what is shown always fits, is whole JSON and says when something is missing', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(fc.jsonValue(), { maxLength: 300 }),
          fc.dictionary(fc.string(), fc.jsonValue()),
          fc.string({ unit: 'grapheme', maxLength: 2_000 }),
        ),
        (value) => {
          const outcome = boundResult({ ...contract, maxResultBytes: 512 }, value)
          const text = messageText(outcome)
          if (!outcome.ok) return
          expect(utf8Length(text)).toBeLessThanOrEqual(512)
          expect(text.includes('truncated')).toBe(outcome.truncated || JSON.stringify(value).includes('truncated'))
          if (typeof outcome.result !== 'string') expect(parseStrict(text, { depth: 70 }).ok).toBe(true)
        },
      ),
    )
  })
})

describe('the text of the tool message', () => {
  it('I6 a text is passed as it is, other values as JSON in the order of the tool', () => {
    expect(messageText(boundResult(contract, 'Error: user not found'))).toBe('Error: user not found')
    expect(messageText(boundResult(contract, ''))).toBe('')
    expect(messageText(boundResult(contract, { b: 1, a: [true, null] }))).toBe('{"b":1,"a":[true,null]}')
    expect(messageText({ ok: false, error: envelope('tool_timeout') })).toBe(JSON.stringify(envelope('tool_timeout')))
  })
})
