/** Servers of tools for tests: one that misbehaves on purpose, and those that others have written. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProcessSpec } from '../../src/tool/mcp/mcp-process.shell.ts'

const ODD = fileURLToPath(new URL('./mcp-odd.worker.ts', import.meta.url))

/** The odd server, writing what reaches it into `log`. */
export const oddServer = (log: string): ProcessSpec => ({
  command: process.execPath,
  args: ['--import', import.meta.resolve('tsx'), ODD, log],
})

/** What reached the odd server, in order. */
export const heardBy = (log: string): readonly Record<string, unknown>[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : []

/** Exact versions: what these servers do is part of the tests. */
const PACKAGES = ['everything', 'filesystem', 'memory'].map((name) => `@modelcontextprotocol/server-${name}@2026.8.31`)

/**
 * A folder with the servers of others, installed once for this machine, or null with one line that says why not. They stand
 * apart from our own dependencies: a hundred packages that the product does not need.
 */
export function otherServers(): string | null {
  const folder = join(tmpdir(), 'plimsoll-mcp-servers-2026.8.31')
  if (existsSync(folder)) return folder
  const making = `${folder}.${process.pid}`
  mkdirSync(making, { recursive: true })
  writeFileSync(join(making, 'package.json'), '{ "private": true }')
  const done = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES], {
    cwd: making,
    timeout: 180_000,
    stdio: 'ignore',
  })
  if (done.status === 0 && !existsSync(folder)) renameSync(making, folder)
  rmSync(making, { recursive: true, force: true })
  if (existsSync(folder)) return folder
  console.warn('skipped: the servers of tools of others could not be installed; npm needs its registry once')
  return null
}

export const otherServer = (folder: string, name: string): string =>
  join(folder, 'node_modules/@modelcontextprotocol', `server-${name}`, 'dist/index.js')
