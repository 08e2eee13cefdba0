import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { FAULTS, type FaultRow } from '../../src/kernel/fault.ts'

const PAGE = new URL('../../docs/faults.md', import.meta.url)
const rows = Object.entries<FaultRow>(FAULTS)

const page = (): string =>
  [
    '# Faults',
    '',
    'Everything that can go wrong, printed from the table in `src/kernel/fault.ts` by its test (`UPDATE_DOCS=1 npx vitest run',
    'test/guarantees/faults.test.ts`). A problem document names the code; the exit code is that of the command line. What only',
    'operators may read is told to callers over HTTP as `unavailable` or `internal`.',
    ...rows.flatMap(([code, row]) => [
      '',
      `## ${code}`,
      '',
      `${row.cause} ${row.next}`,
      '',
      `HTTP ${row.http} · exit ${row.exit} · ${row.kind} · reaction \`${row.reaction}\` · for the ${row.audience}`,
    ]),
    '',
  ].join('\n')

it('N1 every fault has a cause and a next step, and the page lists them all', () => {
  if (process.env['UPDATE_DOCS']) writeFileSync(PAGE, page())
  for (const [code, row] of rows) {
    expect(code).toMatch(/^[a-z][a-z_]+$/)
    for (const sentence of [row.cause, row.next])
      expect({ code, sentence }).toEqual({ code, sentence: expect.stringMatching(/^[A-Z].+[.`]$/) })
    expect(row.http).toBeGreaterThanOrEqual(400)
  }
  expect(readFileSync(PAGE, 'utf8'), 'stale: UPDATE_DOCS=1 npx vitest run test/guarantees/faults.test.ts').toBe(page())
})
