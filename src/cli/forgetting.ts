/** `plimsoll memory forget`, consents and receipts; operators reconcile, reveal, and say who belongs where. */
import { agree, type Agreeing } from './agree.ts'
import { type Body, field, reach, type Reach } from './client.ts'
import { type As, asUser } from './memory.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

export interface ForgetOptions extends As, Agreeing {
  readonly message?: string
  readonly conversation?: string
  readonly artifact?: string
  readonly everything?: boolean
}

export async function forgetMemory(id: string | undefined, options: ForgetOptions, out: Output): Promise<void> {
  const named = Object.entries({
    memory_id: id,
    message_id: options.message,
    conversation_id: options.conversation,
    artifact_id: options.artifact,
    everything: options.everything,
  }).filter(([, name]) => name !== undefined)
  if (named.length !== 1)
    throw usage(
      'It is not clear what is to be forgotten.',
      'Name one memory, --message, --conversation, --artifact, or --everything.',
    )
  const user = await asUser(options)
  await agree('forget', options, { look: 'Look at what goes', stays: 'All is as it was.' })
  receipt(await user.post('/v1/deletions', { body: Object.fromEntries(named) }), out)
}

function receipt(found: Body, out: Output): void {
  const parts = found['parts'] as readonly Body[]
  const end = found['backups_expire_at']
  out.show(
    `${visible(field(found, 'id'))}: ${found['done_at'] === null ? 'hidden, and on its way' : `done at ${visible(field(found, 'done_at'))}`}.`,
    ...table(
      ['copy', 'state', 'removed', 'error', 'at'],
      parts.map((p) => [p['derivative'], p['state'], p['removed'], p['error'], p['done_at']]),
    ),
  )
  if (typeof end === 'string') out.show(`Backups that still hold it are gone by ${visible(end)}.`)
  out.result(found)
}

/** A user's own, or with the operator key everybody's. */
type Whose = Reach & { readonly as?: string }
const deletions = async (options: Whose) => {
  const { as } = options
  return as === undefined
    ? { server: await reach(options, 'operator'), place: '/ops/v1/deletions' }
    : { server: await asUser({ ...options, as }), place: '/v1/deletions' }
}

export async function listDeletions(options: Whose & { readonly limit: number }, out: Output): Promise<void> {
  const { server, place } = await deletions(options)
  const found = await server.get(`${place}?limit=${options.limit}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((d) => [d['id'], d['subject'], d['kind'], d['target'], d['created_at'], d['done_at']])
  const head = ['deletion', 'subject', 'what', 'which', 'asked at', 'done at']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing was forgotten.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export async function showDeletion(id: string, options: Whose, out: Output): Promise<void> {
  const { server, place } = await deletions(options)
  receipt(await server.get(`${place}/${encodeURIComponent(id)}`), out)
}

export async function consent(
  purpose: string | undefined,
  state: string | undefined,
  options: As & Agreeing,
  out: Output,
): Promise<void> {
  const user = await asUser(options)
  if (purpose === undefined) {
    const found = await user.get('/v1/consents')
    const items = found['items'] as readonly Body[]
    const rows = items.map((c) => [c['purpose'], c['state'], c['decided_at']])
    out.show(...(items.length > 0 ? table(['purpose', 'said', 'at'], rows) : ['Nothing was said.']))
    for (const one of found['purposes'] as readonly string[]) out.note(`Something is remembered for: ${visible(one)}`)
    return out.result(found)
  }
  if (state !== 'granted' && state !== 'withdrawn')
    throw usage('It is not said what becomes of the purpose.', 'Add `granted` or `withdrawn`.')
  if (state === 'withdrawn')
    await agree('withdraw, and forget what it covers', options, {
      look: 'Look at what goes',
      stays: 'All is as it was.',
    })
  const said = await user.put('/v1/consents', { body: { purpose, state } })
  out.show(`${visible(purpose)}: ${state}.`)
  if (said['deletion'] !== null)
    out.note(`What it covers is forgotten: ${visible(field(said['deletion'] as Body, 'id'))}`)
  out.result(said)
}

export async function forgetSubject(
  subject: string,
  options: Reach & Agreeing & { readonly reason: string },
  out: Output,
): Promise<void> {
  const operator = await reach(options, 'operator')
  await agree(`forget everything of ${visible(subject)}`, options, {
    look: 'Look at `plimsoll memory facts`',
    stays: 'All is as it was.',
  })
  receipt(await operator.post('/ops/v1/deletions', { body: { subject, reason: options.reason } }), out)
}

export async function memoryFacts(
  subject: string,
  options: Reach & { readonly limit: number },
  out: Output,
): Promise<void> {
  const query = new URLSearchParams({ subject, limit: String(options.limit) })
  const found = await (await reach(options, 'operator')).get(`/ops/v1/memories?${query.toString()}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((m) => [m['id'], m['key'], m['scope'], m['status'], m['sensitivity'], m['recorded_at']])
  const head = ['memory', 'key', 'scope', 'status', 'sensitivity', 'recorded at']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing is remembered.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export async function reveal(id: string, options: Reach & { readonly reason: string }, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).post(`/ops/v1/memories/${encodeURIComponent(id)}/reveal`, {
    body: { reason: options.reason },
  })
  out.show(visible(field(found, 'value')))
  out.result(found)
}

export async function reconcile(options: Reach, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).post('/ops/v1/memories/reconcile')
  const items = found['items'] as readonly Body[]
  const rows = items.map((r) => [r['derivative'], r['removed'], r['error']])
  out.show(...table(['copy', 'removed now', 'error'], rows))
  out.result(found)
}

const membersOf = (place: string, user = ''): string =>
  `/v1/places/${encodeURIComponent(place)}/members${user && `/${encodeURIComponent(user)}`}`

export async function listMembers(place: string, options: Reach, out: Output): Promise<void> {
  const found = await (await reach(options, 'service')).get(membersOf(place))
  const items = found['items'] as readonly Body[]
  const rows = items.map((m) => [m['user'], m['joined_at']])
  out.show(...(items.length > 0 ? table(['user', 'since'], rows) : ['Nobody belongs to it.']))
  out.result(found)
}

export async function setMember(
  verb: 'join' | 'leave',
  place: string,
  user: string,
  options: Reach,
  out: Output,
): Promise<void> {
  const service = await reach(options, 'service')
  await (verb === 'join' ? service.put(membersOf(place, user)) : service.delete(membersOf(place, user)))
  out.show(`${visible(user)} ${verb === 'join' ? 'belongs to' : 'has left'} ${visible(place)}.`)
  out.result({ place, user, member: verb === 'join' })
}
