/**
 * Steps per second: a run of 10 steps is 10 model calls, each but the last with one no-op read call; from claim to
 * terminal, on PostgreSQL with fsync on. The bare commit loop runs between the rounds, so that a busy machine slows both.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { openKeyFile } from '../src/db/keyfile.ts'
import type { KeyProvider } from '../src/db/keyprovider.ts'
import type { Db } from '../src/db/port.ts'
import { openPostgres } from '../src/db/postgres.ts'
import { actorFrom } from '../src/request/actor.ts'
import { agent } from '../src/run/agent.ts'
import { createRuntime } from '../src/runtime.ts'
import type { ModelPart } from '../src/model/port.ts'
import { scripted, type ScriptedAnswer } from '../src/testing/index.ts'
import { tool } from '../src/tool/define.ts'
import { type BenchDatabase, bareCommits, freshDatabase, median, walBytes } from './database.ts'

const ROUNDS = 5
const BARE = 1_000
const WARM_UP = 400

const actor = actorFrom({
  kind: 'service',
  tenant: 'bench',
  environment: 'test',
  user: 'u',
  subject: 'u',
  permissions: ['*'],
})

/** A no-op read. One that waits has its result in a commit of its own; one that does not is part of the answer's. */
const look = (waits: boolean) =>
  tool('look@1', {
    description: 'Looks and finds nothing.',
    input: {
      type: 'object',
      properties: { turn: { type: 'integer' }, note: { type: 'string' } },
      additionalProperties: false,
    },
    effect: 'read',
    run: () => (waits ? later({ found: false }) : { found: false }),
  })

async function later<T>(value: T): Promise<T> {
  for (let i = 0; i < 2; i++) await turn()
  return value
}

/** Random text, because repeated characters would be compressed away. */
const note = (turn: number): string =>
  Array.from({ length: 12 }, (_, i) => ((turn + 1) * 7919 * (i + 1) * 104_729).toString(36)).join('')

/** Whole answers with their usage, as a provider gives them that does not stream: what is measured is the runtime. */
function answer(turn: number, steps: number): ScriptedAnswer {
  const usage = { input: 100 + 150 * turn, output: 80 }
  const call = { id: `call_${turn}`, name: 'look', arguments: JSON.stringify({ turn, note: note(turn) }) }
  const said: ModelPart[] =
    turn < steps - 1
      ? [
          { kind: 'call', key: '0', call },
          { kind: 'finish', reason: 'tool_calls' },
        ]
      : [
          { kind: 'text', delta: `done ${note(turn)}` },
          { kind: 'finish', reason: 'stop' },
        ]
  return { parts: [...said, { kind: 'usage', usage }] }
}

const walker = (steps: number, waits: boolean) =>
  agent('walker', {
    model: scripted((_, turn) => answer(turn, steps), {
      contextTokens: 10_000_000,
      maxOutputTokens: 200,
      price: { inputCentsPerMillion: 0, outputCentsPerMillion: 0 },
    }),
    tools: [look(waits)],
    budget: { steps: 2_000, toolCalls: 2_000, tokens: 1_000_000_000, costCents: 1_000_000, seconds: 3_600 },
  })

/** Counts what goes over the wire: a read or write in a tenant's transaction is four statements. */
interface Counted {
  readonly db: Db
  readonly count: { statements: number; commits: number }
}

function counting(db: Db): Counted {
  const count = { statements: 0, commits: 0 }
  return {
    count,
    db: {
      ...db,
      async call(statement, params) {
        const rows = await db.call(statement, params)
        count.statements += 1
        // an idle claim or look writes nothing and flushes nothing
        if (!/load|canceled/.test(statement.name) && (!/claim|reap/.test(statement.name) || rows.length > 0))
          count.commits += 1
        return rows
      },
      read: (scope, statement, params) => {
        count.statements += 4
        return db.read(scope, statement, params)
      },
      write: (scope, statement, params) => {
        count.statements += 4
        count.commits += 1
        return db.write(scope, statement, params)
      },
    },
  }
}

interface Cell {
  readonly stepsPerSecond: number
  readonly statementsPerStep: number
  readonly commitsPerStep: number
  readonly walBytesPerStep: number
  readonly nodeCpuMsPerStep: number
}

interface Load {
  readonly concurrency: number
  readonly runs: number
  readonly steps: number
  readonly waits?: boolean
  /** Content is stored as it is: what sealing costs is the difference. */
  readonly plain?: boolean
}

