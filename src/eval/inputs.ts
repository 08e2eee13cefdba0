/**
 * `npm run inputs -- FILE [--json]`: a corpus of ugly inputs against the doors of the system.
 *
 * Prints one line per failure and a summary; with `--json` the last line is one object. Exit 1 on a failure, 2 without
 * a readable file.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { EXIT } from '../kernel/fault.ts'
import { type InputCase, type Judge, judgeAll } from './input-case.ts'
import { httpJudge } from './http.ts'
import { judgeMemory } from './input-memory.ts'
import { toolJudges } from './input-tools.ts'
import { judgeProtocol } from './protocol.ts'

/** By surface. A surface joins the command by one line here; `http` stands below, because it has a server to end. */
export const JUDGES: Readonly<Record<string, Judge>> = {
  ...toolJudges,
  protocol: judgeProtocol,
  memory: judgeMemory,
}

export async function inputs(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const file = argv.find((argument) => !argument.startsWith('--'))
  const cases = file === undefined ? null : readCases(file)
  if (cases === null) {
    print(
      'usage: npm run inputs -- FILE [--json]   FILE is JSON with `cases`: [{ id, surface, name, raw | gen, verdict }]',
    )
    return EXIT.usage
  }
  const http = httpJudge()
  const judgement = await judgeAll(cases, { ...JUDGES, http: http.judge }).finally(() => http.close())
  // A name of the file may hold anything that a terminal obeys; JSON text does not.
  for (const { id, surface, name, reason } of judgement.failures)
    print(`${printable(id)} ${surface} ${printable(name)}: ${printable(reason)}`)
  const { asExpected, skipped, failures } = judgement
  print(`${cases.length} cases: ${asExpected} as expected, ${skipped} skipped, ${failures.length} failed`)
  if (argv.includes('--json')) print(JSON.stringify(judgement))
  return failures.length > 0 ? EXIT.failure : EXIT.ok
}

const printable = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Null when the file cannot be read or has another shape. `JSON.parse` on purpose: lone surrogates must survive. */
function readCases(file: string): readonly InputCase[] | null {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const cases: unknown = typeof read === 'object' && read !== null && 'cases' in read ? read.cases : read
    return Array.isArray(cases) ? (cases as readonly InputCase[]) : null
  } catch {
    return null
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await inputs(process.argv.slice(2), console.log)
}
