/**
 * `npm run scoreboard` writes the table between the markers of README.md from docs/results/*.json, each the last line
 * of a command that was run with `--json`. What was not measured has no row. `--check` writes nothing.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMain, report } from './report.ts'

const RESULTS = 'docs/results'
const README = 'README.md'
const BEGIN = '<!-- scoreboard: written by `npm run scoreboard` -->'
const END = '<!-- /scoreboard -->'

type Result = Readonly<Record<string, unknown>>

interface Row {
  /** Name of the file in docs/results, and of the command. */
  readonly name: string
  readonly command: string
  /** The figures as a person reads them. */
  figures(result: Result): string
}

const part = (result: unknown, ...path: readonly string[]): unknown =>
  path.reduce(
    (value, key) => (typeof value === 'object' && value !== null ? (value as Result)[key] : undefined),
    result,
  )

/** A number with thin thousands, rounded when it has a fraction; anything else is not there. */
function n(result: Result, ...path: readonly string[]): string {
  const value = part(result, ...path)
  if (typeof value !== 'number') return '?'
  return (Math.abs(value) < 10 ? Math.round(value * 100) / 100 : Math.round(value))
    .toLocaleString('en')
    .replaceAll(',', ' ')
}

// biome-ignore format: a table is read by its rows
const ROWS: readonly Row[] = [
  { name: 'demo', command: 'npm run demo', figures: (r) => `${n(r, 'passed')} of ${part(r, 'checks') instanceof Array ? (part(r, 'checks') as unknown[]).length : '?'} checks hold, in ${n(r, 'seconds')} s` },
  { name: 'airline', command: 'npm run airline', figures: (r) => `${n(r, 'conversations')} recorded conversations, ${n(r, 'toolCalls')} calls, ${n(r, 'resultsDifferent')} different results, ${n(r, 'duplicateEffects')} double and ${n(r, 'missingEffects')} missing effects, ${n(r, 'kills')} kills, ${n(r, 'restarts')} restarts of the database, ${n(r, 'unansweredWrites')} writes without an answer` },
  { name: 'crash', command: 'npm run crash', figures: (r) => `${n(r, 'cases')} cases of killed, paused, cut and restarted processes at named places, ${n(r, 'duplicates')} double, ${n(r, 'lost')} lost, ${n(r, 'stuck')} stuck` },
  { name: 'simulate', command: 'npm run simulate', figures: (r) => `${n(r, 'seeds')} seeds, ${n(r, 'violations')} violations; ${n(r, 'killed')} of ${n(r, 'plantedBugs')} planted bugs found` },
  { name: 'redteam', command: 'npm run redteam', figures: (r) => `${n(r, 'cases')} injected cases, a model that obeys all: ${n(r, 'rungs', 'R4', 'effects')} unauthorised effects` },
  { name: 'inputs', command: 'npm run inputs', figures: (r) => `${n(r, 'asExpected')} of ${n(r, 'cases')} bad inputs as expected, ${n(r, 'skipped')} skipped` },
  { name: 'large', command: 'npm run large', figures: (r) => `a result of ${n(r, 'rows')} rows: ${n(r, 'modelBytes')} bytes for the model, ${n(r, 'rawBytes')} fetched back ${part(r, 'identical') === true ? 'identical' : 'DIFFERENT'}, ${n(r, 'growthMb')} MB of memory` },
  { name: 'contracts', command: 'npm run contracts', figures: (r) => `${n(r, 'schemas', 'total')} tool schemas judged, ${n(r, 'schemas', 'accepted')} accepted; ${n(r, 'mutants', 'refused')} of ${n(r, 'mutants', 'total')} calls with an undeclared field refused` },
  { name: 'guard', command: 'npm run guard', figures: (r) => `${n(r, 'cases')} candidates, ${n(r, 'missed')} missed, ${n(r, 'falseAlarms')} false alarms` },
  { name: 'recall', command: 'npm run recall', figures: (r) => `recall at 10 ${n(r, 'r10')} over ${n(r, 'queries')} queries, ${n(r, 'p95ms')} ms at the 95th percentile` },
  { name: 'steps', command: 'npm run bench -- steps', figures: (r) => `${n(r, 'concurrency', '50', 'stepsPerSecond')} steps a second with 50 runs, ${n(r, 'concurrency', '1', 'stepsPerSecond')} with one; ${n(r, 'concurrency', '1', 'commitsPerStep')} commits a step; bare commits ${n(r, 'concurrency', '1', 'bareCommitsPerSecond')}` },
  { name: 'peers', command: 'npm run bench -- peers', figures: (r) => peers(part(r, 'systems')) },
]

const peers = (systems: unknown): string =>
  (Array.isArray(systems) ? (systems as Result[]) : [])
    .map(
      (s) =>
        `${String(s['name'])} ${String(s['version'])} ${n(s, 'stepsPerSecond', 'median')}/s with ${n(s, 'concurrency')}`,
    )
    .join(', ')

/** The table from what is there; `read` gives null for a file that is not. */
export function scoreboard(read: (name: string) => Result | null): string {
  const rows = ROWS.flatMap((row) => {
    const result = read(row.name)
    return result ? [`| \`${row.command}\` | ${row.figures(result)} | [json](${RESULTS}/${row.name}.json) |`] : []
  })
  if (rows.length === 0) return 'Nothing has been measured yet: `npm run demo -- --json` makes the first figure.'
  return ['| command | result | source |', '|---|---|---|', ...rows].join('\n')
}

/** `text` with the table between its markers. @throws when a marker is missing */
export function withScoreboard(text: string, board: string): string {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`${README} has no place for the scoreboard`)
  return `${text.slice(0, from)}${BEGIN}\n\n${board}\n\n${text.slice(to)}`
}

function readResult(name: string): Result | null {
  const file = join(RESULTS, `${name}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : null
}

const fresh = () => withScoreboard(readFileSync(README, 'utf8'), scoreboard(readResult))

/** Exit text for `check`. */
export const checkScoreboard = (): string | null =>
  fresh() === readFileSync(README, 'utf8') ? null : `${README} is stale, run \`npm run scoreboard\``

function write(): string | null {
  writeFileSync(README, fresh())
  return null
}

if (isMain(import.meta.url))
  await report('scoreboard', () => (process.argv.includes('--check') ? checkScoreboard() : write()))
