/** `/v1/signals`: the world tells runs what they wait for. */
import type { Hono } from 'hono'
import { bodyOf, type Env, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'

export function signalRoutes(app: Hono<Env>, { runtime }: Parts): void {
  app.post('/v1/signals/:signal', async (c) => {
    queryOf(c, queries.none)
    const signal = c.req.param('signal')
    const { value } = await bodyOf(c, bodies.signal)
    await runtime.signal(c.get('caller').actor, signal, value.body)
    return c.json({ signal, status: 'told' })
  })
}
