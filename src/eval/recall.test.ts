import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { dialogues } from '../../test/setup/dialogue.ts'
import { makeDatabase } from '../../test/setup/engines.ts'
import { dayText, readDataset } from './recall-data.ts'
import { recallCommand } from './recall.ts'

it('F1 a long conversation answers by another form of a word, by speaker, by day and by what the neighbour said', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-recall-'))
  // the embedded store gives the same answers, five times slower
  const database = inject('postgres') ? await makeDatabase('template') : null
  try {
    const { docs, queries } = dialogues()
    const scope = 'conv_0'
    const data = { docs: docs.filter((d) => d.scope === scope), queries: queries.filter((q) => q.scope === scope) }
    const file = join(folder, 'data.json')
    writeFileSync(file, JSON.stringify(data))
    const lines: string[] = []
    const at = database ? ['--db', database.url] : []
    expect(await recallCommand(['--dataset', file, '--json', ...at], (line) => lines.push(line))).toBe(0)
    const { byCategory, ...all } = JSON.parse(lines.at(-1) ?? '') as Record<string, number> & { byCategory: object }
    expect(all).toMatchObject({ queries: 80, docs: data.docs.length })
    expect(Object.keys(all)).toEqual(expect.arrayContaining(['r5', 'r10', 'mrr', 'allGold10', 'p50ms', 'p95ms']))
    // without its trait a kind of question finds next to nothing; twenty questions of one conversation are few
    for (const [category, quality] of Object.entries(byCategory) as [string, { r10: number }][])
      expect([category, quality.r10 >= 0.6]).toEqual([category, true])
  } finally {
    rmSync(folder, { recursive: true })
    await database?.drop()
  }
}, 120_000)

it('F1 a dataset that is none is refused with the shape that it should have', async () => {
  const lines: string[] = []
  for (const argv of [[], ['--dataset', '/nowhere.json'], ['--memorybank', '/nowhere'], ['--dataset', 'package.json']])
    expect(await recallCommand(argv, (line) => lines.push(line))).toBe(2)
  expect(lines.every((line) => line.includes('docs: [{ id, scope'))).toBe(true)
  expect(readDataset('package.json')).toBeNull()
})

it.each([
  ['2023-05-08T13:56:00', '2023-05-08'],
  ['2023-05-08', '2023-05-08'],
  ['1:56 pm on 8 May, 2023', '2023-05-08'],
  ['2023年5月8日', '2023-05-08'],
  [Date.UTC(2023, 4, 8), '2023-05-08'],
  ['some day', undefined],
  [undefined, undefined],
])('F1 the day of %j is %s', (at, day) => {
  expect(dayText(at)?.slice(0, 10)).toBe(day)
})
