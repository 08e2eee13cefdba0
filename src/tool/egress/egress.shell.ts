/**
 * The only way out for tools, webhooks and servers of tools: a `fetch` that asks `egress.ts` before each request and
 * dials the very address that was checked.
 *
 * I10  the hosts of the list   I4  no address inside the network: not by spelling, redirect or an answer that changes
 */
import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import type * as Undici from 'undici'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/fault.ts'
import { bound } from '../../kernel/timely.shell.ts'
import { admit, addressOf, type EgressRefusal, type Hop, isRedirect, isReachable, nextHop } from './egress.ts'

export type Fetch = typeof globalThis.fetch

export interface EgressLimits {
  /** `api.vendor.example` or `*.vendor.example`, either with a `:port`. */
  readonly hosts: readonly string[]
  /** Bytes of an answer after decompression; default 10 MiB. */
  readonly maxBytes?: number
  /** From the call to the last byte of the answer; default 30 s. A stream of a tool server may need hours. */
  readonly timeoutMs?: number
  /** Default 5; 0 hands a redirect back as it is. */
  readonly redirects?: number
}

export interface Egress {
  /** Whether a call to this URL could be made at all. @throws Fault `egress_refused`. Names are resolved at the call. */
  check(url: string): void
  /**
   * A `fetch` for these hosts. @throws Fault `egress_refused` before anything is sent, `egress_failed` when the host
   * fails, sends too much or takes too long; the caller's own reason when its signal aborts.
   */
  fetch(limits: EgressLimits): Fetch
  close(): Promise<void>
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

export interface EgressOptions {
  readonly clock: Clock
  /** Origins of a developer's machine that may be reached without TLS and on a loopback address. */
  readonly local?: readonly string[]
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve
}

const MAX_BYTES = 10 * 1024 * 1024
const TIMEOUT_MS = 30_000
const MOST_REDIRECTS = 5
/** A host that takes longer to accept a connection does not answer. */
const CONNECT_MS = 10_000
/** Of each origin. */
const CONNECTIONS = 64
/** `host` would choose another site behind the checked name; the others belong to the connection. */
const NOT_OURS = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
])

const SENTENCES: Record<EgressRefusal, string> = {
  url: 'The URL cannot be read.',
  scheme: 'Only https leaves the house.',
  credentials: 'A URL must not hold a credential.',
  host: 'The host is not in the list of this call.',
  address: 'The host has an address that is not of the public internet.',
  redirects: 'The host redirects too often.',
}
const refused = (reason: EgressRefusal): Fault => new Fault('egress_refused', SENTENCES[reason])

