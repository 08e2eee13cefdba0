/** `npm run bench -- NAME [--json] [--db URL]`: the benches on compiled code, since a loader adds a call to every closure. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { compiled } from '../test/setup/compiled.ts'

const bench = join(compiled(), 'bench', 'bench.js')
const { status } = spawnSync(process.execPath, [bench, ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1
