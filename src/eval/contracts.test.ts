import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sharedFile } from '../../test/shared-data.ts'
import { contracts } from './contracts.ts'

const folder = mkdtempSync(join(tmpdir(), 'contracts-'))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (...argv: string[]) => {
  const lines: string[] = []
  const exit = contracts(argv, (line) => lines.push(line))
  return { exit, lines }
}
const fileOf = (corpus: unknown) => {
  const file = join(folder, 'corpus.json')
  writeFileSync(file, JSON.stringify(corpus))
  return file
}
const corpus = sharedFile('bfcl/schemas_and_gold.json')

describe('a corpus of schemas and calls', () => {
  it.skipIf(corpus === null)(
    'I1 I3 every schema and every gold call has its verdict, and no undeclared field passes',
    () => {
      const { exit, lines } = run('--bfcl', corpus ?? '', '--json')
      const figures = JSON.parse(lines.at(-1) ?? '')
      expect(figures.schemas).toEqual({
        total: 3052,
        accepted: 2908,
        waived: 105,
        refused: {
          optional_and_required: 11,
          required_undeclared: 1,
          enum_of_other_type: 22,
          rule_of_other_type: 1,
          name_illegal: 4,
        },
      })
      expect(figures.gold).toMatchObject({ total: 1569, accepted: 1527 })
      expect(figures.gold.refused).not.toHaveProperty('unknown_tool')
      expect(figures.mutants.refused).toBe(figures.mutants.total)
      expect(figures.mutants.total).toBeGreaterThan(4_500)
      // one line for each that is not accepted, and the summary
      expect(lines).toHaveLength(3052 - 3013 + 1569 - 1527 + 4)
      expect(exit).toBe(0)
    },
    120_000,
  )

  it('I1 a refusal is told with its reason and its place', () => {
    const parameters = { type: 'dict', properties: { n: { type: 'quaternion' }, t: { type: 'tuple', minimum: 1 } } }
    const file = fileOf({
      schemas: [{ name: 'spin', parameters }],
      items: [
        {
          id: 'a',
          functions: [0],
          gold: [
            { name: 'spin', arguments: {} },
            { name: 'turn', arguments: {} },
          ],
        },
      ],
    })
    expect(run('--bfcl', file).lines).toEqual([
      '"spin": type_unknown /input/properties/n/type, rule_of_other_type /input/properties/t/minimum',
      'a "spin": schema:type_unknown /input/properties/n/type, schema:rule_of_other_type /input/properties/t/minimum',
      'a "turn": unknown_tool',
      '1 schemas: 0 accepted, 0 with a waiver for free code, 1 type_unknown, 1 rule_of_other_type',
      '2 gold calls: 0 accepted, 1 schema:type_unknown, 1 schema:rule_of_other_type, 1 unknown_tool',
      '0 calls with an undeclared field: 0 refused',
    ])
  })

  it('I1 a file that is none is a wrong use', () => {
    expect(run().exit).toBe(2)
    expect(run('--bfcl', fileOf({ schemas: {} })).exit).toBe(2)
    expect(run('--bfcl', join(folder, 'none.json')).exit).toBe(2)
  })
})
