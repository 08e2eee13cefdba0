import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Actor } from '../kernel/scope.ts'
import { tool } from './define.ts'
import { registry } from './registry.ts'

const read = (name: string, permission = name) =>
  tool(`${name}@1`, { input: z.strictObject({}), effect: 'read', permission, run: () => null })
const actor = (...permissions: string[]): Pick<Actor, 'permissions'> => ({ permissions })

describe('the registry', () => {
  const tools = registry([read('mail.show'), read('orders.list'), read('book_reservation', 'airline.book')])

  it.each([
    'ｍail__show',
    'mail\u200b__show',
    'Mail__Show',
    'rnail__show',
    'mail__show\0',
    '../mail__show',
    '',
    '__proto__',
    'constructor',
    'mail.show',
    'mail__show ',
  ])('I2 the call %j is an unknown tool and never a near one', (name) => {
    expect(tools.find(name)).toBe(undefined)
  })

  it('I2 a tool is found by its exact exposed name, a stored effect by the name of its contract', () => {
    expect(tools.find('mail__show')?.name).toBe('mail.show')
    expect(tools.named('mail.show')?.exposedName).toBe('mail__show')
  })

  it('I2 the model is offered only what the actor may and the page asks for', () => {
    const offered = (...permissions: string[]) => tools.offered(actor(...permissions)).map((c) => c.name)
    expect(offered()).toEqual([])
    expect(offered('orders.*')).toEqual(['orders.list'])
    expect(offered('airline.*', 'mail.show')).toEqual(['mail.show', 'book_reservation'])
    expect(tools.offered(actor('*'), ['orders.list']).map((c) => c.name)).toEqual(['orders.list'])
  })

  it('I2 names that collide or look alike are refused, both named', () => {
    expect(() => registry([read('mail.list'), read('mail.list')])).toThrow('"mail.list" is registered twice')
    expect(() => registry([read('show_email'), read('show_emaiI')])).toThrow('"show_email" and "show_emaiI" look alike')
    expect(() => registry([read('mail.show'), read('mail__show')])).not.toThrow()
  })

  it('I4 a waiver that is over is refused at load', () => {
    const waived = tool('web.get@1', {
      input: z.strictObject({ url: z.string() }),
      effect: 'read',
      run: () => null,
      waiver: { parameters: ['url'], reason: 'intranet only', until: '2026-11-30' },
    })
    expect(() => registry([waived], { today: '2026-11-30' })).not.toThrow()
    expect(() => registry([waived], { today: '2026-12-01' })).toThrow('waiver_over')
  })

  it('I1 the hash is that of the promises and not of their order', () => {
    const [a, b] = [read('mail.show'), read('orders.list')]
    expect(registry([a, b]).hash).toBe(registry([b, a]).hash)
    expect(registry([a]).hash).not.toBe(registry([a, b]).hash)
    expect(() => Object.assign(tools, { find: () => a })).toThrow(TypeError)
  })
})
