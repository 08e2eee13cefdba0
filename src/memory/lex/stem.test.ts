/** The stemmer against PostgreSQL's own, on words built from roots and endings. */
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stem } from './stem.ts'

const ROOTS =
  'run hope hop stop play enjoy cry carry agree feed fall fill national relate radical use hate ski bead organize oper adopt gener commun arsen happy angri trouble size fail control bath sky die lie tie book museum paint exhibit travel move move argu create nation sens defens respons depend electric triplic form digit vile analog predict feud decis hesit conform differ vietnam callous decis apolog geolog elogi full rate cease roll skill bias news inning out earr proceed exceed succeed ugly early gentle idle single dog knit hopeful good nice care year day boy yellow toy beauty sad employ photo camp hike adopt counsel support swim volunteer mentor week'.split(
    ' ',
  )
const ENDINGS =
  ' s es ed ing edly ingly er ers ly ness ful fully less lessly ment ments able ably ible ibility ation ations ational ational ization izer ize izes ized izing ive iveness ous ously ousness al ally ality alism alist ism ity ant ance ancy ent ently ence ency ion ions ic ical icate iciti ative ate ator ement eed eedly ies ied y ys'.split(
    ' ',
  )
const WORDS = [
  ...new Set(
    ROOTS.flatMap((root) => [...ENDINGS.map((e) => root + e), ...ENDINGS.map((e) => root.replace(/[ey]$/, '') + e)]),
  ),
]

let lite: PGlite
beforeAll(async () => {
  lite = await PGlite.create()
})
afterAll(() => lite.close())

it('F1 a question finds the word in another form: stems are those of PostgreSQL, for every root with every ending', async () => {
  await lite.exec('create text search dictionary plain_stem (template = snowball, language = english)')
  const { rows } = await lite.query<{ word: string; stem: string }>(
    `select w as word, (ts_lexize('plain_stem', w))[1] as stem from unnest($1::text[]) w`,
    [WORDS],
  )
  expect(rows.length).toBeGreaterThan(5000)
  expect(rows.filter((row) => stem(row.word) !== row.stem).map((row) => [row.word, stem(row.word), row.stem])).toEqual(
    [],
  )
})

it.each([
  ['', ''],
  ["'", "'"],
  ['ß', 'ß'],
  ['naïve', 'naïve'],
  ['42', '42'],
])('F1 the stem of %j is %j: nothing breaks on what is no English word', (word, expected) => {
  expect(stem(word)).toBe(expected)
})
