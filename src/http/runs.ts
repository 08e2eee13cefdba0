/** `/v1/runs`: one message's work, what it did and what it cost. */
import type { Hono } from 'hono'
import { performOnce, submit } from './once.ts'
import { partsOf } from './parts.ts'
import { bodyOf, type Env, etag, idOf, ifMatch, MOST_MESSAGE_BYTES, pageOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import * as views from './views.ts'

export function runRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts
  const { reads } = runtime

  app.post('/v1/runs', async (c) => {
    queryOf(c, queries.none)
    const { value, sent } = await bodyOf(c, bodies.run, MOST_MESSAGE_BYTES)
    const { agent, text, conversation_id: session, parent_message_id: parent } = value
    return submit(c, parts, sent, {
      text,
      ...partsOf(value.parts),
      ...(agent !== undefined && { agent }),
      ...(session !== undefined && { session: session as `ses_${string}` }),
      ...(parent !== undefined && { parentMessage: parent }),
    })
  })

  app.get('/v1/runs', async (c) => {
    const query = queryOf(c, queries.runs)
    const page = pageOf(c, door, query)
    const { items, next } = await reads.runs(c.get('caller').actor, {
      limit: page.limit,
      after: page.after,
      status: query.status ?? '',
      wait: query.wait_reason ?? '',
      session: query.conversation_id ?? '',
      agent: query.agent ?? '',
    })
    return c.json(page.answer(items.map(views.runInList), next))
  })

  app.get('/v1/runs/:id', async (c) => {
    queryOf(c, queries.none)
    const found = await reads.run(c.get('caller').actor, idOf(c, 'run'))
    c.header('etag', etag(found.version))
    return c.json(views.run(found))
  })

  app.get('/v1/runs/:id/ledger', async (c) => {
    queryOf(c, queries.none)
    const entries = await reads.ledger(c.get('caller').actor, idOf(c, 'run'))
    return c.json({ items: entries.map(views.ledgerEntry) })
  })

  app.get('/v1/runs/:id/effects', async (c) => {
    queryOf(c, queries.none)
    const effects = await reads.effects(c.get('caller').actor, idOf(c, 'run'))
    return c.json({ items: effects.map(views.effect) })
  })

  app.get('/v1/runs/:id/context', async (c) => {
    const { step } = queryOf(c, queries.step)
    const found = await runtime.context(c.get('caller').actor, idOf(c, 'run'), step === undefined ? null : Number(step))
    return c.json(views.context(found))
  })

  app.post('/v1/runs/:id/cancel', async (c) => {
    queryOf(c, queries.none)
    const run = idOf(c, 'run')
    const { sent } = await bodyOf(c, bodies.nothing)
    const { actor } = c.get('caller')
    // a key of another's run is never claimed: first the run must be the caller's
    await reads.run(actor, run)
    const done = await performOnce(c, parts, { sent, run }, async ({ taken }) => {
      // a request that died after it had canceled is told so, and not that the run has ended before
      const seen = taken ? await reads.run(actor, run) : null
      if (seen === null || seen.cancel === null)
        await runtime.cancel(actor, run, actor.kind === 'operator' ? 'operator' : 'user', ifMatch(c))
      const { version, status, cancel, done: actions } = await reads.run(actor, run)
      return {
        status: 200,
        body: { id: run, version, status, cancel_cause: cancel, actions: actions.map(views.action) },
      }
    })
    c.header('etag', etag((done.body as { readonly version: number }).version))
    return c.json(done.body, done.status)
  })
}
