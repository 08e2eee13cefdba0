/**
 * `npm run crash -- [--points all|once|PLACE,PART] [--db URL] [--lanes N] [--json]`: real worker processes, killed,
 * stopped, cut off and stopped politely at every named place, on a real PostgreSQL that is restarted under them; the log
 * of the provider says what happened, and triggers in the database how.
 *
 * `once`, the default, kills each place once. A list of places does everything that there is to do at these; a part is what
 * is not about one place, such as `consent`. `all` is the whole matrix and every part. More lanes than cores measure how
 * long processes wait for each other. Restarts happen to a server of our own only. Exit 1 when a case is not as promised, 9 without PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT } from '../kernel/fault.ts'
import { type FaultPoint, WORKER_POINTS } from '../kernel/faultpoint.ts'
import { callerTasks } from './crash-callers.ts'
import { closedPart } from './crash-closed.ts'
import { consentPart } from './crash-consent.ts'
import { type CrashCase, type CrashGround, runCrashCase } from './crash-case.ts'
import { lockTask } from './crash-folder.ts'
import { openCrashGround } from './crash-ground.ts'
import { judge, takeovers, verdicts } from './crash-judge.ts'
import { loadTask, raceTask } from './crash-load.ts'
import { outboxPart } from './crash-outbox.ts'
import { plannersPart } from './crash-planners.ts'
import { retriesPart } from './crash-retries.ts'
import { streamTasks } from './crash-stream.ts'
import { killedOnce, type Matrix, matrixOf, nameOf, wholeMatrix } from './crash-matrix.ts'
import { type Outcome, summary } from './crash-summary.ts'
import { wave } from './wave.ts'

interface Served {
  readonly url: string
  restart?(): Promise<void>
  stop(): Promise<void>
}

/** Parts of the suite, which are in the repository and not in the package. */
async function ofSuite<T>(file: string): Promise<T | null> {
  return (await import(new URL(`../../test/setup/${file}`, import.meta.url).href).catch(() => null)) as T | null
}

async function ownServer(): Promise<Served | null> {
  const suite = await ofSuite<{ startOwnPostgres(settings: Record<string, string>): Promise<Served | null> }>(
    'server.ts',
  )
  return (await suite?.startOwnPostgres({ fsync: 'off' })) ?? null
}

type Task = () => Promise<Outcome | readonly Outcome[]>

/** What is not about one place of one run, by name. */
const PARTS: Readonly<Record<string, (ground: CrashGround, folder: string) => readonly Task[]>> = {
  folder: (_, folder) => [lockTask(folder)],
  race: (ground) => [raceTask(ground)],
  callers: callerTasks,
  consent: (ground) => [() => consentPart(ground)],
  stream: streamTasks,
  planners: (ground) => [() => plannersPart(ground)],
  outbox: (ground) => [() => outboxPart(ground)],
  closed: (ground) => [() => closedPart(ground)],
  retries: (ground) => [() => retriesPart(ground)],
}

interface Wanted {
  readonly matrix: Matrix
  /** Names of parts. */
  readonly parts: readonly string[]
  /** The load under restarts, too. */
  readonly isWhole: boolean
}

function wantedOf(points: string): Wanted | null {
  if (points === 'all') return { matrix: wholeMatrix(), parts: Object.keys(PARTS), isWhole: true }
  if (points === 'once')
    return { matrix: { cases: killedOnce(WORKER_POINTS), restarts: [] }, parts: [], isWhole: false }
  const named = points.split(',')
  const parts = named.filter((one) => Object.hasOwn(PARTS, one))
  const places = named.filter((one) => !parts.includes(one)) as FaultPoint[]
  const known: readonly string[] = WORKER_POINTS
  return places.every((one) => known.includes(one)) ? { matrix: matrixOf(places), parts, isWhole: false } : null
}

export async function crash(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      points: { type: 'string', default: 'once' },
      db: { type: 'string' },
      json: { type: 'boolean', default: false },
      lanes: { type: 'string', default: '2' },
    },
  })
  const wanted = wantedOf(values.points)
  if (!wanted) {
    print(`There is no such place; there are: all, once, ${[...Object.keys(PARTS), ...WORKER_POINTS].join(', ')}.`)
    return EXIT.usage
  }
  const needsOwn = values.db === undefined || wanted.matrix.restarts.length > 0
  const own = needsOwn ? await ownServer() : null
  const given: Served | null = values.db === undefined ? own : { url: values.db, stop: () => Promise.resolve() }
  if (!given) {
    print('There is no PostgreSQL here: give one with --db URL.')
    return EXIT.unavailable
  }
  try {
    return await crashOn({ given, own }, wanted, { lanes: Number(values.lanes), json: values.json, print })
  } finally {
    await own?.stop()
  }
}

