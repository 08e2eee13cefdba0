/**
 * `npm run airline -- --data DIR --transcripts FILE`: recorded conversations of a real model, replayed through the app
 * plane, the loop, the gate and the tools, and judged by what the airline saw.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { AIRLINE_DATA } from './data.ts'
import { linesOf } from './figures.ts'
import { fly, type FlightOptions } from './flight.ts'

const USAGE = `usage: npm run airline -- [--data DIR] [--transcripts FILE] [--tasks FILE] [--only ID,ID] [--parallel N]
  [--breaker default|raised] [--db URL [--keep]] [--workers N] [--crash N] [--restarts N] [--timeouts SHARE] [--json]
  --restarts restarts the server of --db, if it may, or one of its own`

function optionsOf(args: readonly string[]): FlightOptions & { readonly json: boolean } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: 'string', default: AIRLINE_DATA },
      transcripts: { type: 'string' },
      tasks: { type: 'string' },
      only: { type: 'string' },
      parallel: { type: 'string', default: '8' },
      breaker: { type: 'string', default: 'raised' },
      db: { type: 'string' },
      workers: { type: 'string', default: '2' },
      crash: { type: 'string', default: '0' },
      restarts: { type: 'string', default: '0' },
      timeouts: { type: 'string', default: '0' },
      keep: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const count = (name: 'parallel' | 'workers' | 'crash' | 'restarts', least: number) => {
    const value = Number(values[name])
    if (!Number.isSafeInteger(value) || value < least) throw new Error(`--${name} is not a number from ${least}`)
    return value
  }
  const { breaker, db, tasks, only } = values
  if (breaker !== 'raised' && breaker !== 'default') throw new Error('--breaker is default or raised')
  const crash = count('crash', 0)
  const restarts = count('restarts', 0)
  const timeouts = Number(values.timeouts)
  if (!(timeouts >= 0 && timeouts <= 1)) throw new Error('--timeouts is not a share from 0 to 1')
  if (crash > 0 && db === undefined && restarts === 0)
    throw new Error('--crash needs --db: the embedded store lives in one process')
  return {
    data: resolve(values.data),
    transcripts: resolve(values.transcripts ?? join(values.data, 'transcripts.jsonl')),
    ...(tasks !== undefined && { tasks: resolve(tasks) }),
    ...(only !== undefined && { only: only.split(',') }),
    ...(db !== undefined && { db }),
    breaker,
    crash,
    restarts,
    timeouts,
    workers: count('workers', 1),
    parallel: count('parallel', 1),
    keep: values.keep,
    json: values.json,
    say: (line) => console.error(line),
  }
}

function read(): ReturnType<typeof optionsOf> | null {
  try {
    return optionsOf(process.argv.slice(2))
  } catch (error) {
    console.error(`airline: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
    return null
  }
}

const options = read()
if (!options) process.exit(2)
const flight = await fly(options).catch((error: unknown) => {
  console.error(`airline: ${error instanceof Error ? error.message : String(error)}`)
  return null
})
if (!flight) process.exit(9)
const { figures, complaints } = flight
for (const line of linesOf(figures)) console.log(line)
for (const complaint of complaints) console.log(`off: ${complaint}`)
if (options.json) console.log(JSON.stringify(figures))
process.exitCode = complaints.length === 0 ? 0 : 1
