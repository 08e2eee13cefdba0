/** `/ops/v1/memories`, `/ops/v1/memory-candidates`, `/ops/v1/deletions`: everything but values, and a value only with a reason. */
import type { Hono } from 'hono'
import { Fault } from '../kernel/fault.ts'
import type { SessionId } from '../kernel/ids.ts'
import { listDeletions, oneDeletion } from './forgetting.ts'
import { memoryBodies as bodies, memoryQueries } from './memory-schemas.ts'
import * as views from './memory-views.ts'
import { performed } from './memories.ts'
import { bodyOf, type Ctx, type Env, etag, idOf, ifMatch, pageOf, type Parts, queryOf } from './request.ts'
import { bodies as common, queries } from './schemas.ts'

export function memoryOperatorRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts
  const { memory } = runtime

  app.get('/ops/v1/memories', async (c) => {
    const query = queryOf(c, memoryQueries.facts)
    const { after, limit, answer } = pageOf(c, door, query)
    const { items, next } = await memory.facts(c.get('caller').actor, query.subject, { after, limit })
    return c.json(answer(items.map(views.memoryFacts), next))
  })

  app.post('/ops/v1/memories', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.shared)
    const { place_id: placeId, ...want } = value
    const shared = { ...want, ...(placeId !== undefined && { placeId }) }
    const { body, status } = performed(await memory.rememberShared(c.get('caller').actor, shared), 201)
    return c.json(body, status as 201)
  })

  app.post('/ops/v1/memories/reconcile', async (c) => {
    queryOf(c, queries.none)
    await bodyOf(c, common.nothing)
    return c.json({ items: await memory.reconcile(c.get('caller').actor) })
  })

  app.post('/ops/v1/memories/:id/reveal', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'mem')
    const { value: said } = await bodyOf(c, bodies.reveal)
    return c.json({ id, value: await memory.reveal(c.get('caller').actor, id, said.reason) })
  })

  candidateRoutes(app, parts)

  app.post('/ops/v1/deletions', async (c) => {
    queryOf(c, queries.none)
    const { value: named } = await bodyOf(c, bodies.operatorDeletion)
    const { actor } = c.get('caller')
    const receipt =
      named.subject === undefined
        ? await memory.forgetConversation(actor, named.conversation_id as SessionId, named.reason)
        : await memory.forgetSubject(actor, named.subject, named.reason)
    return c.json(views.receipt(receipt, runtime.backupDays), 202)
  })

  app.get('/ops/v1/deletions', (c) => listDeletions(c, parts))
  app.get('/ops/v1/deletions/:id', (c) => oneDeletion(c, parts))
}

/** What several would read waits for an operator's word. */
function candidateRoutes(app: Hono<Env>, { runtime, door }: Parts): void {
  const { memory } = runtime
  const seen = (c: Ctx): number => {
    const version = ifMatch(c)
    if (version === null) throw new Fault('precondition_required')
    return version
  }

  app.get('/ops/v1/memory-candidates', async (c) => {
    const { after, limit, answer } = pageOf(c, door, queryOf(c, queries.page))
    const { items, next } = await memory.sharedQuestions(c.get('caller').actor, { after, limit })
    return c.json(answer(items.map(views.candidate), next))
  })

  app.post('/ops/v1/memory-candidates/:id/reveal', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'mcd')
    const { value: said } = await bodyOf(c, bodies.reveal)
    const found = await memory.revealQuestion(c.get('caller').actor, id, said.reason)
    c.header('etag', etag(found.version))
    return c.json(views.candidate(found))
  })

  app.post('/ops/v1/memory-candidates/:id/accept', async (c) => {
    queryOf(c, queries.none)
    const at = { id: idOf(c, 'mcd'), version: seen(c) }
    const { value } = await bodyOf(c, bodies.acceptance)
    return c.json(performed(await memory.acceptShared(c.get('caller').actor, { ...at, hash: value.hash }), 200).body)
  })

  app.post('/ops/v1/memory-candidates/:id/decline', async (c) => {
    queryOf(c, queries.none)
    const at = { id: idOf(c, 'mcd'), version: seen(c) }
    await bodyOf(c, common.nothing)
    const { id, status, version } = await memory.declineShared(c.get('caller').actor, at)
    return c.json({ id, status, version })
  })
}
