import { describe, expect, it } from 'vitest'
import type { Json } from '../../kernel/json.ts'
import { tool } from '../define.ts'
import { fromBfcl, fromDraft07 } from './foreign.ts'
import { compileSource, type SchemaSource } from './standard.ts'

const problems = (source: SchemaSource) => {
  const result = compileSource(source, 'result', '/output')
  return result.ok ? [] : result.problems.map((p) => `${p.code} ${p.path}`)
}
const fits = (source: SchemaSource, value: Json) => {
  const result = compileSource(source, 'result', '/output')
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.compiled.check(value).length === 0
}

describe('draft-07', () => {
  it.each<[string, unknown, Json[], Json[]]>([
    [
      'a list of places',
      { items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false },
      [['a', 1], ['a']],
      [
        ['a', 'b'],
        ['a', 1, 2],
      ],
    ],
    ['a rule for the rest', { items: [true], additionalItems: { type: 'string' } }, [[1, 'x']], [[1, 2]]],
    ['no places', { items: [], additionalItems: false }, [[]], [[1]]],
    ['one schema for all', { items: { type: 'string' }, additionalItems: false }, [['a', 'b']], [[1]]],
    [
      'dependencies',
      { dependencies: { a: ['b'], c: { properties: { d: { type: 'string' } } } } },
      [
        { a: 1, b: 2 },
        { c: 1, d: 'x' },
      ],
      [{ a: 1 }, { c: 1, d: 2 }],
    ],
    [
      'definitions',
      { definitions: { 'a b': { type: 'string' } }, properties: { x: { $ref: '#/definitions/a%20b' } } },
      [{ x: 'y' }],
      [{ x: 1 }],
    ],
    ['a reference at the root', { $ref: '#/definitions/n', definitions: { n: { type: 'integer' } } }, [1], ['x']],
    [
      'a reference into a list',
      { items: [{ minimum: 5 }], additionalItems: { $ref: '#/items/0' } },
      [[5, 6]],
      [[5, 4]],
    ],
    ['a name', { definitions: { n: { $id: '#n', type: 'integer' } }, items: { $ref: '#n' } }, [[1]], [['x']]],
    [
      'itself',
      { properties: { child: { $ref: '#' } }, additionalProperties: false },
      [{ child: { child: {} } }],
      [{ child: { x: 1 } }],
    ],
    ['a condition without a branch', { if: { type: 'string' } }, ['x', 1], []],
    ['a branch without a condition', { then: false }, ['x'], []],
    ['words of a vendor', { 'x-order': 1, type: 'string' }, ['x'], [1]],
    [
      'its own address',
      { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://example.com/a', type: 'string' },
      ['x'],
      [1],
    ],
  ])('I1 %s keeps its meaning', (_, schema, good, bad) => {
    for (const value of good) expect([value, fits(fromDraft07(schema), value)]).toEqual([value, true])
    for (const value of bad) expect([value, fits(fromDraft07(schema), value)]).toEqual([value, false])
  })

  it.each<[string, unknown, string]>([
    [
      'a rule beside a reference',
      { items: { $ref: '#/definitions/a', minimum: 1 }, definitions: { a: {} } },
      'ref_with_rules /output/items/minimum',
    ],
    ['a reference to nothing', { items: { $ref: '#/definitions/a' } }, 'ref_unknown /output/items/$ref'],
    ['a reference that is none', { items: { $ref: 1 } }, 'ref_illegal /output/items/$ref'],
    [
      'a reference to another house',
      { items: { $ref: 'http://169.254.169.254/' } },
      'schema_remote_ref /output/items/$ref',
    ],
    [
      'an address inside',
      { properties: { a: { $id: 'https://example.com/a' } } },
      'id_inside /output/properties/a/$id',
    ],
    ['a word of 2020-12', { prefixItems: [] }, 'keyword_unknown /output/prefixItems'],
    [
      'a format that nobody checks',
      { properties: { a: { format: 'idn-email' } } },
      'format_unknown /output/properties/a/format',
    ],
    ['another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, 'dialect_differs /output/$schema'],
    ['a rule of draft-04', { type: 'number', exclusiveMinimum: true }, 'schema_invalid /output/exclusiveMinimum'],
    ['dependencies that are no map', { dependencies: [] }, 'keyword_illegal /output/dependencies'],
    ['no JSON', { enum: [undefined] }, 'schema_not_json /output/enum/0'],
  ])('I1 %s is a named problem with its place', (_, schema, expected) => {
    expect(problems(fromDraft07(schema))).toContain(expected)
  })
})

describe('the dialect of the function-calling corpus', () => {
  const dict = (properties: Record<string, unknown>, required: string[] = []) => ({
    type: 'dict',
    properties,
    required,
  })

  it.each<[string, unknown, Json[], Json[]]>([
    ['dict', dict({ a: { type: 'string' } }), [{ a: 'x' }, {}], [{ a: 'x', b: 1 }, []]],
    ['a dict of anything', { type: 'dict' }, [{ a: 1 }], [1]],
    [
      'a dict inside',
      dict({ a: dict({ b: { type: 'float' } }, ['b']) }),
      [{ a: { b: 1.5 } }],
      [{ a: { b: 1, c: 1 } }, { a: {} }],
    ],
    ['tuple', { type: 'tuple', items: { type: 'float' } }, [[1, 2.5]], [['x']]],
    ['any', { type: 'any' }, [1, 'x', null, []], []],
    ['optional', dict({ a: { type: 'integer', optional: true, default: 5 } }), [{}, { a: 1 }], [{ a: 1.5 }]],
  ])('I1 %s keeps its meaning', (_, schema, good, bad) => {
    for (const value of good) expect([value, fits(fromBfcl(schema), value)]).toEqual([value, true])
    for (const value of bad) expect([value, fits(fromBfcl(schema), value)]).toEqual([value, false])
  })

  it.each<[string, unknown, string]>([
    ['an unknown type', dict({ a: { type: 'HashMap' } }), 'type_unknown /output/properties/a/type'],
    ['no type', dict({ a: {} }), 'type_missing /output/properties/a/type'],
    ['a rule of another type', { type: 'integer', maxItems: 1 }, 'rule_of_other_type /output/maxItems'],
    ['values of another type', { type: 'boolean', enum: [true, 'dontcare'] }, 'enum_of_other_type /output/enum/1'],
    ['a field that is not declared', dict({}, ['a']), 'required_undeclared /output/required/0'],
    [
      'optional and required',
      dict({ a: { type: 'any', optional: true } }, ['a']),
      'optional_and_required /output/properties/a/optional',
    ],
    ['an unknown word', { type: 'any', oneOf: [] }, 'keyword_unknown /output/oneOf'],
    ['a parameter that is none', dict({ a: true }), 'schema_not_json /output/properties/a'],
    ['fields that are no map', { type: 'dict', properties: [] }, 'keyword_illegal /output/properties'],
  ])('I1 %s is a named problem with its place', (_, schema, expected) => {
    expect(problems(fromBfcl(schema))).toContain(expected)
  })

  it('I1 a contract takes a schema of another dialect and closes it', () => {
    const add = tool('notes.add@1', {
      input: fromDraft07({ type: 'object', properties: { pair: { items: [{ type: 'string' }] } } }),
      effect: 'read',
      run: () => null,
    })
    expect(add.inputSchema).toEqual({
      type: 'object',
      properties: { pair: { prefixItems: [{ type: 'string' }] } },
      additionalProperties: false,
    })
  })
})
