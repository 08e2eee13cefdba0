/** The process of `npm run large` that works and serves: one run that asks for all rows, and a look at its own memory. */
import { join } from 'node:path'
import { openStore } from '../index.ts'
import { createHttpServer } from '../http/server.ts'
import { systemRandom } from '../kernel/system.shell.ts'
import type { ModelRequest } from '../model/port.ts'
import { agent } from '../run/agent.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import { scripted } from '../testing/scripted.ts'
import { tool } from '../tool/define.ts'
import { folderObjects } from '../tool/result/folder-objects.shell.ts'
import { z } from 'zod'
import type { Ready, Worked } from './large.ts'
import { MODEL_BYTES, rowsOf } from './large-rows.ts'

const [, , home = '', count = '', db = ''] = process.argv
const LOOK_MS = 10
/** Enough for the code to be compiled, the buffers to be there and the garbage collector to have found its pace. */
const WARM_ROWS = 20_000

let modelBytes = 0
/** A first run with few rows warms everything up; the second asks for all. */
function script(request: ModelRequest, turn: number) {
  const asked = request.messages.findLast((m) => m.role === 'user')
  const rows = asked?.role === 'user' ? Number(asked.text) : 0
  if (turn === 0) return { calls: [{ name: 'orders__list', arguments: { rows } }] }
  const read = request.messages.findLast((m) => m.role === 'tool')
  modelBytes = Buffer.byteLength(read?.role === 'tool' ? read.text : '')
  return { text: 'There they are.' }
}

const list = tool('orders.list@1', {
  input: z.strictObject({ rows: z.int() }),
  effect: 'read',
  maxResultBytes: MODEL_BYTES,
  timeoutMs: 120_000,
  run: ({ rows }) => rowsOf(rows),
})
const lister = agent('lister', {
  model: scripted(script, { id: 'large' }),
  tools: [list],
  budget: { steps: 4, toolCalls: 2, tokens: 100_000, costCents: 100, seconds: 300 },
})

const store = await openStore(db === '' ? 'memory' : db)
const runtime: Runtime = createRuntime({ db: store, agents: [lister], objects: folderObjects(join(home, 'objects')) })
const secret = Buffer.from(systemRandom.bytes(32)).toString('hex')
const server = await createHttpServer(runtime, { secret })
const worker = await runtime.work({ pollMs: 50 })

const { key } = await runtime.createKey({
  tenant: 'large',
  environment: 'test',
  kind: 'service',
  user: 'large',
  permissions: ['*'],
})
const { actor } = await runtime.door(secret).authenticate(`Bearer ${key}`)

async function ran(rows: number): Promise<string> {
  const { run } = await runtime.submit(actor, { agent: 'lister', text: String(rows) })
  for (;;) {
    const { end } = await runtime.reads.run(actor, run)
    if (end === 'completed') return run
    if (end !== null) throw new Error(`the run ended as ${end}`)
    await runtime.clock.sleep(LOOK_MS)
  }
}

await ran(WARM_ROWS)
const rssBefore = process.memoryUsage.rss()
let rssPeak = rssBefore
const looking = setInterval(() => {
  rssPeak = Math.max(rssPeak, process.memoryUsage.rss())
}, LOOK_MS)

const run = await ran(Number(count))
process.once('message', () => {
  clearInterval(looking)
  process.send?.({ modelBytes, rssBefore, rssPeak } satisfies Worked, () => {
    void Promise.all([server.close(), worker.stop()]).then(() => store.close())
    process.disconnect()
  })
})
process.send?.({ url: server.url, token: key, run } satisfies Ready)
