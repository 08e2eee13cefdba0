/**
 * The judge of the `http` surface: a real server on an embedded store in memory, asked over real connections. What a case
 * is about is told by the words of its name; a case with a body of its own is sent as one.
 */
import { request } from 'node:http'
import { openEmbedded } from '../db/embedded.ts'
import { createHttpServer } from '../http/server.ts'
import { agent } from '../run/agent.ts'
import { createRuntime } from '../runtime.ts'
import { scripted } from '../testing/scripted.ts'
import { type InputCase, inputText, type Judge } from './input-case.ts'

export interface HttpJudge {
  readonly judge: Judge
  /** Ends the server, if a case needed it. */
  close(): Promise<void>
}

interface Asked {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent until the server answers or the pieces end. */
  readonly body?: Iterable<string | Uint8Array>
}

interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface Site {
  ask(asked: Asked): Promise<Told>
  /** Holds the claim of a key until it is let go, as a request in flight does. */
  hold(key: string, body: { readonly [name: string]: string }): Promise<() => Promise<void>>
  close(): Promise<void>
}

const SECRET = 'of the judge: it signs nothing that lives on'
const BODY = { agent: 'echo', text: 'hello' } as const
const MEGABYTE = new Uint8Array(1024 * 1024)
const BIG = 100
const TEN_KILOBYTES = 10 * 1024

export function httpJudge(): HttpJudge {
  let site: Promise<Site> | null = null
  return {
    async judge(given) {
      const wanted = Number(/^status_([0-9]{3})$/.exec(given.verdict)?.[1])
      if (!wanted) return `the verdict ${given.verdict} is not one of this judge`
      const about = ABOUT.find(([words]) => words.test(given.name))?.[1] ?? (hasBody(given) ? sendBody : null)
      if (!about) return 'skipped'
      site ??= openSite()
      const told = await about(await site, given)
      const wrong = told.find(({ status }) => status !== wanted)
      if (wrong) return `was answered with ${wrong.status}`
      const isSilent = wanted === 409 && told.some((one) => one.headers['retry-after'] === undefined)
      return isSilent ? 'was answered without Retry-After' : 'as_expected'
    },
    close: async () => (await site)?.close(),
  }
}

type Ask = (site: Site, given: InputCase) => Promise<readonly Told[]>

const hasBody = (given: InputCase): boolean => given.gen !== undefined || (given.raw !== undefined && given.raw !== '')

const sendBody: Ask = async (site, given) => [
  await site.ask({
    method: 'POST',
    path: '/v1/runs',
    headers: { 'idempotency-key': `case-${given.id}` },
    body: [inputText(given)],
  }),
]

const oddIds: Ask = (site) => {
  const ids = [
    '%00',
    'run_%00',
    '%2e%2e',
    '..%2f..',
    '%2e%2e%2fetc',
    'a'.repeat(TEN_KILOBYTES),
    encodeURIComponent('ｒｕｎ_１'),
    '%F0%9F',
    "'; --",
    'run_',
  ]
  const places = ['/v1/runs/', '/v1/conversations/', '/v1/confirmations/']
  const paths = places.flatMap((place) => ids.map((id) => place + id.replaceAll(' ', '%20')))
  return Promise.all(
    [...paths, ...paths.map((path) => `${path}/events`).filter((path) => path.startsWith('/v1/runs/'))].map((path) =>
      site.ask({ path }),
    ),
  )
}

const oddCursors: Ask = async (site) => {
  for (const key of ['a', 'b', 'c']) await post(site, `cursor-${key}`)
  const page = JSON.parse((await site.ask({ path: '/v1/runs?limit=1' })).body) as { readonly next_cursor: string }
  const [after = '', mac = ''] = page.next_cursor.split('.')
  const forged = Buffer.from('run_zzzzzzzzzzzzzzzzzzzzzzzzzz').toString('base64url')
  const cursors = [
    `${forged}.${mac}`,
    `${after}.${mac.slice(1)}`,
    after,
    `${after}.${mac}.${mac}`,
    `${after}=.${mac}`,
    mac,
    '%00',
    '1',
  ]
  const lists = [
    ...cursors.map((c) => `/v1/runs?limit=1&cursor=${c}`),
    `/v1/conversations?limit=1&cursor=${page.next_cursor}`,
    `/v1/runs?status=queued&cursor=${page.next_cursor}`,
  ]
  return Promise.all(lists.map((path) => site.ask({ path })))
}

