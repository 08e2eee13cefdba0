/** `/ops/v1/webhook-endpoints`: where events go, for operator keys alone. */
import type { Hono } from 'hono'
import { performOnce } from './once.ts'
import { bodyOf, type Ctx, type Env, idOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import * as views from './views.ts'

const MOST_ATTEMPTS = 20

export function endpointRoutes(app: Hono<Env>, parts: Parts): void {
  const { endpoints } = parts.runtime
  const at = '/ops/v1/webhook-endpoints'
  const actorOf = (c: Ctx) => c.get('caller').actor

  app.get(at, async (c) => {
    queryOf(c, queries.none)
    return c.json({ items: (await endpoints.list(actorOf(c))).map(views.endpoint) })
  })

  app.post(at, async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.endpoint)
    return c.json(await endpoints.create(actorOf(c), { url: value.url, types: value.types ?? null }), 201)
  })

  app.get(`${at}/:id`, async (c) => {
    queryOf(c, queries.none)
    return c.json(views.endpoint(await endpoints.get(actorOf(c), idOf(c, 'whk'))))
  })

  app.delete(`${at}/:id`, async (c) => {
    queryOf(c, queries.none)
    await endpoints.remove(actorOf(c), idOf(c, 'whk'))
    return c.body(null, 204)
  })

  app.post(`${at}/:id/rotate`, async (c) => {
    queryOf(c, queries.none)
    await bodyOf(c, bodies.nothing)
    const { secret, previousUntil } = await endpoints.rotate(actorOf(c), idOf(c, 'whk'))
    return c.json({ secret, previous_secret_until: new Date(previousUntil).toISOString() })
  })

  app.post(`${at}/:id/state`, async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.endpointState)
    return c.json(views.endpoint(await endpoints.setState(actorOf(c), idOf(c, 'whk'), value.state, value.reason)))
  })

  app.post(`${at}/:id/test`, async (c) => {
    queryOf(c, queries.none)
    await bodyOf(c, bodies.nothing)
    const { ok, status, millis } = await endpoints.test(actorOf(c), idOf(c, 'whk'))
    return c.json({ ok, status, millis })
  })

  app.get(`${at}/:id/deliveries`, async (c) => {
    const { limit } = queryOf(c, queries.limit)
    const found = await endpoints.attempts(actorOf(c), idOf(c, 'whk'), Number(limit ?? MOST_ATTEMPTS))
    return c.json({ items: found.map(views.deliveryAttempt) })
  })

  app.post(`${at}/:id/replay`, async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'whk')
    const { value, sent } = await bodyOf(c, bodies.replay)
    const { run_id: run, seq, since, reason } = value
    const from = run === undefined ? { since: Date.parse(since ?? '') } : { run, seq: seq ?? 1 }
    const done = await performOnce(c, parts, { sent, run: run ?? id }, async () => ({
      status: 202,
      body: { runs: await endpoints.replay(actorOf(c), id, from, reason) },
    }))
    return c.json(done.body, done.status)
  })
}