/** One cell: everything is queued before the worker starts, so that only claim to terminal is measured. */
async function cell(
  at: BenchDatabase,
  store: Counted,
  keys: KeyProvider,
  { concurrency, runs, steps, waits = false, plain = false }: Load,
): Promise<Cell> {
  const { db, count } = store
  const ends = new Map<string, number>()
  let done = () => {}
  const allDone = new Promise<void>((resolve) => {
    done = resolve
  })
  const runtime = createRuntime({
    db,
    ...(!plain && { keys }),
    agents: [walker(steps, waits)],
    observe(run) {
      if (run.end === null) return
      ends.set(run.end, (ends.get(run.end) ?? 0) + 1)
      if ([...ends.values()].reduce((a, b) => a + b) === runs) done()
    },
  })
  for (let i = 0; i < runs; i++) await runtime.submit(actor, { agent: 'walker', text: 'go' })
  await at.admin.query('checkpoint')
  const wal = await walBytes(at.admin)
  Object.assign(count, { statements: 0, commits: 0 })
  const cpu = process.cpuUsage()
  const begun = performance.now()
  const worker = await runtime.work({ concurrency, pollMs: 1_000 })
  await allDone
  const seconds = (performance.now() - begun) / 1000
  const used = process.cpuUsage(cpu)
  const all = runs * steps
  const result: Cell = {
    stepsPerSecond: all / seconds,
    statementsPerStep: count.statements / all,
    commitsPerStep: count.commits / all,
    walBytesPerStep: ((await walBytes(at.admin)) - wal) / all,
    nodeCpuMsPerStep: (used.user + used.system) / 1000 / all,
  }
  await worker.stop()
  if (ends.get('completed') !== runs)
    throw new Error(`bench steps: not every run completed: ${JSON.stringify([...ends])}`)
  return result
}

/** Bytes that the rows of one run take, per step: what a step adds, whatever the length of the run (L6). */
async function rowBytes(at: BenchDatabase, store: Counted, keys: KeyProvider, steps: number): Promise<number> {
  await cell(at, store, keys, { concurrency: 1, runs: 1, steps })
  const tables = ['message', 'effect', 'ledger', 'event']
  const sums = tables.map(
    (t) => `(select coalesce(sum(pg_column_size(t.*)), 0) from plimsoll.${t} t where t.run_id = r.id)`,
  )
  const { rows } = await at.admin.query<{ bytes: string }>(
    `select (${sums.join(' + ')} + pg_column_size(r.*))::text as bytes from plimsoll.run r order by r.created_at desc limit 1`,
  )
  return Number(rows[0]?.bytes ?? Number.NaN) / steps
}

const LOADS: readonly [string, Load][] = [
  ['1', { concurrency: 1, runs: 150, steps: 10 }],
  ['1, reads that wait', { concurrency: 1, runs: 150, steps: 10, waits: true }],
  ['1, unsealed', { concurrency: 1, runs: 150, steps: 10, plain: true }],
  ['50', { concurrency: 50, runs: 400, steps: 10 }],
  ['50, unsealed', { concurrency: 50, runs: 400, steps: 10, plain: true }],
]

export async function benchSteps(server: string, say: (line: string) => void): Promise<Record<string, unknown>> {
  const at = await freshDatabase(server, 'plimsoll_bench_steps')
  // as a worker's: connections live for days, and their plans with them
  const store = counting(await openPostgres({ url: at.url, connections: 4 }))
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-bench-'))
  try {
    const keys = await openKeyFile(join(folder, 'key.json'), true)
    // the compiler of the engine needs some thousand steps before it has seen everything
    await cell(at, store, keys, { concurrency: 1, runs: WARM_UP, steps: 10 })
    const concurrency: Record<string, Record<string, number>> = {}
    for (const [name, load] of LOADS) {
      const cells: (Cell & { bare: number })[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const bare = await bareCommits(at.admin, BARE)
        cells.push({ ...(await cell(at, store, keys, load)), bare })
      }
      const of = (pick: (c: Cell & { bare: number }) => number) => median(cells.map(pick))
      const figures = {
        stepsPerSecond: of((c) => c.stepsPerSecond),
        statementsPerStep: of((c) => c.statementsPerStep),
        commitsPerStep: of((c) => c.commitsPerStep),
        walBytesPerStep: of((c) => c.walBytesPerStep),
        nodeCpuMsPerStep: of((c) => c.nodeCpuMsPerStep),
        bareCommitsPerSecond: of((c) => c.bare),
        ratio: of((c) => c.stepsPerSecond / c.bare),
      }
      concurrency[name] = figures
      const { stepsPerSecond, bareCommitsPerSecond, ratio } = figures
      say(
        `concurrency ${name}: ${stepsPerSecond.toFixed(0)} steps/s, bare ${bareCommitsPerSecond.toFixed(0)} commits/s, ratio ${ratio.toFixed(3)}`,
      )
    }
    const bytesPerStep = { 10: await rowBytes(at, store, keys, 10), 1000: await rowBytes(at, store, keys, 1_000) }
    say(
      `bytes per step: ${bytesPerStep[10].toFixed(0)} in a run of 10, ${bytesPerStep[1000].toFixed(0)} in a run of 1000`,
    )
    return { bench: 'steps', concurrency, bytesPerStep }
  } finally {
    await store.db.close()
    await at.drop()
    await rm(folder, { recursive: true })
  }
}
