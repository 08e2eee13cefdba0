/** `plimsoll approvals`: what waits for a person. */
import { agree, type Agreeing } from './agree.ts'
import { card, confirmersOf } from './card.ts'
import { type Body, type Client, field, reach, type Reach } from './client.ts'
import { type Output, table } from './output.ts'
import { visible } from './visible.ts'

export async function listApprovals(options: Reach & { readonly limit: number }, out: Output): Promise<void> {
  const page = await (await reach(options, 'service')).get(`/v1/confirmations?limit=${options.limit}`)
  const items = page['items'] as readonly Body[]
  const rows = items.map((c) => [
    c['id'],
    c['summary'],
    `${field(c, 'tool')}@${field(c, 'tool_version')}`,
    confirmersOf(c).join(', '),
    c['expires_at'],
  ])
  out.show(
    ...(items.length > 0 ? table(['approval', 'what', 'tool', 'who decides', 'until'], rows) : ['Nothing waits.']),
  )
  out.result({ items, more: page['next_cursor'] !== null })
}

const read = (server: Client, id: string): Promise<Body> => server.get(`/v1/confirmations/${encodeURIComponent(id)}`)

export async function showApproval(id: string, options: Reach, out: Output): Promise<void> {
  const found = await read(await reach(options, 'service'), id)
  out.show(...card(found, Date.now()))
  out.result(found)
}

export interface DecideOptions extends Reach, Agreeing {
  /** The end user as whom to decide; default: the first who may. */
  readonly as?: string
  readonly reason?: string
  /** The hash that somebody has seen, when it was elsewhere. */
  readonly hash?: string
}

/**
 * Consent belongs to an end user, so this asks for a token of one, with the service key, and decides as that user. It is
 * for the person who owns both, on a machine for development: the audit names the user.
 */
export async function decide(
  id: string,
  verb: 'approve' | 'reject',
  options: DecideOptions,
  out: Output,
): Promise<void> {
  const service = await reach(options, 'service')
  const found = await read(service, id)
  const user = options.as ?? confirmersOf(found)[0] ?? ''
  out.note(
    ...card(found, Date.now()),
    `You decide as the end user ${visible(user)}, by a token that the service key mints; the audit names ${visible(user)}.`,
  )
  await agree(verb, options, { look: 'Look at the approval', stays: 'The approval stays open.' })
  const done = await (await service.as(user)).post(`/v1/confirmations/${encodeURIComponent(id)}/${verb}`, {
    version: Number(found['version']),
    body: {
      params_hash: options.hash ?? found['params_hash'],
      ...(options.reason !== undefined && { reason: options.reason }),
    },
  })
  out.show(`${visible(id)}: ${visible(String(done['status']))}, as ${visible(user)}.`)
  out.note(`What becomes of it: plimsoll runs show ${visible(String(done['run_id']))}`)
  out.result(done)
}
