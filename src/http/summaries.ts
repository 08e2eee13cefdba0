/** `/ops/v1/summaries`: what became of summaries, for operator keys alone. */
import type { Hono } from 'hono'
import { type Env, type Parts, queryOf } from './request.ts'
import { queries } from './schemas.ts'

export function summaryRoutes(app: Hono<Env>, { runtime }: Parts): void {
  app.get('/ops/v1/summaries', async (c) => {
    queryOf(c, queries.none)
    return c.json({ items: await runtime.summaries(c.get('caller').actor) })
  })
}