interface How {
  readonly lanes: number
  readonly json: boolean
  readonly print: (line: string) => void
}

async function crashOn(
  { given, own }: { readonly given: Served; readonly own: Served | null },
  { matrix, parts, isWhole }: Wanted,
  { lanes, json, print }: How,
): Promise<number> {
  const started = performance.now()
  const suite = await ofSuite<{ bundled(source: string): string }>('compiled.ts')
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-crash-'))
  const outcomes: Outcome[] = []
  const note = (outcome: Outcome): void => {
    outcomes.push(outcome)
    if (outcome.trouble !== null) print(outcome.trouble)
    if (outcomes.length % 50 === 0) print(`${outcomes.length} cases`)
  }
  const program = suite ? { program: suite.bundled('src/eval/crash-worker.ts') } : {}
  try {
    const ground = await openCrashGround(given.url, folder, program)
    try {
      const tasks: Task[] = [
        ...parts.flatMap((name) => PARTS[name]?.(ground, folder) ?? []),
        ...matrix.cases.map((one) => () => outcomeOf(ground, one)),
      ]
      await inLanes(tasks, lanes, note)
    } finally {
      await ground.close()
    }
    if (matrix.restarts.length > 0 && own?.restart)
      await restarted({ url: own.url, restart: () => own.restart?.() ?? Promise.resolve() }, folder, program, {
        cases: matrix.restarts,
        isWhole,
        note,
      })
    else if (matrix.restarts.length > 0)
      print(`${matrix.restarts.length} cases are left out: there is no PostgreSQL here that may be restarted.`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { lines, report } = summary(outcomes, Math.round((performance.now() - started) / 100) / 10)
  for (const line of lines) print(line)
  if (json) print(JSON.stringify(report))
  return report.duplicates + report.lost + report.stuck + report.broken === 0 ? EXIT.ok : EXIT.failure
}

/** As many cases as are held at their places when the database goes down under all of them. */
const WAVE = 8

async function restarted(
  server: { readonly url: string; readonly restart: () => Promise<void> },
  folder: string,
  program: { readonly program?: string },
  { cases, isWhole, note }: { cases: readonly CrashCase[]; isWhole: boolean; note: (outcome: Outcome) => void },
): Promise<void> {
  const ground = await openCrashGround(server.url, folder, program)
  try {
    for (let at = 0; at < cases.length; at += WAVE)
      await wave(cases.slice(at, at + WAVE), server.restart, async (one, restart) =>
        note(await outcomeOf({ ...ground, restart }, one)),
      )
    if (isWhole) note(await loadTask({ ...ground, restart: server.restart })())
  } finally {
    await ground.close()
  }
}

async function inLanes(tasks: readonly Task[], lanes: number, note: (outcome: Outcome) => void): Promise<void> {
  const queue = [...tasks]
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) for (const one of [await next()].flat()) note(one)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function outcomeOf(ground: CrashGround, one: CrashCase): Promise<Outcome> {
  const result = await runCrashCase(ground, one)
  const verdict = judge(one, result)
  const proves = verdicts(one, result)
  const broken = [...proves].filter(([, holds]) => !holds).map(([n]) => n)
  const isMet = one.victims.every((faults, at) => faults === '' || (result.met[at]?.length ?? 0) > 0)
  const facts = `${result.status} ${result.reason}, ${result.effects} effects, ${result.keys.length} keys, ${result.evidence.run.attempts} attempts`
  return {
    verdict,
    proves,
    kills: result.kills,
    strikes: result.met.flat(),
    takeovers: one.held ? [] : takeovers(result),
    trouble:
      verdict === 'ok' && broken.length === 0 && isMet
        ? null
        : `${verdict}${isMet ? '' : ', and the place was not met'}: ${nameOf(one)} (${facts}; broken: ${broken.join(', ')})`,
  }
}

if (process.argv[1] !== undefined && import.meta.url === new URL(process.argv[1], 'file://').href)
  process.exitCode = await crash(process.argv.slice(2), console.log)
