/** A worker whose agent has memories extracted: `DB AGENT`, with the faults of `PLIMSOLL_FAULT`, until it is killed. */
import { z } from 'zod'
import { openPostgres } from '../../src/db/postgres.ts'
import { memory } from '../../src/memory/key.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import { faultsFromEnv } from '../../src/testing/faults.ts'
import { scripted } from '../../src/testing/scripted.ts'

const [url = '', name = ''] = process.argv.slice(2)
const tone = { key: 'tone', value: 'short', message: 'm1', quote: 'I like my answers short' }
const acting = agent(name, {
  model: scripted(() => ({ text: 'Fifty-six.' })),
  memory: memory({ tone: { kind: 'preference', value: z.string().max(80) } }),
  extract: { model: scripted(() => ({ text: JSON.stringify({ memories: [tone] }) }), { id: 'reader' }) },
  budget: { steps: 2, toolCalls: 1, tokens: 100_000, costCents: 1_000, seconds: 60 },
})
const runtime = createRuntime({
  db: await openPostgres({ url, connections: 2 }),
  agents: [acting],
  fault: faultsFromEnv(),
})
await runtime.work({ pollMs: 10, onError: () => {} })
process.stdin.once('end', () => process.exit(1)).resume()
