/** `plimsoll doctor`: what a person would look at first. It changes nothing. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, type FaultCode, inspectStore, openStore, createRuntime } from '../index.ts'
import { EXIT } from '../kernel/fault.ts'
import { isolation } from '../mcp.ts'
import { HEARTBEAT_MS, LEASE_MS } from '../runtime.ts'
import { announcedServer } from './access.ts'
import { client } from './client.ts'
import { failure, type Output, table } from './output.ts'

interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'warning' | 'failed'
  readonly detail: string
  /** What a failed check is called elsewhere. */
  readonly code?: FaultCode
}

const ok = (check: string, detail: string): Finding => ({ check, verdict: 'ok', detail })
const warning = (check: string, detail: string): Finding => ({ check, verdict: 'warning', detail })
const failed = (check: string, code: FaultCode, detail: string): Finding => ({ check, verdict: 'failed', detail, code })

const LEAST_NODE = [20, 19] as const

export async function doctor(
  options: { readonly db: string | undefined; readonly data: string },
  out: Output,
): Promise<number> {
  const findings = [
    node(),
    ...(options.db === undefined ? await embedded(options.data) : await postgres(options.db)),
    lease(),
    children(),
    ...files(options.data),
  ]
  out.show(
    ...table(
      ['', 'check', 'finding'],
      findings.map((f) => [f.verdict, f.check, f.detail]),
    ),
  )
  const worst = findings.find((f) => f.verdict === 'failed')
  const told = worst?.code && failure(new Fault(worst.code, worst.detail))
  if (told) out.note(told.line)
  out.result({ ok: !worst, findings })
  return told ? told.exit : EXIT.ok
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])
  return isEnough
    ? ok('node', `v${process.versions.node}`)
    : failed('node', 'internal', `Node ${process.versions.node} is too old: ${LEAST_NODE.join('.')} is the oldest.`)
}

/** A lease of fewer beats is lost by a hiccup, one of more leaves runs lying (L2). */
const lease = (): Finding =>
  ok(
    'lease',
    `${LEASE_MS / 1000} s, renewed every ${HEARTBEAT_MS / 1000} s: ${LEASE_MS / HEARTBEAT_MS} beats of 3 to 5`,
  )

/** I11: what a server of tools that runs as a child process is kept from, and what not. */
const children = (): Finding => {
  const rest = 'not files and network: run it in a container or as another user to withhold these'
  return isolation().limits
    ? ok('child processes', `an empty environment and folder, limits of memory and processor time; ${rest}`)
    : warning('child processes', `an empty environment and folder; no limits, since prlimit is missing; ${rest}`)
}

const DURABILITY = warning(
  'durability',
  'The embedded store survives a killed process, not a power cut. Use PostgreSQL for more.',
)

async function embedded(data: string): Promise<readonly Finding[]> {
  const folder = join(data, 'store')
  if (!existsSync(folder)) return [ok('store', `${folder} is made by the first start`), DURABILITY]
  try {
    const db = await openStore(folder)
    const why = await createRuntime({ db, agents: [] }).ready()
    await db.close()
    return [
      why === null ? ok('store', `${folder}, with the schema of this program`) : failed('store', 'schema_older', why),
      DURABILITY,
    ]
  } catch (error) {
    if (Fault.is(error) && error.code === 'store_locked') return [await running(data, error), DURABILITY]
    return [failed('store', Fault.is(error) ? error.code : 'internal', failure(error).line)]
  }
}

/** Somebody uses the folder, as it should be when a server runs. */
async function running(data: string, locked: Fault): Promise<Finding> {
  const url = await announcedServer(data)
  if (url === null) return warning('store', locked.message)
  const answer = await client(url, '')
    .ask('GET', '/readyz')
    .catch(() => null)
  return answer?.status === 200
    ? ok('store', `in use by the server at ${url}, which is ready`)
    : warning('store', `${locked.message} Its server at ${url} is not ready.`)
}

async function postgres(url: string): Promise<readonly Finding[]> {
  try {
    const report = await inspectStore(url)
    return [
      ok('store', `PostgreSQL ${report.version}`),
      report.pending.length === 0
        ? ok('migrations', 'up to date')
        : failed('migrations', 'schema_older', `Missing: ${report.pending.join(', ')}.`),
      report.isSuperuser
        ? warning(
            'role',
            `${report.role} passes every wall of the database: log in with a member of plimsoll_app that is no superuser`,
          )
        : ok('role', `${report.role} is no superuser`),
      report.mayRun || report.pending.length > 0
        ? ok('membership', 'may act as plimsoll_app')
        : failed('membership', 'store_unavailable', `${report.role} is not a member of plimsoll_app.`),
      report.unwalled.length === 0
        ? ok('walls', 'row-level security is forced on every tenant table')
        : failed('walls', 'schema_newer', `Not forced: ${report.unwalled.join(', ')}.`),
    ]
  } catch (error) {
    return [
      failed('store', Fault.is(error) ? error.code : 'internal', Fault.is(error) ? error.message : 'The store failed.'),
    ]
  }
}

const OTHERS = 0o077

function files(data: string): readonly Finding[] {
  const file = join(data, 'access.json')
  if (!existsSync(file)) return []
  const isPrivate = process.platform === 'win32' || (statSync(file).mode & OTHERS) === 0
  return [
    isPrivate
      ? ok('keys', `${file} is read by its owner alone`)
      : warning('keys', `${file} can be read by others: chmod 600 ${file}`),
  ]
}
