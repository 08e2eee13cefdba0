import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseStrict } from '../../kernel/json.ts'
import { fromDraft07, fromJsonSchema } from './foreign.ts'
import { compileSource, type SchemaSource } from './standard.ts'

const compiled = (source: SchemaSource) => {
  const result = compileSource(source, 'arguments', '/input')
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.compiled
}
const problems = (source: SchemaSource) => {
  const result = compileSource(source, 'arguments', '/input')
  return result.ok ? [] : result.problems.map((p) => `${p.code} ${p.path}`)
}
const errors = (source: SchemaSource, text: string) => {
  const parsed = parseStrict(text)
  if (!parsed.ok) throw new Error(parsed.code)
  return compiled(source)
    .check(parsed.value)
    .map((e) => `${e.path} ${e.message}`)
}

describe('schemas of arguments', () => {
  it('I6 a library that throws refuses, and its words stay where they were', () => {
    const source = {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate: () => {
          throw new Error('a value')
        },
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    } as unknown as SchemaSource
    expect(compiled(source).check({})).toEqual([
      { path: '', message: 'cannot be checked: the schema of the tool failed' },
    ])
  })

  it.each([
    ['a pattern goes back and forth over a text', { type: 'string', pattern: '^(a+)+$' }, {}],
    ['a name is held against such a pattern', { type: 'object', patternProperties: { '^(a+)+$': {} } }, {}],
    [
      'definitions refer twice to the next one',
      { $ref: '#/$defs/a0' },
      Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [`a${i}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/a${i + 1}` })) }]),
      ),
    ],
  ])('I3 no check holds the process: %s, and the value is refused', (_, inner, defs) => {
    const text = `${'a'.repeat(60)}!`
    const value = 'patternProperties' in inner ? { [text]: 1 } : text
    const $defs = { ...defs, a40: { type: 'string' } }
    const source = { type: 'object', properties: { a: inner }, $defs }
    expect(compiled(source).check({ a: value })).toEqual([{ path: '', message: 'cannot be checked' }])
    expect(compiled(z.strictObject({ a: z.string().regex(/^(a+)+$/) })).check({ a: text })).toHaveLength(1)
  })

  it('I3 no schema makes its check answer later: whatever is not a yes is a no', () => {
    const late = { type: 'object', properties: { a: { type: 'string' } }, $async: true }
    for (const source of [late, fromJsonSchema(late), fromJsonSchema({ type: 'object', properties: { a: late } })])
      expect(problems(source)).toEqual([expect.stringMatching(/^schema_unsure .*\/\$async$/)])
    expect(problems(fromDraft07(late))).not.toEqual([])
  })

  it('I3 zod, Standard Schema and JSON Schema give one schema that the model can see', () => {
    const ours = {
      type: 'object',
      properties: { orderId: { type: 'string' } },
      required: ['orderId'],
      additionalProperties: false,
    }
    const zod = compiled(z.strictObject({ orderId: z.string() }))
    expect(zod.schema).toEqual(ours)
    expect(compiled(ours).hash).toBe(zod.hash)
    const library = z.strictObject({ orderId: z.string() })['~standard']
    expect(compiled({ '~standard': { ...library, vendor: 'another' } }).hash).toBe(zod.hash)
  })

  it('I3 a schema that leaves extra fields open is closed at the root', () => {
    expect(errors(z.object({ a: z.string() }), '{"a":"x","approved":true}')).toEqual([
      '/approved is not a field of this tool',
    ])
    expect(errors({ properties: { a: {} } }, '{"a":1,"b":2}')).toEqual(['/b is not a field of this tool'])
    expect(errors({ anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }] }, '{"a":"x","b":2}')).toEqual([
      '/b is not a field of this tool',
    ])
    expect(errors({ properties: {}, additionalProperties: true }, '{"b":2}')).toEqual([])
  })

  it('I3 errors name the field and the rule, never the value', () => {
    const source = {
      properties: {
        cabin: { enum: ['economy', 'business'] },
        n: { type: 'integer', maximum: 5 },
        at: { type: 'string', format: 'date-time' },
      },
      required: ['n', 'q'],
    }
    const found = errors(source, '{"cabin":"SECRET","n":987654,"at":"2026-02-30T25:61:00Z"}')
    expect(found).toEqual([
      '/q is required',
      '/cabin must be one of ["economy","business"]',
      '/n must be <= 5',
      '/at must match format "date-time"',
    ])
    expect(found.join()).not.toMatch(/SECRET|987654|2026/)
  })

  it('I3 keys that shadow built-in members neither pass nor crash', () => {
    const source = { properties: { toString: { type: 'string' }, list: { type: 'array', uniqueItems: true } } }
    expect(errors(source, '{}')).toEqual([])
    expect(errors(source, '{"toString":"x"}')).toEqual([])
    expect(errors(source, '{"constructor":1}')).toEqual(['/constructor is not a field of this tool'])
    expect(errors(source, '{"list":[{"a":1},{"a":2}]}')).toEqual([])
    expect(errors(source, '{"list":[{"a":1},{"a":1}]}')).not.toEqual([])
    expect(errors(source, '{"list":[{"valueOf":1},{"valueOf":2}]}')).toEqual([
      '/list cannot be checked'.replace('/list', ''),
    ])
  })

  it('I3 boolean sub-schemas are legal (BR-115)', () => {
    expect(errors({ properties: { payload: true, never: false } }, '{"payload":{"x":[1]}}')).toEqual([])
    expect(errors({ properties: { never: false } }, '{"never":1}')).not.toEqual([])
  })

  it('I3 a value is never coerced, filled in or cut', () => {
    expect(errors({ properties: { n: { type: 'number' }, d: { default: 1 } } }, '{"n":"+007"}')).toEqual([
      '/n must be number',
    ])
  })
})

