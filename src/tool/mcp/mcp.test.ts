import { describe, expect, it } from 'vitest'
import { contractsOf, type McpCalls, type McpToolSpec, readDefinition } from './mcp.ts'
import { mcp } from './mcp.shell.ts'
import { readAnswer } from './mcp-result.ts'

const calls: McpCalls = { read: async () => null, commit: async () => null, ask: async () => null }
const define = (annotations: object = {}, more: object = {}) => {
  const definition = readDefinition({ name: 'set', description: 'Sets.', inputSchema: SCHEMA, annotations, ...more })
  if (!definition) throw new Error('no definition')
  return definition
}
const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' }, key: { type: 'string' } },
  required: ['a', 'key'],
}
const one = (definition: ReturnType<typeof define>, spec?: McpToolSpec) => {
  const { contracts, tools } = contractsOf('srv', [definition], spec ? { set: spec } : {}, calls)
  return { contract: contracts[0], report: tools[0], codes: tools[0]?.problems.map((p) => p.split(' ')[0]) }
}

describe('the level of a tool of a server', () => {
  it.each<[string, McpToolSpec['effect'] | undefined, object, string, string | null]>([
    ['says nothing', undefined, {}, 'irreversible', null],
    ['only looks, it says', undefined, { readOnlyHint: true }, 'irreversible', null],
    ['only looks, we say', 'read', {}, 'read', null],
    ['only looks, both say', 'read', { readOnlyHint: true, destructiveHint: false }, 'read', null],
    ['writes, it says', 'read', { readOnlyHint: false }, 'write', 'readOnlyHint'],
    ['destroys, it says', 'read', { destructiveHint: true }, 'irreversible', 'destructiveHint'],
    [
      'destroys, it says in one breath with looking',
      'read',
      { readOnlyHint: true, destructiveHint: true },
      'irreversible',
      'destructiveHint',
    ],
    ['destroys, it says of a write', 'write', { destructiveHint: true }, 'irreversible', 'destructiveHint'],
    [
      'is harmless, it says of what cannot be undone',
      'irreversible',
      { readOnlyHint: true, destructiveHint: false },
      'irreversible',
      null,
    ],
    ['has hints that are none', 'read', { destructiveHint: 'true', readOnlyHint: 0 }, 'read', null],
  ])('I8 that %s', (_, effect, annotations, expected, raisedBy) => {
    const { contract, report } = one(define(annotations), effect && { effect })
    expect(contract).toMatchObject({ effect: expected, approval: expected === 'read' ? 'auto' : 'confirm' })
    expect(report).toMatchObject({ effect: expected, raisedBy })
  })

  it('I8 a leave to act alone is void for what the server calls more than a write', () => {
    const auto = { effect: 'write', approval: 'auto' } as const
    expect(one(define(), auto).contract?.approval).toBe('auto')
    expect(one(define({ destructiveHint: true }), auto).contract?.approval).toBe('confirm')
  })

  it('I8 J4 a write is settled by an operator, unless there is a key or somebody to ask', () => {
    const probe = () => ({ happened: false }) as const
    expect(one(define(), { effect: 'write' }).contract?.unknown).toBe('manual')
    expect(one(define(), { effect: 'write', probe }).contract?.unknown).toBe('probe')
    const keyed = one(define(), { effect: 'write', key: 'key' }).contract
    expect(keyed?.unknown).toBe('key')
    expect(keyed?.inputSchema).toMatchObject({ properties: { a: { type: 'string' } }, required: ['a'] })
  })
})

