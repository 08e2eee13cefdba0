/**
 * A process on an embedded store. `hold FOLDER`: opens it, says how many rows it found, then commits one row after the
 * other and says each. `try FOLDER…`: says what opening each of them led to.
 */
import { openEmbedded } from '../../src/db/embedded.ts'
import type { Statement } from '../../src/db/port.ts'
import { Fault } from '../../src/kernel/fault.ts'

// whoever started it is gone, and nobody would end it
process.stdin.once('end', () => process.exit(1)).resume()

const [mode, ...folders] = process.argv.slice(2)
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
const PLACE = { tenant: 'acme', environment: 'production' }

const count: Statement<object, { n: number }> = {
  name: 'count',
  text: 'select count(*)::int as n from plimsoll.audit',
  params: [],
}
const add: Statement<{ id: string }, object> = {
  name: 'add',
  text: `insert into plimsoll.audit (tenant_id, id, environment, actor_kind, actor, action, target, outcome)
    values ('acme', $1, 'production', 'x', 'x', 'x', 'x', 'x')`,
  params: ['id'],
}

if (mode === 'hold') {
  const db = await openEmbedded(folders[0] ?? '')
  const [found] = await db.read(PLACE, count, {})
  say({ found: found?.n })
  for (let i = 0; ; i++) {
    await db.write(PLACE, add, { id: `${process.pid}.${i}` })
    say({ committed: i + 1 })
    // the store answers within this turn of the loop, and the end of standard input would never be heard
    await new Promise(setImmediate)
  }
}

for (const folder of folders) {
  try {
    await (await openEmbedded(folder)).close()
    say({ opened: true })
  } catch (error) {
    say(Fault.is(error) ? { code: error.code, message: error.message } : { error: String(error) })
  }
}
process.exit(0)
