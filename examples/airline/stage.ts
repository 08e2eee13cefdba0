/** Everything that a replay needs to run: the airline, the recorded model, the app plane and who drives the runs. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type BenchDatabase, freshDatabase } from '../../bench/database.ts'
import { openEmbedded } from '../../src/db/embedded.ts'
import type { Db } from '../../src/db/port.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import { airlineAgents, type AirlineSetup } from './agents.ts'
import { serveChild } from './child.ts'
import type { Breaker } from './contracts.ts'
import { type Fleet, type Held, startFleet } from './fleet.ts'
import type { KillPlan } from './kills.ts'

export type StageOptions = {
  readonly data: string
  readonly transcripts: string
  readonly sharing: readonly string[]
  readonly breaker: Breaker
  /** A PostgreSQL server; without one the embedded store is used, and this process drives the runs. */
  readonly db?: string
  readonly workers: number
  readonly kills: readonly KillPlan[]
  /** The share of writes that the airline does not answer. */
  readonly timeouts: number
  /** Leave the database where it is. */
  readonly keep: boolean
}

export interface Stage {
  readonly setup: AirlineSetup
  readonly runtime: Runtime
  /** Of the app plane. */
  readonly url: string
  /** The airline's own log. */
  readonly log: string
  /** Null on the embedded store. */
  readonly fleet: Fleet | null
  readonly database: string
  close(): Promise<void>
}

/** A dead worker is found out within four seconds; a machine that is busy with twelve processes does not lose a living one. */
const TIMES = { heartbeatMs: 1_000, leaseMs: 4_000, pollMs: 50 }

export async function openStage(options: StageOptions): Promise<Stage> {
  const undo: (() => unknown)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    return { ...(await build(options, (step) => undo.push(step))), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function build(options: StageOptions, later: (step: () => unknown) => void): Promise<Omit<Stage, 'close'>> {
  const { data, transcripts, breaker, sharing } = options
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-airline-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'airline.jsonl')
  const serve = async (file: string, args: readonly string[]) => {
    const served = await serveChild(file, args)
    later(() => served.stop())
    return served.url
  }
  const [provider, recording, store] = await Promise.all([
    serve('./provider.ts', ['--log', log, '--data', data, '--timeouts', String(options.timeouts)]),
    serve('./serve-recording.ts', ['--transcripts', transcripts]),
    options.db === undefined ? embedded(join(folder, 'store'), later) : postgres(options.db, options.keep, later),
  ])
  const setup: AirlineSetup = { data, provider, recording: `${recording}/v1`, breaker, sharing }
  const runtime = createRuntime({ db: store.db, agents: airlineAgents(setup) })
  const server = await createHttpServer(runtime, {
    secret: randomBytes(32).toString('hex'),
    onError: (error) => console.error(error),
  })
  later(() => server.close())
  const fleet = await drive(runtime, store, setup, options, later)
  return { setup, runtime, url: server.url, log, fleet, database: store.name }
}

type Store = { readonly db: Db; readonly name: string; readonly postgres?: BenchDatabase }

async function embedded(folder: string, later: (step: () => unknown) => void): Promise<Store> {
  const db = await openEmbedded(folder)
  later(() => db.close())
  return { db, name: 'embedded' }
}

async function postgres(server: string, keep: boolean, later: (step: () => unknown) => void): Promise<Store> {
  const name = `plimsoll_airline_${randomBytes(5).toString('hex')}`
  const database = await freshDatabase(server, name)
  later(() => (keep ? database.leave() : database.drop()))
  const db = await openPostgres({ url: database.url })
  later(() => db.close())
  return { db, name, postgres: database }
}

async function drive(
  runtime: Runtime,
  store: Store,
  setup: AirlineSetup,
  options: StageOptions,
  later: (step: () => unknown) => void,
): Promise<Fleet | null> {
  if (!store.postgres) {
    const worker = await runtime.work({ onError: (error) => console.error(error) })
    later(() => worker.stop())
    return null
  }
  const settings = { db: store.postgres.url, setup, times: TIMES }
  const held = heldIn(store.postgres)
  const fleet = await startFleet({ settings, workers: options.workers, kills: options.kills, held })
  later(() => fleet.stop())
  return fleet
}

const MOST_TRIES = 100
const TRY_MS = 200

/** Asked with the rights of an administrator, beside the runtime. */
function heldIn({ url }: BenchDatabase): Held {
  const text = `select count(distinct r.id)::int as runs, count(e.run_id)::int as "openEffects"
    from plimsoll.run r join plimsoll.worker w on w.id = r.worker_id
    left join plimsoll.effect e on e.tenant_id = r.tenant_id and e.run_id = r.id and e.status = 'started'
    where r.status = 'running' and w.pid = $1`
  const ask = async (pid: number) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<{ runs: number; openEffects: number }>(text, [pid])).rows[0]
    } finally {
      await client.end().catch(() => {})
    }
  }
  return async (pid) => {
    for (let left = MOST_TRIES; ; left--) {
      try {
        return (await ask(pid)) ?? { runs: 0, openEffects: 0 }
      } catch (error) {
        // the database may be restarting
        if (left === 0) throw error
        await sleep(TRY_MS)
      }
    }
  }
}