const inFlight: Ask = async (site) => {
  const release = await site.hold('flying', BODY)
  const told = [await post(site, 'flying'), await post(site, 'flying')]
  await release()
  return told
}

const oversized: Ask = (site) => {
  const json = { 'content-type': 'application/json', 'idempotency-key': 'big' }
  const pieces = Array<Uint8Array>(BIG).fill(MEGABYTE)
  const path = '/v1/runs'
  return Promise.all([
    site.ask({
      method: 'POST',
      path,
      headers: { ...json, 'content-length': String(BIG * MEGABYTE.length) },
      body: pieces,
    }),
    site.ask({ method: 'POST', path, headers: { ...json, 'transfer-encoding': 'chunked' }, body: pieces }),
    site.ask({ method: 'POST', path, headers: { ...json, 'content-encoding': 'gzip' }, body: [new Uint8Array(1_000)] }),
  ])
}

const ABOUT: readonly (readonly [RegExp, Ask])[] = [
  [/idempotency/i, inFlight],
  [/cursor/i, oddCursors],
  [/\bids?\b/i, oddIds],
  [/gzip|bomb|\bMB\b|too large|oversize/i, oversized],
]

const post = (site: Site, key: string): Promise<Told> =>
  site.ask({ method: 'POST', path: '/v1/runs', headers: { 'idempotency-key': key }, body: [JSON.stringify(BODY)] })

async function openSite(): Promise<Site> {
  const db = await openEmbedded('memory')
  const budget = { steps: 1, toolCalls: 0, tokens: 10_000, costCents: 10, seconds: 60 }
  const runtime = createRuntime({ db, agents: [agent('echo', { model: scripted(() => ({ text: 'hello' })), budget })] })
  const server = await createHttpServer(runtime, { secret: SECRET })
  const { key } = await runtime.createKey({
    tenant: 'judge',
    environment: 'test',
    kind: 'service',
    user: 'judge',
    permissions: [],
  })
  const authorization = `Bearer ${key}`
  return {
    ask: (asked) =>
      ask(server.url, { ...asked, headers: { authorization, 'content-type': 'application/json', ...asked.headers } }),
    async hold(held, body) {
      const caller = await runtime.door(SECRET).authenticate(authorization)
      let release: () => void = () => {}
      let started: () => void = () => {}
      const isHeld = new Promise<void>((resolve) => (started = resolve))
      const answered = runtime.once(
        caller,
        { key: held, operation: 'POST /v1/runs', body, run: runtime.ids.next('run') },
        async () => {
          started()
          await new Promise<void>((resolve) => (release = resolve))
          return { status: 201, body: {} }
        },
      )
      await isHeld
      return async () => {
        release()
        await answered
      }
    },
    async close() {
      await server.close()
      await db.close()
    },
  }
}

/** The path goes out as it is written; a normal client would tidy it. */
function ask(base: string, { method = 'GET', path, headers, body = [] }: Asked): Promise<Told> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    let isTold = false
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      isTold = true
      const chunks: Buffer[] = []
      const done = () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() })
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', done).on('error', done)
    })
    // a server that has answered does not have to take the rest
    sent.on('error', (error) => (isTold ? null : reject(error)))
    void (async () => {
      for (const piece of body) {
        if (isTold || sent.destroyed) break
        if (!sent.write(piece)) await new Promise((go) => sent.once('drain', go).once('close', go).once('response', go))
      }
      sent.end()
    })()
  })
}
