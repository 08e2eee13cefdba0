/** The command line as a user has it: a process of its own, its streams and its exit code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundled } from './compiled.ts'
import type { Body } from './plane.ts'

/** The command as it stands in the folder: it finds the sources and a loader for them, which takes longer. */
export const BIN = fileURLToPath(new URL('../../bin/plimsoll.js', import.meta.url))

export interface Place {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Another program than the compiled one. */
  readonly main?: string
}

export interface Ended {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
  /** The last line of standard output, which must be JSON. */
  json(): Body
}

function child(args: readonly string[], { cwd, env, main = bundled('src/cli/main.ts') }: Place): ChildProcess {
  const { DATABASE_URL: _, NODE_OPTIONS: __, ...rest } = process.env
  return spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...rest, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

const ending = (started: ChildProcess): Promise<number | string> =>
  new Promise((resolve) => started.once('close', (code, signal) => resolve(signal ?? code ?? -1)))

/** Runs one command to its end. */
export async function plimsoll(args: readonly string[], place: Place): Promise<Ended> {
  const started = child(args, place)
  let [stdout, stderr] = ['', '']
  started.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  started.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const exit = await ending(started)
  return { exit, stdout, stderr, json: () => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') }
}

export interface Serving {
  readonly process: ChildProcess
  /** What `start --json` said. */
  readonly said: Body
  readonly gone: Promise<number | string>
}

/** `plimsoll start --json …` until it says that it is ready. */
export async function serving(args: readonly string[], place: Place): Promise<Serving> {
  const started = child(['start', '--json', '--port', '0', ...args], place)
  const gone = ending(started)
  let stderr = ''
  started.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const said = await new Promise((resolve, reject) => {
    createInterface({ input: started.stdout! }).once('line', (line) => resolve(JSON.parse(line)))
    void gone.then((how) => reject(new Error(`ended with ${how}: ${stderr}`)))
  })
  return { process: started, said, gone }
}

/** The one line that a failure prints: a cause, a next step, a code, and nothing of our insides. */
export const oneLine = (code: string): RegExp => new RegExp(`^plimsoll: \\S.*[.!?)'] \\S.*\\. \\[${code}\\]\\n$`)
