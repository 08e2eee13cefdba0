/**
 * `GET /v1/runs/{id}/events`: the run as it happens, or as JSON.
 *
 * K4  a client that leaves ends its request and nothing else; one that reads too slowly is disconnected and knows where to go on
 */
import type { Writable } from 'node:stream'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import { Fault } from '../kernel/fault.ts'
import type { RunId } from '../kernel/ids.ts'
import type { RunView } from '../run/view.store.ts'
import type { StreamItem } from '../stream/follow.shell.ts'
import { drained, type Streaming } from './pump.ts'
import { type Ctx, type Env, idOf, invalid, type Parts, queryOf } from './request.ts'
import { queries } from './schemas.ts'
import { streamData } from './views.ts'

const HEARTBEAT_MS = 15_000
/** Proposed to browsers for their next attempt. */
const RETRY_MS = 1_000
const JSON_PAGE = 100

export function eventRoutes(app: Hono<Env>, parts: Parts, streaming: Streaming): void {
  app.get('/v1/runs/:id/events', async (c) => {
    const id = idOf(c, 'run')
    const query = queryOf(c, queries.events)
    const { actor } = c.get('caller')
    const run = await parts.runtime.reads.run(actor, id)
    const after = placeOf(c, query.after, run)
    if (!/\btext\/event-stream\b/.test(c.req.header('accept') ?? ''))
      return eventsAsJson(c, parts, run, { after, limit: Number(query.limit ?? JSON_PAGE) })
    // nothing will come any more: this status is how a browser is told not to ask again
    if (run.end !== null && after >= run.eventSeq) return c.body(null, 204)
    return stream(c, parts, streaming, { run: id, after })
  })
}

function placeOf(c: Ctx, asked: string | undefined, run: RunView): number {
  const header = c.req.header('last-event-id')
  if (header !== undefined && header !== '' && !/^[0-9]{1,15}$/.test(header))
    throw invalid('/headers/last-event-id', 'is not the id of an event')
  // a browser that reconnects repeats the address and adds the header: the header is newer
  const after = Number(header || (asked ?? 0))
  if (after > run.eventSeq) throw invalid('/query/after', 'is beyond the last event of the run')
  return after
}

async function eventsAsJson(
  c: Ctx,
  { runtime }: Parts,
  run: RunView,
  page: { readonly after: number; readonly limit: number },
): Promise<Response> {
  const { actor } = c.get('caller')
  const items = await runtime.eventsAfter(actor, run.id as RunId, page)
  const last = items.at(-1)?.seq ?? page.after
  return c.json({ items: items.map(streamData), last_event: last, ended: run.end !== null && last >= run.eventSeq })
}

function stream(
  c: Ctx,
  { runtime, door }: Parts,
  { streams: open, stallMs }: Streaming,
  from: { readonly run: RunId; readonly after: number },
): Response {
  const { outgoing } = c.env
  const { actor } = c.get('caller')
  const credential = c.req.header('authorization')
  const over = new AbortController()
  const left = open.enter(actor.tenant, () => over.abort())
  for (const [name, value] of c.res.headers) outgoing.setHeader(name, value)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  outgoing.once('close', () => over.abort())
  outgoing.write(`retry: ${RETRY_MS}\n\n`)
  const heartbeat = setInterval(() => {
    if (!outgoing.writableNeedDrain) outgoing.write(': heartbeat\n\n')
    // whoever would not be let in any more is let go; a store that is away says nothing about that
    door.authenticate(credential).catch((error: unknown) => {
      if (Fault.is(error) && error.code === 'unauthenticated') over.abort()
    })
  }, HEARTBEAT_MS)
  const items = runtime.follow(actor, { ...from, operator: false, signal: over.signal })
  void pump(items, outgoing, stallMs)
    .catch(() => outgoing.destroy())
    .finally(() => {
      clearInterval(heartbeat)
      left()
      outgoing.end()
    })
  return RESPONSE_ALREADY_SENT
}

/** One item waits here at a time, and only for a while: the client's place is the last event that it has. */
async function pump(items: AsyncIterable<StreamItem>, outgoing: Writable, stallMs: number): Promise<void> {
  for await (const item of items) {
    if (!outgoing.write(frame(item))) await drained(outgoing, stallMs)
    if (outgoing.destroyed) return
  }
}

function frame(item: StreamItem): string {
  const id = item.kind === 'event' ? `id: ${item.seq}\n` : ''
  const type = item.kind === 'event' ? item.type : item.kind
  // JSON text holds no line break, so one line is enough
  return `${id}event: ${type}\ndata: ${JSON.stringify(streamData(item))}\n\n`
}
