/**
 * `npm run contracts -- --bfcl FILE [--json]`: a corpus of tool schemas and calls against the contracts.
 *
 * Prints one line per refusal and a summary; with `--json` the last line is one object. Exit 1 when a field that no schema
 * declares was accepted, 2 without a readable file.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { EXIT } from '../kernel/fault.ts'
import { type BfclReport, type Corpus, judgeCorpus, type Tally } from './bfcl.ts'

export function contracts(argv: readonly string[], print: (line: string) => void): number {
  const at = argv.indexOf('--bfcl')
  const corpus = at < 0 ? null : readCorpus(argv[at + 1])
  if (corpus === null) {
    print('usage: npm run contracts -- --bfcl FILE [--json]   FILE is JSON with `schemas` and `items`')
    return EXIT.usage
  }
  const { lines, ...figures } = judgeCorpus(corpus)
  for (const line of lines) print(line)
  for (const line of summary(figures)) print(line)
  if (argv.includes('--json')) print(JSON.stringify(figures))
  return figures.mutants.refused === figures.mutants.total ? EXIT.ok : EXIT.failure
}

function summary({ schemas, gold, mutants }: Omit<BfclReport, 'lines'>): readonly string[] {
  return [
    `${schemas.total} schemas: ${schemas.accepted} accepted, ${schemas.waived} with a waiver for free code${told(schemas.refused)}`,
    `${gold.total} gold calls: ${gold.accepted} accepted${told(gold.refused)}`,
    `${mutants.total} calls with an undeclared field: ${mutants.refused} refused`,
  ]
}

const told = (tally: Tally): string =>
  Object.entries(tally)
    .map(([reason, n]) => `, ${n} ${reason}`)
    .join('')

/** Null when the file cannot be read or has another shape. */
function readCorpus(file: string | undefined): Corpus | null {
  try {
    const read: unknown = JSON.parse(readFileSync(file ?? '', 'utf8'))
    const lists = typeof read === 'object' && read !== null && 'schemas' in read && 'items' in read
    return lists && Array.isArray(read.schemas) && Array.isArray(read.items) ? (read as unknown as Corpus) : null
  } catch {
    return null
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = contracts(process.argv.slice(2), console.log)
}
