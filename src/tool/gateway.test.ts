import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Permit } from '../gate/decide.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Actor } from '../kernel/scope.ts'
import { readArguments } from './arguments.ts'
import type { CallContext } from './contract.ts'
import { tool } from './define.ts'
import { openEgress } from './egress/egress.shell.ts'
import { callCommit, callPlan, callProbe, callRead, callResourceVersion } from './gateway.shell.ts'
import type { ToolSpec } from './spec.ts'
import { NO_SERVICES } from './services.ts'
import { toolError } from './toolerror.ts'

/** A clock whose time is over when the test says so. */
function handClock(): Clock & { ring(): void; asked: number[] } {
  const waiting: (() => void)[] = []
  const asked: number[] = []
  return {
    now: () => 0,
    monotonic: () => 0,
    turn: async () => {},
    asked,
    ring: () => waiting.splice(0).forEach((wake) => wake()),
    sleep: () => new Promise(() => {}),
    after(ms, then) {
      asked.push(ms)
      waiting.push(then)
      return () => {}
    },
  }
}

const egress = openEgress({ clock: handClock() })
const input = z.strictObject({ orderId: z.string(), cents: z.int() })
type Spec = ToolSpec<typeof input>
const actor = {
  kind: 'end_user',
  tenant: 'acme',
  environment: 'prod',
  user: 'u',
  subject: 'u',
  permissions: [],
} as unknown as Actor

const read = (run: NonNullable<Spec['run']>) =>
  tool('orders.show@1', { input, effect: 'read', run, errors: ['not_found'] })
const refund = (spec: Partial<Spec>) =>
  tool('orders.refund@2', {
    input,
    effect: 'irreversible',
    commit: () => null,
    unknown: spec.probe ? 'probe' : 'key',
    errors: ['business_rejected', 'provider_timeout'],
    ...spec,
  })

const stop = new AbortController()
const context = (signal = stop.signal): CallContext => ({
  actor,
  runId: 'run_1',
  step: 3,
  position: 1,
  effectKey: 'key_1',
  signal,
})
const args = { orderId: 'A1', cents: 5 }

function permitFor(contract: ReturnType<typeof refund>, change: Partial<Permit> = {}): Permit {
  const got = readArguments(contract, JSON.stringify(args), { tenant: 'acme' })
  if (!got.ok) throw new Error('arguments')
  return {
    runId: 'run_1',
    step: 3,
    position: 1,
    tool: 'orders.refund',
    version: 2,
    argumentsHash: got.hash,
    effectKey: 'key_1',
    canonical: got.canonical,
    ...change,
  } as unknown as Permit
}

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(async () => {
  await turn()
  process.off('unhandledRejection', note)
  expect(unhandled.splice(0)).toEqual([])
})

describe('reads', () => {
  it('I3 a result comes back bounded and plain', async () => {
    const clock = handClock()
    expect(
      await callRead(
        read((p) => ({ ...p, found: true })),
        args,
        context(),
        { egress, clock },
      ),
    ).toMatchObject({ ok: true, result: { found: true, orderId: 'A1' } })
    expect(clock.asked).toEqual([10_000])
  })

  it('I3 a read that never answers is a timeout, its signal aborts, and its late failure disturbs nobody', async () => {
    const clock = handClock()
    let fail: (error: Error) => void = () => {}
    let signal: AbortSignal | undefined
    const slow = read((_, cx) => {
      signal = cx.signal
      return new Promise((_resolve, reject) => (fail = reject))
    })
    const called = callRead(slow, args, context(), { egress, clock, timeoutMs: 7 })
    clock.ring()
    expect(await called).toMatchObject({ ok: false, error: { code: 'tool_timeout' } })
    expect(clock.asked).toEqual([7])
    expect(signal?.aborted).toBe(true)
    fail(new Error('late'))
  })

  it('K1 a cancel ends the wait at once, and a canceled run starts nothing', async () => {
    const cancel = new AbortController()
    const called = callRead(
      read(() => new Promise(() => {})),
      args,
      context(cancel.signal),
      { egress, clock: handClock() },
    )
    cancel.abort()
    expect(await called).toMatchObject({ ok: false, error: { code: 'canceled' } })
    let started = 0
    await callRead(
      read(() => started++),
      args,
      context(cancel.signal),
      { egress, clock: handClock() },
    )
    expect(started).toBe(0)
  })

  it('B6 what is thrown goes to the restricted log only', async () => {
    const secret = new Error('postgres://svc:pw@host')
    const log: unknown[] = []
    for (const run of [
      () => {
        throw secret
      },
      () => Promise.reject(secret),
    ]) {
      const outcome = await callRead(read(run), args, context(), {
        egress,
        clock: handClock(),
        services: { ...NO_SERVICES, report: (thrown) => log.push(thrown) },
      })
      expect(outcome).toMatchObject({ ok: false, error: { code: 'tool_failed' } })
      expect(JSON.stringify(outcome)).not.toContain('postgres')
    }
    expect(log).toEqual([secret, secret])
    expect(
      await callRead(
        read(() => {
          throw toolError('not_found')
        }),
        args,
        context(),
        { egress, clock: handClock() },
      ),
    ).toMatchObject({ error: { code: 'not_found' } })
  })
})

