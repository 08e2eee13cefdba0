/** `/v1/consents`, `/v1/exports` and `/v1/deletions`: what a person says about what is remembered of them. */
import type { Hono } from 'hono'
import type { z } from 'zod'
import type { Actor } from '../kernel/scope.ts'
import type { Receipt } from '../memory/forget.shell.ts'
import type { MemoryId } from '../memory/entry.ts'
import type { ArtifactId, SessionId } from '../kernel/ids.ts'
import { memoryBodies as bodies } from './memory-schemas.ts'
import * as views from './memory-views.ts'
import { bodyOf, type Ctx, type Env, idOf, pageOf, type Parts, queryOf } from './request.ts'
import { bodies as common, queries } from './schemas.ts'

export function forgettingRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime } = parts
  const { memory } = runtime

  app.get('/v1/consents', async (c) => {
    queryOf(c, queries.none)
    const items = (await memory.consents(c.get('caller').actor)).map(views.consent)
    return c.json({ items, purposes: memory.purposes })
  })

  app.put('/v1/consents', async (c) => {
    queryOf(c, queries.none)
    const { value: said } = await bodyOf(c, bodies.consent)
    const receipt = await memory.setConsent(c.get('caller').actor, said)
    return c.json({ ...said, deletion: receipt && views.receipt(receipt, runtime.backupDays) })
  })

  app.post('/v1/exports', async (c) => {
    queryOf(c, queries.none)
    await bodyOf(c, common.nothing)
    return c.json({ items: (await memory.export(c.get('caller').actor)).map(views.exported) })
  })

  app.post('/v1/deletions', async (c) => {
    queryOf(c, queries.none)
    const { value: named } = await bodyOf(c, bodies.deletion)
    const receipt = await forget(parts, c.get('caller').actor, named)
    c.header('location', `/v1/deletions/${receipt.id}`)
    return c.json(views.receipt(receipt, runtime.backupDays), 202)
  })

  app.get('/v1/deletions', (c) => listDeletions(c, parts))
  app.get('/v1/deletions/:id', (c) => oneDeletion(c, parts))
}

function forget({ runtime }: Parts, actor: Actor, named: z.output<typeof bodies.deletion>): Promise<Receipt> {
  const { memory } = runtime
  if (named.memory_id !== undefined) return memory.forget(actor, named.memory_id as MemoryId)
  if (named.message_id !== undefined) return memory.forgetMessage(actor, named.message_id)
  if (named.conversation_id !== undefined) return memory.forgetConversation(actor, named.conversation_id as SessionId)
  if (named.artifact_id !== undefined) return memory.forgetArtifact(actor, named.artifact_id as ArtifactId)
  return memory.forgetSubject(actor, actor.subject)
}

export async function listDeletions(c: Ctx, { runtime, door }: Parts): Promise<Response> {
  const page = pageOf(c, door, queryOf(c, queries.page))
  const { after, limit } = page
  const { items, next } = await runtime.memory.deletions(c.get('caller').actor, { after, limit })
  const shown = items.map((d) => views.deletion(d, runtime.backupDays))
  return c.json(page.answer(shown, next))
}

export async function oneDeletion(c: Ctx, { runtime }: Parts): Promise<Response> {
  queryOf(c, queries.none)
  const receipt = await runtime.memory.deletion(c.get('caller').actor, idOf(c, 'del'))
  return c.json(views.receipt(receipt, runtime.backupDays))
}
