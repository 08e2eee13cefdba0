/** A worker in a process of its own, which may be killed, stopped, and stopped politely. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CrashAgentSpec } from './crash-agent.ts'

export interface CrashWorkerSpec {
  readonly db: string
  readonly agents: readonly CrashAgentSpec[]
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly pollMs: number
  /** The file of the program; default: the one beside this file. */
  readonly program?: string
}

export interface CrashWorker {
  readonly pid: number
  /** Resolves when the process drives runs. */
  readonly ready: Promise<void>
  /** The planted faults that it met, in order. */
  readonly met: readonly string[]
  /** Resolves at the next planted fault, or when the process ends. */
  readonly struck: Promise<void>
  readonly gone: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  signal(name: NodeJS.Signals): void
}

export function spawnCrashWorker(spec: CrashWorkerSpec, faults: string): CrashWorker {
  const beside = import.meta.url.endsWith('.ts') ? './crash-worker.ts' : './crash-worker.js'
  const file = spec.program ?? fileURLToPath(new URL(beside, import.meta.url))
  const loader = file.endsWith('.ts') ? ['--import', 'tsx'] : []
  const child = spawn(process.execPath, [...loader, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PLIMSOLL_CRASH_WORKER: JSON.stringify(spec), PLIMSOLL_FAULT: faults },
  })
  const met: string[] = []
  const gone = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  const said = listen(child, met)
  return {
    pid: child.pid ?? 0,
    met,
    gone,
    ready: Promise.race([said.ready, gone.then(() => {})]),
    struck: Promise.race([said.struck, gone.then(() => {})]),
    signal: (name) => void child.kill(name),
  }
}

function listen(child: ChildProcess, met: string[]): { readonly ready: Promise<void>; readonly struck: Promise<void> } {
  const { stdout } = child
  if (!stdout) throw new Error('the worker has no standard output')
  const lines = createInterface({ input: stdout })
  const first = (key: 'ready' | 'fault'): Promise<void> =>
    new Promise((resolve) => {
      lines.on('line', (line) => {
        if (line.startsWith(`{"${key}"`)) resolve()
      })
    })
  lines.on('line', (line) => {
    if (line.startsWith('{"fault"')) met.push((JSON.parse(line) as { fault: string }).fault)
  })
  return { ready: first('ready'), struck: first('fault') }
}
