/** `/v1/conversations`: what was said, and saying more. */
import type { Hono } from 'hono'
import { submit } from './once.ts'
import { partsOf } from './parts.ts'
import { bodyOf, type Env, etag, idOf, ifMatch, MOST_MESSAGE_BYTES, pageOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import * as views from './views.ts'

export function conversationRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts
  const { reads } = runtime

  app.post('/v1/conversations', async (c) => {
    queryOf(c, queries.none)
    const { value } = await bodyOf(c, bodies.conversation)
    const { actor } = c.get('caller')
    const id = await runtime.openConversation(actor, value.agent)
    const made = await reads.conversation(actor, id)
    c.header('location', `/v1/conversations/${id}`)
    c.header('etag', etag(made.version))
    return c.json(views.conversation(made), 201)
  })

  app.get('/v1/conversations', async (c) => {
    const query = queryOf(c, queries.conversations)
    const page = pageOf(c, door, query)
    const { items, next } = await reads.conversations(c.get('caller').actor, { ...page, agent: query.agent ?? '' })
    return c.json(page.answer(items.map(views.conversation), next))
  })

  app.get('/v1/conversations/:id', async (c) => {
    queryOf(c, queries.none)
    const found = await reads.conversation(c.get('caller').actor, idOf(c, 'ses'))
    c.header('etag', etag(found.version))
    return c.json(views.conversation(found))
  })

  app.get('/v1/conversations/:id/messages', async (c) => {
    const id = idOf(c, 'ses')
    const page = pageOf(c, door, queryOf(c, queries.page))
    const { items, next } = await reads.messages(c.get('caller').actor, id, page)
    return c.json(page.answer(items.map(views.message), next))
  })

  app.post('/v1/conversations/:id/messages', async (c) => {
    queryOf(c, queries.none)
    const session = idOf(c, 'ses')
    const { value, sent } = await bodyOf(c, bodies.message, MOST_MESSAGE_BYTES)
    const parent = value.parent_message_id
    return submit(c, parts, sent, {
      session,
      text: value.text,
      ...partsOf(value.parts),
      ...(parent !== undefined && { parentMessage: parent }),
    })
  })

  app.post('/v1/conversations/:id/close', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'ses')
    await bodyOf(c, bodies.nothing)
    const { actor } = c.get('caller')
    await runtime.closeConversation(actor, id, ifMatch(c))
    const closed = await reads.conversation(actor, id)
    c.header('etag', etag(closed.version))
    return c.json(views.conversation(closed))
  })
}
