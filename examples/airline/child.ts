/** Parts of the example as processes of their own, which end with the process that started them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Longer than a replay lets a connection rest. */
export const KEEP_ALIVE_MS = 600_000

export interface Served {
  readonly url: string
  readonly pid: number
  /** Resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** `file`: beside this one. What it writes to standard output can be read, and it can send messages. */
export function startChild(file: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', path, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
}

/** For the child: whatever became of the process that started it, it is not left behind. */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit(1))
}

/** A server that is known by the port that it prints. Rejects when the process ends before it listens. */
export async function serveChild(file: string, args: readonly string[]): Promise<Served> {
  const child = startChild(file, args)
  const gone = once(child, 'exit')
  const port = await Promise.race([portOf(child), gone.then(() => null)])
  if (port === null || child.pid === undefined) throw new Error(`${file} ended before it listened`)
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      await gone
    },
  }
}

async function portOf(child: ChildProcess): Promise<number | null> {
  if (!child.stdout) return null
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"port":')) return (JSON.parse(line) as { port: number }).port
  }
  return null
}
