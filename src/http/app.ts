/** Both planes: who is there, what is asked, what is answered. No policy: everything is decided below. */
import { Hono } from 'hono'
import { Fault, FAULTS } from '../kernel/fault.ts'
import { accessRoutes } from './access.ts'
import { artifactRoutes } from './artifacts.ts'
import { confirmationRoutes } from './confirmations.ts'
import { conversationRoutes } from './conversations.ts'
import { endpointRoutes } from './endpoints.ts'
import { errandRoutes } from './errands.ts'
import { eventRoutes } from './events.ts'
import { forgettingRoutes } from './forgetting.ts'
import { memberRoutes } from './members.ts'
import { memoryRoutes } from './memories.ts'
import { memoryOperatorRoutes } from './memory-operator.ts'
import { openapi } from './openapi.ts'
import { operatorRoutes } from './operator.ts'
import { problemOf } from './problem.ts'
import { procedureRoutes } from './procedures.ts'
import type { Pumping } from './pump.ts'
import { type Env, invalid, type Parts } from './request.ts'
import { retentionRoutes } from './retention.ts'
import { summaryRoutes } from './summaries.ts'
import { runRoutes } from './runs.ts'
import { signalRoutes } from './signals.ts'

export interface AppOptions extends Parts, Pumping {
  readonly isDraining: () => boolean
}

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const LONGEST_PATH = 2_048
/** NUL, an encoded dot, slash or backslash: nothing that we ever give out, and a way around a path elsewhere. */
const ODD_PATH = /%(00|2e|2f|5c)|\/\.{1,2}(\/|$)|[^\x21-\x7e]|\\/i

export function appPlane(options: AppOptions): Hono<Env> {
  const { runtime, door } = options
  const app = new Hono<Env>()

  app.onError((error, c) => {
    const { body, headers } = problemOf(error, c.req.path.slice(0, 256))
    if (!Fault.is(error) || FAULTS[error.code].audience === 'operator') options.onError(error)
    return c.newResponse(JSON.stringify(body), body.status as 400, { ...HEADERS, ...headers })
  })
  app.notFound((c) => {
    const { body, headers } = problemOf(
      new Fault('not_found', 'There is no such path, or no such method on it.'),
      c.req.path.slice(0, 256),
    )
    return c.newResponse(JSON.stringify(body), 404, headers)
  })

  app.use('*', async (c, next) => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value)
    const [path = ''] = (c.env.incoming.url ?? '').split('?')
    if (path.length > LONGEST_PATH || ODD_PATH.test(path)) throw invalid('/path', 'is not a path of this service')
    await next()
  })

  app.get('/livez', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    const why = options.isDraining() ? 'draining' : await runtime.ready()
    return why === null ? c.json({ status: 'ready' }) : c.json({ status: 'not_ready', reason: why }, 503)
  })
  app.get('/openapi.json', (c) => c.json(openapi()))

  app.use('/v1/*', async (c, next) => {
    c.set('caller', await door.authenticate(c.req.header('authorization')))
    await next()
  })
  accessRoutes(app, options)
  conversationRoutes(app, options)
  runRoutes(app, options)
  confirmationRoutes(app, options)
  eventRoutes(app, options, options)
  artifactRoutes(app, options, options)
  signalRoutes(app, options)
  memoryRoutes(app, options)
  forgettingRoutes(app, options)
  memberRoutes(app, options)
  operatorRoutes(app, options)
  memoryOperatorRoutes(app, options)
  endpointRoutes(app, options)
  retentionRoutes(app, options)
  summaryRoutes(app, options)
  errandRoutes(app, options)
  procedureRoutes(app, options)
  return app
}
