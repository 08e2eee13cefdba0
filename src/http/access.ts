/** `/v1/tokens` and `/v1/credentials`: how callers come to be. */
import type { Hono } from 'hono'
import { Fault } from '../kernel/fault.ts'
import { bodyOf, type Env, idOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'

export function accessRoutes(app: Hono<Env>, { runtime, door }: Parts): void {
  app.post('/v1/tokens', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.token)
    const { token, expiresAt } = await door.mint(c.get('caller'), {
      user: value.user,
      ...(value.subject !== undefined && { subject: value.subject }),
      ...(value.permissions !== undefined && { permissions: value.permissions }),
      ...(value.ttl_seconds !== undefined && { seconds: value.ttl_seconds }),
    })
    return c.json({ token, expires_at: new Date(expiresAt).toISOString() }, 201)
  })

  app.post('/v1/credentials', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.credential)
    const { actor } = c.get('caller')
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    const made = await runtime.createKey({ ...value, tenant: actor.tenant, environment: actor.environment })
    return c.json(made, 201)
  })

  app.delete('/v1/credentials/:id', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'key')
    const { actor } = c.get('caller')
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    if (!(await runtime.credentials.revoke(actor, id))) throw new Fault('not_found')
    return c.body(null, 204)
  })
}
