import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Fault } from '../kernel/fault.ts'
import type { KeySpec } from './key-spec.ts'
import { memory } from './key.ts'
import { KINDS, type Kind } from './kinds.ts'
import { memoryFromYaml } from './yaml.ts'

const language = { kind: 'preference', value: z.enum(['en', 'zh-CN']), ttlDays: 365 } as const

const faultOf = (make: () => unknown): Fault => {
  try {
    make()
  } catch (error) {
    if (Fault.is(error)) return error
    throw error
  }
  throw new Error('the definition was accepted')
}
const codesOf = (spec: unknown, name = 'answer_language'): string[] => {
  const { message } = faultOf(() => memory({ [name]: spec as KeySpec }))
  return [...message.matchAll(/^memory: (\w+) at /gm)].map(([, code]) => code ?? '')
}

describe('keys that are in order', () => {
  it('E3 has the safe default of its kind for every line that is not written', () => {
    expect(memory({ answer_language: language }).find('answer_language')).toMatchObject({
      kind: 'preference',
      cardinality: 'one',
      impact: 'low',
      sources: ['message'],
      scopes: ['user'],
      sensitivity: 'personal',
      ttlDays: 365,
      maxTtlDays: null,
      confirm: 'auto',
      deletion: 'on_request',
      authority: null,
    })
    expect(memory({ todo: { kind: 'task', value: z.string() } }).find('todo')).toMatchObject({
      ttlDays: 30,
      maxTtlDays: 90,
      deletion: 'with_source',
      scopes: ['conversation'],
    })
  })

  it('E3 asks a person for high impact and special categories, whatever else is written', () => {
    const keys = memory({
      pay_to: { kind: 'fact', value: z.string(), impact: 'high' },
      diet: { kind: 'fact', value: z.string(), sensitivity: 'special' },
    })
    expect(keys.keys.map((key) => key.confirm)).toEqual(['ask', 'ask'])
    expect(keys.find('diet')?.maxTtlDays).toBe(365)
  })

  it('E3 never finds a name that only resembles a key, and cannot be changed', () => {
    const keys = memory({ answer_language: language })
    for (const name of ['Answer_language', 'answer_language ', 'toString', '__proto__'])
      expect(keys.find(name)).toBeUndefined()
    expect(() => Object.assign(keys.keys[0] ?? {}, { confirm: 'ask' })).toThrow(TypeError)
    expect(() => (keys.keys as unknown[]).push(1)).toThrow(TypeError)
  })

  it('E3 has one hash for one set of keys, and another as soon as a line differs', () => {
    const other = { kind: 'fact', value: z.string() } as const
    const hash = memory({ answer_language: language, home: other }).hash
    expect(memory({ home: other, answer_language: language }).hash).toBe(hash)
    expect(memory({ answer_language: { ...language, ttlDays: 30 }, home: other }).hash).not.toBe(hash)
  })
})

describe('keys that contradict themselves', () => {
  const task = { kind: 'task', value: z.string() } as const
  it.each([
    ['a kind that does not exist', { ...language, kind: 'secret' }, 'line_illegal'],
    ['no value', { kind: 'fact' }, 'line_missing'],
    ['a line of another world', { ...language, expires: 3 }, 'line_unknown'],
    ['a preference of a group', { ...language, scopes: ['group'] }, 'scope_loosened'],
    ['a preference taken from a tool', { ...language, sources: ['call'] }, 'source_loosened'],
    [
      'something personal for a tenant',
      { kind: 'fact', value: z.string(), scopes: ['tenant'], sensitivity: 'personal' },
      'personal_in_shared_scope',
    ],
    [
      'an authority nobody asks',
      { kind: 'fact', value: z.string(), sources: ['message'], authority: 'a.b' },
      'authority_not_a_source',
    ],
    ['an authority without a name', { kind: 'fact', value: z.string(), sources: ['authority'] }, 'authority_missing'],
    ['more than the maximum', { ...language, ttlDays: 40, maxTtlDays: 30 }, 'retention_above_maximum'],
    [
      'a special category for ten years',
      { kind: 'fact', value: z.string(), sensitivity: 'special', ttlDays: 3650 },
      'special_kept_too_long',
    ],
    ['high impact without a question', { ...language, impact: 'high', confirm: 'auto' }, 'confirm_loosened'],
    ['a task that outlives its message', { ...task, deletion: 'on_request' }, 'deletion_loosened'],
    ['a purpose that says nothing', { ...language, purpose: 'x' }, 'purpose_illegal'],
    ['a value whose rule is hidden', { ...language, value: z.string().refine(() => true) }, 'schema_hidden_rule'],
  ])('E3 refuses %s', (_, spec, code) => {
    expect(codesOf(spec)).toContain(code)
  })

  it('G5 refuses a temporary kind without an end', () => {
    expect(codesOf({ ...task, ttlDays: null })).toContain('endless')
    expect(codesOf({ ...task, maxTtlDays: null })).toContain('endless')
    expect(codesOf({ ...task, maxTtlDays: 91 })).toContain('retention_loosened')
  })

  it('E3 tells every problem at once, with the line that mends it', () => {
    const { message, errors } = faultOf(() => memory({ 'Bad Name': language, a: { ...task, ttlDays: null } }))
    expect(message).toMatch(/name_illegal.*Fix:/)
    expect(message).toMatch(/endless.*Fix: `ttlDays: 30`/)
    expect(errors).toHaveLength(2)
  })

  it('E3 refuses two names that read alike', () => {
    const both = memory.bind(null, { last_order: language, 'last.order': language })
    expect(faultOf(both).message).toContain('name_collision')
  })

  it('E3 whatever lines are combined, a key that loads is never looser than its kind', () => {
    const some = fc.record(
      {
        kind: fc.constantFrom<Kind>('preference', 'fact', 'task', 'experience'),
        value: fc.constant(z.string()),
        scopes: fc.uniqueArray(fc.constantFrom('user', 'conversation', 'group', 'project', 'tenant'), { minLength: 1 }),
        sources: fc.uniqueArray(fc.constantFrom('message', 'call', 'memory', 'operator'), { minLength: 1 }),
        sensitivity: fc.constantFrom('none', 'personal', 'special'),
        ttlDays: fc.option(fc.integer({ min: 1, max: 4000 })),
        maxTtlDays: fc.option(fc.integer({ min: 1, max: 4000 })),
        confirm: fc.constantFrom('auto', 'ask'),
        impact: fc.constantFrom('low', 'high'),
        deletion: fc.constantFrom('on_request', 'with_source'),
      },
      { requiredKeys: ['kind', 'value'] },
    )
    fc.assert(
      fc.property(some, (spec) => {
        let key
        try {
          key = memory({ k: spec }).find('k')
        } catch (error) {
          return Fault.is(error) && error.code === 'invalid_definition'
        }
        const kind = KINDS[spec.kind]
        if (!key) return false
        const days = key.ttlDays ?? Infinity
        return (
          key.scopes.every((scope) => kind.mostScopes.includes(scope)) &&
          key.sources.every((source) => kind.mostSources.includes(source)) &&
          days <= (key.maxTtlDays ?? Infinity) &&
          days <= (kind.maxTtlDays ?? Infinity) &&
          (kind.confirm !== 'ask' || key.confirm === 'ask') &&
          (key.sensitivity === 'none' || key.scopes.every((s) => s === 'user' || s === 'conversation')) &&
          (key.sensitivity !== 'special' || (days <= 365 && key.confirm === 'ask'))
        )
      }),
      { numRuns: 500 },
    )
  })
})

