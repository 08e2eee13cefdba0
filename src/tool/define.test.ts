import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Fault } from '../kernel/fault.ts'
import { tool } from './define.ts'
import type { ToolSpec } from './spec.ts'
import type { SchemaSource } from './schema/standard.ts'

const input = z.strictObject({ orderId: z.string(), cents: z.int().positive() })
const commit = () => null
const probe = () => ({ happened: 'unknown' }) as const

const faultOf = (name: string, spec: unknown): Fault => {
  try {
    tool(name, spec as ToolSpec<SchemaSource>)
  } catch (error) {
    if (Fault.is(error)) return error
    throw error
  }
  throw new Error('the definition was accepted')
}

describe('a consistent contract', () => {
  const refund = tool('orders.refund@2', {
    input,
    effect: 'irreversible',
    params: { orderId: 'identity', cents: 'amount' },
    plan: async (p) => ({ summary: `Refund ${p.orderId}` }),
    commit: (p, cx) => ({ cents: p.cents, key: cx.effectKey }),
    probe: (cx) => ({ happened: true, result: cx.effectKey }),
  })

  it('I1 has the safe default for every line that is not written', () => {
    expect(refund).toMatchObject({
      name: 'orders.refund',
      version: 2,
      exposedName: 'orders__refund',
      effect: 'irreversible',
      approval: 'confirm',
      permission: 'orders.refund',
      timeoutMs: 10_000,
      unknown: 'probe',
      confirmationMs: 300_000,
      maxResultBytes: 65_536,
      ends: null,
      outputSchema: null,
      waiver: null,
      breaker: { identicalCalls: 3, identicalErrors: 3, alternation: true, ignore: [] },
      errors: {},
    })
    expect(tool('orders.read@1', { input, effect: 'read', run: () => 1 })).toMatchObject({
      approval: 'auto',
      unknown: 'key',
    })
  })

  it('I1 cannot be changed after it was made', () => {
    expect(() => Object.assign(refund, { approval: 'auto' })).toThrow(TypeError)
    expect(() => Object.assign(refund.params, { cents: 'content' })).toThrow(TypeError)
    expect(() => Object.assign(refund.inputSchema, { additionalProperties: true })).toThrow(TypeError)
    expect(() => Object.assign(refund.implementation, { commit })).toThrow(TypeError)
  })

  it('I1 has one hash for one promise, and another for every change of it', () => {
    const base: ToolSpec<typeof input> = { input, effect: 'write', commit, probe }
    const of = (spec: object, name = 'orders.change@1') => tool(name, { ...base, ...spec }).hash
    expect(of({})).toBe(of({ commit: () => 2 }))
    const changed = [
      {},
      { description: 'x' },
      { timeoutMs: 5 },
      { approval: 'auto' },
      { permission: 'x' },
      { effect: 'irreversible' },
      { errors: ['conflict'] },
    ]
    expect(
      new Set([...changed.map((c) => of(c)), of({}, 'orders.change@2'), of({ input: z.object({ a: z.string() }) })])
        .size,
    ).toBe(9)
  })
})

