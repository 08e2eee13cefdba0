/** The app plane for one test file: a store, a runtime with a worker, a server, and callers that speak real HTTP. */
import { randomBytes } from 'node:crypto'
import type { Db } from '../../src/db/port.ts'
import { createHttpServer, type HttpOptions, type HttpServer } from '../../src/http/server.ts'
import { agent, type Agent, type AgentSpec } from '../../src/run/agent.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/runtime.ts'
import type { Contract } from '../../src/tool/contract.ts'
import { tool } from '../../src/tool/define.ts'
import type { WorkerOptions } from '../../src/run/worker.shell.ts'

export const SECRET = 'a secret of the tests, long enough to be one'
export { ENGINES, isFirst, openStore, type TestStore as Store } from './engines.ts'

/** What was answered, as it comes out of `JSON.parse`. */
export type Body = ReturnType<typeof JSON.parse>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

export interface Sent {
  readonly body?: unknown
  readonly version?: number
  readonly key?: string | null
  readonly headers?: Record<string, string>
}

/** Somebody with a credential. A POST carries a fresh idempotency key unless one is given; `null` sends none. */
export interface Person {
  readonly bearer: string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, sent?: Sent): Promise<Answer>
  /** Any other method, with a fresh key like a POST. */
  send(method: 'PATCH' | 'PUT' | 'DELETE' | 'POST', path: string, sent?: Sent): Promise<Answer>
}

export function person(base: string | (() => string), bearer: string): Person {
  const call = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer> => {
    const url = (typeof base === 'string' ? base : base()) + path
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...headers },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const send: Person['send'] = (method, path, { body, version, key, headers = {} } = {}) => {
    const idempotency = key === null ? {} : { 'idempotency-key': key ?? randomBytes(8).toString('hex') }
    const match = version === undefined ? {} : { 'if-match': `"v${version}"` }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    return call(method, path, { ...type, ...idempotency, ...match, ...headers }, text)
  }
  return {
    bearer,
    get: (path, headers = {}) => call('GET', path, headers),
    post: (path, sent) => send('POST', path, sent),
    send,
  }
}

export interface Plane {
  readonly runtime: Runtime
  readonly server: HttpServer
  readonly url: string
  /** A service key of a tenant. */
  service(tenant?: string, permissions?: readonly string[]): Promise<Person>
  operator(tenant?: string): Promise<Person>
  /** An end user of a tenant, by a token that a service key minted over HTTP. */
  user(name: string, tenant?: string, permissions?: readonly string[]): Promise<Person>
  close(): Promise<void>
}

export interface PlaneOptions {
  readonly db: Db
  readonly agents: readonly Agent[]
  readonly http?: Partial<HttpOptions>
  /** What else the program has. */
  readonly more?: Omit<RuntimeOptions, 'db' | 'agents'>
  readonly developmentOrigins?: readonly string[]
  /** `false`: nobody drives runs in this process. */
  readonly worker?: false | Omit<WorkerOptions, 'db' | 'driving'>
}

export async function openPlane({
  db,
  agents,
  http,
  more,
  worker,
  developmentOrigins = [],
}: PlaneOptions): Promise<Plane> {
  const runtime = createRuntime({ db, agents, developmentOrigins, onToolError: () => {}, ...more })
  const server = await createHttpServer(runtime, { secret: SECRET, onError: (error) => console.error(error), ...http })
  const working =
    worker === false ? null : await runtime.work({ pollMs: 50, onError: (error) => console.error(error), ...worker })
  const keys = new Map<string, Promise<Person>>()
  const withKey = (kind: 'service' | 'operator', tenant: string, permissions: readonly string[]): Promise<Person> => {
    const name = JSON.stringify([kind, tenant, permissions])
    const made =
      keys.get(name) ??
      runtime
        .createKey({ tenant, environment: 'test', kind, user: `${kind}_1`, permissions })
        .then(({ key }) => person(server.url, key))
    keys.set(name, made)
    return made
  }
  const service = (tenant = 'acme', permissions: readonly string[] = ['*']) => withKey('service', tenant, permissions)
  return {
    runtime,
    server,
    url: server.url,
    service,
    operator: (tenant = 'acme') => withKey('operator', tenant, ['*']),
    async user(name, tenant = 'acme', permissions) {
      const minted = await (await service(tenant)).post('/v1/tokens', {
        body: { user: name, ...(permissions && { permissions }) },
      })
      return person(server.url, minted.body.token)
    },
    async close() {
      await server.close()
      await working?.stop()
    },
  }
}

/** What a provider of payments remembers. */
export interface Payments {
  readonly refunds: { readonly key: string; readonly orderId: string; readonly cents: number }[]
  /** The version of the order; a test may move it on. */
  order: number
}

/** `orders.refund`: irreversible, with a plan on a version of the order. */
export function refundTool(payments: Payments, confirmationMs?: number): Contract {
  return tool('orders.refund@2', {
    description: 'Refunds an order.',
    input: {
      type: 'object',
      properties: { orderId: { type: 'string' }, cents: { type: 'integer', minimum: 1, maximum: 50_000 } },
      required: ['orderId', 'cents'],
      additionalProperties: false,
    },
    effect: 'irreversible',
    params: { orderId: 'identity', cents: 'amount' },
    ...(confirmationMs !== undefined && { confirmationMs }),
    resourceVersion: () => `v${payments.order}`,
    plan: (p) => ({
      summary: `Refund order ${(p as { orderId: string }).orderId}`,
      before: { refunded: 0 },
      after: { refunded: (p as { cents: number }).cents },
      resource: `order/${(p as { orderId: string }).orderId}`,
    }),
    commit(p, cx) {
      const { orderId, cents } = p as { orderId: string; cents: number }
      payments.refunds.push({ key: cx.effectKey, orderId, cents })
      return { refunded: cents }
    },
    probe: (cx) =>
      payments.refunds.some((r) => r.key === cx.effectKey)
        ? { happened: true, result: { refunded: true } }
        : { happened: false },
  })
}

export const BUDGET = { steps: 8, toolCalls: 8, tokens: 50_000, costCents: 500, seconds: 120 }

export const agentOf = (name: string, spec: Omit<AgentSpec, 'budget'> & Partial<Pick<AgentSpec, 'budget'>>): Agent =>
  agent(name, { budget: BUDGET, ...spec })

/** Asks until the answer is as wanted. */
export async function until<T>(ask: () => Promise<T>, isWanted: (value: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 600; tries++) {
    const value = await ask()
    if (isWanted(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('what was waited for did not come')
}

const ENDED = ['succeeded', 'failed', 'canceled']

export const ended = (who: Person, run: string): Promise<Body> =>
  until(
    async () => (await who.get(`/v1/runs/${run}`)).body,
    (body) => ENDED.includes(body.status),
  )

/** The confirmation that a run waits for. */
export async function confirmationOf(who: Person, run: string): Promise<Body> {
  const page = await until(
    () => who.get(`/v1/confirmations?run_id=${run}`),
    ({ body }) => body.items?.length > 0,
  )
  return page.body.items[0]
}
