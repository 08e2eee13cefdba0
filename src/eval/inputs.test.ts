import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sharedFile } from '../../test/shared-data.ts'
import { inputText, judgeAll } from './input-case.ts'
import { inputs } from './inputs.ts'
import { toolJudges } from './input-tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'inputs-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...argv: string[]) {
  const lines: string[] = []
  const exit = await inputs(argv, (line) => lines.push(line))
  return { exit, lines }
}
const fileOf = (cases: unknown) => {
  const file = join(folder, 'cases.json')
  writeFileSync(file, JSON.stringify(cases))
  return file
}

const corpus = sharedFile('bad-inputs/cases.json')

describe('the bad-input corpus', () => {
  it.skipIf(corpus === null)(
    'I3 every case of the corpus ends as it states',
    async () => {
      const { exit, lines } = await run(corpus ?? '', '--json')
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ failures: [] })
      expect(exit).toBe(0)
    },
    120_000,
  )

  it('I3 a case that ends otherwise is told with its reason and fails the command', async () => {
    const file = fileOf({
      cases: [
        { id: '1', surface: 'args', name: 'bell \u0007', raw: '{"n":1}', verdict: 'refuse' },
        { id: '2', surface: 'args', name: 'bad', raw: '{', verdict: 'accept' },
        { id: '3', surface: 'toolName', name: 'known', raw: 'send_email', verdict: 'unknown_tool' },
        { id: '4', surface: 'toolRegistry', name: 'good', raw: '{"type":"object"}', verdict: 'refuse' },
        { id: '5', surface: 'args', name: 'odd', raw: '{}', verdict: 'maybe' },
        { id: '6', surface: 'moon', name: 'nobody', raw: '', verdict: 'refuse' },
        { id: '7', surface: 'args', name: 'own test', raw: '', verdict: 'behaviour' },
        { id: '9', surface: 'memory', name: 'a value that is fine', raw: 'green tea', verdict: 'refuse' },
        { id: '8', surface: 'args', name: 'throws', gen: 'nothing.here', verdict: 'refuse' },
      ],
    })
    const { exit, lines } = await run(file, '--json')
    expect(exit).toBe(1)
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      cases: 9,
      asExpected: 0,
      skipped: 2,
      failures: [{ id: '1' }, { id: '2' }, { id: '3' }, { id: '4' }, { id: '5' }, { id: '9' }, { id: '8' }],
    })
    expect(lines[0]).toBe('1 args bell \\u0007: was accepted')
  })

  it('I3 without a readable file the command says how it is used', async () => {
    expect((await run()).exit).toBe(2)
    expect((await run('/nowhere.json')).exit).toBe(2)
    expect((await run(fileOf('text'))).exit).toBe(2)
  })

  it('I3 an expression of the file sees nothing of this process', () => {
    const given = { id: '1', surface: 'args', name: 'x', verdict: 'refuse' }
    expect(inputText({ ...given, gen: "'['.repeat(3) + typeof process + typeof require" })).toBe(
      '[[[undefinedundefined',
    )
  })

  it('I2 a surface joins by one line', async () => {
    const judged = await judgeAll([{ id: '1', surface: 'http', name: 'x', verdict: 'status_400' }], {
      ...toolJudges,
      http: () => 'as_expected',
    })
    expect(judged).toMatchObject({ asExpected: 1 })
  })
})
