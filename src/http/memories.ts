/** `/v1/memories` and `/v1/memory-candidates`: what is remembered of the caller, and what waits for the caller's word. */
import type { Hono } from 'hono'
import { canonicalText } from '../kernel/canonical.ts'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor } from '../kernel/scope.ts'
import type { CandidateId, MemoryId } from '../memory/entry.ts'
import type { Outcome } from '../memory/remember.shell.ts'
import type { SessionId } from '../kernel/ids.ts'
import type { Performed } from '../request/idempotency.shell.ts'
import { memoryBodies as bodies, memoryQueries } from './memory-schemas.ts'
import * as views from './memory-views.ts'
import { performOnce } from './once.ts'
import { bodyOf, type Ctx, type Env, etag, idOf, ifMatch, pageOf, type Parts, queryOf } from './request.ts'
import { bodies as common, queries } from './schemas.ts'

/** Refusals that no repetition changes: they are the answer to this key. */
const ANSWERS: readonly FaultCode[] = [
  'already_decided',
  'confirmation_expired',
  'params_hash_differs',
  'precondition_failed',
]

export function memoryRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts
  const { memory } = runtime

  app.get('/v1/memories', async (c) => {
    const query = queryOf(c, memoryQueries.memories)
    const { limit, after, answer } = pageOf(c, door, query)
    const { kind = '', key = '', scope = '' } = query
    const { items, next } = await memory.list(c.get('caller').actor, { kind, key, scope, after, limit })
    return c.json(answer(items.map(views.memory), next))
  })

  app.post('/v1/memories', async (c) => {
    queryOf(c, queries.none)
    const { value: want, sent } = await bodyOf(c, bodies.remember)
    const { actor } = c.get('caller')
    const done = await performOnce(c, parts, { sent }, async () =>
      performed(
        await memory.remember(actor, {
          key: want.key,
          value: want.value,
          ...(want.scope !== undefined && { scope: want.scope }),
          ...(want.place_id !== undefined && { placeId: want.place_id }),
          ...(want.conversation_id !== undefined && { session: want.conversation_id as SessionId }),
          ...(want.expires_at !== undefined && { expiresAt: want.expires_at }),
        }),
        201,
      ),
    )
    return answered(c, done)
  })

  app.get('/v1/memories/:id', async (c) => {
    queryOf(c, queries.none)
    const found = await memory.get(c.get('caller').actor, idOf(c, 'mem'))
    c.header('etag', etag(found.version))
    return c.json(views.memory(found))
  })

  app.patch('/v1/memories/:id', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'mem')
    const { value: body, sent } = await bodyOf(c, bodies.correction)
    const { actor } = c.get('caller')
    await memory.get(actor, id)
    const version = ifMatch(c)
    if (version === null) throw new Fault('precondition_required')
    const done = await performOnce(c, parts, { sent, stored: ANSWERS }, async ({ taken }) =>
      performed(await correctOnce(parts, actor, { id, version, value: body.value }, taken), 200),
    )
    return answered(c, done)
  })

  app.delete('/v1/memories/:id', async (c) => {
    queryOf(c, queries.none)
    const receipt = await memory.forget(c.get('caller').actor, idOf(c, 'mem'))
    c.header('location', `/v1/deletions/${receipt.id}`)
    return c.json(views.receipt(receipt, runtime.backupDays), 202)
  })

  app.get('/v1/memories/:id/why', async (c) => {
    queryOf(c, queries.none)
    return c.json(views.why(await memory.why(c.get('caller').actor, idOf(c, 'mem'))))
  })

  app.get('/v1/memories/:id/versions', async (c) => {
    queryOf(c, queries.none)
    const versions = await memory.versions(c.get('caller').actor, idOf(c, 'mem'))
    return c.json({ items: versions.map(views.memoryVersion) })
  })

  app.get('/v1/runs/:id/memories', async (c) => {
    queryOf(c, queries.none)
    const uses = await memory.usesOfRun(c.get('caller').actor, idOf(c, 'run'))
    return c.json({ items: uses.map(views.use) })
  })

  app.post('/v1/memory-facts', async (c) => {
    queryOf(c, queries.none)
    const { value: want } = await bodyOf(c, bodies.fact)
    const { body, status } = performed(await memory.rememberFact(c.get('caller').actor, want), 201)
    return c.json(body, status as 201)
  })

  app.post('/v1/memory-facts/changed', async (c) => {
    queryOf(c, queries.none)
    const { value: now } = await bodyOf(c, bodies.factChanged)
    return c.json({ changed: await memory.authorityChanged(c.get('caller').actor, now.authority, now.ref) })
  })
  candidateRoutes(app, parts)
}

