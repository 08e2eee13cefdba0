import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { answerOf, type Candidate } from './compensates.ts'
import { tool } from './define.ts'
import { registry } from './registry.ts'

const effect = {
  input: z.strictObject({ charge: z.string() }),
  effect: 'write' as const,
  unknown: 'manual' as const,
  commit: () => null,
}
const undo = (compensates: string, name = 'orders.undo@1') => tool(name, { ...effect, compensates })

describe('a tool that undoes what another did', () => {
  it('J7 one that contradicts itself is refused at load', () => {
    expect(() => undo('orders.undo')).toThrow(/compensates_itself/)
    expect(() =>
      tool('orders.look@1', { input: z.strictObject({}), effect: 'read', run: () => 1, compensates: 'a.b' }),
    ).toThrow(/read_compensates/)
    expect(() => tool('orders.undo@1', { ...effect, which: () => true })).toThrow(/which_unused/)
  })

  it('J7 one that undoes what is not there, a read, or a compensation is refused with its agent', () => {
    const look = tool('orders.look@1', { input: z.strictObject({}), effect: 'read', run: () => 1 })
    const charge = tool('orders.charge@3', effect)
    expect(() => registry([undo('orders.charge')])).toThrow(/compensates_unknown/)
    expect(() => registry([look, undo('orders.look')])).toThrow(/compensates_read/)
    expect(() => registry([charge, undo('orders.charge'), undo('orders.undo', 'orders.redo@1')])).toThrow(
      /compensates_chain/,
    )
    expect(registry([charge, undo('orders.charge')]).contracts).toHaveLength(2)
  })

  it('J7 what it undoes is part of its promise', () => {
    expect(undo('orders.charge').hash).not.toBe(tool('orders.undo@1', effect).hash)
  })
})

const one = (id: string, over: Partial<Candidate> = {}): Candidate => ({
  key: `key_${id}`,
  state: 'done',
  isAnswered: false,
  effect: { key: `key_${id}`, tool: 'orders.charge', version: 1, input: {}, result: { id } },
  ...over,
})
const unfinished = (state: 'open' | 'failed'): Candidate => ({
  ...one('x', { state }),
  effect: { ...one('x').effect, result: null },
})

describe('which effect a call answers', () => {
  const contract = tool('orders.undo@1', {
    ...effect,
    compensates: 'orders.charge',
    which: (p, done) => (done.result as { id: string }).id === p.charge,
  })
  const all = undo('orders.charge')
  const of = (...candidates: readonly Candidate[]) => answerOf(contract, { charge: 'a' }, candidates)

  it('J7 it is the one that is meant, whatever else was done', () => {
    expect(of(one('b'), one('a'), unfinished('open'))).toEqual({ key: 'key_a' })
    expect(answerOf(all, {}, [one('a', { isAnswered: true }), one('b')])).toEqual({ key: 'key_b' })
  })

  it('J7 nothing is guessed, and each reason has its own word', () => {
    expect(of()).toEqual({ refused: 'nothing_to_compensate' })
    expect(of(one('b'))).toEqual({ refused: 'nothing_to_compensate' })
    expect(of(unfinished('failed'))).toEqual({ refused: 'nothing_to_compensate' })
    expect(of(unfinished('open'))).toEqual({ refused: 'effect_unsettled' })
    expect(of(one('a', { isAnswered: true }))).toEqual({ refused: 'already_compensated' })
    expect(of(one('a'), one('a'))).toEqual({ refused: 'compensation_ambiguous' })
    expect(answerOf(all, {}, [one('a'), one('b')])).toEqual({ refused: 'compensation_ambiguous' })
  })

  it('J7 a comparison that fails, or says anything but yes, means nothing that was done', () => {
    const said = (which: () => unknown) =>
      tool('orders.undo@1', { ...effect, compensates: 'orders.charge', which: which as () => boolean })
    for (const which of [() => 'yes', () => 1, () => Promise.resolve(true)])
      expect(answerOf(said(which), {}, [one('a')])).toEqual({ refused: 'nothing_to_compensate' })
  })
})
