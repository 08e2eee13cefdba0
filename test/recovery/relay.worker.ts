/** A worker with a relay and nothing else: `DB ORIGIN`, with the faults of `PLIMSOLL_FAULT`, until SIGTERM. */
import { openPostgres } from '../../src/db/postgres.ts'
import { createRuntime } from '../../src/runtime.ts'
import { faultsFromEnv } from '../../src/testing/faults.ts'

const [url = '', origin = ''] = process.argv.slice(2)
const db = await openPostgres({ url, connections: 2 })
const runtime = createRuntime({ db, agents: [], developmentOrigins: [origin], fault: faultsFromEnv() })
const worker = await runtime.work({ pollMs: 10, onError: () => {} })
process.once('SIGTERM', () => {
  void worker
    .stop()
    .then(() => db.close())
    .then(() => process.exit(0))
})
process.stdin.once('end', () => process.exit(1)).resume()
