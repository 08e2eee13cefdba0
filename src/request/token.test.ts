import { expect, it } from 'vitest'
import { actorFrom } from './actor.ts'
import { claimsOf, tokenBody } from './token.ts'

const service = actorFrom({
  kind: 'service',
  tenant: 'acme',
  environment: 'test',
  user: 'backend',
  subject: 'backend',
  permissions: ['orders.*'],
})

it('R6 a token is about its user and holds what the key holds, unless less is asked for', () => {
  expect(tokenBody(service, 'key_1', { user: 'ann' })).toEqual({
    tenant: 'acme',
    environment: 'test',
    user: 'ann',
    subject: 'ann',
    permissions: ['orders.*'],
    key: 'key_1',
  })
  expect(tokenBody(service, 'key_1', { user: 'ann', subject: 'child', permissions: ['orders.refund'] })).toMatchObject({
    subject: 'child',
    permissions: ['orders.refund'],
  })
  for (const permissions of [['*'], ['orders'], ['billing.pay']])
    expect(() => tokenBody(service, 'key_1', { user: 'ann', permissions })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
  const person = actorFrom({ ...service, kind: 'end_user' })
  expect(() => tokenBody(person, 'key_1', { user: 'ann' })).toThrow(
    expect.objectContaining({ code: 'permission_denied' }),
  )
})

it('H1 a signed body is an identity only when every claim is there and has its type', () => {
  const whole = { tenant: 'acme', environment: 'test', user: 'ann', subject: 'ann', permissions: ['a'], key: 'key_1' }
  expect(claimsOf({ ...whole, aud: 'plimsoll' })).toEqual({ ...whole, kind: 'end_user' })
  for (const name of Object.keys(whole))
    for (const value of [undefined, null, 1, {}, [1]]) expect(claimsOf({ ...whole, [name]: value })).toBeNull()
})
