/** `/ops/v1/retention` and `/ops/v1/holds`: how long what finished runs have left is kept, for operator keys alone. */
import type { Hono } from 'hono'
import { bodyOf, type Env, idOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import { time } from './views.ts'

export function retentionRoutes(app: Hono<Env>, parts: Parts): void {
  const { retention } = parts.runtime

  app.get('/ops/v1/retention', async (c) => {
    queryOf(c, queries.none)
    const { actor } = c.get('caller')
    const [rules, holds] = await Promise.all([retention.rules(actor), retention.holds(actor)])
    return c.json({
      rules: rules.map(({ class: name, days, sweptAt }) => ({ class: name, days, swept_at: time(sweptAt) })),
      holds: holds.map(({ id, subject, createdAt }) => ({ id, subject, created_at: time(createdAt) })),
    })
  })

  app.post('/ops/v1/retention', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.retention)
    await retention.set(c.get('caller').actor, value.class, value.days, value.reason)
    return c.json({ class: value.class, days: value.days })
  })

  app.post('/ops/v1/retention/run', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.sweep)
    return c.json({ items: await retention.run(c.get('caller').actor, value.dry_run ?? false) })
  })

  app.post('/ops/v1/holds', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.hold)
    const id = await retention.hold(c.get('caller').actor, value.subject ?? null, value.reason)
    return c.json({ id, subject: value.subject ?? null }, 201)
  })

  app.post('/ops/v1/holds/:id/release', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'hld')
    const { value } = await bodyOf(c, bodies.release)
    await retention.release(c.get('caller').actor, id, value.reason)
    return c.json({ id, released: true })
  })
}
