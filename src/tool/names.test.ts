import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exposedName, isLegalName, lookAlikes, skeleton } from './names.ts'

describe('exposed names', () => {
  it('I2 a dotted name is exposed legally and read back', () => {
    expect(exposedName('orders.refund')).toBe('orders__refund')
    expect(exposedName('book_reservation')).toBe('book_reservation')
  })

  it('I2 a long name keeps what distinguishes it (BR-111)', () => {
    const read = exposedName(`${'s'.repeat(50)}.read_document_permissions_list`)
    const erase = exposedName(`${'s'.repeat(50)}.read_document_permissions_delete`)
    expect(read).not.toBe(erase)
    expect(read).toHaveLength(64)
    expect(exposedName(`${'s'.repeat(50)}.read_document_permissions_list`)).toBe(read)
  })

  it.each(['ok_tool', 'db.query', 'user-profile/update', 'Dockerfile problems scanner', '工具', '', '__proto__'])(
    'I2 the name %j is exposed as a provider accepts it (BR-113)',
    (name) => {
      expect(exposedName(name)).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    },
  )

  it('I2 two names never share an exposed name', () => {
    const part = fc.constantFrom('a', 'b', '_', '__', '.', '-', '/', 'é')
    const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(exposedName(a)).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
        expect(exposedName(a) === exposedName(b)).toBe(a === b)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('look-alikes', () => {
  it.each([
    'аpprove_pay',
    'apprоve_pay',
    'approve_\u200bpay',
    'ａpprove_pay',
    'approve_pay\u202e',
    'approve pay',
    '__proto__',
    'a..b',
    '.a',
    '',
    `a${'b'.repeat(128)}`,
  ])('I2 %j is no legal name (BR-119)', (name) => {
    expect(isLegalName(name)).toBe(false)
  })

  it.each([
    ['send_email', 'send_emaiI'],
    ['send_email', 'send_emai1'],
    ['send_email', 'Send_Email'],
    ['send_email', 'send_ernail'],
    ['book', 'b0ok'],
    ['view', 'vievv'],
    ['close', 'dose'],
    ['same', 'same'],
  ])('I2 %s and %s are not both registered', (a, b) => {
    expect(lookAlikes(['other', a, b])).toEqual([a, b])
  })

  it('I2 names that differ are told apart', () => {
    expect(lookAlikes(['orders.refund', 'orders.read', 'orders.list', 'book_reservation', 'cancel_reservation'])).toBe(
      null,
    )
    expect(skeleton('orders.refund')).not.toBe(skeleton('orders.refunds'))
  })
})
