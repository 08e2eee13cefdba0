import { describe, expect, it } from 'vitest'
import { aCall, after, anEffect, aRun, asked, aStep, failed, moved, ok, settles } from '../../test/unit/runs.ts'
import { DEFAULT_BREAKER, errorHash, pastOf, repeats, repeatsError, storedError } from './breaker.ts'
import type { BreakerLimits } from '../tool/contract.ts'
import type { PastCall, Run } from './state.ts'

const past = (...prints: readonly string[]): PastCall[] => prints.map((p) => pastOf(1, aCall(0, { outcome: ok() }, p)))
const limits = (with_: Partial<BreakerLimits> = {}): BreakerLimits => ({ ...DEFAULT_BREAKER, ...with_ })

describe('the breaker', () => {
  it.each<[string, readonly string[], string, BreakerLimits, string | null]>([
    ['the third identical call', ['a', 'a'], 'a', limits(), 'repeated_action'],
    ['the second identical call', ['a'], 'a', limits(), null],
    ['the third, with others between', ['a', 'b', 'a', 'c'], 'a', limits(), 'repeated_action'],
    ['the second, where the contract allows one', ['a'], 'a', limits({ identicalCalls: 2 }), 'repeated_action'],
    ['the third, where the contract allows five', ['a', 'a'], 'a', limits({ identicalCalls: 6 }), null],
    ['A, B, A, B', ['a', 'b', 'a'], 'b', limits(), 'repeated_action'],
    ['A, B, A, B after something else', ['x', 'y', 'a', 'b', 'a'], 'b', limits(), 'repeated_action'],
    ['A, B, A, C', ['a', 'b', 'a'], 'c', limits(), null],
    ['A, B, C, B', ['a', 'b', 'c'], 'b', limits(), null],
    ['B, A, B without a fourth', ['b', 'a'], 'b', limits(), null],
    ['A, B, A, B of a tool that polls', ['a', 'b', 'a'], 'b', limits({ alternation: false, identicalCalls: 9 }), null],
  ])('B2 %s', (_, earlier, call, breaker, reason) => {
    expect(repeats(past(...earlier), call, breaker)).toBe(reason)
  })

  it('B2 the third identical call ends the run before it is executed', () => {
    const one = (run: Run): Run => after(run, asked(aCall(0, {}, 'ls')), settles([0, ok()]))
    const { run, writes } = moved(one(one(aRun())), asked(aCall(0, {}, 'ls')))
    expect(run).toMatchObject({ status: 'failed', end: 'repeated_action', step: 3, used: { toolCalls: 2 } })
    expect(writes.intents).toMatchObject([{ status: 'settled', outcome: failed('not_started') }])
    expect(writes.messages.map((m) => m.body.role)).toEqual(['assistant', 'tool'])
  })

  it('B2 three identical calls in one turn execute none of them', () => {
    const { run, writes } = moved(aRun(), asked(...[0, 1, 2].map((p) => aCall(p, {}, 'same'))))
    expect(run.end).toBe('repeated_action')
    expect(writes.intents.every((c) => c.status === 'settled')).toBe(true)
  })

  it('B2 an identical call right after its own failure is answered with the stored error, not executed, and counted', () => {
    const tried = after(aRun(), asked(aCall(0, {}, 'x')), settles([0, failed('tool_timeout')]))
    const { run, writes } = moved(tried, asked(aCall(0, {}, 'x'), aCall(1, {}, 'y')))
    expect(run.calls).toMatchObject([
      { status: 'settled', approval: 'refused', outcome: failed('tool_timeout') },
      { status: 'intended' },
    ])
    expect(writes.intents[0]).toMatchObject({ status: 'settled', outcome: failed('tool_timeout') })
    expect(run.used.toolCalls).toBe(3)
    expect(run.past.filter((p) => p.error !== null)).toHaveLength(2)
  })

  it('B2 the stored error answers a repetition inside the same turn as well', () => {
    const loose = { breaker: limits({ identicalCalls: 9, identicalErrors: 9 }) }
    const tried = after(aRun(), asked(aCall(0, loose, 'x')), settles([0, failed()]))
    expect(moved(tried, asked(aCall(0, loose, 'x'), aCall(1, loose, 'x'))).writes.intents.map((c) => c.status)).toEqual(
      ['settled', 'settled'],
    )
    expect(moved(tried, asked(aCall(0, loose, 'y'), aCall(1, loose, 'x'))).writes.intents.map((c) => c.status)).toEqual(
      ['intended', 'intended'],
    )
  })

  it('J12 after stale_plan the same call is planned again, and the count of identical calls bounds it', () => {
    const again = (run: Run): Run => after(run, asked(anEffect(0, {}, 'refund')), settles([0, failed('stale_plan')]))
    const twice = again(again(aRun()))
    expect(twice).toMatchObject({ status: 'running', used: { toolCalls: 2 } })
    expect(after(twice, asked(anEffect(0, {}, 'refund')))).toMatchObject({ end: 'repeated_action' })
  })

  it('B2 a rejected call is not asked for again', () => {
    const rejected = after(aRun(), asked(anEffect(0, {}, 'refund')), settles([0, failed('confirmation_rejected')]))
    const { writes } = moved(rejected, asked(anEffect(0, {}, 'refund')))
    expect(writes.intents[0]).toMatchObject({ status: 'settled', outcome: failed('confirmation_rejected') })
  })

  it('B2 success forgives: only a failure just before is answered from store', () => {
    const call = aCall(0, { outcome: failed() }, 'x')
    expect(storedError([pastOf(1, call)], 'x')).toEqual(failed())
    expect(storedError([pastOf(1, call), ...past('y')], 'x')).toBe(null)
    expect(storedError(past('x'), 'x')).toBe(null)
    expect(storedError([], 'x')).toBe(null)
  })

  it('B2 the third identical error ends the run, whatever the arguments were', () => {
    const tries = (run: Run, what: string): Run =>
      after(run, asked(aCall(0, {}, what)), settles([0, failed('not_found')]))
    const twice = tries(tries(aRun(), 'a'), 'b')
    expect(twice.status).toBe('running')
    expect(tries(twice, 'c')).toMatchObject({ status: 'failed', end: 'repeated_error' })
    const three = aStep([0, 1, 2].map((p) => aCall(p)))
    expect(after(three, settles([0, failed()], [1, failed()], [2, failed()]))).toMatchObject({ end: 'repeated_error' })
  })

  it('B2 errors differ by tool, code and hint; successes are none', () => {
    const hash = (tool: string, outcome = failed()) => errorHash({ tool, outcome })
    expect(new Set([hash('a'), hash('b'), hash('a', failed('conflict'))]).size).toBe(3)
    expect(hash('a', ok())).toBe(null)
    expect(repeatsError([], null, limits())).toBe(null)
    expect(
      repeatsError([pastOf(1, aCall(0, { outcome: failed() }))], hash('orders.get'), limits({ identicalErrors: 2 })),
    ).toBe('repeated_error')
  })
})
