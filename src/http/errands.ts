/** `/ops/v1/errands`: what became of what conversations leave behind, for operator keys alone. */
import type { Hono } from 'hono'
import { type Env, type Parts, queryOf } from './request.ts'
import { queries } from './schemas.ts'

export function errandRoutes(app: Hono<Env>, { runtime }: Parts): void {
  app.get('/ops/v1/errands', async (c) => {
    queryOf(c, queries.none)
    return c.json({ items: await runtime.errands(c.get('caller').actor) })
  })
}
