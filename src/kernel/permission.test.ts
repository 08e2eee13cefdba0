import { expect, it } from 'vitest'
import { holds } from './permission.ts'

it.each([
  ['orders.refund', 'orders.refund', true],
  ['orders.*', 'orders.refund', true],
  ['orders.*', 'orders.refund.partial', true],
  ['*', 'orders.refund', true],
  ['orders.*', 'orders', false],
  ['orders.*', 'orders.', false],
  ['orders.*', 'ordersX.refund', false],
  ['orders*', 'orders.refund', false],
  ['order', 'orders.refund', false],
  ['orders.refund', 'orders.refund.partial', false],
])('I2 a holder of %s asking for %s: %s', (held, wanted, expected) => {
  expect(holds([held], wanted)).toBe(expected)
})

it('I2 nobody holds anything by default', () => {
  expect(holds([], 'orders.refund')).toBe(false)
})
