/** Sweeps objects and dies when the first is to be removed: `DB FOLDER`. Its row is a tombstone by then. */
import { openPostgres } from '../../src/db/postgres.ts'
import { createRuntime } from '../../src/runtime.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'

const [url = '', folder = ''] = process.argv.slice(2)
const objects = folderObjects(folder)
const db = await openPostgres({ url, connections: 2 })
const dies = (): Promise<void> => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}
await createRuntime({ db, agents: [], objects: { ...objects, delete: dies } }).sweep()
