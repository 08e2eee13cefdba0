/** `plimsoll runs`: what is under way, what it did and what it cost. */
import { type Body, type Client, field, reach, type Reach } from './client.ts'
import { type Output, table } from './output.ts'
import { visible } from './visible.ts'

export interface ListOptions extends Reach {
  readonly status?: string
  readonly limit: number
}

export async function listRuns(options: ListOptions, out: Output): Promise<void> {
  const query = new URLSearchParams({ limit: String(options.limit), ...(options.status && { status: options.status }) })
  const page = await (await reach(options, 'service')).get(`/v1/runs?${query.toString()}`)
  const items = page['items'] as readonly Body[]
  const rows = items.map((r) => [
    r['id'],
    r['agent'],
    r['user'],
    r['status'],
    r['wait_reason'] ?? r['end_reason'],
    r['step'],
    r['created_at'],
  ])
  out.show(...table(['run', 'agent', 'user', 'status', 'why', 'step', 'created'], rows))
  if (page['next_cursor'] !== null) out.note(`There are more than ${options.limit}.`)
  out.result({ items, more: page['next_cursor'] !== null })
}

export async function showRun(id: string, options: Reach, out: Output): Promise<void> {
  const server = await reach(options, 'service')
  const path = `/v1/runs/${encodeURIComponent(id)}`
  const run = await server.get(path)
  const effects = (await server.get(`${path}/effects`))['items'] as readonly Body[]
  const budget = run['budget'] as Readonly<Record<string, { readonly used: unknown; readonly limit: unknown }>>
  const lines = [
    'id',
    'conversation_id',
    'agent',
    'user',
    'status',
    'wait_reason',
    'end_reason',
    'step',
    'version',
    'created_at',
    'deadline_at',
  ]
  out.show(
    ...lines.filter((name) => run[name] !== null).map((name) => `${name.padEnd(16)}${visible(String(run[name]))}`),
    '',
  )
  out.show(
    ...table(
      ['budget', 'used', 'limit'],
      Object.entries(budget).map(([name, b]) => [name, b.used, b.limit]),
    ),
    '',
  )
  const byKey = new Map(effects.map((e) => [e['idempotency_key'], placeOf(e)]))
  const rows = effects.map((e) => [
    placeOf(e),
    e['tool'],
    e['level'],
    e['status'],
    e['outcome'],
    e['error_code'],
    e['attempt'],
    link(e, byKey),
  ])
  out.show(...table(['place', 'tool', 'level', 'status', 'outcome', 'error', 'attempt', ''], rows))
  const answer = run['status'] === 'succeeded' ? await answerOf(server, path, run) : null
  if (answer !== null) out.show('', ...answer.split('\n').map(visible))
  out.result({ ...run, effects, answer })
}

const placeOf = (e: Body): string => `${field(e, 'step')}/${field(e, 'position')}`

/** Undone is what a compensation that is done has answered, and nothing before (J7). */
function link(e: Body, places: ReadonlyMap<unknown, string>): string {
  const named = (key: unknown): string => places.get(key) ?? String(key)
  if (e['compensates'] !== null) return `undoes ${named(e['compensates'])}`
  const by = e['compensation'] as Body | null
  if (by === null) return ''
  return by['outcome'] === 'ok'
    ? `undone by ${named(by['idempotency_key'])}`
    : `${String(by['status'])}: ${named(by['idempotency_key'])}`
}

/** What the run said at its end, which is its last event. */
async function answerOf(server: Client, path: string, run: Body): Promise<string | null> {
  const page = await server.get(`${path}/events?after=${Number(run['last_event']) - 1}`)
  const text = (page['items'] as readonly Body[])[0]?.['text']
  return typeof text === 'string' ? text : null
}

export interface ContextOptions extends Reach {
  readonly step?: number
}

/** Names and counts: what was said stands in the conversation. */
export async function showContext(id: string, options: ContextOptions, out: Output): Promise<void> {
  const query = options.step === undefined ? '' : `?step=${options.step}`
  const found = await (await reach(options, 'service')).get(`/v1/runs/${encodeURIComponent(id)}/context${query}`)
  const list = (name: string): readonly Body[] => found[name] as readonly Body[]
  const prefix = found['shared_prefix'] as { readonly share: number } | null
  out.show(
    `step ${field(found, 'step')}: ${field(found, 'tokens')} of ${field(found, 'limit')} tokens`,
    ...(found['overflows'] === true ? ['It does not fit, and nothing was sent.'] : []),
    ...(prefix === null ? [] : [`sent before in the same words: ${Math.round(prefix.share * 100)} %`]),
    '',
    ...table(
      ['section', 'tokens', 'messages'],
      list('sections').map((s) => [s['section'], s['tokens'], s['messages']]),
    ),
  )
  const rows = [
    ...list('sent')
      .filter((m) => m['cut_from'] !== null)
      .map((m) => [m['message_id'], m['cut_from'], `cut to ${field(m, 'tokens')}`]),
    ...list('left_out').map((m) => [m['message_id'], m['tokens'], m['why']]),
  ]
  if (rows.length > 0) out.show('', ...table(['not whole', 'tokens', 'why'], rows))
  out.result(found)
}

export async function cancelRun(id: string, options: Reach, out: Output): Promise<void> {
  const done = await (await reach(options, 'operator')).post(`/v1/runs/${encodeURIComponent(id)}/cancel`)
  const actions = done['actions'] as readonly unknown[]
  out.show(`${visible(id)}: canceled. Nothing else starts; what it did stays done: ${actions.length}.`)
  out.result(done)
}
