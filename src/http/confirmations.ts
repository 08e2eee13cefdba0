/** `/v1/confirmations`: what waits for a person, and the person's word. */
import type { Hono } from 'hono'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import type { Actor } from '../kernel/scope.ts'
import type { ConfirmationView } from '../gate/confirmation.ts'
import type { DecideRequest } from '../run/decide.shell.ts'
import { performOnce } from './once.ts'
import { bodyOf, type Ctx, type Env, etag, idOf, ifMatch, pageOf, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import * as views from './views.ts'

/** Refusals that no repetition changes: they are the answer to this key. */
const ANSWERS: readonly FaultCode[] = [
  'already_decided',
  'confirmation_expired',
  'params_hash_differs',
  'stale_plan',
  'precondition_failed',
]

export function confirmationRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts
  const { reads } = runtime

  app.get('/v1/confirmations', async (c) => {
    const query = queryOf(c, queries.confirmations)
    const page = pageOf(c, door, query)
    const { items, next } = await reads.confirmations(c.get('caller').actor, {
      limit: page.limit,
      after: page.after,
      run: query.run_id ?? '',
    })
    return c.json(page.answer(items.map(views.confirmation), next))
  })

  app.get('/v1/confirmations/:id', async (c) => {
    queryOf(c, queries.none)
    const found = await reads.confirmation(c.get('caller').actor, idOf(c, 'cnf'))
    c.header('etag', etag(found.version))
    return c.json(views.confirmation(found))
  })

  app.post('/v1/confirmations/:id/approve', (c) => decide(c, parts, true))
  app.post('/v1/confirmations/:id/reject', (c) => decide(c, parts, false))
}

async function decide(c: Ctx, parts: Parts, approve: boolean): Promise<Response> {
  queryOf(c, queries.none)
  const id = idOf(c, 'cnf')
  const { value, sent } = await bodyOf(c, bodies.decision)
  const { actor } = c.get('caller')
  const seen = await parts.runtime.reads.confirmation(actor, id)
  const version = ifMatch(c)
  if (version === null) throw new Fault('precondition_required')
  const request: DecideRequest = {
    confirmation: id,
    approve,
    version,
    paramsHash: value.params_hash,
    reason: value.reason ?? null,
  }
  const done = await performOnce(c, parts, { sent, run: seen.run, stored: ANSWERS }, async ({ taken }) => {
    const decided = await decideOnce(parts, actor, request, taken)
    // no content: this answer is kept for a day, what was confirmed stays in the confirmation
    const { run, status, decidedBy } = decided
    return { status: 200, body: { id, run_id: run, status, version: decided.version, decided_by: decidedBy } }
  })
  c.header('etag', etag((done.body as { readonly version: number }).version))
  return c.json(done.body, done.status)
}

/** A request that died after it had decided is told so, instead of that somebody decided before. */
async function decideOnce(
  { runtime }: Parts,
  actor: Actor,
  request: DecideRequest,
  taken: boolean,
): Promise<ConfirmationView> {
  try {
    return await runtime.decide(actor, request)
  } catch (error) {
    if (!taken || !Fault.is(error) || error.code !== 'already_decided') throw error
    const now = await runtime.reads.confirmation(actor, request.confirmation)
    const isMine = now.decidedBy === actor.user && now.paramsHash === request.paramsHash
    if (isMine && error.facts.outcome === (request.approve ? 'approved' : 'rejected')) return now
    throw error
  }
}
