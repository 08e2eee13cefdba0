/** `/v1/places/{place}/members`: who belongs to a group or a project, said by a service that holds `members.manage`. */
import type { Hono } from 'hono'
import { PRINCIPAL } from '../kernel/scope.ts'
import { bodyOf, type Ctx, type Env, invalid, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import { time } from './views.ts'

export function memberRoutes(app: Hono<Env>, { runtime: { memory } }: Parts): void {
  app.get('/v1/places/:place/members', async (c) => {
    queryOf(c, queries.none)
    const members = await memory.members(c.get('caller').actor, c.req.param('place'))
    return c.json({ items: members.map(({ user, joinedAt }) => ({ user, joined_at: time(joinedAt) })) })
  })

  app.put('/v1/places/:place/members/:user', async (c) => {
    queryOf(c, queries.none)
    await bodyOf(c, bodies.nothing)
    await memory.join(c.get('caller').actor, c.req.param('place'), userOf(c))
    return c.body(null, 204)
  })

  app.delete('/v1/places/:place/members/:user', async (c) => {
    queryOf(c, queries.none)
    await memory.leave(c.get('caller').actor, c.req.param('place'), userOf(c))
    return c.body(null, 204)
  })
}

function userOf(c: Ctx): string {
  const user = c.req.param('user') ?? ''
  if (PRINCIPAL.test(user)) return user
  throw invalid('/path/user', 'is not a name')
}
