/**
 * The package as somebody who installs it gets it: packed, unpacked into a folder of its own beside its dependencies,
 * and run by plain Node. Null when the command answers and both doors open.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Of a busy machine; each takes about a second. */
const LONGEST_MS = 120_000

function run(command: string, args: readonly string[], cwd: string): string {
  const { DATABASE_URL: _, NODE_OPTIONS: __, ...env } = process.env
  const ended = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: LONGEST_MS })
  if (ended.status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${ended.stderr || ended.stdout || String(ended.error)}`)
  return ended.stdout
}

const ASKS = `import { agent, createRuntime, Fault, tool, z } from 'plimsoll'
import { scripted } from 'plimsoll/testing'
if (![agent, createRuntime, Fault, tool, scripted].every((one) => typeof one === 'function') || !z.string) process.exit(1)`

/** `dist` must be built. */
export function checkPacked(): string | null {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-packed-'))
  try {
    const [packed] = JSON.parse(
      run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], '.'),
    ) as [{ filename: string }]
    const place = join(home, 'node_modules', 'plimsoll')
    mkdirSync(place, { recursive: true })
    run('tar', ['-xzf', join(home, packed.filename), '-C', place, '--strip-components=1'], home)
    symlinkSync(join(process.cwd(), 'node_modules'), join(place, 'node_modules'))
    writeFileSync(join(home, 'ask.mjs'), ASKS)
    run('node', ['ask.mjs'], home)
    const bin = join(place, 'bin/plimsoll.js')
    const { version } = JSON.parse(run('node', [bin, 'version', '--json'], home)) as { version?: string }
    // opening a store needs the migrations, wherever the package lies
    run('node', [bin, 'migrate', '--json', '--data', join(home, 'data')], home)
    const doctor = JSON.parse(run('node', [bin, 'doctor', '--json', '--data', join(home, 'data')], home)) as {
      ok: boolean
    }
    return version && doctor.ok ? null : 'the packed command does not answer'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
