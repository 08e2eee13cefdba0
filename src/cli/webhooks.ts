/** `plimsoll webhooks`: endpoints of the tenant, over the operator plane. */
import { Fault } from '../kernel/fault.ts'
import { type Body, field, reach, type Reach } from './client.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

const PLACE = '/ops/v1/webhook-endpoints'
const at = (id: string, verb = ''): string => `${PLACE}/${encodeURIComponent(id)}${verb && `/${verb}`}`
const operator = (options: Reach) => reach(options, 'operator')

export async function listWebhooks(options: Reach, out: Output): Promise<void> {
  const items = (await (await operator(options)).get(PLACE))['items'] as readonly Body[]
  const rows = items.map((e) => [
    e['id'],
    e['url'],
    e['types'] === null ? 'all' : (e['types'] as readonly string[]).join(' '),
    e['reason'] === null ? e['state'] : `${field(e, 'state')}: ${field(e, 'reason')}`,
    e['failures'],
    e['waiting_runs'],
  ])
  const head = ['endpoint', 'url', 'types', 'state', 'failures in a row', 'runs waiting']
  out.show(...(items.length > 0 ? table(head, rows) : ['There is no endpoint.']))
  out.result({ items })
}

export interface CreateWebhookOptions extends Reach {
  readonly type: readonly string[]
}

export async function createWebhook(url: string, options: CreateWebhookOptions, out: Output): Promise<void> {
  const body = { url, ...(options.type.length > 0 && { types: options.type }) }
  const made = await (await operator(options)).post(PLACE, { body })
  out.show(field(made, 'secret'))
  out.note(`${visible(field(made, 'id'))}: its secret, shown this once.`)
  out.result(made)
}

export async function rotateWebhook(id: string, options: Reach, out: Output): Promise<void> {
  const made = await (await operator(options)).post(at(id, 'rotate'))
  out.show(field(made, 'secret'))
  out.note(
    `${visible(id)}: its new secret, shown this once. The old one signs too until ${visible(field(made, 'previous_secret_until'))}.`,
  )
  out.result(made)
}

export async function setWebhook(
  id: string,
  state: 'enabled' | 'disabled',
  options: Reach & { readonly reason: string },
  out: Output,
): Promise<void> {
  const endpoint = await (await operator(options)).post(at(id, 'state'), { body: { state, reason: options.reason } })
  out.show(
    `${visible(id)}: ${visible(field(endpoint, 'state'))}; ${visible(field(endpoint, 'waiting_runs'))} runs wait.`,
  )
  out.result(endpoint)
}

export async function deleteWebhook(id: string, options: Reach, out: Output): Promise<void> {
  await (await operator(options)).delete(at(id))
  out.show(`${visible(id)}: deleted.`)
  out.result({ id, deleted: true })
}

/** @throws Fault `egress_failed` where the receiver does not take it, so that a script may wait for one that does */
export async function testWebhook(id: string, options: Reach, out: Output): Promise<void> {
  const said = await (await operator(options)).post(at(id, 'test'))
  const how = said['status'] === null ? 'did not answer' : `answered ${visible(field(said, 'status'))}`
  out.show(`${visible(id)}: ${how} after ${visible(field(said, 'millis'))} ms.`)
  out.result(said)
  if (said['ok'] === true) return
  const hint = said['status'] === 401 ? ' Its secret may be another one, or it reads another body than was sent.' : ''
  throw new Fault('egress_failed', `The receiver did not take the message.${hint}`)
}

export async function listDeliveries(
  id: string,
  options: Reach & { readonly limit: number },
  out: Output,
): Promise<void> {
  const page = await (await operator(options)).get(at(id, `deliveries?limit=${options.limit}`))
  const items = page['items'] as readonly Body[]
  const rows = items.map((a) =>
    ['message_id', 'run_id', 'outcome', 'status', 'fault', 'millis', 'at'].map((name) => a[name]),
  )
  const head = ['message', 'run', 'outcome', 'status', 'fault', 'ms', 'at']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing was sent.']))
  out.result({ items })
}

export interface ReplayOptions extends Reach {
  readonly run?: string
  readonly seq?: number
  readonly since?: string
  readonly reason: string
}

export async function replayWebhook(id: string, options: ReplayOptions, out: Output): Promise<void> {
  const { run, seq, since, reason } = options
  if ((run === undefined) === (since === undefined) || (seq !== undefined && run === undefined))
    throw usage(
      'A replay is of one --run or --since a time.',
      'Give `--run <run>`, with or without --seq, or `--since <time>`.',
    )
  const from = run === undefined ? { since } : { run_id: run, ...(seq !== undefined && { seq }) }
  const done = await (await operator(options)).post(at(id, 'replay'), { body: { ...from, reason } })
  out.show(`${visible(id)}: events of ${visible(field(done, 'runs'))} runs go out again.`)
  out.result(done)
}
