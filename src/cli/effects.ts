/** `plimsoll effects`: actions of which nobody knows whether they happened, and a person's word on them. */
import { randomUUID } from 'node:crypto'
import { type Body, field, reach, type Reach } from './client.ts'
import { jsonOption } from './json-option.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

export async function listUnknown(options: Reach, out: Output): Promise<void> {
  const page = await (await reach(options, 'operator')).get('/ops/v1/effects?status=unknown')
  const items = page['items'] as readonly Body[]
  const rows = items.map((e) => [
    ['run_id', 'step', 'position'].map((name) => field(e, name)).join('/'),
    `${field(e, 'tool')}@${field(e, 'tool_version')}`,
    e['idempotency_key'],
    e['attempt'],
    e['started_at'],
  ])
  out.show(
    ...(items.length > 0
      ? table(['effect', 'tool', 'key at the provider', 'attempt', 'started'], rows)
      : ['No effect is unknown.']),
  )
  out.result({ items })
}

export interface ResolveOptions extends Reach {
  readonly outcome: 'happened' | 'did-not-happen' | 'retry' | 'leave'
  readonly reason: string
  /** JSON that the model reads as the tool's result. */
  readonly result?: string
}

export async function resolveEffect(place: string, options: ResolveOptions, out: Output): Promise<void> {
  const parts = /^(run_[0-9a-z]{26})\/(\d{1,6})\/(\d{1,6})$/.exec(place)
  if (!parts) throw usage('An effect is named <run>/<step>/<position>.', 'See `plimsoll effects list --unknown`.')
  const [, run, step, position] = parts
  const body = {
    outcome: options.outcome.replaceAll('-', '_'),
    reason: options.reason,
    ...(options.result !== undefined && { result: jsonOption('--result', options.result, '{"refunded": 1200}') }),
  }
  const server = await reach(options, 'operator')
  const done = await server.post(`/ops/v1/effects/${run}/${step}/${position}/resolve`, { body, key: randomUUID() })
  out.show(
    `${place}: recorded as ${options.outcome}; the run is now ${visible(String(done['status']))}. The audit holds your reason.`,
  )
  out.result(done)
}
