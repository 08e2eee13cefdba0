/**
 * `plimsoll memory`: what is remembered of an end user, with a token of that user, which the service key mints; the audit
 * names the user. It is for the person who owns both, on a machine for development.
 */
import { agree, type Agreeing } from './agree.ts'
import { type Body, type Client, field, reach, type Reach } from './client.ts'
import { type Output, table } from './output.ts'
import { visible } from './visible.ts'

/** The end user whose memory it is. */
export interface As extends Reach {
  readonly as: string
}

const LOOK = 'Look at it'

export const asUser = async (options: As): Promise<Client> => (await reach(options, 'service')).as(options.as)
const at = (id: string, verb = ''): string => `/v1/memories/${encodeURIComponent(id)}${verb && `/${verb}`}`
const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const until = (m: Body): unknown => m['expires_at'] ?? 'forgotten by request'
const placed = (m: Body): string => [m['scope'], m['scope'] === 'user' ? null : m['place_id']].filter(Boolean).join(':')

/** JSON, or else the words as they are. */
export function valueOf(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

export interface ListMemoriesOptions extends As {
  readonly limit: number
  readonly kind?: string
  readonly key?: string
  readonly scope?: string
}

export async function listMemories(options: ListMemoriesOptions, out: Output): Promise<void> {
  const query = new URLSearchParams({ limit: String(options.limit) })
  for (const name of ['kind', 'key', 'scope'] as const) if (options[name] !== undefined) query.set(name, options[name])
  const found = await (await asUser(options)).get(`/v1/memories?${query.toString()}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((m) => [m['id'], m['key'], m['value'], placed(m), m['status'], until(m)])
  const head = ['memory', 'key', 'value', 'scope', 'status', 'until']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing is remembered.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export async function showMemory(id: string, options: As, out: Output): Promise<void> {
  const m = await (await asUser(options)).get(at(id))
  out.show(...table(['', ''], Object.entries(m)).slice(1))
  out.result(m)
}

export async function whyMemory(id: string, options: As, out: Output): Promise<void> {
  const found = await (await asUser(options)).get(at(id, 'why'))
  const [memory, sources, uses] = [found['memory'] as Body, found['sources'] as Body[], found['uses'] as Body[]]
  out.show(
    `${visible(field(memory, 'key'))} = ${visible(text(memory['value']))}, ${visible(placed(memory))}, until ${visible(text(until(memory)))}.`,
    `Purpose: ${visible(field(memory, 'purpose'))}`,
    ...table(
      ['from', 'which', 'words', 'at'],
      sources.map((s) => [s['kind'], s['ref'], s['quote'], s['at']]),
    ),
  )
  if (uses.length > 0)
    out.show(
      ...table(
        ['run', 'given', 'rank', 'at'],
        uses.map((u) => [u['run_id'], u['reason'], u['rank'], u['at']]),
      ),
    )
  out.result(found)
}

export async function memoryVersions(id: string, options: As, out: Output): Promise<void> {
  const found = await (await asUser(options)).get(at(id, 'versions'))
  const items = found['items'] as readonly Body[]
  const rows = items.map((v) => [v['version'], v['change'], v['value'], v['writer'], v['recorded_at']])
  out.show(...table(['version', 'change', 'value', 'by', 'at'], rows))
  out.result(found)
}

export interface RememberOptions extends As {
  readonly scope?: string
  readonly place?: string
  readonly conversation?: string
  readonly until?: string
}

export async function rememberMemory(key: string, value: string, options: RememberOptions, out: Output): Promise<void> {
  const { scope, place, conversation, until: end } = options
  const body = { key, value: valueOf(value), scope, place_id: place, conversation_id: conversation, expires_at: end }
  tellWritten(await (await asUser(options)).post('/v1/memories', { body }), out)
}

export async function correctMemory(
  id: string,
  value: string,
  options: As & { readonly seen?: number },
  out: Output,
): Promise<void> {
  const user = await asUser(options)
  const version = options.seen ?? Number((await user.get(at(id)))['version'])
  tellWritten(await user.patch(at(id), { version, body: { value: valueOf(value) } }), out)
}

export function tellWritten(done: Body, out: Output): void {
  out.show(
    done['outcome'] === 'saved'
      ? `${visible(field(done, 'id'))}: version ${visible(field(done, 'version'))}, ${visible(field(done, 'change'))}.`
      : `Not saved: ${visible(field(done, 'outcome'))}.`,
  )
  out.result(done)
}

export async function listCandidates(options: As & { readonly limit: number }, out: Output): Promise<void> {
  const found = await (await asUser(options)).get(`/v1/memory-candidates?limit=${options.limit}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((q) => [
    q['id'],
    q['key'],
    q['value'],
    placed(q),
    (q['reasons'] as readonly string[]).join(', '),
    q['expires_at'],
  ])
  const head = ['candidate', 'key', 'value', 'scope', 'why it asks', 'open until']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing waits.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export interface AnswerOptions extends As, Agreeing {
  /** The hash that somebody has seen, when it was elsewhere. */
  readonly hash?: string
}

export async function answerCandidate(
  id: string,
  verb: 'accept' | 'decline',
  options: AnswerOptions,
  out: Output,
): Promise<void> {
  const user = await asUser(options)
  const path = `/v1/memory-candidates/${encodeURIComponent(id)}`
  const seen = await user.get(path)
  out.note(
    `${visible(field(seen, 'key'))} = ${visible(text(seen['value']))}, ${visible(placed(seen))}, until ${visible(text(seen['remembered_until'] ?? 'forgotten by request'))}.`,
    `You answer as the end user ${visible(options.as)}, by a token that the service key mints; the audit names ${visible(options.as)}.`,
  )
  await agree(verb, options, { look: LOOK, stays: 'The candidate stays open.' })
  const body = verb === 'accept' ? { hash: options.hash ?? seen['hash'] } : undefined
  const done = await user.post(`${path}/${verb}`, { version: Number(seen['version']), body })
  if (verb === 'accept') return tellWritten(done, out)
  out.show(`${visible(id)}: declined.`)
  out.result(done)
}

export async function exportMemories(options: As, out: Output): Promise<void> {
  const found = await (await asUser(options)).post('/v1/exports')
  const items = found['items'] as readonly Body[]
  // one object holds them all with --json, and then not twice
  if (!out.isJson) out.show(...items.map((item) => visible(JSON.stringify(item))))
  out.note(`${items.length} memories.`)
  out.result(found)
}