function candidateRoutes(app: Hono<Env>, parts: Parts): void {
  const { memory } = parts.runtime

  app.get('/v1/memory-candidates', async (c) => {
    const page = pageOf(c, parts.door, queryOf(c, queries.page))
    const { items, next } = await memory.questions(c.get('caller').actor, { after: page.after, limit: page.limit })
    return c.json(page.answer(items.map(views.candidate), next))
  })

  app.get('/v1/memory-candidates/:id', async (c) => {
    queryOf(c, queries.none)
    const found = await memory.question(c.get('caller').actor, idOf(c, 'mcd'))
    c.header('etag', etag(found.version))
    return c.json(views.candidate(found))
  })

  app.post('/v1/memory-candidates/:id/accept', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'mcd')
    const { value, sent } = await bodyOf(c, bodies.acceptance)
    const { actor } = c.get('caller')
    const version = await versionSeen(c, parts, id)
    const done = await performOnce(c, parts, { sent, stored: ANSWERS }, async ({ taken }) =>
      performed(await acceptOnce(parts, actor, { id, version, hash: value.hash }, taken), 200),
    )
    return c.json(done.body, done.status)
  })

  app.post('/v1/memory-candidates/:id/decline', async (c) => {
    queryOf(c, queries.none)
    const id = idOf(c, 'mcd')
    const { sent } = await bodyOf(c, common.nothing)
    const { actor } = c.get('caller')
    const version = await versionSeen(c, parts, id)
    const done = await performOnce(c, parts, { sent, stored: ANSWERS }, async ({ taken }) => {
      const now = await unlessDone(
        () => memory.decline(actor, { id, version }),
        async () => {
          const seen = taken ? await memory.question(actor, id) : null
          return seen?.status === 'declined' ? seen : null
        },
      )
      return { status: 200, body: { id, status: now.status, version: now.version } }
    })
    return answered(c, done)
  })
}

/** The version that the caller has seen of a candidate that is there. */
async function versionSeen(c: Ctx, { runtime }: Parts, id: CandidateId): Promise<number> {
  // a key of another's candidate is never claimed: first it must be the caller's
  await runtime.memory.question(c.get('caller').actor, id)
  const version = ifMatch(c)
  if (version === null) throw new Fault('precondition_required')
  return version
}

function correctOnce(
  { runtime: { memory } }: Parts,
  actor: Actor,
  at: { readonly id: MemoryId; readonly version: number; readonly value: Json },
  taken: boolean,
): Promise<Outcome> {
  return unlessDone(
    () => memory.correct(actor, at),
    async () => {
      const now = taken ? await memory.get(actor, at.id) : null
      if (now?.version !== at.version + 1 || canonicalText(now.value) !== canonicalText(at.value)) return null
      return { outcome: 'saved', memory: at.id, version: now.version, change: 'corrected', reasons: [] }
    },
  )
}

function acceptOnce(
  { runtime: { memory } }: Parts,
  actor: Actor,
  at: { readonly id: CandidateId; readonly version: number; readonly hash: string },
  taken: boolean,
): Promise<Outcome> {
  return unlessDone(
    () => memory.accept(actor, at),
    async () => {
      const seen = taken ? await memory.question(actor, at.id) : null
      if (seen?.status !== 'accepted' || seen.memory === null) return null
      const past = await memory.versions(actor, seen.memory)
      const { version, change } = past.at(-1) ?? { version: 1, change: 'created' as const }
      return { outcome: 'saved', memory: seen.memory, version, change, reasons: [] }
    },
  )
}

/** A request that died after it had done its work is told what it has done, and not that somebody came before. */
async function unlessDone<T>(work: () => Promise<T>, done: () => Promise<T | null>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const found = Fault.is(error) && ANSWERS.includes(error.code) ? await done() : null
    if (found === null) throw error
    return found
  }
}

/** @throws Fault `memory_refused` with the reasons: nothing was written, so the key of the request is free again */
export function performed(outcome: Outcome, status: number): Performed {
  if (outcome.outcome === 'refused')
    throw new Fault('memory_refused', undefined, { facts: { reasons: outcome.reasons }, errors: outcome.errors ?? [] })
  return { status: outcome.outcome === 'saved' ? status : 200, body: views.written(outcome) }
}

function answered(c: Ctx, done: Awaited<ReturnType<typeof performOnce>>): Response {
  const { id, version } = done.body as { readonly id?: string; readonly version?: number }
  if (version !== undefined) c.header('etag', etag(version))
  if (done.status === 201 && id !== undefined) c.header('location', `/v1/memories/${id}`)
  return c.json(done.body, done.status)
}
