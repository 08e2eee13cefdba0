/**
 * A provider of effects in a process of its own, with an append-only log as the judge of what happened.
 *
 * The log is written before a reply leaves, and is all that the process knows: it may be killed and started again on the
 * same file. A process of ours can die at any instant; what the log says happened, happened.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Json } from '../kernel/json.ts'

/**
 * How a provider treats a repetition. `keyed`: one effect per key, and it can be asked by key; `keyed_blind`: one per key,
 * and it cannot be asked; `state`: one per request, but the resource can be read; `manual`: one per request, and nobody can ask.
 */
export type ProviderMode = 'keyed' | 'keyed_blind' | 'state' | 'manual'

/** What goes wrong with the next requests for a resource. `commit` says whether the effect happens all the same. */
export interface Trouble {
  readonly resource: string
  /** `hold`: nothing happens until `release`; `hold_read`: the next read of the resource waits for it. */
  readonly kind: 'no_reply' | 'status_500' | 'slow' | 'hold' | 'hold_read' | 'die'
  /** Default true: the effect happens and its reply is what is lost. */
  readonly commit?: boolean
  /** For `slow`: how long the effect takes to happen; the reply follows at once. */
  readonly ms?: number
  /** Default 1. */
  readonly times?: number
}

export interface EffectLine {
  readonly kind: 'effect'
  readonly mode: ProviderMode
  readonly key: string
  readonly resource: string
  readonly args: Json
}

export interface RequestLine {
  readonly kind: 'request'
  readonly mode: ProviderMode
  readonly key: string
  readonly resource: string
  readonly replayed: boolean
  readonly answered: boolean
}

/** Written when a request comes in, before anything can go wrong with it. */
export interface ArrivalLine {
  readonly kind: 'arrival'
  readonly key: string
  readonly resource: string
}

export type LogLine = EffectLine | RequestLine | ArrivalLine

export interface EffectProvider {
  readonly url: string
  readonly pid: number
  /** Everything that happened, in order. */
  effects(): readonly EffectLine[]
  /** Every write request that came in, also one that is still being worked on. */
  arrivals(): readonly ArrivalLine[]
  /** Every write request that came to its end, the repeated and the unanswered ones included. */
  requests(): readonly RequestLine[]
  /** Arms one trouble; the newest for a resource counts. */
  trouble(trouble: Trouble): Promise<void>
  /** Lets the requests for a resource that are held happen, and be answered. */
  release(resource: string): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface EffectProviderOptions {
  /** The file of the log; it may exist. */
  readonly log: string
  /** Default: a free one. */
  readonly port?: number
}

export async function startEffectProvider({ log, port = 0 }: EffectProviderOptions): Promise<EffectProvider> {
  const file = fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? './effect-server.ts' : './effect-server.js', import.meta.url),
  )
  const loader = file.endsWith('.ts') ? ['--import', 'tsx'] : []
  const child = spawn(process.execPath, [...loader, file, log, String(port)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const found = await Promise.race([portOf(child), gone.then(() => null)])
  if (found === null || child.pid === undefined) throw new Error('the effect provider ended before it listened')
  const url = `http://127.0.0.1:${found}`
  const lines = (): readonly LogLine[] => linesOf(readFileSync(log, 'utf8'))
  return {
    url,
    pid: child.pid,
    effects: () => lines().filter((line) => line.kind === 'effect'),
    arrivals: () => lines().filter((line) => line.kind === 'arrival'),
    requests: () => lines().filter((line) => line.kind === 'request'),
    async trouble(trouble) {
      await fetch(`${url}/trouble`, { method: 'POST', body: JSON.stringify(trouble) })
    },
    async release(resource) {
      await fetch(`${url}/release/${encodeURIComponent(resource)}`, { method: 'POST' })
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await gone
    },
  }
}

/** The whole lines of a log; a torn last one never happened. */
export const linesOf = (text: string): readonly LogLine[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)

async function portOf(child: ChildProcess): Promise<number | null> {
  if (!child.stdout) return null
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"port":')) return (JSON.parse(line) as { port: number }).port
  }
  return null
}
