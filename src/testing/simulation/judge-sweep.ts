/** What must hold after a sweep: nothing is gone that a living run, a listener or an operator still needs. */
import { plainSealer } from '../../db/seal.ts'
import type { RunRow } from '../memory/rows.ts'
import type { World } from './world.ts'

export function judgeSweep(world: World): void {
  for (const run of world.tables.run.all()) {
    if (run.end_reason === null) judgeLiving(world, run)
    else judgeEnded(world, run)
  }
}

function judgeLiving(world: World, run: RunRow): void {
  const { tables } = world
  const key = `${run.tenant_id}/${run.id}`
  const isWhole =
    tables.event.of(key).length === run.event_seq &&
    tables.message.of(key).length === run.message_seq &&
    tables.effect.of(key).every((e) => !isBlank(run, e.arguments)) &&
    tables.confirmation.of(key).every((c) => c.plan.length > 0)
  if (!isWhole) world.broken('L9 a living run keeps what it has', run.id)
}

function judgeEnded(world: World, run: RunRow): void {
  const { tables, listener, swept } = world
  const key = `${run.tenant_id}/${run.id}`
  const effects = tables.effect.of(key)
  const isTold = tables.event.of(key).length > 0
  const heard = listener.heard(key)
  if (!isTold && heard !== null && heard < run.event_seq) world.broken('L9 what is not sent stays', run.id)
  const open = effects.filter((e) => e.status === 'started' || e.status === 'unknown')
  if (open.some((e) => isBlank(run, e.arguments))) world.broken('L9 what is not known keeps its arguments', run.id)
  const isUntouched = isTold && tables.message.of(key).length > 0 && !effects.some((e) => isBlank(run, e.arguments))
  if (!isUntouched) swept.add(key)
}

/** The arguments of every tool here have a field, and what stands in their place has none. */
const isBlank = (run: RunRow, sealed: string): boolean =>
  Buffer.from(plainSealer.open(run.tenant_id, Buffer.from(sealed, 'base64'))).toString() === '{}'