describe('schemas that are refused at load', () => {
  it.each<[string, SchemaSource, string]>([
    ['a remote reference', { $ref: 'http://169.254.169.254/latest' }, 'schema_remote_ref /input/$ref'],
    [
      'a remote reference deep inside',
      { properties: { a: { items: { $ref: 'file:///etc/passwd' } } } },
      'schema_remote_ref /input/properties/a/items/$ref',
    ],
    [
      'types of another language',
      { type: 'object', properties: { x: { type: 'float' } } },
      'schema_invalid /input/properties/x/type',
    ],
    ['a root of another language', { type: 'dict', properties: {} }, 'schema_not_object /input/type'],
    ['a root that is no object', { type: 'array' }, 'schema_not_object /input/type'],
    ['an unknown keyword', { properties: {}, optional: true }, 'schema_invalid /input'],
    ['a reference to nothing', { properties: { a: { $ref: '#/$defs/gone' } } }, 'schema_invalid /input'],
    ['a pattern that is none', { properties: { a: { type: 'string', pattern: '(' } } }, 'schema_invalid /input'],
    [
      'an older dialect',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' },
      'schema_dialect /input/$schema',
    ],
    ['a refinement', z.object({ a: z.string().refine((x) => x !== 'q') }), 'schema_hidden_rule /input/a'],
    ['a transform', z.object({ a: z.string().transform((x) => x.length) }), 'schema_changes_value /input/a'],
    ['a coercion', z.object({ a: z.array(z.coerce.number()) }), 'schema_changes_value /input/a/element'],
    ['a default', z.object({ a: z.string().default('x') }), 'schema_changes_value /input/a'],
    [
      'a trim',
      z.object({ a: z.object({ b: z.string().trim() }).optional() }),
      'schema_changes_value /input/a/innerType/b',
    ],
    ['a date', z.object({ a: z.date() }), 'schema_not_json /input'],
    ['a big integer', z.object({ a: z.bigint() }), 'schema_not_json /input'],
  ])('I1 %s', (_, source, expected) => {
    expect(problems(source)).toContain(expected)
  })

  it('I1 a rule that only shows at call time refuses the call', () => {
    const library = z.strictObject({ a: z.string() })['~standard']
    const changing = {
      '~standard': { ...library, vendor: 'another', validate: () => ({ value: { a: 'changed' } }) },
    } as SchemaSource
    expect(errors(changing, '{"a":"x"}')).toEqual([' cannot be checked: the schema of the tool changes values'])
    const later = {
      '~standard': { ...library, vendor: 'another', validate: async () => ({ value: 1 }) },
    } as SchemaSource
    expect(errors(later, '{"a":"x"}')).toEqual([' cannot be checked: the schema of the tool is asynchronous'])
  })

  it('I1 recursive schemas load', () => {
    const node = z.strictObject({
      name: z.string(),
      get children() {
        return z.array(node)
      },
    })
    expect(
      errors(z.strictObject({ root: node }), '{"root":{"name":"a","children":[{"name":"b","children":[]}]}}'),
    ).toEqual([])
  })

  it('I1 the formats of zod load', () => {
    const schema = z.strictObject({
      u: z.uuid(),
      m: z.email(),
      d: z.iso.date(),
      c: z.cuid2(),
      e: z.e164(),
      p: z.ipv4(),
      b: z.base64(),
      t: z.tuple([z.string(), z.int()]),
      r: z.record(z.string(), z.number()),
      o: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]).optional(),
    })
    expect(problems(schema)).toEqual([])
  })
})
