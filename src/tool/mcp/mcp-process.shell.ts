/**
 * A server of tools as a child process that speaks over its input and output (I11).
 *
 * It gets an empty environment and what was declared, a folder of its own, and limits of memory and processor time where
 * the system has `prlimit`. What nothing here can isolate (files, network) is told by `isolation` and by `doctor`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ReadBuffer, serializeMessage, type Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../kernel/clock.ts'

export interface ProcessSpec {
  /** A path, or a name that is looked for in the PATH of this process. */
  readonly command: string
  readonly args?: readonly string[]
  /** Everything the server sees of an environment. */
  readonly env?: { readonly [name: string]: string }
  /** Default: an empty folder that is removed with the process. */
  readonly cwd?: string
  /** Of data, in MiB; default 1 024. */
  readonly memoryMb?: number
  /** Of processor time over its life; then it is ended, and started anew for the next call. Default one hour. */
  readonly cpuSeconds?: number
  /** Where its own words go; default nowhere, since they may hold anything. */
  readonly stderr?: 'ignore' | 'inherit'
}

/** A single message that is larger is no message of ours. */
const MOST_BYTES = 16 * 1024 * 1024
/** A server that is asked to end has this long. */
const GRACE_MS = 2_000

/** What the system enforces for child processes. */
export function isolation(): { readonly limits: boolean } {
  return { limits: found('prlimit') !== null }
}

/** The file behind a command, or null. */
function found(command: string): string | null {
  const candidates = command.includes('/')
    ? [command]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, command))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The command and its arguments under the limits, where there are any. */
function limited(spec: ProcessSpec): readonly [string, readonly string[]] {
  const command = found(spec.command) ?? spec.command
  const prlimit = found('prlimit')
  const args = spec.args ?? []
  if (prlimit === null) return [command, args]
  const bytes = (spec.memoryMb ?? 1_024) * 1024 * 1024
  const limits = [`--data=${bytes}`, `--cpu=${spec.cpuSeconds ?? 3_600}`, '--core=0']
  return [prlimit, [...limits, '--', command, ...args]]
}

/** A connection to a new process. It ends with its input, and its whole group is ended when it does not. */
export function processTransport(spec: ProcessSpec, clock: Pick<Clock, 'after'>): Transport {
  const buffer = new ReadBuffer({ maxBufferSize: MOST_BYTES })
  let child: ChildProcess | undefined
  let folder: string | undefined

  const transport: Transport = {
    start: () =>
      new Promise((resolve, reject) => {
        const [command, args] = limited(spec)
        folder = spec.cwd === undefined ? mkdtempSync(join(tmpdir(), 'plimsoll-mcp-')) : undefined
        child = spawn(command, args, {
          env: { ...spec.env },
          cwd: spec.cwd ?? folder,
          stdio: ['pipe', 'pipe', spec.stderr ?? 'ignore'],
          detached: true,
        })
        child.once('spawn', resolve)
        child.once('error', reject)
        child.on('error', (error) => transport.onerror?.(error))
        // what it has started goes with it, and lets go of the pipes
        child.once('exit', () => signalGroup('SIGKILL'))
        child.once('close', () => {
          if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
          transport.onclose?.()
        })
        child.stdin?.on('error', (error) => transport.onerror?.(error))
        child.stdout?.on('data', (chunk: Buffer) => receive(chunk))
      }),
    send: (message) =>
      new Promise((resolve, reject) => {
        if (!child?.stdin?.writable) return reject(new Error('The process has ended.'))
        child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
      }),
    async close() {
      if (child?.pid === undefined || isOver(child)) return
      const ended = new Promise<void>((resolve) => child?.once('close', resolve))
      child.stdin?.end()
      const cancels = [clock.after(GRACE_MS, () => end('SIGTERM')), clock.after(2 * GRACE_MS, () => end('SIGKILL'))]
      await ended
      for (const cancel of cancels) cancel()
    },
  }

  const isOver = (process: ChildProcess): boolean => process.exitCode !== null || process.signalCode !== null

  function receive(chunk: Buffer): void {
    try {
      buffer.append(chunk)
      for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
        transport.onmessage?.(message)
    } catch (error) {
      transport.onerror?.(error as Error)
      // what follows cannot be told apart any more
      end('SIGKILL')
    }
  }

  function end(signal: NodeJS.Signals): void {
    if (child && !isOver(child)) signalGroup(signal)
  }

  /** The whole group: a server may have started others. Fails when nobody of it is left. */
  function signalGroup(signal: NodeJS.Signals): void {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // gone
    }
  }

  return transport
}