describe('an inconsistent contract fails at load and says what to write', () => {
  const effect = { input, effect: 'write', commit, unknown: 'manual' }
  const read = { input, effect: 'read', run: commit }

  it.each<[string, string, object, string]>([
    ['no version', 'orders.x', read, 'version_missing'],
    ['a version of zero', 'orders.x@0', read, 'version_missing'],
    ['a Cyrillic letter', 'оrders.x@1', read, 'name_illegal'],
    ['no parameters', 'orders.x@1', { ...read, input: undefined }, 'input_missing'],
    ['no level', 'orders.x@1', { ...effect, effect: 'harmless' }, 'effect_illegal'],
    ['a read without run', 'orders.x@1', { input, effect: 'read' }, 'read_without_run'],
    ['a read with commit', 'orders.x@1', { ...read, commit }, 'read_with_commit'],
    ['a read with a probe', 'orders.x@1', { ...read, probe }, 'read_with_unknown'],
    ['an effect without commit', 'orders.x@1', { input, effect: 'write', unknown: 'manual' }, 'effect_without_commit'],
    ['a rate of nothing', 'orders.x@1', { ...read, rate: { calls: 0, perMs: 1 } }, 'rate_illegal'],
    ['a rate without a span', 'orders.x@1', { ...read, rate: { calls: 1 } }, 'rate_illegal'],
    ['too many attempts', 'orders.x@1', { ...read, retry: { attempts: 99 } }, 'retry_illegal'],
    ['a retry of another kind', 'orders.x@1', { ...read, retry: 'always' }, 'retry_illegal'],
    ['an effect that is tried again', 'orders.x@1', { ...effect, retry: { attempts: 2 } }, 'retry_of_effect'],
    ['an effect with run', 'orders.x@1', { ...effect, run: commit }, 'effect_with_run'],
    [
      'an effect that cannot be asked',
      'orders.x@1',
      { input, effect: 'irreversible', commit },
      'effect_without_unknown',
    ],
    ['a probe that is not there', 'orders.x@1', { ...effect, unknown: 'probe' }, 'probe_missing'],
    ['a probe that is not used', 'orders.x@1', { ...effect, probe }, 'probe_unused'],
    [
      'an automatic irreversible effect',
      'orders.x@1',
      { ...effect, effect: 'irreversible', approval: 'auto' },
      'irreversible_auto',
    ],
    ['a refund called a write', 'orders.refund@1', effect, 'name_sounds_irreversible'],
    ['a refund called a read', 'orders.refund@1', read, 'name_sounds_irreversible'],
    ['a read of payments by a noun', 'pay.status@1', read, 'name_sounds_irreversible'],
    ['camel case too', 'mail.sendNow@1', effect, 'name_sounds_irreversible'],
    ['an empty acknowledgement', 'orders.refund@1', { ...effect, acknowledge: ' ' }, 'name_sounds_irreversible'],
    [
      'an acknowledgement of nothing',
      'orders.x@1',
      { ...effect, acknowledge: 'nothing is wrong' },
      'nothing_to_acknowledge',
    ],
    ['a timeout of zero', 'orders.x@1', { ...read, timeoutMs: 0 }, 'timeout_illegal'],
    ['a timeout of NaN', 'orders.x@1', { ...read, timeoutMs: Number.NaN }, 'timeout_illegal'],
    ['a misspelt line', 'orders.x@1', { ...read, timeout: 5 }, 'line_unknown'],
    ['a timeout in words', 'orders.x@1', { ...read, timeoutMs: '5s' }, 'line_type'],
    ['a waiver that names nothing', 'orders.x@1', { ...read, waiver: {} }, 'waiver_without_parameters'],
    ['a breaker that ignores a text', 'orders.x@1', { ...read, breaker: { ignore: 'at' } }, 'ignore_unknown'],
    ['a starred permission', 'orders.x@1', { ...read, permission: 'orders.*' }, 'permission_illegal'],
    ['a role of no field', 'orders.x@1', { ...effect, params: { gone: 'identity' } }, 'param_unknown'],
    ['an error without a class', 'orders.x@1', { ...read, errors: ['too_expensive'] }, 'error_without_class'],
    [
      'an error with no reaction',
      'orders.x@1',
      { ...read, errors: { a: { kind: 'conflict', reaction: 'repeat' } } },
      'error_class_illegal',
    ],
    [
      'a key asked of the model',
      'orders.x@1',
      { ...effect, input: z.object({ idempotencyKey: z.string() }) },
      'key_asked_of_model',
    ],
    ['free SQL', 'db.ask@1', { ...read, input: z.object({ sql: z.string() }) }, 'free_code_parameter'],
    [
      'a free command in camel case',
      'os.do@1',
      { ...read, input: z.object({ shellCommand: z.string() }) },
      'free_code_parameter',
    ],
    ['a URL by its format', 'web.get@1', { ...read, input: z.object({ page: z.url() }) }, 'free_code_parameter'],
    [
      'a URL by its description',
      'web.get@1',
      { ...read, input: z.object({ page: z.string().describe('The URL to open') }) },
      'free_code_parameter',
    ],
    [
      'a URL deep inside',
      'web.get@1',
      { ...read, input: z.object({ pages: z.array(z.object({ url: z.string() })) }) },
      'free_code_parameter',
    ],
    [
      'a URL that may be left out',
      'web.get@1',
      { ...read, input: z.object({ page: z.url().nullable() }) },
      'free_code_parameter',
    ],
    ['a list of URLs', 'web.get@1', { ...read, input: z.object({ urls: z.array(z.string()) }) }, 'free_code_parameter'],
    [
      'a list by its format',
      'web.get@1',
      { ...read, input: z.object({ pages: z.array(z.url()) }) },
      'free_code_parameter',
    ],
    [
      'a command in parts',
      'os.do@1',
      { ...read, input: z.object({ command: z.record(z.string(), z.string()) }) },
      'free_code_parameter',
    ],
    [
      'a URL by a reference',
      'web.get@1',
      {
        ...read,
        input: {
          type: 'object',
          properties: { page: { $ref: '#/$defs/p' } },
          $defs: { p: { type: 'string', format: 'uri' } },
        },
      },
      'free_code_parameter',
    ],
    [
      'a pattern for anything',
      'db.ask@1',
      { ...read, input: z.object({ sql: z.string().regex(/^.*$/s) }) },
      'free_code_parameter',
    ],
    [
      'a pattern that is anchored in no alternative',
      'web.get@1',
      { ...read, input: z.object({ url: z.string().regex(/^https:\/\/a\.example\/|b$/) }) },
      'free_code_parameter',
    ],
    [
      'a waiver without a day',
      'web.get@1',
      {
        ...read,
        input: z.object({ url: z.string() }),
        waiver: { parameters: ['url'], reason: 'intranet only', until: 'soon' },
      },
      'waiver_undated',
    ],
  ])('I1 %s', (_, name, spec, code) => {
    const fault = faultOf(name, spec)
    expect(fault.code).toBe('invalid_definition')
    expect(fault.message).toMatch(new RegExp(`${code} at /.*: .+ Fix: .+`))
  })

  it('I1 all problems are told at once, each with its place', () => {
    const fault = faultOf('orders.refund@1', { input, effect: 'write', timeoutMs: -1 })
    expect(fault.errors.map((e) => e.path)).toEqual(['/commit', '/unknown', '/effect', '/timeoutMs'])
  })
})

