/** `plimsoll summaries`: what became of summaries, by model and prompt, over the operator plane. */
import { type Body, reach, type Reach } from './client.ts'
import { type Output, table } from './output.ts'

const HEAD = ['model', 'prompt', 'made', 'verified', 'rejected', 'checked again', 'did not hold']

export async function showSummaries(options: Reach, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).get('/ops/v1/summaries')
  const items = found['items'] as readonly Body[]
  const rows = items.map((i) => [
    i['model'],
    i['prompt'],
    i['made'],
    i['verified'],
    reasons(i['rejected']),
    i['rechecked'],
    i['failed'],
  ])
  out.show(...(items.length > 0 ? table(HEAD, rows) : ['Nothing was summarised yet.']))
  out.result(found)
}

const reasons = (rejected: unknown): string =>
  Object.entries(rejected as Readonly<Record<string, number>>)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ') || 'none'
