/**
 * The airline as a vendor: its own process, HTTP on loopback, its own log.
 *
 *   node --import tsx examples/airline/provider.ts --log FILE [--data DIR] [--port N] [--timeouts SHARE]
 *
 * Prints `{"port":N}` when it listens and stops on SIGTERM. The log is written before the reply leaves, so what a caller
 * heard of is always in it. The worlds live in memory: they do not survive the process, the log does.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import type { JsonObject } from '../../src/kernel/json.ts'
import { openBook, type Refusal, type ToolRequest } from './book.ts'
import { endWithParent, KEEP_ALIVE_MS } from './child.ts'
import { AIRLINE_DATA, readBase } from './data.ts'
import { linesOf, lineText, totalsOf } from './ledger.ts'
import { changesOf, reservationOf, userOf } from './rules/world.ts'
import { hashOf } from './value.ts'

const STATUS: { readonly [refusal in Refusal]: 400 | 404 | 409 } = {
  unknown_tool: 404,
  invalid_arguments: 400,
  idempotency_key_missing: 400,
  idempotency_key_reused: 409,
}

const { values: options } = parseArgs({
  options: {
    log: { type: 'string' },
    data: { type: 'string', default: AIRLINE_DATA },
    port: { type: 'string', default: '0' },
    timeouts: { type: 'string', default: '0' },
  },
})
const logFile = options.log
const share = Number(options.timeouts)
if (!logFile || !(share >= 0 && share <= 1)) {
  console.error('usage: provider.ts --log FILE [--data DIR] [--port N] [--timeouts SHARE from 0 to 1]')
  process.exit(2)
}

const book = openBook(readBase(options.data), share)
const log = openSync(logFile, 'a')
const app = new Hono()

app.post('/worlds/:conversation/tools/:tool', async (c) => {
  const args: unknown = await c.req.json().catch(() => null)
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    return c.json({ error: 'invalid_arguments' satisfies Refusal }, 400)
  }
  const { conversation, tool } = c.req.param()
  return answer(c, { conversation, tool, args: args as JsonObject, key: c.req.header('Idempotency-Key') ?? null })
})

function answer(c: Context, request: ToolRequest): Response | Promise<Response> {
  const { conversation, tool, key } = request
  const reply = book.receive(request)
  const line = { at: new Date().toISOString(), conversation, tool, key, argsHash: hashOf(request.args) }
  if ('refusal' in reply) {
    const status = STATUS[reply.refusal]
    writeSync(log, lineText({ kind: 'request', ...line, status, replayed: false, answered: true }))
    return c.json({ error: reply.refusal }, status)
  }
  // one write for both lines: a kill leaves both, none, or one torn line that the reader drops
  const { replayed, effect, unanswered } = reply
  const effectLine = effect ? lineText({ kind: 'effect', ...line, changed: effect.changed }) : ''
  writeSync(log, effectLine + lineText({ kind: 'request', ...line, status: 200, replayed, answered: !unanswered }))
  return unanswered ? new Promise(() => {}) : c.json({ result: reply.result, replayed })
}

app.get('/worlds', (c) => c.json(book.conversations()))
app.get('/worlds/:conversation/state', (c) => c.json(changesOf(book.world(c.req.param('conversation')))))
app.get('/worlds/:conversation/effects', (c) => {
  const kept = book.findByKey(c.req.param('conversation'), c.req.query('key') ?? '')
  return c.json(kept ? { found: true, tool: kept.tool, effect: kept.effect, result: kept.result } : { found: false })
})
app.get('/worlds/:conversation/reservations/:id', (c) => {
  const found = reservationOf(book.world(c.req.param('conversation')), c.req.param('id'))
  return found ? c.json(found) : c.json({ error: 'not_found' }, 404)
})
app.get('/worlds/:conversation/users/:id', (c) => {
  const found = userOf(book.world(c.req.param('conversation')), c.req.param('id'))
  return found ? c.json(found) : c.json({ error: 'not_found' }, 404)
})
app.get('/log', (c) => c.json(totalsOf(linesOf(readFileSync(logFile, 'utf8')))))

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(options.port) }, ({ port }) => {
  console.log(JSON.stringify({ port }))
})

// closed while a call is on its way to it, an idle connection would look like a call without an answer
if ('keepAliveTimeout' in server) server.keepAliveTimeout = KEEP_ALIVE_MS

endWithParent()
process.once('SIGTERM', () => {
  server.close(() => {
    closeSync(log)
    process.exit(0)
  })
  // callers that were left without an answer would hold the door open for ever
  if ('closeAllConnections' in server) server.closeAllConnections()
})
