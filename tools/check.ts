/**
 * `npm run check`: types, lint, format, arrows, dead code, generated files, promises, package. Two at a time, one line
 * each; the output of a failed one follows. With `--json` the last line is `{ passed, failed, seconds }`.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { checkGuarantees, pendingCount } from './guarantees.ts'
import { migrated } from './migrated.ts'
import { checkPacked } from './packed.ts'
import { checkSchema } from './schema.ts'
import { checkScoreboard } from './scoreboard.ts'
import { checkSql } from './sql.ts'

interface Outcome {
  /** Null when all is well. */
  readonly complaint: string | null
  readonly note?: string
}

interface Step {
  readonly name: string
  run(): Promise<Outcome>
}

const program = (command: string, ...args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = spawn(`node_modules/.bin/${command}`, args, { env: { ...process.env, FORCE_COLOR: '0' } })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    }
    child.once('error', (error) => resolve({ complaint: error.message }))
    child.once('close', (code) => resolve({ complaint: code === 0 ? null : output.trim() || `exit code ${code}` }))
  })

/** Both generated things share one embedded store: it takes some seconds to start. */
async function generatedFiles(): Promise<Outcome> {
  const db = await migrated('migrations')
  try {
    const complaints = [await checkSql(db), await checkSchema(db), checkScoreboard()].filter((text) => text !== null)
    return { complaint: complaints.length > 0 ? complaints.join('\n') : null }
  } finally {
    await db.close()
  }
}

async function shape(): Promise<Outcome> {
  rmSync('dist', { recursive: true, force: true })
  const built = await program('tsc', '-p', 'tsconfig.build.json')
  if (built.complaint !== null) return built
  const shaped = await program('publint', '--pack', 'false', '--strict')
  return shaped.complaint === null ? { complaint: checkPacked() } : shaped
}

/** The names are enough: `npm run format` mends them. */
async function format(): Promise<Outcome> {
  const { complaint } = await program('biome', 'format', '--max-diagnostics=none', '.')
  const files = complaint?.match(/^\S+(?= format ━)/gm)
  return { complaint: files ? `run \`npm run format\`: ${files.join(' ')}` : complaint }
}

/** The longest first. */
const STEPS: readonly Step[] = [
  { name: 'lint', run: () => program('eslint', '.', '--quiet') },
  { name: 'generated', run: generatedFiles },
  { name: 'types', run: () => program('tsc', '--noEmit', '-p', 'tsconfig.json') },
  { name: 'arrows', run: () => program('depcruise', '--config', '.dependency-cruiser.cjs', 'src', 'test', 'tools') },
  { name: 'format', run: format },
  { name: 'dead code', run: () => program('knip', '--no-progress') },
  { name: 'package', run: shape },
  {
    name: 'guarantees',
    run: async () => ({ complaint: checkGuarantees(), note: `${pendingCount()} pending` }),
  },
]

/** Enough to see what is wrong; the tool itself tells the rest. */
const MOST_LINES = 40

function excerpt(text: string): string {
  const lines = text.split('\n')
  const more = lines.length > MOST_LINES ? [`… ${lines.length - MOST_LINES} more lines`] : []
  return [...lines.slice(0, MOST_LINES), ...more].map((line) => `         ${line}`).join('\n')
}

async function timed(step: Step): Promise<boolean> {
  const started = performance.now()
  const outcome = await step.run().catch((error: unknown): Outcome => ({ complaint: String(error) }))
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5)
  const verdict = outcome.complaint === null ? 'ok' : 'FAILED'
  console.log(`${seconds} s  ${step.name.padEnd(10)}  ${verdict}${outcome.note ? `  (${outcome.note})` : ''}`)
  if (outcome.complaint !== null) console.log(excerpt(outcome.complaint))
  return outcome.complaint === null
}

const started = performance.now()
const queue = [...STEPS]
const results: boolean[] = []
const lane = async () => {
  for (let step = queue.shift(); step; step = queue.shift()) results.push(await timed(step))
}
await Promise.all([lane(), lane()])
const failed = results.filter((ok) => !ok).length
const seconds = Math.round((performance.now() - started) / 100) / 10
console.log(
  failed === 0 ? `check passed in ${seconds} s` : `check: ${failed} of ${STEPS.length} failed in ${seconds} s`,
)
if (process.argv.includes('--json')) console.log(JSON.stringify({ passed: STEPS.length - failed, failed, seconds }))
process.exitCode = failed === 0 ? 0 : 1
