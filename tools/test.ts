/**
 * `npm test`: the whole suite, or the files and options of vitest that follow `--`. With `--json` the last line of
 * standard output is `{ passed, failed, skipped, seconds }`; a file that does not load counts as one failure.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

function counts(report: VitestReport, exitCode: number) {
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
  )
  const failed = report.numFailedTests + unloaded.length
  return {
    passed: report.numPassedTests,
    // an error outside of tests fails the run, too
    failed: Math.max(failed, exitCode === 0 ? 0 : 1),
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-test-'))
const file = join(folder, 'report.json')
const options = process.argv.slice(2).filter((word) => word !== '--json')
const started = performance.now()
try {
  const exitCode = await new Promise<number>((resolve) => {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const vitest = spawn('node_modules/.bin/vitest', ['run', ...reporters, ...options], { stdio: 'inherit' })
    vitest.once('exit', (code) => resolve(code ?? 1)).once('error', () => resolve(1))
  })
  process.exitCode = exitCode
  if (process.argv.includes('--json')) {
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport
    const seconds = Math.round((performance.now() - started) / 100) / 10
    console.log(JSON.stringify({ ...counts(report, exitCode), seconds }))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
