/** `plimsoll signals`: tells the runs that wait for something outside. */
import { reach, type Reach } from './client.ts'
import { jsonOption } from './json-option.ts'
import type { Output } from './output.ts'
import { visible } from './visible.ts'

export interface TellOptions extends Reach {
  /** JSON that the tool is given; default: null. */
  readonly body?: string
}

export async function tellSignal(signal: string, options: TellOptions, out: Output): Promise<void> {
  const body = options.body === undefined ? null : jsonOption('--body', options.body, '{"paid":1200}')
  const server = await reach(options, 'service')
  const done = await server.post(`/v1/signals/${encodeURIComponent(signal)}`, { body: { body } })
  out.show(`${visible(signal)}: told. Runs that wait for it go on, and so do those that will.`)
  out.result(done)
}
