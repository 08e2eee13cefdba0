import { describe, expect, it } from 'vitest'
import { complaints, page, proofs } from './guarantees.ts'

const SOURCE = `
describe('X1 a group is no test', () => {
  it('J3 a repeated call never reaches the provider twice', async () => {})
  it.each(rows)('J8 %s is canonical', () => {})
  it.skipIf(!postgres).each(rows)(\`L2 L3 a zombie of \${kind} is refused\`, () => {})
  onPostgres('H2 a forgotten tenant returns nothing', () => {})
  it.skip('K4 not yet', () => {})
  it.todo('B1 not yet')
  it('no id', () => {})
})
`

describe('the page of guarantees', () => {
  const all = proofs('test/some.test.ts', SOURCE)

  it('house: a test proves the ids at the head of its title, and a skipped one proves nothing', () => {
    expect(all.map(({ id, title }) => [id, title])).toEqual([
      ['J3', 'J3 a repeated call never reaches the provider twice'],
      ['J8', 'J8 %s is canonical'],
      ['L2', 'L2 L3 a zombie of … is refused'],
      ['L3', 'L2 L3 a zombie of … is refused'],
      ['H2', 'H2 a forgotten tenant returns nothing'],
    ])
  })

  it('house: a promise without a test is an error unless it is pending, and so is a test without a promise', () => {
    expect(complaints({ promises: { J3: 'once', B1: 'limits', K4: 'resume' }, pending: ['K4', 'Z9'] }, all)).toEqual([
      'no test proves B1',
      'pending without a promise: Z9',
      'proved without a promise: H2 J8 L2 L3',
    ])
  })

  it('house: the page names promise, test and file', () => {
    const text = page({ promises: { J3: 'Once.', K4: 'Resume.' }, pending: ['K4'] }, all)
    expect(text).toContain(
      '## J3\n\nOnce.\n\n- J3 a repeated call never reaches the provider twice (`test/some.test.ts`)\n',
    )
    expect(text).toContain('## K4\n\nResume.\n\n- pending\n')
  })
})
