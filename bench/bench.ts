/** One bench. Without --db a PostgreSQL of its own is started, with fsync on. */
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/setup/server.ts'
import { benchRecall } from './recall.ts'
import { benchSteps } from './steps.ts'

const BENCHES: Readonly<
  Record<string, (url: string, say: (line: string) => void) => Promise<Record<string, unknown>>>
> = { recall: benchRecall, steps: benchSteps }

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean' }, db: { type: 'string' } },
  allowPositionals: true,
})
const bench = BENCHES[positionals[0] ?? '']
if (!bench) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [--json] [--db URL]`)
  process.exit(2)
}
const server = values.db ? null : await startPostgres()
const url = values.db ?? server?.url
if (!url) {
  console.error('bench: no PostgreSQL found; install one or give --db URL')
  process.exit(9)
}
try {
  const result = await bench(url, (line) => console.error(line))
  if (values.json) console.log(JSON.stringify(result))
} finally {
  await server?.stop()
}