describe('keys that grow from others', () => {
  const dish = { kind: 'fact', value: z.string(), cardinality: 'many' } as const
  const taste = { kind: 'fact', value: z.string(), consolidates: { from: 'dish' } } as const

  it('E12 E1 takes memories as its source, from three runs unless it says another number from two on', () => {
    expect(memory({ dish, taste }).find('taste')).toMatchObject({
      sources: ['memory', 'message'],
      consolidates: { from: 'dish', atLeast: 3 },
    })
    const file = `dish: { kind: fact, value: S, cardinality: many }
taste: { kind: fact, value: S, consolidates: { from: dish, at_least: 5 } }`
    const five = { ...taste, consolidates: { from: 'dish', atLeast: 5 } }
    expect(memoryFromYaml(file, { S: z.string() }).hash).toBe(memory({ dish, taste: five }).hash)
    expect(memory({ dish, taste: five }).hash).not.toBe(memory({ dish, taste }).hash)
  })

  it.each([
    ['one run', { ...taste, consolidates: { from: 'dish', atLeast: 1 } }, dish, 'line_illegal'],
    ['half a run', { ...taste, consolidates: { from: 'dish', atLeast: 2.5 } }, dish, 'line_illegal'],
    ['a strange line', { ...taste, consolidates: { from: 'dish', at_least: 3 } }, dish, 'line_illegal'],
    ['a key that is not there', { ...taste, consolidates: { from: 'meal' } }, dish, 'consolidates_unknown'],
    ['itself', { ...taste, consolidates: { from: 'taste' } }, dish, 'consolidates_consolidated'],
    ['what has grown itself', taste, { ...dish, consolidates: { from: 'taste' } }, 'consolidates_consolidated'],
    ['another place', { ...taste, scopes: ['project'] }, dish, 'consolidates_nowhere'],
    ['something more sensitive', taste, { ...dish, sensitivity: 'special' }, 'consolidates_loosened'],
    ['memories that it does not take', { ...taste, sources: ['message'] }, dish, 'consolidates_not_a_source'],
    ['a kind that is never drawn', { ...taste, kind: 'preference' }, dish, 'consolidates_not_a_source'],
  ])('E12 E3 refuses to grow from %s', (_, spec, from, code) => {
    expect(faultOf(() => memory({ taste: spec, dish: from } as never)).message).toContain(code)
  })
})

describe('keys in a file', () => {
  it('E3 reads the same key from YAML as from code', () => {
    const keys = memoryFromYaml(
      'answer_language:\n  kind: preference\n  value: { type: string, enum: [en, zh-CN] }\n  ttl_days: 365\n',
    )
    expect(keys.hash).toBe(memory({ answer_language: language }).hash)
    const named = memoryFromYaml('answer_language: { kind: preference, value: Language }', { Language: language.value })
    expect(named.hash).toBe(keys.hash)
  })

  it.each([
    ['an alias', 'a: &x { kind: fact, value: S }\nb: *x', 'yaml_invalid'],
    ['a key twice', 'a: { kind: fact }\na: { kind: fact }', 'yaml_invalid'],
    ['a strange line', 'a: { kind: fact, value: S, ttlDays: 3 }', 'line_unknown'],
    ['a schema nobody gave', 'a: { kind: fact, value: T }', 'schema_unknown'],
    ['no map', '- a', 'yaml_invalid'],
    ['a key that is a word', 'a: fact', 'key_not_an_object'],
  ])('E3 refuses a file with %s', (_, text, code) => {
    expect(faultOf(() => memoryFromYaml(text, { S: z.string() })).message).toContain(code)
  })
})
