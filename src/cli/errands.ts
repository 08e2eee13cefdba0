/** `plimsoll errands`: what became of what conversations leave behind, over the operator plane. */
import { type Body, reach, type Reach } from './client.ts'
import { type Output, table } from './output.ts'

const HEAD = ['agent', 'kind', 'outcome', 'errands', 'runs']

export async function showErrands(options: Reach, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).get('/ops/v1/errands')
  const items = found['items'] as readonly Body[]
  const rows = items.map((i) => [i['agent'], i['kind'], i['outcome'], i['errands'], i['attempts']])
  out.show(...(items.length > 0 ? table(HEAD, rows) : ['No errand has ended yet.']))
  out.result(found)
}
