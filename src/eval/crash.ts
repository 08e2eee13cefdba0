/**
 * `npm run crash -- [--points all] [--db URL] [--json]`: real worker processes, killed, stopped and cut short at every
 * named place, on a real PostgreSQL; the log of the provider says what happened.
 *
 * Without `--points all` each place is struck once. With it, every place × kill and stop × one and two workers × the
 * kinds of providers, and each troubled reply. Exit 1 when a case is not as promised, 9 without a PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { migrate } from '../db/migrate.ts'
import { openMigrator, openPostgres } from '../db/postgres.ts'
import { EXIT } from '../kernel/fault.ts'
import { FAULT_POINTS } from '../kernel/faultpoint.ts'
import { type ProviderMode, startEffectProvider, type Trouble } from '../testing/effect-provider.ts'
import { type CrashCase, caseAt, judge, runCrashCase, type Verdict } from './crash-case.ts'

const MODES: readonly ProviderMode[] = ['keyed', 'keyed_blind', 'state', 'manual']
const TROUBLES: readonly Trouble['kind'][] = ['no_reply', 'status_500', 'slow']

const name = ({ mode, victims, beside, trouble, deadly }: CrashCase): string =>
  [mode, ...victims, beside ? 'beside another' : '', trouble?.kind ?? '', deadly ? `deadly ${deadly}` : '']
    .filter(Boolean)
    .join(' ')

export function crashCases(all: boolean): readonly CrashCase[] {
  const once = FAULT_POINTS.map((point) => caseAt(point, 'kill'))
  if (!all) return once
  const struck = MODES.flatMap((mode) =>
    FAULT_POINTS.flatMap((point) =>
      (['kill', 'stop'] as const).flatMap((action) => [
        caseAt(point, action, mode),
        { ...caseAt(point, action, mode), beside: true },
      ]),
    ),
  )
  // the effect comes second: results, steps and commits of the first are struck above
  const second = MODES.flatMap((mode) =>
    (
      ['step.beforeIntent', 'step.afterIntent', 'result.before', 'result.after', 'model.end', 'claim.after'] as const
    ).map((point) => caseAt(point, 'kill', mode, 2)),
  )
  const troubled = MODES.flatMap((mode) =>
    TROUBLES.flatMap((kind): CrashCase[] => [
      { mode, victims: [], trouble: { kind, ms: 300 } },
      { mode, victims: ['ext.replied:1:kill'], trouble: { kind, ms: 300 } },
    ]),
  )
  const poison: CrashCase[] = (['read', 'write'] as const).map((deadly) => ({
    mode: 'keyed',
    victims: ['', '', ''],
    deadly,
    attempts: 2,
  }))
  return [...once, ...struck, ...second, ...troubled, ...poison]
}

interface Served {
  readonly url: string
  stop(): Promise<void>
}

/** The server of the suite, which is in the repository and not in the package. */
async function ownServer(): Promise<Served | null> {
  const file = new URL('../../test/setup/server.ts', import.meta.url).href
  const found = (await import(file).catch(() => null)) as {
    startPostgres(settings: Record<string, string>): Promise<Served | null>
  } | null
  return (await found?.startPostgres({ fsync: 'off' })) ?? null
}

export async function crash(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      points: { type: 'string', default: 'once' },
      db: { type: 'string' },
      json: { type: 'boolean', default: false },
      lanes: { type: 'string', default: '3' },
    },
  })
  const server: Served | null = values.db ? { url: values.db, stop: () => Promise.resolve() } : await ownServer()
  if (!server) {
    print('There is no PostgreSQL here: give one with --db URL.')
    return EXIT.unavailable
  }
  try {
    return await crashOn(server.url, crashCases(values.points === 'all'), {
      lanes: Number(values.lanes),
      json: values.json,
      print,
    })
  } finally {
    await server.stop()
  }
}

interface How {
  readonly lanes: number
  readonly json: boolean
  readonly print: (line: string) => void
}

async function crashOn(url: string, cases: readonly CrashCase[], { lanes, json, print }: How): Promise<number> {
  const started = performance.now()
  const migrator = await openMigrator(url)
  await migrate(migrator)
  await migrator.close()
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-crash-'))
  const db = await openPostgres({ url, connections: 8 })
  const provider = await startEffectProvider({ log: join(folder, 'effects.jsonl') })
  const counts: Record<Verdict, number> = { ok: 0, duplicate: 0, lost: 0, stuck: 0 }
  const killsByPoint: Record<string, number> = Object.fromEntries(FAULT_POINTS.map((point) => [point, 0]))
  const queue = [...cases]
  const lane = async (): Promise<void> => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const result = await runCrashCase({ db, url, provider, patienceMs: 60_000 }, one)
      const verdict = judge(one, result)
      counts[verdict] += 1
      for (const point of result.met.flat()) killsByPoint[point] = (killsByPoint[point] ?? 0) + 1
      if (verdict !== 'ok')
        print(
          `${verdict}: ${name(one)} (${result.status} ${result.reason}, ${result.effects} effects, ${result.keys.length} keys)`,
        )
    }
  }
  try {
    await Promise.all(Array.from({ length: lanes }, lane))
  } finally {
    await provider.stop()
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
  const seconds = Math.round((performance.now() - started) / 100) / 10
  const { duplicate: duplicates, lost, stuck } = counts
  print(
    `${cases.length} cases: ${counts.ok} as promised, ${duplicates} duplicates, ${lost} lost, ${stuck} stuck, in ${seconds} s`,
  )
  if (json) print(JSON.stringify({ cases: cases.length, duplicates, lost, stuck, killsByPoint, seconds }))
  return duplicates + lost + stuck === 0 ? EXIT.ok : EXIT.failure
}

if (process.argv[1] !== undefined && import.meta.url === new URL(process.argv[1], 'file://').href)
  process.exitCode = await crash(process.argv.slice(2), console.log)