describe('a definition', () => {
  it('I8 its hash is that of every word that the model or a person reads, and of nothing else', () => {
    const { hash } = define()
    expect(define({}, { _meta: { seen: 1 }, icons: [] }).hash).toBe(hash)
    for (const more of [
      { description: 'Sets!' },
      { title: 'Set' },
      { inputSchema: { type: 'object' } },
      { outputSchema: {} },
    ])
      expect(define({}, more).hash).not.toBe(hash)
    expect(define({ readOnlyHint: true }).hash).not.toBe(hash)
  })

  it.each<[string, object, string]>([
    ['free SQL', { inputSchema: { type: 'object', properties: { sql: { type: 'string' } } } }, 'free_code_parameter'],
    ['a reference to another house', { inputSchema: { $ref: 'http://169.254.169.254/' } }, 'schema_remote_ref'],
    ['no schema', { inputSchema: null }, 'schema_not_json'],
    ['a dialect that nobody knows', { inputSchema: { ...SCHEMA, $schema: 'https://example.com' } }, 'schema_dialect'],
    ['text that nobody sees', { description: `Sets.${String.fromCodePoint(0xe0041)}` }, 'hidden_text'],
    ['text that takes no room', { description: 'Sets\u200b it.' }, 'hidden_text'],
    ['text that turns around', { inputSchema: { ...SCHEMA, title: '\u202etxt' } }, 'hidden_text'],
    ['a Cyrillic letter', { name: 'sеt' }, 'name_not_ascii'],
  ])('I4 I8 with %s is refused with its reason', (_, more, code) => {
    const { contract, codes } = one(define({}, more))
    expect(contract).toBe(undefined)
    expect(codes).toEqual([code])
  })

  it('I8 BR-111 of two names that look alike the second is refused, both named', () => {
    const two = [define(), define({}, { name: 'Set' })]
    const { contracts, tools } = contractsOf('srv', two, {}, calls)
    expect(contracts).toHaveLength(1)
    expect(tools[1]?.problems[0]).toContain('"srv.set" and "srv.Set"')
  })

  it('I1 what the operator writes is checked at load', () => {
    const load =
      (name: string, more: object = {}) =>
      () =>
        mcp(name, { command: 'x', approved: [{ name: 'set', inputSchema: SCHEMA }], ...more })
    expect(load('Files!')).toThrow('name_illegal')
    expect(load('files', { tools: { get: { effect: 'read' } } })).toThrow('tool_not_approved at /tools/get')
    expect(load('files', { approved: [{ title: 'no name' }] })).toThrow('definition_illegal at /approved/0')
    expect(load('files', { url: 'http://10.0.0.1/mcp' })).toThrow('url_illegal')
    expect(load('files', { url: 'http://localhost:1/mcp' })).not.toThrow()
  })
})

describe('an answer', () => {
  const text = (t: string) => ({ type: 'text', text: t })
  it.each<[string, object, unknown]>([
    ['one text', { content: [text('a')] }, 'a'],
    ['texts', { content: [text('a'), text('b')] }, 'a\nb'],
    ['nothing', {}, ''],
    ['structured content', { content: [text('{"n":1}')], structuredContent: { n: 1 } }, { n: 1 }],
    [
      'a picture',
      { content: [{ type: 'image', data: 'QUJD', mimeType: 'image/png' }] },
      { type: 'image', mimeType: 'image/png', bytes: 3 },
    ],
    [
      'a file',
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'QUJD' } }] },
      { type: 'resource', uri: 'a:b', mimeType: null, bytes: 3 },
    ],
    [
      'a link beside a text',
      { content: [text('see'), { type: 'resource_link', uri: 'a:b', name: 'n' }] },
      ['see', { type: 'resource_link', uri: 'a:b', name: 'n', mimeType: null }],
    ],
    ['what is no block', { content: [5] }, ''],
  ])('I6 of %s is plain, without bytes of data', (_, answer, value) => {
    expect(readAnswer(answer as never)).toMatchObject({ isError: false, value })
  })

  it('T2 pictures and sounds of an answer come beside it, those of an error and of other blocks do not', () => {
    const content = [
      text('see'),
      { type: 'image', data: 'QUJD', mimeType: 'text/html' },
      { type: 'audio', data: 'REVG' },
    ]
    const files = [Buffer.from('ABC'), Buffer.from('DEF')]
    expect(readAnswer({ content }).files).toEqual(files)
    expect(readAnswer({ content, structuredContent: { n: 1 } })).toEqual({ isError: false, value: { n: 1 }, files })
    expect(readAnswer({ isError: true, content }).files).toEqual([])
    const others = [
      { type: 'image' },
      { type: 'image', data: '' },
      { type: 'image', data: 5 },
      { type: 'text', data: 'QUJD' },
      5,
    ]
    expect(readAnswer({ content: others }).files).toEqual([])
  })

  it('I6 an error has no structured content', () => {
    expect(readAnswer({ isError: true, structuredContent: { n: 1 }, content: [text('no')] })).toEqual({
      isError: true,
      value: 'no',
      files: [],
    })
  })
})
