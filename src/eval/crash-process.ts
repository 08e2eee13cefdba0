/** A worker, or a server of callers, in a process of its own, which may be killed, stopped, and stopped politely. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CrashAgentSpec } from './crash-agent.ts'

/** How the wall clock of a machine is wrong: an hour off, not moving, or ten minutes back every other time. */
export type WrongClock = 'ahead' | 'behind' | 'frozen' | 'stepping'

export interface CrashWorkerSpec {
  readonly db: string
  readonly agents: readonly CrashAgentSpec[]
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly pollMs: number
  readonly clock?: WrongClock
  /** Serves callers, too; signs their tokens. */
  readonly secret?: string
  /** Where webhooks may go without TLS. */
  readonly origins?: readonly string[]
  /** `false`: nobody drives runs in this process. */
  readonly works?: boolean
  /** The file of the program; default: the one beside this file. */
  readonly program?: string
}

export interface CrashWorker {
  readonly pid: number
  /** Resolves when the process drives runs, with its URL when it serves callers. */
  readonly ready: Promise<string | null>
  /** The planted faults that it met, in order. */
  readonly met: readonly string[]
  /** Resolves at the next planted fault, or when the process ends. */
  readonly struck: Promise<void>
  /** Resolves when it has heard SIGTERM, or when it ends. */
  readonly stopping: Promise<void>
  readonly gone: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Everything it has written, for people and for us. */
  said(): string
  signal(name: NodeJS.Signals): void
  /** Lets it go on from where it is held. */
  go(): void
}

export function spawnCrashWorker(spec: CrashWorkerSpec, faults: string): CrashWorker {
  const beside = import.meta.url.endsWith('.ts') ? './crash-worker.ts' : './crash-worker.js'
  const file = spec.program ?? fileURLToPath(new URL(beside, import.meta.url))
  const loader = file.endsWith('.ts') ? ['--import', 'tsx'] : []
  const child = spawn(process.execPath, [...loader, file], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, PLIMSOLL_CRASH_WORKER: JSON.stringify(spec), PLIMSOLL_FAULT: faults },
  })
  const met: string[] = []
  const gone = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  const heard = listen(child, met)
  // a process that is gone hears nothing any more
  child.stdin.on('error', () => {})
  return {
    pid: child.pid ?? 0,
    met,
    gone,
    ready: Promise.race([heard.ready, gone.then(() => null)]),
    struck: Promise.race([heard.struck, gone.then(() => {})]),
    stopping: Promise.race([heard.stopping, gone.then(() => {})]),
    said: heard.text,
    signal: (name) => void child.kill(name),
    go: () => void child.stdin.write('go\n'),
  }
}

interface Heard {
  readonly ready: Promise<string | null>
  readonly struck: Promise<void>
  readonly stopping: Promise<void>
  readonly text: () => string
}

function listen(child: ChildProcess, met: string[]): Heard {
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('the worker has no output')
  let text = ''
  for (const stream of [stdout, stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  if (process.env['PLIMSOLL_DEBUG']) stderr.pipe(process.stderr)
  const lines = createInterface({ input: stdout })
  const first = (key: 'ready' | 'fault' | 'stopping'): Promise<string> =>
    new Promise((resolve) => {
      lines.on('line', (line) => {
        if (line.startsWith(`{"${key}"`)) resolve(line)
      })
    })
  lines.on('line', (line) => {
    if (line.startsWith('{"fault"')) met.push((JSON.parse(line) as { fault: string }).fault)
  })
  return {
    ready: first('ready').then((line) => (JSON.parse(line) as { url: string | null }).url),
    struck: first('fault').then(() => {}),
    stopping: first('stopping').then(() => {}),
    text: () => text,
  }
}
