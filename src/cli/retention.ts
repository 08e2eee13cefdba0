/** `plimsoll retention`: rules, sweeps and legal holds, over the operator plane. */
import { type Body, field, reach, type Reach } from './client.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

const PLACE = '/ops/v1/retention'
const operator = (options: Reach) => reach(options, 'operator')

export async function showRetention(options: Reach, out: Output): Promise<void> {
  const found = await (await operator(options)).get(PLACE)
  const [rules, holds] = [found['rules'] as readonly Body[], found['holds'] as readonly Body[]]
  out.show(
    ...table(
      ['class', 'days', 'last sweep'],
      rules.map((r) => [r['class'], r['days'] ?? 'for ever', r['swept_at']]),
    ),
  )
  if (holds.length > 0)
    out.show(
      '',
      ...table(
        ['hold', 'subject', 'since'],
        holds.map((h) => [h['id'], h['subject'] ?? 'everybody', h['created_at']]),
      ),
    )
  out.result(found)
}

export interface SetRetentionOptions extends Reach {
  readonly days: string
  readonly reason: string
}

export async function setRetention(name: string, options: SetRetentionOptions, out: Output): Promise<void> {
  const { days, reason } = options
  if (days !== 'keep' && !/^\d{1,5}$/.test(days))
    throw usage('--days is neither a whole number nor `keep`.', 'Write `--days 90` or `--days keep`.')
  const body = { class: name, days: days === 'keep' ? null : Number(days), reason }
  const done = await (await operator(options)).post(PLACE, { body })
  out.show(`${visible(name)}: ${days === 'keep' ? 'kept for ever' : `kept for ${days} days after the end of a run`}.`)
  out.result(done)
}

export interface RunRetentionOptions extends Reach {
  readonly dryRun?: boolean
}

export async function runRetention(options: RunRetentionOptions, out: Output): Promise<void> {
  const dry = options.dryRun ?? false
  const done = await (await operator(options)).post(`${PLACE}/run`, { body: { dry_run: dry } })
  const items = done['items'] as readonly Body[]
  const head = ['class', 'runs', dry ? 'rows to go' : 'rows gone', 'runs left alone', 'more']
  const rows = items.map((i) => [i['class'], i['runs'], i['changed'], i['kept'], i['done'] === true ? 'no' : 'yes'])
  out.show(...(items.length > 0 ? table(head, rows) : ['No class has a rule: everything is kept.']))
  if (items.some((i) => i['done'] !== true)) out.note('There is more: run it again, or leave it to the workers.')
  out.result({ dry_run: dry, items })
}

export async function holdAll(
  options: Reach & { readonly subject?: string; readonly reason: string },
  out: Output,
): Promise<void> {
  const { subject, reason } = options
  const made = await (await operator(options)).post('/ops/v1/holds', {
    body: { ...(subject !== undefined && { subject }), reason },
  })
  out.show(
    `${visible(field(made, 'id'))}: nothing of ${subject === undefined ? 'this environment' : visible(subject)} is swept until it is released.`,
  )
  out.result(made)
}

export async function releaseHold(
  id: string,
  options: Reach & { readonly reason: string },
  out: Output,
): Promise<void> {
  const done = await (await operator(options)).post(`/ops/v1/holds/${encodeURIComponent(id)}/release`, {
    body: { reason: options.reason },
  })
  out.show(`${visible(id)}: released.`)
  out.result(done)
}