it('I1 of a read whose name sounds irreversible it is said what a read can do about it', () => {
  const load = (spec: object) => () => tool('pay.status@1', spec as never)
  expect(load({ input, effect: 'read', run: commit })).toThrow(/a verb that looks .*why it changes nothing/)
  expect(load({ input, effect: 'write', commit, unknown: 'key' })).toThrow(/why it can be undone/)
})

describe('what is narrow enough loads', () => {
  it.each<[string, string, object]>([
    [
      'an acknowledged name',
      'transfer_to_human_agents@1',
      {
        input,
        effect: 'read',
        ends: 'handed_over',
        run: commit,
        acknowledge: 'hands the conversation over, moves nothing',
      },
    ],
    ['a verb that looks', 'orders.get_refund@1', { input, effect: 'read', run: commit }],
    [
      'an automatic write in so many words',
      'notes.add@1',
      { input, effect: 'write', approval: 'auto', commit, unknown: 'key' },
    ],
    [
      'a URL of a list',
      'web.get@1',
      { input: z.object({ url: z.enum(['https://a.example/']) }), effect: 'read', run: commit },
    ],
    [
      'a URL of one host',
      'web.get@1',
      { input: z.object({ url: z.string().regex(/^https:\/\/a\.example\/[a-z]+$/) }), effect: 'read', run: commit },
    ],
    [
      'URLs of a list',
      'web.get@1',
      {
        input: z.object({ urls: z.array(z.enum(['https://a.example/', 'https://b.example/'])) }),
        effect: 'read',
        run: commit,
      },
    ],
    [
      'a URL of two hosts',
      'web.get@1',
      {
        input: z.object({ url: z.string().regex(/^https:\/\/(a|b)\.example\/[a-z|]+$/) }),
        effect: 'read',
        run: commit,
      },
    ],
    [
      'a number that is called by a URL',
      'web.get@1',
      { input: z.object({ urlCount: z.int() }), effect: 'read', run: commit },
    ],
    [
      'a waived URL',
      'web.get@1',
      {
        input: z.object({ url: z.string() }),
        effect: 'read',
        run: commit,
        waiver: { parameters: ['url'], reason: 'intranet only', until: '2027-06-30' },
      },
    ],
  ])('I4 %s', (_, name, spec) => {
    expect(tool(name, spec as ToolSpec<SchemaSource>).name).toBe(name.split('@')[0])
  })
})
