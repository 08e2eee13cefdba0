/** A server of the S3 API for tests, from a folder of its own: it is no dependency of ours, and fetched once per machine. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VERSION = '3.7.1'
const HOME = join(tmpdir(), `plimsoll-s3rver-${VERSION}`)
/** A cold install took 17 s. */
const INSTALL_MS = 90_000

export interface S3Server {
  /** Of a bucket with a prefix. */
  readonly url: string
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string }
  close(): Promise<void>
}

interface S3rver {
  run(): Promise<{ readonly port: number }>
  close(): Promise<void>
}

/** Null, and a line that says so, where it cannot be fetched. */
export async function startS3(): Promise<S3Server | null> {
  if (!installed()) {
    console.log(`skipped: s3rver ${VERSION} cannot be fetched here`)
    return null
  }
  const Server = createRequire(join(HOME, 'index.js'))('s3rver') as new (options: object) => S3rver
  const directory = mkdtempSync(join(tmpdir(), 'plimsoll-s3-'))
  const server = new Server({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'bucket' }],
  })
  const { port } = await server.run()
  return {
    url: `http://127.0.0.1:${port}/bucket/some/prefix`,
    keys: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    async close() {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function installed(): boolean {
  const done = join(HOME, 'done')
  if (existsSync(done)) return true
  mkdirSync(HOME, { recursive: true })
  writeFileSync(join(HOME, 'package.json'), '{ "name": "s3-of-tests", "private": true }')
  const flags = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', `s3rver@${VERSION}`]
  const { status } = spawnSync('npm', flags, { cwd: HOME, stdio: 'ignore', timeout: INSTALL_MS })
  if (status === 0) writeFileSync(done, '')
  return status === 0
}
