/** `/ops/v1`: the operator plane, for operator keys alone. */
import type { Hono } from 'hono'
import { Fault } from '../kernel/fault.ts'
import { isId } from '../kernel/ids.ts'
import type { Resolution } from '../run/resolve.shell.ts'
import { performOnce } from './once.ts'
import { bodyOf, type Ctx, type Env, etag, invalid, type Parts, queryOf } from './request.ts'
import { bodies, queries } from './schemas.ts'
import * as views from './views.ts'

const MOST_UNKNOWN = 100

export function operatorRoutes(app: Hono<Env>, parts: Parts): void {
  const { runtime, door } = parts

  app.use('/ops/v1/*', async (c, next) => {
    const caller = await door.authenticate(c.req.header('authorization'))
    if (caller.actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    c.set('caller', caller)
    await next()
  })

  app.get('/ops/v1/effects', async (c) => {
    queryOf(c, queries.effects)
    const found = await runtime.unknownEffects(c.get('caller').actor, MOST_UNKNOWN)
    return c.json({ items: found.map(views.unknownEffect) })
  })

  app.post('/ops/v1/effects/:run/:step/:position/resolve', async (c) => {
    queryOf(c, queries.none)
    const at = placeOf(c)
    const { value, sent } = await bodyOf(c, bodies.resolution)
    const { actor } = c.get('caller')
    await runtime.reads.run(actor, at.run)
    const done = await performOnce(c, parts, { sent, run: at.run }, async () => {
      const { outcome, reason, result = {} } = value
      const said: Resolution = outcome === 'happened' ? { outcome, result, reason } : { outcome, reason }
      const { version, status } = await runtime.resolve(actor, at, said)
      return {
        status: 200,
        body: { run_id: at.run, step: at.step, position: at.position, outcome: value.outcome, version, status },
      }
    })
    c.header('etag', etag((done.body as { readonly version: number }).version))
    return c.json(done.body, done.status)
  })
}

function placeOf(c: Ctx) {
  const run = c.req.param('run')
  if (!isId('run', run)) throw invalid('/path/run', 'is not an id of the form run_…')
  const [step, position] = [c.req.param('step') ?? '', c.req.param('position') ?? '']
  if (![step, position].every((text) => /^[0-9]{1,6}$/.test(text))) throw invalid('/path', 'names no step and position')
  return { run, step: Number(step), position: Number(position) }
}
