/** `plimsoll memory share`, `shared-…`, `fact`, `changed`: what everybody of a place knows, and what an authority says. */
import { agree, type Agreeing } from './agree.ts'
import { type Body, field, reach, type Reach } from './client.ts'
import { tellWritten, valueOf } from './memory.ts'
import { type Output, table } from './output.ts'
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

/** Without values: those are shown to whoever answers, who says why. */
export async function sharedCandidates(options: Reach & { readonly limit: number }, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).get(`/ops/v1/memory-candidates?limit=${options.limit}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((q) => [q['id'], q['key'], q['writer'], (q['reasons'] as string[]).join(' '), q['expires_at']])
  const head = ['candidate', 'key', 'from', 'why it asks', 'open until']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing waits.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export interface SharedAnswer extends Reach, Agreeing {
  readonly reason: string
}

export async function answerShared(
  id: string,
  verb: 'accept' | 'decline',
  options: SharedAnswer,
  out: Output,
): Promise<void> {
  const operator = await reach(options, 'operator')
  const path = `/ops/v1/memory-candidates/${encodeURIComponent(id)}`
  const seen = await operator.post(`${path}/reveal`, { body: { reason: options.reason } })
  const [value, place] = [JSON.stringify(seen['value']), [seen['scope'], seen['place_id']].filter(Boolean).join(':')]
  out.note(`${visible(field(seen, 'key'))} = ${visible(value)}, for ${visible(place)}.`)
  await agree(verb, options, { look: 'Look at it', stays: 'The candidate stays open.' })
  const body = verb === 'accept' ? { hash: seen['hash'] } : undefined
  const done = await operator.post(`${path}/${verb}`, { version: Number(seen['version']), body })
  if (verb === 'accept') return tellWritten(done, out)
  out.show(`${visible(id)}: declined.`)
  out.result(done)
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
