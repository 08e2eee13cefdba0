/** `plimsoll memory share`, `fact`, `changed`: what everybody of a place knows, and what an authority says. */
import { type Body, field, reach, type Reach } from './client.ts'
import { tellWritten, valueOf } from './memory.ts'
import type { Output } from './output.ts'
import { visible } from './visible.ts'

export interface ShareOptions extends Reach {
  readonly scope: string
  readonly place?: string
  readonly reason: string
}

export async function shareMemory(key: string, value: string, options: ShareOptions, out: Output): Promise<void> {
  const { scope, place, reason } = options
  const body = { key, value: valueOf(value), scope, place_id: place, reason }
  tellWritten(await (await reach(options, 'operator')).post('/ops/v1/memories', { body }), out)
}

/** The authority is asked by the server; nobody says here what it says. */
export async function rememberFact(
  subject: string,
  key: string,
  ref: string,
  options: Reach,
  out: Output,
): Promise<void> {
  const body = { subject, key, ref }
  tellWritten(await (await reach(options, 'service')).post('/v1/memory-facts', { body }), out)
}

export async function factChanged(authority: string, ref: string, options: Reach, out: Output): Promise<void> {
  const body = { authority, ref }
  const done: Body = await (await reach(options, 'service')).post('/v1/memory-facts/changed', { body })
  out.show(`${visible(field(done, 'changed'))} memories are out of use until the authority is asked again.`)
  out.result(done)
}
