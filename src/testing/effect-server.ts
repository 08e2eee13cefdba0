/**
 * The process behind `startEffectProvider`: node effect-server.js LOG PORT. Prints `{"port":N}` when it listens.
 *
 *   POST /{mode}/effects            Idempotency-Key, { resource, args }   one effect, or the stored one
 *   GET  /keyed/effects/{key}       { found, result? }
 *   GET  /state/resources/{name}    { found, result? }
 *   POST /trouble                   arms a trouble
 *   POST /release/{name}            lets what is held happen
 */
import { EventEmitter, once } from 'node:events'
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../kernel/json.ts'
import { type EffectLine, linesOf, type LogLine, type ProviderMode, type Trouble } from './effect-provider.ts'

const [file = '', port = '0'] = process.argv.slice(2)
const log = openSync(file, 'a')
const happened: EffectLine[] = existsSync(file)
  ? linesOf(readFileSync(file, 'utf8')).filter((line) => line.kind === 'effect')
  : []
const releases = new EventEmitter()
const troubles = new Map<string, Trouble & { times: number }>()

const resultOf = (line: EffectLine): Json => ({ id: `effect_${happened.indexOf(line) + 1}`, resource: line.resource })
const byKey = (key: string): EffectLine | undefined => happened.find((e) => e.key === key && e.mode.startsWith('keyed'))

function write(...lines: readonly LogLine[]): void {
  writeSync(log, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

function troubleOf(resource: string, reads = false): Trouble | null {
  const armed = troubles.get(resource)
  if (!armed || armed.times <= 0 || (armed.kind === 'hold_read') !== reads) return null
  armed.times -= 1
  return armed
}

async function receive(mode: ProviderMode, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { resource, args } = JSON.parse(await text(request)) as { resource: string; args: Json }
  const key = String(request.headers['idempotency-key'] ?? '')
  write({ kind: 'arrival', key, resource })
  const trouble = troubleOf(resource)
  if (trouble?.kind === 'slow') await sleep(trouble.ms ?? 0)
  if (trouble?.kind === 'hold') await once(releases, resource)
  const known = mode.startsWith('keyed') ? byKey(key) : undefined
  const commits = trouble?.commit !== false
  const line: EffectLine = known ?? { kind: 'effect', mode, key, resource, args }
  const answered = trouble === null || trouble.kind === 'slow' || trouble.kind === 'hold'
  // one write for both lines: a kill leaves both, none, or a torn one that readers drop
  write(...(known || !commits ? [] : [line]), {
    kind: 'request',
    mode,
    key,
    resource,
    replayed: known !== undefined,
    answered,
  })
  if (!known && commits) happened.push(line)
  if (trouble?.kind === 'die') process.exit(1)
  if (trouble?.kind === 'no_reply') return
  if (trouble?.kind === 'status_500') response.writeHead(500).end(JSON.stringify({ error: `internal, at ${resource}` }))
  else send(response, { result: resultOf(line) })
}

const send = (response: ServerResponse, body: Json): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const found = (line: EffectLine | undefined): Json =>
  line ? { found: true, result: resultOf(line) } : { found: false }

async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, first = '', second = '', third = ''] = (request.url ?? '').split('/').map(decodeURIComponent)
  if (first === 'trouble') {
    const trouble = JSON.parse(await text(request)) as Trouble
    troubles.set(trouble.resource, { ...trouble, times: trouble.times ?? 1 })
    send(response, {})
  } else if (first === 'release') {
    releases.emit(second)
    send(response, {})
  } else if (request.method === 'POST' && second === 'effects') await receive(first as ProviderMode, request, response)
  else if (first === 'keyed' && second === 'effects') send(response, found(byKey(third)))
  else if (first === 'state' && second === 'resources') {
    if (troubleOf(third, true)) await once(releases, third)
    send(response, found(happened.find((e) => e.mode === 'state' && e.resource === third)))
  } else response.writeHead(404).end()
}

const server = createServer((request, response) => void route(request, response).catch(() => response.destroy()))
server.listen(Number(port), '127.0.0.1', () => {
  writeSync(1, `${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`)
})
process.once('SIGTERM', () => process.exit(0))
// whoever started it is gone, and nobody would end it
process.stdin.once('end', () => process.exit(0)).resume()