export function openEgress(options: EgressOptions): Egress {
  const { clock } = options
  const local = (options.local ?? []).map(originOf)
  const resolve: Resolve = options.resolve ?? ((hostname) => lookup(hostname, { all: true, verbatim: true }))
  let dialled: Promise<{ readonly ask: typeof Undici.fetch; readonly agent: Undici.Agent }> | undefined
  // an eighth of a second to load, which a program without calls outside does not spend
  const dial = () =>
    (dialled ??= import('undici').then(({ Agent, buildConnector, fetch }) => ({
      ask: fetch,
      agent: new Agent({ connect: guarded(buildConnector, resolve, local), connections: CONNECTIONS }),
    })))

  async function follow(first: Hop, body: ArrayBuffer, most: number, rules: Rules, signal: AbortSignal) {
    const { ask, agent } = await dial()
    for (let hop = first, n = 0; ; n++) {
      const response = await ask(hop.url, {
        method: hop.method,
        headers: hop.headers.map(([name, value]) => [name, value]),
        ...(hop.hasBody && { body }),
        redirect: 'manual',
        dispatcher: agent,
        signal,
      })
      const location = response.headers.get('location')
      if (most === 0 || location === null || !isRedirect(response.status)) return response
      await response.body?.cancel()
      if (n === most) throw refused('redirects')
      const next = nextHop(hop, response.status, location, rules)
      if (!next.ok) throw refused(next.reason)
      hop = next.hop
    }
  }

  return {
    check(url) {
      const hosts = URL.canParse(url) ? [new URL(url).host] : []
      const admitted = admit(url, { hosts, local })
      if (!admitted.ok) throw refused(admitted.reason)
    },
    fetch: ({ hosts, maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, redirects = MOST_REDIRECTS }) =>
      async function fetch(input, init) {
        const rules = { hosts, local }
        const admitted = admit(input instanceof Request ? input.url : String(input), rules)
        if (!admitted.ok) throw refused(admitted.reason)
        const request = new Request(input instanceof Request ? input : admitted.url, init)
        const late = () => new Fault('egress_failed', 'The host took too long.')
        const { signal, release, abort } = bound(clock, request.signal, { ms: timeoutMs, late })
        try {
          const first: Hop = {
            url: admitted.url,
            method: request.method,
            headers: [...request.headers].filter(([name]) => !NOT_OURS.has(name)),
            hasBody: request.body !== null,
          }
          const most = request.redirect === 'manual' ? 0 : request.redirect === 'error' ? -1 : redirects
          const response = await follow(first, await bodyOf(request, signal), Math.max(0, most), rules, signal)
          if (most < 0 && isRedirect(response.status)) throw refused('redirects')
          if (Number(response.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
          const { status, statusText } = response
          const headers = [...response.headers]
          if (response.body === null) {
            release()
            return new Response(null, { status, statusText, headers })
          }
          const read = bounded(response.body.getReader(), maxBytes, release, signal)
          return new Response(read, { status, statusText, headers })
        } catch (error) {
          release()
          abort()
          throw signalled(request.signal) ?? faultOf(error)
        }
      },
    async close() {
      if (dialled) await (await dialled).agent.destroy()
    },
  }
}

interface Rules {
  readonly hosts: readonly string[]
  readonly local: readonly string[]
}

const tooLarge = (): Fault => new Fault('egress_failed', 'The answer is larger than the limit.')

/** What the caller's signal says; it goes out as it came in. */
const signalled = (signal: AbortSignal): Error | null => (signal.aborted ? (signal.reason as Error) : null)

/** A fault of ours from anywhere in the chain of causes; what the network says holds addresses and stays behind. */
function faultOf(error: unknown): Fault {
  for (let at = error; at instanceof Error; at = at.cause) if (Fault.is(at)) return at
  return new Fault('egress_failed')
}

/** The whole body, since a redirect may ask for it again. One that does not come to its end is left with the signal. */
function bodyOf({ body }: Request, signal: AbortSignal): Promise<ArrayBuffer> {
  return new Response(body?.pipeThrough(new TransformStream(), { signal }) ?? null).arrayBuffer()
}

/** A body that is read as its reader asks for it, and no further than the limit. */
function bounded(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  most: number,
  done: () => void,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  let size = 0
  return new ReadableStream({
    async pull(out) {
      try {
        const { done: isOver, value } = await reader.read()
        if (isOver) {
          done()
          return out.close()
        }
        size += value.byteLength
        if (size > most) throw tooLarge()
        out.enqueue(value)
      } catch (error) {
        done()
        void reader.cancel().catch(() => {})
        throw signalled(signal) ?? faultOf(error)
      }
    },
    async cancel() {
      done()
      await reader.cancel()
    },
  })
}

/**
 * A connector that checks a literal address before it dials, since no lookup is made for one, and all addresses of a name
 * in the lookup whose answer is dialled: there is no second one that could say something else.
 */
function guarded(
  connector: typeof Undici.buildConnector,
  resolve: Resolve,
  local: readonly string[],
): Undici.buildConnector.connector {
  const to = (isLocal: boolean) =>
    connector({ lookup: checked(resolve, isLocal), timeout: CONNECT_MS, autoSelectFamily: true })
  const [toLocal, toPublic] = [to(true), to(false)]
  return (options, callback) => {
    const { protocol, hostname, port } = options
    const isLocal = local.includes(
      originOf(`${protocol}//${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`),
    )
    const literal = addressOf(hostname)
    if (literal !== null && !isReachable(literal, isLocal)) return callback(refused('address'), null)
    return isLocal ? toLocal(options, callback) : toPublic(options, callback)
  }
}

const checked =
  (resolve: Resolve, isLocal: boolean): LookupFunction =>
  (hostname, { all }, answer) => {
    resolve(hostname).then(
      (found) => {
        const [first] = found
        if (first === undefined || !found.every(({ address }) => isReachable(address, isLocal)))
          return answer(refused('address'), [])
        return all === true ? answer(null, [...found]) : answer(null, first.address, first.family)
      },
      () => answer(new Fault('egress_failed', 'The name of the host cannot be resolved.'), []),
    )
  }

/** @throws Fault `invalid_definition` for what is no http or https origin. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Fault('invalid_definition', 'An origin of the development list is written `http://localhost:8080`.')
  return url.origin
}
