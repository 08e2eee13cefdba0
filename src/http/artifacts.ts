/**
 * `/v1/artifacts`: what a call returned and nobody reads whole, to look at and to download.
 *
 * What is downloaded came from a tool and is nobody's page: always an attachment, never shown inline, never sniffed.
 */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import { type Pumping, pump } from './pump.ts'
import { type Ctx, type Env, idOf, type Parts, queryOf } from './request.ts'
import { attachment, names, rangeOf } from './range.ts'
import { queries } from './schemas.ts'
import * as views from './views.ts'

export function artifactRoutes(app: Hono<Env>, parts: Parts, streaming: Pumping): void {
  const { reads } = parts.runtime

  app.get('/v1/runs/:id/artifacts', async (c) => {
    queryOf(c, queries.none)
    const found = await reads.artifacts(c.get('caller').actor, idOf(c, 'run'))
    return c.json({ items: found.map(views.artifact) })
  })

  app.get('/v1/artifacts/:id', async (c) => {
    queryOf(c, queries.none)
    return c.json(views.artifact(await reads.artifact(c.get('caller').actor, idOf(c, 'art'))))
  })

  app.get('/v1/artifacts/:id/content', (c) => content(c, parts, streaming))
}

async function content(c: Ctx, { runtime }: Parts, pumping: Pumping): Promise<Response> {
  queryOf(c, queries.none)
  const { outgoing } = c.env
  const { actor } = c.get('caller')
  const found = await runtime.reads.artifact(actor, idOf(c, 'art'))
  const etag = `"${found.sha256}"`
  c.header('etag', etag)
  c.header('accept-ranges', 'bytes')
  c.header('cache-control', 'private, no-cache')
  if (names(c.req.header('if-none-match'), etag)) return c.body(null, 304)
  // a range of another content is no use to anybody
  const isSame = [undefined, etag].includes(c.req.header('if-range'))
  const range = rangeOf(isSame ? c.req.header('range') : undefined, found.bytes)
  c.header('content-type', found.mediaType)
  c.header('content-disposition', attachment(found.name))
  c.header('content-length', String(range.to - range.from))
  if (range.isPart) c.header('content-range', `bytes ${range.from}-${range.to - 1}/${found.bytes}`)
  const status = range.isPart ? 206 : 200
  if (c.req.method === 'HEAD') return c.body(null, status)
  const bytes = await runtime.download(actor, found, range)
  for (const [name, value] of c.res.headers) outgoing.setHeader(name, value)
  pump(bytes, outgoing, { ...pumping, tenant: actor.tenant, status })
  return RESPONSE_ALREADY_SENT
}
