/** `/ops/v1/procedures`: what becomes a rule, for operator keys alone. */
import type { Hono } from 'hono'
import type { ProcedureId } from '../memory/procedure.ts'
import { bodies, procedureQueries } from './procedure-schemas.ts'
import { facts, procedure } from './procedure-views.ts'
import { bodyOf, type Ctx, type Env, idOf, pageOf, type Parts, queryOf } from './request.ts'
import { queries } from './schemas.ts'

export function procedureRoutes(app: Hono<Env>, { runtime, door }: Parts): void {
  const { procedures } = runtime
  const at = '/ops/v1/procedures'
  const actorOf = (c: Ctx) => c.get('caller').actor
  const named = (c: Ctx): ProcedureId => {
    queryOf(c, queries.none)
    return idOf(c, 'prc')
  }

  app.get(at, async (c) => {
    const query = queryOf(c, procedureQueries.list)
    const { after, limit, answer } = pageOf(c, door, query)
    const { items, next } = await procedures.list(actorOf(c), { name: query.name ?? '', after, limit })
    return c.json(answer(items.map(facts), next))
  })

  app.post(at, async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.proposal)
    return c.json(procedure(await procedures.propose(actorOf(c), value)), 201)
  })

  app.get(`${at}/:id`, async (c) => c.json(procedure(await procedures.get(actorOf(c), named(c)))))

  app.post(`${at}/:id/evaluate`, async (c) => {
    const id = named(c)
    const { value } = await bodyOf(c, bodies.evaluation)
    return c.json(procedure(await procedures.evaluate(actorOf(c), id, value.evaluation)))
  })

  app.post(`${at}/:id/approve`, async (c) => {
    const id = named(c)
    const { value } = await bodyOf(c, bodies.approval)
    return c.json(procedure(await procedures.approve(actorOf(c), { id, ...value })))
  })

  for (const verb of ['decline', 'retire'] as const)
    app.post(`${at}/:id/${verb}`, async (c) => {
      const id = named(c)
      const { value } = await bodyOf(c, bodies.end)
      return c.json(procedure(await procedures[verb](actorOf(c), id, value.reason)))
    })
}
