import { readFileSync } from 'node:fs'
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createHash } from 'node:crypto'
import { Fault } from '../kernel/fault.ts'

/**
 * One process per folder: the embedded store has no lock of its own, and two processes on one folder lose committed
 * rows without an error. On Linux an abstract socket, which the kernel frees on kill -9, is the truth; everywhere the
 * file `lock.json` says who holds it, and a holder that no longer lives is taken over from.
 */
export async function lockFolder(folder: string): Promise<{ release(): Promise<void> }> {
  await mkdir(folder, { recursive: true })
  // two names of one folder are one folder
  const real = await realpath(folder)
  const file = path.join(real, 'lock.json')
  const socket = process.platform === 'linux' ? await bindAbstract(real) : null
  if (socket === 'taken') throw locked(await holder(file))
  if (socket === null) {
    const other = await holder(file)
    if (other && isAlive(other)) throw locked(other)
  }
  const mine: Holder = { host: os.hostname(), boot: bootId(), pid: process.pid, started: startOf(process.pid) }
  await writeFile(file, JSON.stringify(mine))
  return {
    async release() {
      await rm(file, { force: true })
      if (socket) await new Promise<void>((done) => socket.close(() => done()))
    },
  }
}

interface Holder {
  readonly host: string
  readonly boot: string
  readonly pid: number
  readonly started: string
}

function locked(other: Holder | null): Fault {
  return new Fault(
    'store_locked',
    other ? `Process ${other.pid} on ${other.host} uses this embedded store.` : undefined,
  )
}

function bindAbstract(real: string): Promise<net.Server | 'taken'> {
  const name = `\0plimsoll-${createHash('sha256').update(real).digest('hex').slice(0, 40)}`
  return new Promise((resolve, reject) => {
    const server = net.createServer((s) => s.destroy())
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve('taken') : reject(error),
    )
    server.listen(name, () => {
      server.unref()
      resolve(server)
    })
  })
}

async function holder(file: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder
  } catch {
    return null
  }
}

/** A pid is reused; boot id and start time tell the same process from a later one of the same number. */
function isAlive(other: Holder): boolean {
  if (other.host !== os.hostname()) return true
  if (other.boot !== bootId()) return false
  try {
    process.kill(other.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return startOf(other.pid) === other.started
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // the 22nd field; the second may hold blanks and parentheses, so count from its end
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
