/** Restarts a PostgreSQL server that somebody else has started, where this process may. */
import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'

/**
 * What restarts the server of this URL at once, as a crash would: `pg_ctl restart -m immediate`. Null when its data folder
 * is not on this machine, or not ours to touch.
 */
export async function restarterOf(url: string): Promise<(() => Promise<void>) | null> {
  const data = await folderOf(url)
  if (data === null) return null
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    const program = join(dirname(readlinkSync(`/proc/${pid}/exe`)), 'pg_ctl')
    const { uid, gid } = statSync(data)
    const mine = process.getuid?.() ?? -1
    if (mine !== 0 && mine !== uid) return null
    const user = mine === 0 ? { uid, gid } : {}
    return async () => {
      // without its own log the server would write into a pipe of ours, and pg_ctl would wait for it to close
      const args = ['restart', '-m', 'immediate', '-w', '-t', '60', '-D', data, '-l', '/dev/null']
      const done = spawnSync(program, args, {
        ...user,
        cwd: '/',
        stdio: ['ignore', 'ignore', 'pipe'],
        encoding: 'utf8',
      })
      if (done.status !== 0) throw new Error(`pg_ctl did not restart the server: ${done.stderr}`)
    }
  } catch {
    return null
  }
}

async function folderOf(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ folder: string; host: string | null }>(
      `select current_setting('data_directory') as folder, host(inet_server_addr()) as host`,
    )
    const [row] = rows
    return row && (row.host === null || row.host === '127.0.0.1' || row.host === '::1') ? row.folder : null
  } catch {
    // a role that may not know the folder may not restart the server either
    return null
  } finally {
    await client.end()
  }
}
