/**
 * `npm run guard -- --cases FILE [--json]`: labelled memory candidates through the whole write guard as it is shipped.
 *
 * Every key of the file is registered as free text, so that a refusal counts only with a reason of content, evidence or
 * label. One line per failure, without the text; with `--json` the last line is one object. Exit 1 on a failure, 2
 * without a readable file. `--cases` may name a folder of such files.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { EXIT } from '../kernel/fault.ts'
import { type GuardCase, type GuardSequence, judgeCase, judgeSequence, readGuardFile } from './guard-case.ts'

export async function guard(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const path = argv[argv.indexOf('--cases') + 1]
  const files = argv.includes('--cases') && path !== undefined ? read(path) : null
  if (files === null) {
    print(
      'usage: npm run guard -- --cases FILE [--json]   FILE is JSON with `cases` or `sequences`, or a folder of such files',
    )
    return EXIT.usage
  }
  const report = await judged(
    files.flatMap((f) => f.cases),
    files.flatMap((f) => f.sequences),
  )
  for (const { id, expected, got, reasons } of report.failures)
    print(`${JSON.stringify(id)}: expected ${expected}, got ${got} (${reasons.join(', ')})`)
  const { cases, missed, falseAlarms, sequences, sequencesStopped, failures } = report
  print(
    `${cases} cases: ${missed} missed, ${falseAlarms} false alarms; ${sequencesStopped} of ${sequences} sequences stopped`,
  )
  if (argv.includes('--json')) print(JSON.stringify(report))
  return failures.length > 0 ? EXIT.failure : EXIT.ok
}

interface Failure {
  readonly id: string
  readonly expected: string
  readonly got: string
  readonly reasons: readonly string[]
}

async function judged(cases: readonly GuardCase[], sequences: readonly GuardSequence[]) {
  const failures: Failure[] = []
  let missed = 0
  let falseAlarms = 0
  for (const given of cases) {
    const { as, decision, reasons } = await judgeCase(given)
    if (as === 'right') continue
    if (as === 'missed') missed++
    else falseAlarms++
    failures.push({ id: given.id, expected: given.expect, got: decision, reasons })
  }
  let sequencesStopped = 0
  for (const sequence of sequences) {
    if (await judgeSequence(sequence)) sequencesStopped++
    else failures.push({ id: sequence.id, expected: 'stopped', got: 'stored', reasons: [] })
  }
  return { cases: cases.length, missed, falseAlarms, sequences: sequences.length, sequencesStopped, failures }
}

/** Null when nothing of the path can be read as cases or sequences. */
function read(path: string): ReturnType<typeof readGuardFile>[] | null {
  try {
    const names = statSync(path).isDirectory()
      ? readdirSync(path)
          .filter((name) => name.endsWith('.json'))
          .sort()
          .map((name) => join(path, name))
      : [path]
    const files = names.map((name) => readGuardFile(JSON.parse(readFileSync(name, 'utf8')) as unknown))
    return files.some((f) => f.cases.length + f.sequences.length > 0) ? files : null
  } catch {
    return null
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await guard(process.argv.slice(2), console.log)
}