describe('commits', () => {
  const run = (
    contract: ReturnType<typeof refund>,
    permit = permitFor(contract),
    signal = stop.signal,
    clock = handClock(),
  ) => callCommit(contract, permit, context(signal), { egress, clock })

  it('J8 the input is the permit’s bytes and the key is the server’s', async () => {
    const contract = refund({ commit: (p, cx) => ({ ...p, key: cx.effectKey, frozen: Object.isFrozen(p) }) })
    expect(await run(contract)).toMatchObject({
      kind: 'settled',
      outcome: { ok: true, result: { cents: 5, orderId: 'A1', key: 'key_1', frozen: true } },
    })
  })

  it.each<[string, Partial<Permit>]>([
    ['of another tool', { tool: 'orders.show' }],
    ['of another version', { version: 1 }],
    ['with other arguments', { canonical: '{"cents":500,"orderId":"A1"}' }],
    ['with another hash', { argumentsHash: '0'.repeat(64) }],
    ['of another run', { runId: 'run_2' }],
    ['of another step', { step: 4 }],
    ['of another position', { position: 0 }],
    ['with another key', { effectKey: 'key_2' }],
  ])('J1 a permit %s starts nothing', async (_, change) => {
    let calls = 0
    const contract = refund({ commit: () => ++calls })
    expect(await run(contract, permitFor(contract, change))).toMatchObject({
      kind: 'settled',
      outcome: { ok: false, error: { code: 'not_started' } },
    })
    expect(calls).toBe(0)
  })

  it('J4 a timeout, an abort and a broken commit are unknown and never failed', async () => {
    const hang = refund({ commit: () => new Promise(() => {}) })
    const clock = handClock()
    const timed = run(hang, permitFor(hang), stop.signal, clock)
    clock.ring()
    expect(await timed).toEqual({ kind: 'unknown', because: 'timeout' })
    const cancel = new AbortController()
    const aborted = run(hang, permitFor(hang), cancel.signal)
    cancel.abort()
    expect(await aborted).toEqual({ kind: 'unknown', because: 'aborted' })
    for (const thrown of [
      new Error('socket hang up'),
      'text',
      undefined,
      toolError('undeclared'),
      toolError('provider_timeout'),
    ]) {
      expect(
        await run(
          refund({
            commit: () => Promise.resolve().then(() => Promise.reject(thrown as Error)),
          }),
        ),
      ).toEqual({ kind: 'unknown', because: 'broken' })
    }
  })

  it('J4 a declared refusal means that nothing happened', async () => {
    const contract = refund({
      commit: async () => {
        throw toolError('business_rejected', 'Refunded before.')
      },
    })
    expect(await run(contract)).toMatchObject({
      kind: 'settled',
      outcome: { ok: false, error: { code: 'business_rejected', hint: 'Refunded before.' } },
    })
  })

  it('J4 an effect whose result cannot be kept has happened all the same', async () => {
    expect(await run(refund({ commit: () => ({ at: new Date() }) }))).toMatchObject({
      kind: 'settled',
      outcome: { ok: true, result: { happened: true } },
    })
  })

  it('J7 after a cancel an effect that has not started does not start', async () => {
    const contract = refund({
      commit: () => {
        throw new Error('started')
      },
    })
    expect(await run(contract, permitFor(contract), AbortSignal.abort())).toMatchObject({
      kind: 'settled',
      outcome: { error: { code: 'not_started' } },
    })
  })
})

describe('plans and probes', () => {
  it('J1 a plan holds the summary, the state before and the version of the resource', async () => {
    const contract = refund({
      plan: async (p) => ({ summary: `Refund ${p.orderId}`, before: { paid: true } }),
      resourceVersion: () => 'v7',
    })
    expect(await callPlan(contract, args, context(), { egress, clock: handClock() })).toEqual({
      ok: true,
      plan: { summary: 'Refund A1', before: { paid: true }, resourceVersion: 'v7' },
      resourceVersion: 'v7',
    })
    expect(await callPlan(refund({}), args, context(), { egress, clock: handClock() })).toEqual({
      ok: true,
      plan: { summary: 'orders.refund version 2' },
      resourceVersion: null,
    })
  })

  it('J1 a plan that fails or has no summary refuses', async () => {
    const failing = refund({
      plan: () => {
        throw toolError('business_rejected')
      },
    })
    expect(await callPlan(failing, args, context(), { egress, clock: handClock() })).toMatchObject({
      ok: false,
      error: { code: 'business_rejected' },
    })
    const empty = refund({ plan: () => ({}) as { summary: string } })
    expect(await callPlan(empty, args, context(), { egress, clock: handClock() })).toMatchObject({ ok: false })
  })

  it('J12 a version that cannot be read refuses', async () => {
    expect(await callResourceVersion(refund({}), args, context(), { egress, clock: handClock() })).toEqual({
      ok: true,
      version: null,
    })
    const broken = refund({ resourceVersion: () => Promise.reject(new Error('x')) })
    expect(await callResourceVersion(broken, args, context(), { egress, clock: handClock() })).toMatchObject({
      ok: false,
    })
  })

  it.each<[string, NonNullable<Spec['probe']>, unknown]>([
    [
      'it happened',
      (cx) => ({ happened: true, result: cx.effectKey }),
      { happened: true, outcome: { ok: true, result: 'key_1' } },
    ],
    ['it did not', () => ({ happened: false }), { happened: false }],
    ['the provider cannot tell', () => ({ happened: 'unknown' }), { happened: 'unknown' }],
    [
      'the provider is down',
      () => {
        throw new Error('down')
      },
      { happened: 'unknown' },
    ],
    ['no answer at all', () => null as unknown as { happened: false }, { happened: 'unknown' }],
    ['another word', () => ({ happened: 'yes' }) as unknown as { happened: false }, { happened: 'unknown' }],
  ])('J4 a probe that says %s', async (_, probe, expected) => {
    expect(await callProbe(refund({ probe }), args, context(), { egress, clock: handClock() })).toMatchObject(
      expected as object,
    )
  })
})
