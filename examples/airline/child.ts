/** A part of the example as its own process, known by the port that it prints. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Served {
  readonly url: string
  readonly pid: number
  /** Resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** `file`: beside this one. Rejects when the process ends before it listens. */
export async function serveChild(file: string, args: readonly string[]): Promise<Served> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
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
